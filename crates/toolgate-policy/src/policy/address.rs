//! Which addresses are on the public internet.
//!
//! IPv4 is a list of what is not; IPv6 is refused outside `2000::/3` and less the special ranges inside it, so that every embedded form of an
//! IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo) falls outside without being decoded.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why `address` is not on the public internet; `None` when it is.
///
/// # Source
/// IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and updates), RFC 8215, RFC 5214, and the address of Azure's `WireServer`.
pub fn special_range(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// True when `address` is on the public internet.
pub fn is_public(address: IpAddr) -> bool {
    special_range(address).is_none()
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    V4.iter()
        .find(|(network, prefix, _)| (bits ^ Ipv4Addr::from_octets(*network).to_bits()).leading_zeros() >= *prefix)
        .map(|(.., name)| *name)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = address.to_bits();
    let inside = |network: u128, prefix: u32| (bits ^ network).leading_zeros() >= prefix;
    if bits >> 125 != 1 {
        return Some(
            V6_OUTSIDE.iter().find(|(network, prefix, _)| inside(*network, *prefix)).map_or("not global unicast", |(.., name)| *name),
        );
    }
    if let Some((.., name)) = V6_INSIDE.iter().find(|(network, prefix, _)| inside(*network, *prefix)) {
        return Some(name);
    }
    // RFC 5214 section 6.1: the interface identifier `[02]00:5efe` is followed by an IPv4 address that a tunnel router would deliver to.
    let identifier = (bits >> 32) & 0xffff_ffff;
    if identifier & !0x0200_0000 == 0x5efe {
        let [.., a, b, c, d] = address.octets();
        return special_v4(Ipv4Addr::new(a, b, c, d)).map(|_| "ISATAP to a special IPv4 address");
    }
    None
}

/// Network, prefix length, name.
const V4: &[([u8; 4], u32, &str)] = &[
    ([0, 0, 0, 0], 8, "this network"),
    ([10, 0, 0, 0], 8, "private"),
    ([100, 64, 0, 0], 10, "shared by carriers"),
    ([127, 0, 0, 0], 8, "loopback"),
    ([169, 254, 0, 0], 16, "link-local, where clouds keep their metadata"),
    ([172, 16, 0, 0], 12, "private"),
    ([192, 0, 0, 0], 24, "protocol assignments"),
    ([192, 0, 2, 0], 24, "documentation"),
    ([192, 88, 99, 0], 24, "6to4 relay"),
    ([192, 168, 0, 0], 16, "private"),
    ([198, 18, 0, 0], 15, "benchmarking"),
    ([198, 51, 100, 0], 24, "documentation"),
    ([203, 0, 113, 0], 24, "documentation"),
    ([224, 0, 0, 0], 4, "multicast"),
    ([240, 0, 0, 0], 4, "reserved"),
    // A public address in the registries, yet inside every Azure machine it is the host agent, with credentials.
    ([168, 63, 129, 16], 32, "a cloud's host agent"),
];

/// Only names for messages: everything outside `2000::/3` is refused, listed here or not.
const V6_OUTSIDE: &[(u128, u32, &str)] = &[
    (1, 128, "loopback"),
    (0, 128, "unspecified"),
    (0xffff << 32, 96, "an IPv4 address in IPv6 form"),
    (0xffff << 48, 96, "an IPv4 address in IPv6 form"),
    (0, 96, "an IPv4 address in IPv6 form"),
    (0x0064_ff9b << 96, 32, "NAT64"),
    (0x0100 << 112, 64, "discard"),
    (0x5f00 << 112, 16, "segment routing"),
    (0xfc00 << 112, 7, "private"),
    (0xfe80 << 112, 10, "link-local"),
    (0xfec0 << 112, 10, "site-local"),
    (0xff00 << 112, 8, "multicast"),
];

const V6_INSIDE: &[(u128, u32, &str)] = &[
    (0x2001 << 112, 23, "protocol assignments"),
    (0x2001_0db8 << 96, 32, "documentation"),
    (0x2002 << 112, 16, "6to4"),
    (0x3fff << 112, 20, "documentation"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn both_ends_of_every_special_ipv4_range_are_refused_and_its_neighbours_are_public() {
        for (network, prefix, name) in V4 {
            let first = Ipv4Addr::from_octets(*network).to_bits();
            let last = first | u32::MAX.checked_shr(*prefix).unwrap_or(0);
            assert_eq!([first, last].map(|bits| is_public(Ipv4Addr::from_bits(bits).into())), [false, false], "{name}");
        }
        let neighbours =
            ["1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255"];
        let more =
            ["169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "198.17.255.255", "198.20.0.0"];
        for address in
            neighbours.into_iter().chain(more).chain(["203.0.114.0", "223.255.255.255", "168.63.129.15", "192.31.196.1", "8.8.8.8"])
        {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn ipv6_is_refused_outside_global_unicast_and_in_its_special_ranges() {
        for address in [
            "::",
            "::1",
            "::7f00:1",
            "::ffff:8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::1",
            "100::1",
            "100:0:0:1::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "1fff::1",
            "4000::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff:fff::1",
            "2606:4700::5efe:10.0.0.1",
            "2606:4700::200:5efe:127.0.0.1",
        ] {
            assert!(!public(address), "{address}");
        }
        for address in [
            "2001:200::1",
            "2003::1",
            "2606:4700::1111",
            "2620:4f:8000::1",
            "2a00:1450:4001::200e",
            "3fff:1000::1",
            "2606:4700::5efe:8.8.8.8",
        ] {
            assert!(public(address), "{address}");
        }
    }
}
