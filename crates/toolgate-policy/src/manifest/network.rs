//! `[network]`: the web addresses that are open, and the secrets that a header may name.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::UpstreamProxy;
use super::fault::Ledger;
use super::form::entries;
use crate::model::{Bytes, Host, HttpUrl, Scheme};

/// Which web addresses are open. The default opens nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct NetworkRules {
    /// Hosts that calls may contact: `example.com` is this name only, `*.example.com` is each of its subdomains and not the name itself.
    #[schemars(extend("items" = entries("domain")))]
    pub allowed_domains: Vec<DomainPattern>,
    /// `true`: each host of the public internet may be contacted, also by its IP address, except `denied_domains`.
    pub any_public: bool,
    /// Hosts that are never contacted, with their subdomains, even where another key allows them.
    pub denied_domains: Vec<DomainPattern>,
    /// Ports that may be contacted.
    #[schemars(inner(range(min = 1)))]
    #[default(vec![443])]
    pub allowed_ports: Vec<u16>,
    /// Ports that are never contacted, even where another key allows them.
    #[schemars(inner(range(min = 1)))]
    pub denied_ports: Vec<u16>,
    /// `https`, `http`.
    #[default(vec![Scheme::Https])]
    pub allowed_schemes: Vec<Scheme>,
    /// Private addresses that may be contacted, each with its port, e.g. `10.1.2.3:8080`. They need not stand in `allowed_domains` or
    /// `allowed_ports`.
    #[schemars(extend("items" = entries("address")))]
    pub internal: Vec<SocketAddr>,
    /// Largest response after decompression, e.g. `2 MiB`.
    #[default(Bytes::mib(2))]
    pub max_response: Bytes,
    /// Most redirects that are followed. The rules apply to each of them.
    #[default(5)]
    pub max_redirects: u32,
    /// Most connections at the same time: of all `fetch` calls together, and of each program.
    #[default(10)]
    pub max_connections: u32,
    /// Most requests of one caller to one host in any 60 seconds. Without this key, only the limits on calls hold.
    #[serde(rename = "rate_limit_per_minute")]
    pub rate_per_minute: Option<u64>,
    /// Most requests of one caller to one host in any hour.
    #[serde(rename = "rate_limit_per_hour")]
    pub rate_per_hour: Option<u64>,
    /// The proxy for all connections, e.g. `http://proxy.example:3128`. Without this key, none; proxy variables of the environment are not
    /// used.
    pub proxy: Option<UpstreamProxy>,
    /// `respect`: `robots.txt` is read and obeyed. `ignore`: it is not read.
    #[default(Robots::Respect)]
    pub robots: Robots,
    /// Secrets that a header of `fetch` may contain as `${secret:NAME}`. No answer shows them.
    pub secrets: BTreeMap<String, HeaderSecret>,
}

/// What to do about robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Robots {
    /// Ask it first and obey (RFC 9309).
    Respect,
    /// Never ask.
    Ignore,
}

impl NetworkRules {
    /// Whether it opens this private address at this port.
    pub(crate) fn opens(&self, address: IpAddr, port: u16) -> bool {
        self.internal.contains(&SocketAddr::new(address, port))
    }
}

/// One entry of a list of domains: a name, or `*.` and a name of at least two labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DomainPattern(PatternKind);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum PatternKind {
    Name(String),
    Below(String),
    Address(IpAddr),
}

impl DomainPattern {
    /// Reads an entry of `allowed_domains`, in the normal form of the URL parser (punycode, lower case, one trailing dot dropped).
    ///
    /// # Errors
    /// A sentence for the manifest's list of faults.
    pub fn parse(text: &str) -> Result<Self, String> {
        let pattern = Self::parse_denied(text)?;
        match pattern.0 {
            PatternKind::Address(_) => Err(format!(
                "`{text}` is an address, not a domain; open one private address with `internal`, public ones with `any_public = true`"
            )),
            _ => Ok(pattern),
        }
    }

    /// Reads an entry of `denied_domains`: as [`DomainPattern::parse`], or an address.
    ///
    /// # Errors
    /// A sentence for the manifest's list of faults.
    pub fn parse_denied(text: &str) -> Result<Self, String> {
        if text == "*" || text == "*." {
            return Err(format!("`{text}` would be every host; say `any_public = true`"));
        }
        let (below, name) = text.strip_prefix("*.").map_or((false, text), |name| (true, name));
        if name.contains(['*', '/', ':', '@', '?', '#', '\\', '%', '[', ']']) && name.parse::<IpAddr>().is_err() {
            return Err(format!(
                "`{text}` is no domain; write a host name without scheme, port or path, e.g. `example.com` or `*.example.com`"
            ));
        }
        let host = if name.contains(':') { format!("[{name}]") } else { name.to_owned() };
        let url = HttpUrl::parse(&format!("https://{host}/")).map_err(|_| format!("`{text}` is no domain name"))?;
        let kind = match (url.host(), below) {
            (Host::Address(address), false) => PatternKind::Address(address),
            (Host::Address(_), true) => return Err(format!("`{text}`: an address has no subdomains")),
            (Host::Name(name), true) if !name.contains('.') => {
                return Err(format!(
                    "`{text}` would be a whole top-level domain; `*.` stands before at least two labels, e.g. `*.example.com`"
                ));
            }
            (Host::Name(name), true) => PatternKind::Below(name.to_owned()),
            (Host::Name(name), false) => PatternKind::Name(name.to_owned()),
        };
        Ok(Self(kind))
    }

    /// Exactly this host, or for `*.` a subdomain.
    pub(crate) fn matches(&self, host: Host<'_>) -> bool {
        match (&self.0, host) {
            (PatternKind::Name(name), Host::Name(host)) => name == host,
            (PatternKind::Below(name), Host::Name(host)) => is_below(host, name),
            (PatternKind::Address(listed), Host::Address(address)) => *listed == address,
            _ => false,
        }
    }

    /// This host or anything below it.
    pub(crate) fn denies(&self, host: Host<'_>) -> bool {
        self.matches(host) || matches!((&self.0, host), (PatternKind::Name(name), Host::Name(host)) if is_below(host, name))
    }
}

impl std::fmt::Display for DomainPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            PatternKind::Name(name) => f.write_str(name),
            PatternKind::Below(name) => write!(f, "*.{name}"),
            PatternKind::Address(address) => write!(f, "{address}"),
        }
    }
}

/// Whether a host is a subdomain of a name.
pub(crate) fn is_below(host: &str, name: &str) -> bool {
    host.strip_suffix(name).is_some_and(|front| front.ends_with('.') && front.len() > 1)
}

/// A value that only the connector reads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HeaderSecret {
    /// The environment variable that holds the secret.
    #[schemars(extend("format" = "text"))]
    pub env: Option<String>,
    /// The file that holds the secret, instead of `env`, relative to this file. No call can read it.
    #[schemars(extend("format" = "text"))]
    pub file: Option<PathBuf>,
    /// Where it may be sent: hosts as in `allowed_domains` (only over https), or IP addresses (also over http).
    pub hosts: Vec<DomainPattern>,
}

impl HeaderSecret {
    /// Whether it may go to this URL: a listed host, over TLS, or to an address written as a number (which is this network's own).
    pub fn may_go_to(&self, url: &HttpUrl) -> bool {
        let plain_is_near = matches!(url.host(), Host::Address(_));
        (url.scheme() == Scheme::Https || plain_is_near) && self.hosts.iter().any(|pattern| pattern.matches(url.host()))
    }

    /// Starts a relative file at `base`.
    pub fn place(&mut self, base: &Path) {
        self.file = self.file.take().map(|file| base.join(file));
    }
}

/// A name of a secret: letters, digits, `_` and `-`.
pub(crate) fn is_secret_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

impl Ledger<'_> {
    pub(super) fn network(&mut self, network: &NetworkRules) {
        for (name, secret) in &network.secrets {
            let at = format!("network.secrets.{name}");
            if !is_secret_name(name) {
                self.fault(&at, "a secret's name has letters, digits, `_` and `-` alone");
            }
            if secret.env.is_some() == secret.file.is_some() {
                self.fault(&at, "write where its value is: `env` with the name of a variable, or `file` with a path, and not both");
            }
            if secret.hosts.is_empty() {
                self.fault(&at, "write the `hosts` it may be sent to");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_a_star_before_two_labels() {
        for text in [
            "",
            "*",
            "*.",
            "*.com",
            "a.*.example",
            "*a.example",
            "https://a.example",
            "a.example:443",
            "a.example/x",
            "a b.example",
            "..",
            "10.0.0.1",
            "::1",
        ] {
            assert!(DomainPattern::parse(text).is_err(), "{text}");
        }
        for (text, normal) in [("A.Example.", "a.example"), ("*.bücher.example", "*.xn--bcher-kva.example"), ("localhost", "localhost")] {
            assert_eq!(DomainPattern::parse(text).map(|pattern| pattern.to_string()), Ok(normal.to_owned()));
        }
        assert_eq!(DomainPattern::parse_denied("::1").map(|pattern| pattern.to_string()), Ok("::1".to_owned()));
    }
}
