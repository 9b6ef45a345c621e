//! Where a request says it comes from and goes to: the defence against pages that resolve their own name to this machine (DNS rebinding), and
//! against pages of other origins.

use std::net::{IpAddr, SocketAddr};

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Uri};

use crate::manifest::Http;

/// What the endpoint listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listening {
    /// The address; none on a Unix socket.
    pub(super) address: Option<SocketAddr>,
    /// Whether TLS is spoken.
    pub(super) is_tls: bool,
}

/// Why a request is turned away before anybody asks who sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    /// The `Host` is none of ours, missing, or there are two.
    Host,
    /// The page it came from is none of ours.
    Origin,
}

impl Listening {
    /// Whether only this machine reaches it.
    pub(super) fn is_local(&self) -> bool {
        self.address.is_none_or(|address| address.ip().is_loopback())
    }

    /// Whether a request to it was made on this machine: only this machine reaches it, and no proxy says that it passed the request on. A proxy here
    /// brings requests from anywhere.
    pub(super) fn is_from_here(&self, headers: &HeaderMap) -> bool {
        const PASSED_ON: [&str; 6] = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];
        self.is_local() && !PASSED_ON.iter().any(|name| headers.contains_key(*name))
    }

    /// Whether a request also names this machine itself, and no host that others may know it by.
    pub(super) fn is_for_here(&self, host: &str, headers: &HeaderMap) -> bool {
        self.is_from_here(headers) && is_loopback(without_port(host))
    }

    /// The address that clients use, as the metadata and the challenges name it.
    pub(super) fn url(&self, http: &Http, host: &str) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        http.public_url.clone().unwrap_or_else(|| format!("{scheme}://{host}/mcp"))
    }

    /// Looks at `Host` and `Origin`. The host as it was sent.
    /// # Errors  Which of the two is foreign.
    pub(super) fn check(&self, http: &Http, uri: &Uri, headers: &HeaderMap, local: Option<IpAddr>) -> Result<String, Foreign> {
        let host = host_of(uri, headers).ok_or(Foreign::Host)?;
        if !self.is_own_host(http, &host, local) {
            return Err(Foreign::Host);
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            // Programs that are no browsers send none.
            (None, _) => Ok(host),
            (Some(origin), None) if origin.to_str().is_ok_and(|origin| self.is_own_origin(http, origin, &host)) => Ok(host),
            _ => Err(Foreign::Origin),
        }
    }

    fn is_own_host(&self, http: &Http, host: &str, local: Option<IpAddr>) -> bool {
        let name = without_port(host);
        let listed = |listed: &String| listed == host || listed == name;
        if http.allowed_hosts.iter().any(listed) || public_host(http).is_some_and(|public| listed(&public)) {
            return true;
        }
        if self.is_local() {
            return is_loopback(name);
        }
        // The very address that was connected to, as probes use it: a name that rebinds is no address.
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        address.is_ok_and(|address| local == Some(address))
    }

    fn is_own_origin(&self, http: &Http, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        if http.allowed_origins.contains(&origin) {
            return true;
        }
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        // A page of our own; and on a loopback address, pages that this machine serves.
        let own_scheme = if self.is_tls { "https" } else { "http" };
        (scheme == own_scheme && authority == host)
            || public_origin(http).is_some_and(|own| own == origin)
            || (self.is_local() && matches!(scheme, "http" | "https") && is_loopback(without_port(authority)))
    }
}

/// The one `Host` of a request, lower case.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok()?.to_ascii_lowercase(),
        (None, _) => uri.authority()?.as_str().to_ascii_lowercase(),
        (Some(_), Some(_)) => return None,
    };
    // The form with an authority in the request line must say the same (RFC 9112 section 3.2.2).
    let agrees = uri.authority().is_none_or(|authority| authority.as_str().eq_ignore_ascii_case(&host));
    (agrees && !host.is_empty() && !host.contains(['@', '/', ' '])).then_some(host)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    }
}

fn is_loopback(name: &str) -> bool {
    let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn public_host(http: &Http) -> Option<String> {
    let url = url::Url::parse(http.public_url.as_deref()?).ok()?;
    let host = url.host_str()?.to_owned();
    Some(url.port().map_or(host.clone(), |port| format!("{host}:{port}")))
}

fn public_origin(http: &Http) -> Option<String> {
    Some(url::Url::parse(http.public_url.as_deref()?).ok()?.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listening: &Listening, http: &Http, host: &str, origin: Option<&str>) -> Result<(), Foreign> {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        listening.check(http, &Uri::from_static("/mcp"), &headers, Some("10.1.2.3".parse().unwrap())).map(drop)
    }

    #[test]
    fn a_loopback_endpoint_answers_to_loopback_names_alone() {
        let (listening, http) = (Listening { address: Some("127.0.0.1:8011".parse().unwrap()), is_tls: false }, Http::default());
        for host in ["127.0.0.1:8011", "localhost", "localhost:8011", "[::1]:8011", "LOCALHOST:9"] {
            assert_eq!(check(&listening, &http, host, None), Ok(()), "{host}");
        }
        for host in ["evil.example", "evil.example:8011", "localhost.evil.example", "127.0.0.1.evil.example", "10.1.2.3", "localhost@evil"]
        {
            assert_eq!(check(&listening, &http, host, None), Err(Foreign::Host), "{host}");
        }
    }

    #[test]
    fn a_page_of_another_origin_is_foreign() {
        let (listening, http) = (Listening { address: Some("127.0.0.1:8011".parse().unwrap()), is_tls: false }, Http::default());
        for origin in ["http://127.0.0.1:8011", "http://localhost:3000", "http://[::1]"] {
            assert_eq!(check(&listening, &http, "localhost:8011", Some(origin)), Ok(()), "{origin}");
        }
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://", "", "http://127.0.0.1.evil.example:8011"]
        {
            assert_eq!(check(&listening, &http, "localhost:8011", Some(origin)), Err(Foreign::Origin), "{origin}");
        }
    }

    #[test]
    fn a_request_that_a_proxy_passed_on_was_not_made_here() {
        let loopback = Listening { address: Some("127.0.0.1:8011".parse().unwrap()), is_tls: false };
        let socket = Listening { address: None, is_tls: false };
        let wide = Listening { address: Some("0.0.0.0:8011".parse().unwrap()), is_tls: false };
        let none = HeaderMap::new();
        assert!(loopback.is_from_here(&none) && socket.is_from_here(&none) && !wide.is_from_here(&none));
        for host in ["127.0.0.1:8011", "localhost", "[::1]:8011"] {
            assert!(loopback.is_for_here(host, &none) && socket.is_for_here(host, &none) && !wide.is_for_here(host, &none), "{host}");
        }
        assert!(!loopback.is_for_here("tools.example.com", &none) && !socket.is_for_here("tools.example.com", &none));
        for name in ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"] {
            let mut headers = HeaderMap::new();
            headers.insert(name, "10.0.0.9".parse().unwrap());
            assert!(!loopback.is_from_here(&headers) && !socket.is_from_here(&headers), "{name}");
            assert!(!loopback.is_for_here("localhost", &headers), "{name}");
        }
    }

    #[test]
    fn beyond_loopback_names_must_be_listed() {
        let listening = Listening { address: Some("0.0.0.0:8443".parse().unwrap()), is_tls: true };
        let http = Http {
            public_url: Some("https://tools.example.com/mcp".into()),
            allowed_hosts: vec!["gate.internal".into()],
            allowed_origins: vec!["https://app.example.com".into()],
            ..Http::default()
        };
        for host in ["tools.example.com", "gate.internal:8443", "10.1.2.3:8443"] {
            assert_eq!(check(&listening, &http, host, None), Ok(()), "{host}");
        }
        for host in ["localhost", "127.0.0.1", "10.1.2.4", "evil.example"] {
            assert_eq!(check(&listening, &http, host, None), Err(Foreign::Host), "{host}");
        }
        for origin in ["https://tools.example.com", "https://app.example.com"] {
            assert_eq!(check(&listening, &http, "tools.example.com", Some(origin)), Ok(()), "{origin}");
        }
        for origin in ["http://localhost", "http://app.example.com", "https://app.example.com:8443"] {
            assert_eq!(check(&listening, &http, "tools.example.com", Some(origin)), Err(Foreign::Origin), "{origin}");
        }
    }

    #[test]
    fn two_hosts_are_none() {
        let (listening, http) = (Listening { address: None, is_tls: false }, Http::default());
        let mut headers = HeaderMap::new();
        headers.append(HOST, "localhost".parse().unwrap());
        assert!(listening.check(&http, &Uri::from_static("/mcp"), &headers, None).is_ok());
        assert_eq!(listening.check(&http, &Uri::from_static("http://evil.example/mcp"), &headers, None), Err(Foreign::Host));
        headers.append(HOST, "localhost".parse().unwrap());
        assert_eq!(listening.check(&http, &Uri::from_static("/mcp"), &headers, None), Err(Foreign::Host));
    }
}
