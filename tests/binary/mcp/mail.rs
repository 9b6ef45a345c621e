//! `send_email` against a real mail server: what a person is asked, what arrives, and what is refused before anything is sent.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy, repository};
use crate::mcp::scopes::{ERAS, Said, call, make};
use crate::mcp::server::{Server, code, went_well};

struct MailServer {
    process: Child,
    lines: BufReader<ChildStdout>,
    port: u16,
}

impl MailServer {
    /// None where the environment of the tests is not set up.
    fn start(arguments: &[&str]) -> Option<Self> {
        let folder = repository().join("tests");
        let python = folder.join("clients/.venv-mcp2/bin/python");
        if !python.exists() {
            eprintln!("not run: {} is not there; ./check sets it up", python.display());
            return None;
        }
        let mut command = Command::new(python);
        command.args(["-W", "ignore"]).arg(folder.join("binary/mcp/mail_server.py")).args(arguments);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut server = Self { lines: BufReader::new(process.stdout.take().unwrap()), process, port: 0 };
        server.port = server.line().trim().parse().unwrap();
        Some(server)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn mail(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A manifest that opens the mail server at this loopback port. `server`: what stands before the port.
fn home(server: &str, port: u16, more: &str) -> Home {
    let home = Home::new(Policy::default());
    let text = home
        .read("tools.toml")
        .replace("[\"STANDARD\", \"EXECUTE_CODE\"]", "[\"STANDARD\", \"SEND_EMAIL\"]")
        .replace("[network]\n", &format!("[network]\ninternal = [\"127.0.0.1:{port}\", \"[::1]:{port}\"]\n"));
    let mail = format!(
        "[mail]\nsmtp = \"{server}:{port}\"\nfrom = \"agent@example.com\"\nallowed_recipients = [\"*@example.com\"]\nmax_recipients = 2\nper_hour = 3\n{more}"
    );
    std::fs::write(home.manifest(), text + &mail).unwrap();
    std::fs::write(home.path("secret.txt"), "swordfish\n").unwrap();
    home
}

const PASSWORD: &str = "password = \"${secret:mail}\"\n[network.secrets.mail]\nfile = \"secret.txt\"\nhosts = [\"localhost\"]\n";

fn mail(to: &[&str], subject: &str, attachments: &[&str]) -> Value {
    call(
        "send_email",
        &json!({"to": to, "subject": subject, "body": "Dear Ada,\n.\n\ntoken = 'AKIAQ7ZT3N5WXK2VPLMR'\n", "attachments": attachments}),
    )
}

fn send(home: &Home, params: &Value, decision: &str) -> Said {
    let certificate = home.path("cert.pem");
    let mut server = Server::start_with(home, &[], &[("SSL_CERT_FILE", certificate.to_str().unwrap())]);
    make(&mut server, ERAS[0], params, decision)
}

#[test]
fn a_mail_is_shown_to_a_person_and_sent_once() {
    let Some(mut server) = MailServer::start(&["plain"]) else { return };
    let home = home("smtp://127.0.0.1", server.port, "");
    let params = mail(&["ada@example.com", "bob@example.com"], "Apples: ü", &["project/src/apples.csv"]);
    let refused = send(&home, &params, "deny");
    for line in [
        "Send a mail to ada@example.com, bob@example.com\nThis cannot be undone.",
        "Subject: Apples: ü",
        "  | Dear Ada,",
        "Attached: project/src/apples.csv (24 B)",
        "\ncode: ",
    ] {
        assert!(refused.message().contains(line), "{line} is not in {}", refused.message());
    }
    assert!(!refused.message().contains("AKIA"), "{}", refused.message());
    assert_eq!(code(&refused.answer), "approval_refused");
    let sent = send(&home, &params, "once");
    assert!(went_well(&sent.answer), "{}", sent.answer);
    let arrived = server.mail();
    assert_eq!((&arrived["from"], &arrived["to"]), (&json!("agent@example.com"), &json!(["ada@example.com", "bob@example.com"])));
    let data = arrived["data"].as_str().unwrap();
    // A line of one dot is a line of the text, and the attachment is the bytes of the file.
    for part in ["Dear Ada,\r\n.\r\n", "AKIAQ7ZT3N5WXK2VPLMR", "filename=\"apples.csv\"", "basket,apples"] {
        assert!(data.contains(part), "{part} is not in {data}");
    }
    let started = &home.told("call.started", "send_email")[0];
    assert_eq!((started["level"].as_u64(), started["effect"].as_str()), (Some(3), Some("send")));
    assert!(started["args"]["body"]["sha256"].is_string(), "{started}");
}

#[test]
fn what_would_go_elsewhere_is_refused_before_a_person_is_asked() {
    let Some(server) = MailServer::start(&["plain"]) else { return };
    let home = home("smtp://127.0.0.1", server.port, "");
    for (params, refusal) in [
        (mail(&["ada@other.example"], "a", &[]), "recipient_not_allowed"),
        (mail(&["ada@example.com.evil.example"], "a", &[]), "recipient_not_allowed"),
        (mail(&["\"ada@example.com\" <eve@evil.example>"], "a", &[]), "argument_invalid"),
        (mail(&["ada@example.com, eve@evil.example"], "a", &[]), "argument_invalid"),
        (mail(&["ada@example.com\r\nBcc: eve@evil.example"], "a", &[]), "argument_invalid"),
        (mail(&["ada@example.com"], "a\r\nBcc: eve@evil.example", &[]), "argument_invalid"),
        (mail(&["a@example.com", "b@example.com", "c@example.com"], "a", &[]), "argument_invalid"),
        (mail(&["ada@example.com"], "a", &["project/secrets/key.txt"]), "path_denied"),
    ] {
        let said = send(&home, &params, "once");
        assert!(said.question.is_none() && code(&said.answer) == refusal, "{params}: {}", said.answer);
    }
}

#[test]
fn mail_goes_over_tls_with_a_password_that_nobody_sees() {
    for kind in ["starttls", "tls"] {
        let authority = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
        std::fs::write(&certificate, authority.cert.pem()).unwrap();
        std::fs::write(&key, authority.signing_key.serialize_pem()).unwrap();
        let Some(mut server) = MailServer::start(&[kind, &certificate, &key]) else { return };
        let scheme = if kind == "tls" { "smtps" } else { "smtp" };
        let home = home(&format!("{scheme}://agent@localhost"), server.port, PASSWORD);
        let params = mail(&["ada@example.com"], "a", &[]);
        // The machine trusts no such certificate.
        let distrusted = send(&home, &params, "once");
        assert_eq!(code(&distrusted.answer), "send_failed", "{}", distrusted.answer);
        std::fs::copy(&certificate, home.path("cert.pem")).unwrap();
        let sent = send(&home, &params, "once");
        assert!(went_well(&sent.answer), "{kind}: {}", sent.answer);
        assert_eq!(server.mail()["tls"], true);
        std::fs::write(home.path("secret.txt"), "wrong\n").unwrap();
        let refused = send(&home, &params, "once");
        assert!(code(&refused.answer) == "send_failed" && refused.answer.to_string().contains("answers 535"), "{}", refused.answer);
        assert!(!home.records().iter().any(|record| record.to_string().contains("swordfish")));
    }
}

#[test]
fn a_plain_server_is_used_at_an_opened_address_alone() {
    let Some(server) = MailServer::start(&["plain"]) else { return };
    let home = home("smtp://127.0.0.1", server.port, "");
    let text = home.read("tools.toml").lines().filter(|line| !line.starts_with("internal")).collect::<Vec<_>>().join("\n");
    std::fs::write(home.manifest(), text).unwrap();
    let refused = send(&home, &mail(&["ada@example.com"], "a", &[]), "once");
    assert_eq!(code(&refused.answer), "ip_literal", "{}", refused.answer);
}
