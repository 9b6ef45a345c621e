//! The one proxy that the manifest may name. What the environment says of proxies is never asked.

use std::fmt;

use base64::Engine as _;

use crate::model::Host;

/// An HTTP proxy through which every connection goes, by `CONNECT` to an address that was judged here.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamProxy {
    host: String,
    port: u16,
    authorization: Option<String>,
}

impl UpstreamProxy {
    /// Reads `http://host:port`, with `user:password@` before the host where the proxy wants them (percent-encoded).
    ///
    /// # Errors
    /// A sentence for the manifest's list of faults; it never repeats the password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = "write `http://host:port`, or `http://user:password@host:port`";
        let rest = text.strip_prefix("http://").ok_or_else(|| format!("only an http proxy is spoken to; {form}"))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, authority) = rest.rsplit_once('@').map_or((None, rest), |(user, authority)| (Some(user), authority));
        if authority.contains(['/', '?', '#', '\\', '@']) || user.is_some_and(|user| user.contains(['/', '?', '#', '\\', '@'])) {
            return Err(format!("a proxy has no path and no query; {form}"));
        }
        let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port != 0);
        let port = port.ok_or_else(|| format!("a proxy has a port of its own; {form}"))?;
        let url = crate::model::HttpUrl::parse(&format!("http://{authority}/")).map_err(|_| format!("its host cannot be read; {form}"))?;
        let host = match url.host() {
            Host::Name(name) => name.to_owned(),
            Host::Address(address) => address.to_string(),
        };
        let authorization =
            user.map(|user| basic(user).ok_or_else(|| format!("its user and password cannot be read; {form}"))).transpose()?;
        Ok(Self { host, port, authorization })
    }

    /// Its name or address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The value of `Proxy-Authorization`, where it wants one.
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}

/// RFC 7617: the name holds no colon, neither holds a control character.
fn basic(user: &str) -> Option<String> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let (name, password) = (decoded(name)?, decoded(password)?);
    if name.contains(':') || [&name, &password].iter().any(|text| text.chars().any(char::is_control)) {
        return None;
    }
    Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"))))
}

fn decoded(text: &str) -> Option<String> {
    // The decoder leaves a `%` without two digits as it stands.
    let is_escape = |after: &str| after.as_bytes().first_chunk::<2>().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8().ok()?;
    text.split('%').skip(1).all(is_escape).then(|| decoded.into_owned())
}

impl fmt::Debug for UpstreamProxy {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, authorization } = self;
        write!(f, "http://{}{host}:{port}", if authorization.is_some() { "…@" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_read_with_its_port_and_its_password_is_never_shown() {
        let plain = UpstreamProxy::parse("http://proxy.example:3128").unwrap();
        assert_eq!((plain.host(), plain.port(), plain.authorization()), ("proxy.example", 3128, None));
        let known = UpstreamProxy::parse("http://me:p%40ss@[fd00::1]:80/").unwrap();
        assert_eq!((known.host(), known.port(), known.authorization()), ("fd00::1", 80, Some("Basic bWU6cEBzcw==")));
        assert_eq!(format!("{known:?}"), "http://…@fd00::1:80");
    }

    #[test]
    fn what_is_no_http_proxy_with_a_port_is_a_fault_that_tells_no_password() {
        for text in [
            "proxy.example:3128",
            "https://proxy.example:3128",
            "socks5://proxy.example:1080",
            "http://proxy.example",
            "http://proxy.example:0",
            "http://proxy.example:3128/path",
            "http://proxy.example:3128?x",
            "http://a b:3128",
            "http://me:secret%zz@proxy.example:1",
            "http://me:secret%0a@proxy.example:1",
            "http://m%3ae:secret@proxy.example:1",
            "http://evil.example/@proxy.example:1",
        ] {
            let fault = UpstreamProxy::parse(text).unwrap_err();
            assert!(!fault.contains("secret"), "{text}: {fault}");
        }
    }
}
