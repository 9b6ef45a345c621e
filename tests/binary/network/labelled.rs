//! Every labelled request, made by the built server over a network: by real names, connections, redirects and TLS.
#![expect(clippy::large_stack_arrays, clippy::format_collect, reason = "a hostile server of a test, and its short manifest")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate::model::HttpUrl;
use toolgate::policy::address::is_public;

use crate::network::client::{Server, hurried, outcome};
use crate::network::internet::{Internet, Request, Stream, answer};

fn cases(file: &str) -> Vec<Value> {
    let given = std::env::var_os("TOOLGATE_CASES").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/cases"));
    let Some(text) = given.into_iter().chain(above).find_map(|folder| std::fs::read_to_string(folder.join(file)).ok()) else {
        println!("skipped: no {file}; set TOOLGATE_CASES to the folder of the labelled cases");
        return Vec::new();
    };
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// `[network]` as a row writes it, over what rows leave out.
fn network(row: &Value) -> String {
    let mut keys: BTreeMap<&str, Value> = [
        ("any_public", json!(true)),
        ("allowed_ports", json!([80, 443, 8080, 8443])),
        ("allowed_schemes", json!(["http", "https"])),
        ("max_redirects", json!(10)),
        ("robots", json!(if row["why"].as_str().unwrap_or_default().contains("robots") { "respect" } else { "ignore" })),
    ]
    .into();
    for (key, value) in row["policy"].as_object().into_iter().flatten() {
        if key == "allowed_domains" {
            keys.insert("any_public", json!(false));
        }
        keys.insert(key, value.clone());
    }
    // JSON of numbers, texts and lists of them is TOML.
    keys.iter().map(|(key, value)| format!("{key} = {value}\n")).collect()
}

/// The names of a row, as resolvers are asked for them; a row that names none lives in a world where every name is public.
fn names(row: &Value) -> Value {
    let Some(names) = row["dns"].as_object() else { return json!({"*": [["93.184.216.34"]]}) };
    let asked = names.iter().map(|(name, answers)| {
        let url = HttpUrl::parse(&format!("http://{name}/"));
        (url.map_or_else(|_| name.clone(), |url| url.host_str().to_owned()), answers.clone())
    });
    Value::Object(asked.collect())
}

/// The servers of a row.
fn serve(row: &Value, request: &Request<'_>, stream: &mut dyn Stream) {
    let url = HttpUrl::parse(&format!("{}://{}{}", request.scheme, request.host, request.target)).ok();
    let steps = row["redirects"].as_array().into_iter().flatten();
    let step = steps.into_iter().find(|step| step["from"].as_str().and_then(|from| HttpUrl::parse(from).ok()) == url);
    if let Some(step) = step {
        let (status, location) = (step["status"].as_u64().unwrap_or(302), step["location"].as_str().unwrap());
        return answer(stream, &format!("{status} Moved"), &format!("location: {location}\r\n"), b"");
    }
    if request.target == "/robots.txt" {
        return answer(stream, "404 Not Found", "", b"");
    }
    let fixed = "cache-control: no-store\r\ncontent-type: text/html\r\n";
    match row["server"].as_str() {
        Some("gzip-layers") => answer(stream, "200 OK", "content-encoding: gzip, gzip, gzip, gzip\r\n", b"\x1f\x8b"),
        Some("big-headers") => answer(stream, "200 OK", &"x-filler: y\r\n".repeat(80_000), b"ok"),
        Some("many-1xx") => while stream.write_all(b"HTTP/1.1 103 Early Hints\r\n\r\n").is_ok() {},
        Some("big-content-length") => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n");
            while stream.write_all(&[b'x'; 65_536]).is_ok() {}
        }
        Some(other) if !other.is_empty() => {
            // An unknown kind of hostility: at the least an answer that never ends.
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while stream.write_all(&[b'x'; 65_536]).is_ok() {}
        }
        _ => answer(stream, "200 OK", fixed, row["body"].as_str().unwrap_or("<p>ok").as_bytes()),
    }
}

fn ports(rows: &[Value]) -> Vec<u16> {
    let urls = rows.iter().flat_map(|row| {
        let steps = row["redirects"].as_array().into_iter().flatten();
        steps.map(|step| &step["location"]).chain([&row["url"]]).filter_map(Value::as_str)
    });
    let named = urls.filter_map(|url| HttpUrl::parse(url).ok()).map(|url| url.port());
    // Privileged services beside the web's: what a row may try to reach.
    named.chain([22, 25, 80, 443, 3128, 6379, 8080, 8443]).filter(|port| *port != 0 && *port != 53).collect()
}

#[test]
fn every_labelled_request_is_made_as_labelled_over_a_network() {
    let rows: Vec<Value> = [cases("fetch/refuse.jsonl"), cases("fetch/allow.jsonl")].concat();
    let Some(internet) = Internet::new(&ports(&rows)) else { return };
    let mut servers: BTreeMap<String, Server> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in &rows {
        let environment: Vec<(String, String)> =
            row["env"].as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
        let manifest = hurried(&network(row));
        let server =
            servers.entry(format!("{manifest}{environment:?}")).or_insert_with(|| Server::start(&internet, &manifest, &environment));
        let scene = row.clone();
        internet.stage(names(row), move |request, stream| serve(&scene, request, stream));
        let mut arguments = json!({"url": row["url"], "format": "html"});
        for (key, argument) in [("method", "method"), ("request_headers", "headers")] {
            if !row[key].is_null() {
                arguments[argument] = row[key].clone();
            }
        }
        for _ in 1..row["request_index"].as_u64().unwrap_or(1) {
            server.fetch(&arguments);
        }
        let _ = internet.asked();
        let began = Instant::now();
        let found = outcome(&server.fetch(&arguments));
        let took = began.elapsed();
        let connected: Vec<_> = internet.asked().into_iter().map(|asked| asked.address).collect();
        let listed = |key: &str| row[key].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
        let fits = match row["expect"].as_str().unwrap() {
            // The labels are older than the rule that a space is malformed, in the path as well, whatever a lenient parser makes of it.
            "allow" if row["url"].as_str().unwrap().contains(' ') => found.as_ref().is_err_and(|code| code == "url_malformed"),
            "refuse" => found.is_err() && connected.iter().all(|address| is_public(*address)),
            "pinned" => found.is_ok() && connected.iter().all(|address| listed("connect_to").contains(&address.to_string().as_str())),
            "bounded" => took < Duration::from_secs(40),
            _ => found.is_ok() || row["soft"] == true,
        };
        if took > Duration::from_millis(500) {
            println!("{}: {} took {took:?}", row["id"], row["url"]);
        }
        if !fits {
            wrong.push(format!("{}: {} gave {found:?} in {took:?}, connected to {connected:?}", row["id"], row["url"]));
        }
    }
    println!("{} of {} rows agree, by {} servers", rows.len() - wrong.len(), rows.len(), servers.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
