//! Mail: one message over one SMTP connection to the judged address of the manifest's server.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use lettre::Message;
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, TlsParameters};
use lettre::transport::smtp::extension::{ClientId, Extension};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::files::{Stat, read_judged};
use super::web::{Egress, SentSecrets};
use crate::gate::{Opened, Permit, Terms};
use crate::manifest::MailServer;
use crate::model::{Address, Code, Failure, Host, SendEmail};

/// How long the server may take to answer the end of a connection.
const FAREWELL: Duration = Duration::from_secs(1);

/// Sends a mail, and gives the bytes that were sent.
///
/// # Errors
/// `send_failed`, `conflict` (an attachment changed), `file_too_large`, and what the network's rules say of the server's address.
pub async fn send(permit: Permit<SendEmail>, egress: &Egress) -> Result<u64, Failure> {
    let (mail, opened, terms) = permit.spend();
    let rules = &terms.manifest.mail;
    let (Some(server), Some(from)) = (&rules.smtp, &rules.from) else {
        return Err(Failure::new(Code::Internal, "the permit is for no mail server"));
    };
    let attachments = opened.iter().map(|opened| attachment(opened, &terms)).collect::<Result<Vec<_>, _>>()?;
    let message = message(&mail, from, attachments)?;
    let bytes = message.formatted();
    let mut connection = connect(server, from, egress, &terms).await?;
    let sent = connection.send(message.envelope(), &bytes).await.map_err(|fault| failed(server, &fault));
    // The server has the mail, or has refused it: a farewell that it does not answer changes nothing.
    let _ = tokio::time::timeout(FAREWELL, connection.abort()).await;
    sent.map(|_| bytes.len() as u64)
}

/// The name and content of a file, as it was when a person was asked.
fn attachment(opened: &Opened, terms: &Terms) -> Result<(String, Vec<u8>), Failure> {
    let content = read_judged(opened, terms.max_file_size)?;
    let is_same = opened.object.as_ref().is_some_and(|object| Stat::of(object).is_ok_and(|seen| seen.is_as_judged(&opened.fact)));
    if !is_same {
        return Err(Failure::new(Code::Conflict, format!("`{}` changed; nothing was sent", opened.target)).hint("make the call again"));
    }
    Ok((opened.path().segments().last().cloned().unwrap_or_default(), content))
}

/// The message. `attachments`: names and contents.
fn message(mail: &SendEmail, from: &Address, attachments: Vec<(String, Vec<u8>)>) -> Result<Message, Failure> {
    let invalid = |fault: &dyn std::fmt::Display| Failure::new(Code::ArgumentInvalid, format!("no mail can be made of this: {fault}"));
    let mailbox = |address: &str| address.parse().map(|email| Mailbox::new(None, email)).map_err(|fault| invalid(&fault));
    let random = crate::state::token(16).map_err(|fault| invalid(&fault))?;
    let mut builder = Message::builder().from(mailbox(from.as_str())?).subject(&mail.subject);
    builder = builder.message_id(Some(format!("<{random}@{}>", from.domain())));
    for to in &mail.to {
        builder = builder.to(mailbox(to)?);
    }
    for cc in &mail.cc {
        builder = builder.cc(mailbox(cc)?);
    }
    let text = SinglePart::plain(mail.body.clone());
    let made = if attachments.is_empty() {
        builder.singlepart(text)
    } else {
        let bytes = ContentType::parse("application/octet-stream").map_err(|fault| invalid(&fault))?;
        let part = |(name, content): (String, Vec<u8>)| Attachment::new(name).body(content, bytes.clone());
        builder.multipart(attachments.into_iter().map(part).fold(MultiPart::mixed().singlepart(text), MultiPart::singlepart))
    };
    made.map_err(|fault| invalid(&fault))
}

/// A connection on which mail can be sent: with TLS, and logged in where the server has a user.
async fn connect(server: &MailServer, from: &Address, egress: &Egress, terms: &Terms) -> Result<AsyncSmtpConnection, Failure> {
    let network = &terms.manifest.network;
    let broken = |fault: io::Error| Failure::new(Code::SendFailed, format!("no secure connection to the mail server: {fault}"));
    let (stream, peer) = egress.connect(&server.url, network).await.map_err(super::web::Denied::into_failure)?;
    let stream = if server.is_tls() {
        let name = match server.url.host() {
            Host::Address(address) => ServerName::from(address),
            Host::Name(name) => ServerName::try_from(name.to_owned()).map_err(|fault| broken(io::Error::other(fault)))?,
        };
        let tls = egress.tls().map_err(|fault| broken(io::Error::other(fault)))?;
        Either::Right(TlsConnector::from(tls).connect(name, stream).await.map_err(broken)?)
    } else {
        Either::Left(stream)
    };
    let hello = ClientId::Domain(from.domain().to_owned());
    let fail = |fault| failed(server, &fault);
    let mut connection = AsyncSmtpConnection::connect_with_transport(Box::new(Judged { stream, peer }), &hello).await.map_err(fail)?;
    if !server.is_tls() && connection.server_info().supports_feature(Extension::StartTls) {
        let tls = TlsParameters::builder(server.url.host_str().to_owned()).build_rustls().map_err(fail)?;
        connection.starttls(tls, &hello).await.map_err(fail)?;
    } else if !server.is_tls() && !network.internal.contains(&peer) {
        let what = "the mail server offers no TLS, and `network.internal` does not list its address";
        return Err(Failure::new(Code::SendFailed, what).hint("the operator can write `smtps://` for a server with TLS from the start"));
    }
    if let (Some(user), Some((name, secret))) =
        (&server.user, terms.manifest.mail.password.as_ref().and_then(|name| network.secrets.get_key_value(name)))
    {
        let mut secrets = SentSecrets::default();
        let password = secrets.value(name, secret)?.to_owned();
        connection.auth(&[Mechanism::Plain, Mechanism::Login], &Credentials::new(user.clone(), password)).await.map_err(fail)?;
    }
    Ok(connection)
}

/// What a mail server says no with. Its own words are not shown: they come from outside.
fn failed(server: &MailServer, fault: &lettre::transport::smtp::Error) -> Failure {
    tracing::info!(%fault, "a mail was not sent");
    let why = match fault.status() {
        Some(code) => format!("answers {code}"),
        None if fault.is_tls() => "has no certificate that this machine trusts".to_owned(),
        None => "does not answer as a mail server does".to_owned(),
    };
    Failure::new(Code::SendFailed, format!("the mail server `{}` {why}; nothing was sent", server.url.host_str()))
}

/// A connection to an address that was judged.
#[derive(Debug)]
struct Judged {
    stream: Either<TcpStream, TlsStream<TcpStream>>,
    peer: SocketAddr,
}

impl AsyncTokioStream for Judged {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

impl AsyncRead for Judged {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Judged {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
