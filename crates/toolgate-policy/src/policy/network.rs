//! Which web addresses the manifest's `[network]` opens. Pure: names and addresses in, a refusal or nothing out.
//!
//! A URL is judged in two steps, because its addresses are known later: [`judge_url`] by its text, [`judge_addresses`] by what its name
//! resolved to. Every redirect is a URL of its own, after [`judge_redirect`].

use std::net::IpAddr;

use super::address::{is_public, special_range};
use super::words::first_five;
use crate::manifest::{NetworkRules, is_below};
use crate::model::{Code, Host, HttpUrl, Refusal, Scheme};

/// Judges a URL by its text: scheme, address written as a number, denied, allowed, port.
///
/// # Errors
/// `scheme_not_allowed`, `ip_literal`, `domain_denied`, `domain_not_allowed`, `internal_address` (a name that only a private network knows,
/// where only `any_public` allows it), `port_not_allowed`; the rule of the manifest that decided is named.
pub fn judge_url(rules: &NetworkRules, url: &HttpUrl) -> Result<(), Refusal> {
    let (host, port) = (url.host(), url.port());
    if !rules.allowed_schemes.contains(&url.scheme()) {
        return Err(
            Refusal::new(Code::SchemeNotAllowed, format!("the scheme `{}` is not allowed", url.scheme())).rule("network.allowed_schemes")
        );
    }
    let opened = matches!(host, Host::Address(address) if rules.opens(address, port));
    judge_literal(rules, host, opened)?;
    if let Some(index) = rules.denied_domains.iter().position(|pattern| pattern.denies(host)) {
        return Err(Refusal::new(Code::DomainDenied, format!("the host `{}` is denied", url.host_str()))
            .rule(format!("network.denied_domains[{index}]"))
            .hint("do without this host; use another source"));
    }
    judge_name(rules, host)?;
    judge_port(rules, port, opened)
}

/// Judges what a name resolved to (for an address written as a number: that address). Every address must be public or opened, for one bad one
/// among good ones is all a rebinding answer needs.
///
/// # Errors
/// `internal_address`, also for an empty answer; `port_not_allowed` where only an opened address may use the port.
pub fn judge_addresses(rules: &NetworkRules, url: &HttpUrl, addresses: &[IpAddr]) -> Result<(), Refusal> {
    let port = url.port();
    if addresses.is_empty() {
        return Err(Refusal::new(Code::InternalAddress, format!("the host `{}` has no address", url.host_str())));
    }
    for address in addresses {
        if rules.opens(*address, port) {
            continue;
        }
        if let Some(index) = rules.denied_domains.iter().position(|pattern| pattern.denies(Host::Address(*address))) {
            let rule = format!("network.denied_domains[{index}]");
            return Err(Refusal::new(Code::DomainDenied, format!("the host `{}` has a denied address", url.host_str())).rule(rule));
        }
        if let Some(range) = special_range(*address) {
            let message = format!("the host `{}` has an internal address ({range})", url.host_str());
            return Err(Refusal::new(Code::InternalAddress, message)
                .rule("network.internal")
                .hint("private, loopback and metadata addresses are refused, unless the manifest allows one with its port"));
        }
        if !rules.allowed_ports.contains(&port) {
            return Err(port_refused(port));
        }
    }
    Ok(())
}

/// Judges the step from one URL to the next; the next one is still judged as a URL of its own.
///
/// # Errors
/// `scheme_not_allowed`: https may not fall back to http.
pub fn judge_redirect(from: &HttpUrl, to: &HttpUrl) -> Result<(), Refusal> {
    if (from.scheme(), to.scheme()) == (Scheme::Https, Scheme::Http) {
        let message = format!("`{}` redirects from https to http", from.origin());
        return Err(
            Refusal::new(Code::SchemeNotAllowed, message).hint("a page asked for over https is not read over http; fetch another page")
        );
    }
    Ok(())
}

fn judge_literal(rules: &NetworkRules, host: Host<'_>, opened: bool) -> Result<(), Refusal> {
    let Host::Address(address) = host else { return Ok(()) };
    if opened || (rules.any_public && is_public(address)) {
        return Ok(());
    }
    let refused = |what: &str| Refusal::new(Code::IpLiteral, format!("the host is the address `{address}` written as a number{what}"));
    Err(match special_range(address) {
        Some(range) => {
            refused(&format!(" ({range})")).rule("network.internal").hint("private, loopback and metadata addresses are refused")
        }
        None => refused("").rule("network.any_public").hint("use the host's name"),
    })
}

fn judge_name(rules: &NetworkRules, host: Host<'_>) -> Result<(), Refusal> {
    let Host::Name(name) = host else { return Ok(()) };
    if rules.allowed_domains.iter().any(|pattern| pattern.matches(host)) {
        return Ok(());
    }
    if !rules.any_public {
        let refusal = Refusal::new(Code::DomainNotAllowed, format!("the host `{name}` is not listed")).rule("network.allowed_domains");
        return Err(refusal.hint(allowed_hint(rules)));
    }
    // A name that only a private network knows; a listed one is the operator's own word, an unlisted one a probe.
    if !name.contains('.') || INTERNAL_ZONES.iter().any(|zone| name == *zone || is_below(name, zone)) {
        return Err(Refusal::new(Code::InternalAddress, format!("the host `{name}` is not a name on the public internet"))
            .rule("network.any_public"));
    }
    Ok(())
}

fn judge_port(rules: &NetworkRules, port: u16, opened: bool) -> Result<(), Refusal> {
    if let Some(index) = rules.denied_ports.iter().position(|denied| *denied == port) {
        return Err(port_refused(port).rule(format!("network.denied_ports[{index}]")));
    }
    // A name at the port of an opened address goes on: `judge_addresses` lets it through only to that address.
    let may_be_opened = rules.internal.iter().any(|open| open.port() == port);
    if port == 0 || !(opened || may_be_opened || rules.allowed_ports.contains(&port)) {
        return Err(port_refused(port));
    }
    Ok(())
}

fn port_refused(port: u16) -> Refusal {
    Refusal::new(Code::PortNotAllowed, format!("port {port} is not allowed")).rule("network.allowed_ports")
}

/// Names the hosts that may be used, at most five, so that a model need not guess.
fn allowed_hint(rules: &NetworkRules) -> String {
    if rules.allowed_domains.is_empty() {
        return "no host is allowed; work without the network".to_owned();
    }
    format!(
        "allowed hosts: {}; use one of them, or tell the person which host you need",
        first_five(rules.allowed_domains.iter().map(|pattern| format!("`{pattern}`")))
    )
}

/// Zones that lead inside by their very name.
///
/// # Source
/// RFC 6761, RFC 6762, RFC 7686, RFC 8375; ICANN's reservation of `internal` (2024); names that containers and clouds serve.
const INTERNAL_ZONES: &[&str] = &[
    "localhost",
    "local",
    "internal",
    "localdomain",
    "home.arpa",
    "lan",
    "corp",
    "home",
    "intranet",
    "private",
    "svc",
    "onion",
    "invalid",
    "metadata.goog",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::DomainPattern;
    use proptest::prelude::*;

    fn rules() -> NetworkRules {
        let list = |texts: &[&str]| texts.iter().map(|text| DomainPattern::parse_denied(text).unwrap()).collect();
        NetworkRules {
            allowed_domains: list(&["a.example", "*.wiki.example", "bücher.example"]),
            denied_domains: list(&["gist.example", "evil.wiki.example"]),
            denied_ports: vec![22],
            internal: vec!["10.1.2.3:8080".parse().unwrap(), "[fd00::5]:22".parse().unwrap()],
            ..NetworkRules::default()
        }
    }

    fn judged(rules: &NetworkRules, url: &str) -> Result<(), (Code, Option<String>)> {
        judge_url(rules, &HttpUrl::parse(url).unwrap()).map_err(|refusal| (refusal.code, refusal.rule))
    }

    fn refused(code: Code, rule: &str) -> Result<(), (Code, Option<String>)> {
        Err((code, Some(rule.to_owned())))
    }

    #[test]
    fn names_are_allowed_exactly_and_denied_generously() {
        let rules = rules();
        for url in [
            "https://a.example/",
            "https://A.Example./",
            "https://x.y.wiki.example/",
            "https://xn--bcher-kva.example/",
            "https://BÜCHER.example",
        ] {
            assert_eq!(judged(&rules, url), Ok(()), "{url}");
        }
        for url in [
            "https://wiki.example/",
            "https://evila.example/",
            "https://b.a.example/",
            "https://а.example/",
            "https://localhost/",
            "https://a.example.evil.example/",
            "https://a.example-evil.example/",
            "https://evil.example/a.example",
            "https://evil.example/?https://a.example/",
            "https://evil.example/#@a.example",
            "https://x.y.wiki.example.evil.example/",
            "https://a/.example",
        ] {
            assert_eq!(judged(&rules, url), refused(Code::DomainNotAllowed, "network.allowed_domains"), "{url}");
        }
        assert_eq!(judged(&rules, "https://gist.example/"), refused(Code::DomainDenied, "network.denied_domains[0]"));
        for url in ["https://evil.wiki.example/", "https://x.EVIL.wiki。example/"] {
            assert_eq!(judged(&rules, url), refused(Code::DomainDenied, "network.denied_domains[1]"), "{url}");
        }
    }

    #[test]
    fn schemes_ports_and_literals_are_judged_by_their_lists() {
        let mut rules = rules();
        assert_eq!(judged(&rules, "http://a.example/"), refused(Code::SchemeNotAllowed, "network.allowed_schemes"));
        assert_eq!(judged(&rules, "https://a.example:444/"), refused(Code::PortNotAllowed, "network.allowed_ports"));
        assert_eq!(judged(&rules, "https://a.example:22/"), refused(Code::PortNotAllowed, "network.denied_ports[0]"));
        assert_eq!(judged(&rules, "https://8.8.8.8/"), refused(Code::IpLiteral, "network.any_public"));
        assert_eq!(judged(&rules, "https://[::ffff:10.1.2.3]:8080/"), refused(Code::IpLiteral, "network.internal"));
        assert_eq!(judged(&rules, "https://10.1.2.3/"), refused(Code::IpLiteral, "network.internal"));
        assert_eq!(judged(&rules, "https://10.1.2.3:8080/"), Ok(()));
        assert_eq!(judged(&rules, "https://[fd00::5]:22/"), refused(Code::PortNotAllowed, "network.denied_ports[0]"));
        rules.any_public = true;
        rules.allowed_ports.push(0);
        assert_eq!(judged(&rules, "https://8.8.8.8/"), Ok(()));
        assert_eq!(judged(&rules, "https://b.example:0/"), refused(Code::PortNotAllowed, "network.allowed_ports"));
        for url in
            ["https://metadata/", "https://nas.lan/", "https://x.localhost/", "https://a.svc.cluster.local/", "https://metadata.goog/"]
        {
            assert_eq!(judged(&rules, url), refused(Code::InternalAddress, "network.any_public"), "{url}");
        }
        assert_eq!(judged(&rules, "https://localhost.example.com/"), Ok(()));
    }

    #[test]
    fn the_default_opens_nothing() {
        assert_eq!(judged(&NetworkRules::default(), "https://a.example/"), refused(Code::DomainNotAllowed, "network.allowed_domains"));
    }

    #[test]
    fn an_opened_address_is_open_at_its_port_alone() {
        let mut rules = rules();
        rules.denied_domains.push(DomainPattern::parse_denied("9.9.9.9").unwrap());
        let judged = |url: &str, addresses: &[&str]| {
            let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
            judge_addresses(&rules, &HttpUrl::parse(url).unwrap(), &addresses).map_err(|refusal| refusal.code)
        };
        assert_eq!(judged("https://a.example/", &["93.184.216.34"]), Ok(()));
        assert_eq!(judged("https://a.example/", &["93.184.216.34", "127.0.0.1"]), Err(Code::InternalAddress));
        assert_eq!(judged("https://a.example/", &["10.1.2.3"]), Err(Code::InternalAddress));
        assert_eq!(judged("https://a.example/", &[]), Err(Code::InternalAddress));
        assert_eq!(judged("https://a.example/", &["9.9.9.9"]), Err(Code::DomainDenied));
        assert_eq!(judged("https://a.example:8080/", &["10.1.2.3"]), Ok(()));
        assert_eq!(judged("https://a.example:8080/", &["10.1.2.3", "93.184.216.34"]), Err(Code::PortNotAllowed));
    }

    #[test]
    fn tls_never_falls_back_to_plain_text() {
        let [plain, tls] = ["http://a.example/", "https://a.example/"].map(|url| HttpUrl::parse(url).unwrap());
        assert_eq!(judge_redirect(&tls, &plain).map_err(|refusal| refusal.code), Err(Code::SchemeNotAllowed));
        assert_eq!([judge_redirect(&plain, &tls), judge_redirect(&plain, &plain), judge_redirect(&tls, &tls)], [Ok(()), Ok(()), Ok(())]);
    }

    proptest! {
        #[test]
        fn no_special_address_is_ever_allowed_unless_it_is_opened(v4: u32, v6: u128, six: bool, port: u16, public_first: bool) {
            let address = if six { IpAddr::V6(v6.into()) } else { IpAddr::V4(v4.into()) };
            let rules = NetworkRules { any_public: true, allowed_ports: vec![port], ..rules() };
            let url = HttpUrl::parse(&format!("https://b.example:{port}/")).unwrap();
            let answer = if public_first { vec![IpAddr::from([8, 8, 8, 8]), address] } else { vec![address] };
            let allowed = judge_addresses(&rules, &url, &answer).is_ok();
            prop_assert_eq!(allowed, is_public(address) || rules.opens(address, port));
        }
    }
}
