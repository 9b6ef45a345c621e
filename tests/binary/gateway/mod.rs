//! Programs that use the network as they always do, through the built binary, against servers of this machine that the manifest opens:
//! plain HTTP, and TLS under an authority made for the test.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot be set up fails loudly")]

mod manifest;
mod servers;

use manifest::Setup;

#[test]
fn urllib_speaks_plain_and_tls_to_what_is_open_and_is_told_why_not_elsewhere() {
    let house = Setup::new("");
    let (plain, tls) = (house.servers.plain, house.servers.tls);
    let answer = house.run(&format!(
        r#"
import json, ssl, urllib.error, urllib.request
def ask(url, **more):
    try:
        with urllib.request.urlopen(url, timeout=15, **more) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as e:
        return "%d %s" % (e.code, e.reason.split(":")[0])
    except urllib.error.URLError as e:
        return str(e.reason)
print(ask("http://localhost:{plain}/"))
print(ask("https://localhost:{tls}/"))
print(ask("http://localhost:{plain}/away"))
print(ask(urllib.request.Request("http://localhost:{plain}/echo", data=b"some data")))
print(ask("http://elsewhere.example/"))
print(ask("https://elsewhere.example/"))
# TLS is the program's own: under another authority it trusts nobody here.
print("CERTIFICATE_VERIFY_FAILED" in ask("https://localhost:{tls}/", context=ssl.create_default_context(cadata=open("/roots/shelf/other.pem").read())))
"#
    ));
    let wanted = "hello over http\nhello over tls\n403 ip_literal\nsome data\n403 domain_not_allowed\n\
         Tunnel connection failed: 403 domain_not_allowed: the host `elsewhere.example` is not listed\nTrue\n"
        .to_string();
    assert_eq!(answer["stdout"], wanted, "{answer}");
    let refused: Vec<_> = answer["network"].as_array().unwrap().iter().filter(|contact| contact["verdict"] != "ok").collect();
    assert_eq!(refused.len(), 3, "{refused:?}");
}

#[test]
fn a_program_trusts_the_machines_authorities_where_nothing_else_is_said() {
    let house = Setup::new("env = {}");
    let answer = house.run(&format!(
        "import ssl, urllib.request\nprint(len(ssl.create_default_context().get_ca_certs()) > 0)\n\
         try:\n    urllib.request.urlopen('https://localhost:{}/')\nexcept OSError as e:\n    print('CERTIFICATE_VERIFY_FAILED' in str(e))\n\
         import os\nfor folder in ('/etc/ssl/private', '/etc/pki/tls/private', '/etc/shadow'):\n    assert not os.path.exists(folder)",
        house.servers.tls
    ));
    if !std::path::Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
        println!("skipped: this machine keeps its authorities elsewhere");
        return;
    }
    assert_eq!(answer["stdout"], "True\nTrue\n", "{answer}");
}

#[test]
fn pip_downloads_a_package_from_an_index_that_is_open_and_from_no_other() {
    let house = Setup::new("processes = 32\nmemory = \"1 GiB\"\nroots = [\"shelf\"]");
    if !house.has_module("pip") {
        println!("skipped: the interpreter has no pip");
        return;
    }
    let tls = house.servers.tls;
    let program = |index: &str| {
        format!(
            "import subprocess, sys, os\n\
             done = subprocess.run([sys.executable, '-m', 'pip', 'download', '--no-deps', '--no-cache-dir', '--retries', '1', '-d', '/tmp/got',\n\
             \x20   '--cert', '/roots/shelf/ca.pem', '--disable-pip-version-check', '--index-url', '{index}', 'tiny'], capture_output=True, text=True)\n\
             print(done.returncode, sorted(os.listdir('/tmp/got')))\n\
             print(done.stderr, file=sys.stderr)"
        )
    };
    let got = house.run(&program(&format!("https://localhost:{tls}/simple")));
    assert_eq!(got["stdout"], "0 ['tiny-1.0-py3-none-any.whl']\n", "{got}");
    let refused = house.run(&program("https://index.example/simple"));
    assert_eq!(refused["stdout"], "1 []\n", "{refused}");
    assert!(refused["stderr"].as_str().unwrap().contains("403 domain_not_allowed"), "a person sees why: {refused}");
}

#[test]
fn requests_keeps_a_session_through_the_gateway() {
    let house = Setup::new("memory = \"1 GiB\"");
    if !house.has_module("pip._vendor.requests") {
        println!("skipped: the interpreter has no pip, which carries requests");
        return;
    }
    let (plain, tls) = (house.servers.plain, house.servers.tls);
    let answer = house.run(&format!(
        "from pip._vendor import requests\n\
         with requests.Session() as session:\n\
         \x20   for url in ('http://localhost:{plain}/', 'https://localhost:{tls}/', 'https://localhost:{tls}/'):\n\
         \x20       print(session.get(url, timeout=15, verify='/roots/shelf/ca.pem' if url.startswith('https') else None).text)\n\
         \x20   print(session.get('http://elsewhere.example/').status_code)\n\
         \x20   try:\n        session.get('https://elsewhere.example/')\n    except requests.exceptions.ProxyError as e:\n        print('domain_not_allowed' in str(e))"
    ));
    assert_eq!(answer["stdout"], "hello over http\nhello over tls\nhello over tls\n403\nTrue\n", "{answer}");
}

#[test]
fn each_connection_of_a_program_is_recorded_before_it_is_made() {
    let house = Setup::new("");
    let plain = house.servers.plain;
    let answer = house.run(&format!(
        "import urllib.request\nurllib.request.urlopen('http://localhost:{plain}/')\n\
         try:\n    urllib.request.urlopen('http://elsewhere.example/')\nexcept OSError:\n    pass"
    ));
    assert_eq!(answer["status"], "ok", "{answer}");
    let records = house.records();
    let of = |event: &str| records.iter().filter(|record| record["ev"] == event).collect::<Vec<_>>();
    let (started, finished) = (of("call.started")[0], of("call.finished")[0]);
    assert_eq!((&started["level"], &finished["status"]), (&3.into(), &"success".into()));
    let contacts = of("network.contact");
    let told: Vec<_> =
        contacts.iter().map(|contact| (&contact["host"], &contact["decision"], &contact["reason"], &contact["rule"])).collect();
    let none = serde_json::Value::Null;
    assert_eq!(
        told,
        [
            (&"localhost".into(), &"allow".into(), &"ok".into(), &none),
            (&"elsewhere.example".into(), &"deny".into(), &"domain_not_allowed".into(), &"network.allowed_domains".into()),
        ]
    );
    assert!(contacts.iter().all(|contact| contact["call"] == started["call"] && contact["principal"] == started["principal"]));
    let closed = of("network.closed");
    assert_eq!((closed.len(), &closed[0]["bytes_received"], &closed[0]["how"]), (1, &15.into(), &"plain".into()));
    let order: Vec<_> =
        [started, contacts[0], closed[0], contacts[1], finished].iter().map(|record| record["seq"].as_u64().unwrap()).collect();
    assert!(order.is_sorted(), "{order:?}");
    house.verify();
    let report = house.toolgate(&["audit", "report", "--network"]);
    assert!(report.starts_with("2 requests") && report.contains("http://elsewhere.example"), "{report}");
}

#[test]
fn what_is_asked_and_told_of_a_program_says_that_it_has_a_network() {
    let house = Setup::new("");
    let out = house.toolgate(&["explain", "run_python", r#"{"code":"print(1)"}"#]);
    assert!(out.contains("it may use the network") && out.contains("level 3"), "{out}");
    let out = house.toolgate(&["check"]);
    assert!(!out.contains("no network"), "{out}");
    let off = Setup::new("network = false");
    let answer = off.run("import socket\ntry:\n    socket.socket()\nexcept PermissionError:\n    print('none')");
    assert_eq!((&answer["stdout"], &answer["network"]), (&"none\n".into(), &serde_json::Value::Null));
}

#[test]
fn everything_goes_through_the_proxy_that_the_manifest_names() {
    let house = Setup::with_proxy();
    let (plain, tls) = (house.servers.plain, house.servers.tls);
    let answer = house.run(&format!(
        "import urllib.request\nprint(urllib.request.urlopen('http://localhost:{plain}/').read().decode())\n\
         print(urllib.request.urlopen('https://localhost:{tls}/').read().decode())\n\
         try:\n    urllib.request.urlopen('http://elsewhere.example/')\nexcept OSError as e:\n    print(e.code)"
    ));
    assert_eq!(answer["stdout"], "hello over http\nhello over tls\n403\n", "{answer}");
    assert_eq!(house.servers.asked_proxy(), [format!("CONNECT 127.0.0.1:{plain}"), format!("CONNECT 127.0.0.1:{tls}")]);
}
