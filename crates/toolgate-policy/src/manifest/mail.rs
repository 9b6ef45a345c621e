//! `[mail]`: the server and the recipients of `send_email`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use smart_default::SmartDefault;

use super::fault::Ledger;
use super::form::entries;
use super::{NetworkRules, ToolRules};
use crate::model::{Address, HttpUrl, Scheme};

/// How `send_email` sends. Without `smtp`, there is no such tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Mail {
    /// The server: `smtps://USER@HOST:465` with TLS from the start, `smtp://USER@HOST:587` with STARTTLS. Without TLS only to an address that
    /// `[network] internal` opens.
    pub smtp: Option<MailServer>,
    /// The password, as `${secret:NAME}` of `[network.secrets]`. `hosts` of the secret must list the server.
    #[schemars(extend("format" = "secret"))]
    pub password: Option<String>,
    /// The address that mail comes from, e.g. `agent@example.com`.
    pub from: Option<Address>,
    /// The recipients that are allowed: `ada@example.com`, or `*@example.com` for every address of a domain.
    #[schemars(extend("items" = entries("recipient")))]
    pub allowed_recipients: Vec<String>,
    /// Most recipients of one mail.
    #[schemars(range(min = 1, max = 100))]
    #[default(10)]
    pub max_recipients: u64,
    /// Most mails of one caller in any hour.
    #[default(20)]
    pub per_hour: u64,
}

/// A mail server: a user, and a host with a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailServer {
    /// The user that logs in, where one does.
    pub user: Option<String>,
    /// The host and port, as `https` where TLS begins at once, else as `http`.
    pub url: HttpUrl,
}

impl MailServer {
    /// Reads `smtps://USER@HOST:PORT` or `smtp://USER@HOST:PORT`; the port is 465 or 587 where it is left out.
    ///
    /// # Errors
    /// A sentence for the manifest's list of faults.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = "write `smtps://USER@HOST:465`, or `smtp://USER@HOST:587` for STARTTLS";
        let (scheme, port, rest) = match (text.strip_prefix("smtps://"), text.strip_prefix("smtp://")) {
            (Some(rest), _) => ("https", 465, rest),
            (_, Some(rest)) => ("http", 587, rest),
            _ => return Err(format!("this is no address of a mail server; {form}")),
        };
        let (user, host) = rest.rsplit_once('@').map_or((None, rest), |(user, host)| (Some(user.to_owned()), host));
        if user.as_ref().is_some_and(|user| user.is_empty() || user.contains([':', '/'])) || host.contains(['/', '?', '#']) {
            return Err(format!("a mail server has a user and a host, and no password and no path; {form}"));
        }
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let whole = if has_port { format!("{scheme}://{host}/") } else { format!("{scheme}://{host}:{port}/") };
        let url = HttpUrl::parse(&whole).map_err(|_| format!("its host cannot be read; {form}"))?;
        Ok(Self { user, url })
    }

    /// Whether TLS begins with the connection.
    pub fn is_tls(&self) -> bool {
        self.url.scheme() == Scheme::Https
    }
}

impl Mail {
    /// Whether mail may be sent to an address.
    pub fn allows(&self, recipient: &Address) -> bool {
        let of = |pattern: &str| match pattern.strip_prefix("*@") {
            Some(domain) => domain.eq_ignore_ascii_case(recipient.domain()),
            None => Address::parse(pattern).as_ref() == Some(recipient),
        };
        self.allowed_recipients.iter().any(|pattern| of(pattern))
    }
}

/// An entry of `allowed_recipients`.
pub(super) fn recipient(text: &str) -> Result<(), String> {
    let is_one = |text: &str| Address::parse(text).is_some();
    let form = "write `ada@example.com`, or `*@example.com` for a domain";
    let is_fine = text.strip_prefix("*@").map_or_else(|| is_one(text), |domain| is_one(&format!("a@{domain}")));
    if is_fine { Ok(()) } else { Err(format!("`{}` is no recipient; {form}", text.escape_debug())) }
}

/// An address alone.
pub(super) fn address(text: &str) -> Result<Address, String> {
    Address::parse(text).ok_or_else(|| format!("`{}` is no mail address; write it alone, e.g. `agent@example.com`", text.escape_debug()))
}

impl Ledger<'_> {
    /// A secret as a password for a server.
    pub(super) fn password(&mut self, at: &str, name: Option<&str>, network: &NetworkRules, server: &HttpUrl) {
        match name.map(|name| (name, network.secrets.get(name))) {
            Some((name, None)) => self.unknown(at, "secret", name, network.secrets.keys().map(String::as_str)),
            Some((_, Some(secret))) if !secret.hosts.iter().any(|host| host.matches(server.host())) => {
                self.fault(at, "the `hosts` of this secret do not list the server");
            }
            _ => {}
        }
    }

    /// What counts for the tool by the hour stands among its rules.
    pub(super) fn mail(&mut self, mail: &Mail, network: &NetworkRules, tools: &mut BTreeMap<String, ToolRules>) {
        let Some(server) = &mail.smtp else {
            if self.holds("mail") && !self.holds("mail.smtp") {
                self.fault("mail", "write the server: `smtp = \"smtps://USER@HOST:465\"`");
            }
            return;
        };
        if mail.from.is_none() && !self.holds("mail.from") {
            self.fault("mail", "write the address that mail comes from: `from = \"agent@example.com\"`");
        }
        self.password("mail.password", mail.password.as_deref(), network, &server.url);
        if mail.password.is_some() && server.user.is_none() {
            self.fault("mail.smtp", "a password needs a user: `smtps://USER@HOST:465`");
        }
        let rates = &mut tools.entry("send_email".to_owned()).or_default().bounds.rates;
        rates.per_hour = Some(rates.per_hour.map_or(mail.per_hour, |own| own.min(mail.per_hour)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_server_has_a_user_a_host_and_a_port() {
        let read = |text: &str| MailServer::parse(text).map(|server| (server.user.clone(), server.url.to_string(), server.is_tls()));
        assert_eq!(read("smtps://agent@mail.example"), Ok((Some("agent".to_owned()), "https://mail.example:465/".to_owned(), true)));
        assert_eq!(read("smtp://10.0.0.1:2525"), Ok((None, "http://10.0.0.1:2525/".to_owned(), false)));
        for text in ["mail.example", "https://mail.example", "smtps://a:b@mail.example", "smtps://", "smtps://mail.example/x", "smtp://@h"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn recipients_are_single_addresses_or_domains() {
        let mail = Mail { allowed_recipients: vec!["*@example.com".to_owned(), "ada@other.example".to_owned()], ..Mail::default() };
        let allows = |text: &str| Address::parse(text).is_some_and(|address| mail.allows(&address));
        for text in ["bob@example.com", "Bob@EXAMPLE.com", "ada@other.example"] {
            assert!(allows(text), "{text}");
        }
        for text in ["bob@sub.example.com", "bob@example.com.evil.example", "bob@other.example", "bob@evil.example@example.com"] {
            assert!(!allows(text), "{text}");
        }
        for text in ["*", "*@*", "*@", "ada", "a@b@c", "ada@ex ample.com"] {
            assert!(recipient(text).is_err(), "{text}");
        }
    }
}
