//! Mail addresses, alone: no name beside them, no comments, no quotes.

/// A mail address of the plain form of RFC 5322: a dot-atom, `@`, and a domain name. At most 254 bytes.
#[derive(Debug, Clone)]
pub struct Address(String);

impl Address {
    /// Reads an address; none for anything that is more than one.
    pub fn parse(text: &str) -> Option<Self> {
        let (local, domain) = text.split_once('@')?;
        let is_atext = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
        let is_label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let is_local = local.len() <= 64 && local.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atext));
        (is_local && text.len() <= 254 && domain.split('.').all(is_label)).then(|| Self(text.to_owned()))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands behind the `@`.
    pub fn domain(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, domain)| domain)
    }
}

impl PartialEq for Address {
    /// The same mailbox, as far as the address tells: hosts in use take the first part in any case of letters as well.
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Address {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_address_and_nothing_beside_it() {
        for text in ["a@b.example", "first.last+tag@sub.example.com", "a@localhost", "o'neil@example.com"] {
            assert_eq!(Address::parse(text).map(|address| address.as_str().to_owned()).as_deref(), Some(text));
        }
        for text in [
            "",
            "a",
            "@b",
            "a@",
            "a@b, c@d",
            "a@b;c@d",
            "Ada <a@b.example>",
            "<a@b.example>",
            "\"x@evil.example\" <a@b.example>",
            "a@b.example\r\nBcc: c@d.example",
            "a@b.example ",
            "a b@c.example",
            "\"a b\"@c.example",
            "a..b@c.example",
            "a@[10.0.0.1]",
            "a@b..c",
            "a@-b.example",
            "ä@b.example",
            "a@b.example\0",
        ] {
            assert!(Address::parse(text).is_none(), "{text:?}");
        }
    }
}
