//! `fetch` of a page of 10 KB from this machine: time and processor time of a call, beside `mcp-server-fetch`.
//!
//! `cargo bench --bench fetch`. The peer is `mcp-server-fetch` on the search path, or the program that `TOOLGATE_BENCH_FETCH` names; with `node` on the
//! search path it extracts as it is meant to. What is missing is named and left out; `TOOLGATE_BENCH_CALLS` sets the calls
//! (default 300, of the peer a twentieth). The ratios are what the run is for.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    reason = "a benchmark that cannot measure has nothing to say; its numbers are rounded for people"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

fn main() {
    // `cargo test --benches` only asks whether it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let calls: usize = std::env::var("TOOLGATE_BENCH_CALLS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let port = serve();
    let url = format!("http://127.0.0.1:{port}/page");
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let manifest = scratch.path().join("tools.toml");
    let text = format!(
        "version = 1\n[clients]\nstdio = \"p\"\n[profiles.p]\npermissions = [\"NETWORK_ACCESS\"]\nallowed_tools = [\"fetch\"]\n[network]\n\
         internal = [\"127.0.0.1:{port}\"]\nallowed_schemes = [\"http\"]\n[limits]\nrate_limit_per_minute = 1000000\n"
    );
    std::fs::write(&manifest, text).expect("a manifest");
    let ours = || {
        let mut ours = Command::new(env!("CARGO_BIN_EXE_toolgate"));
        ours.args(["serve", "--manifest"]).arg(&manifest).env("TOOLGATE_STATE_DIR", scratch.path().join("state"));
        ours
    };
    for (name, pause) in [("at once", Duration::ZERO), ("after 1 s", Duration::from_secs(1))] {
        let mut times: Vec<f64> = (0..9).map(|_| Peer::start(ours()).expect("toolgate starts").first(&url, pause)).collect();
        times.sort_by(f64::total_cmp);
        println!("toolgate          {:>9.3} ms the first call of a server whose list was read, {name}", times[times.len() / 2]);
    }
    let (wall, cpu) = Peer::start(ours()).expect("toolgate starts").measure(&url, calls);
    println!("toolgate          {wall:>9.3} ms a call  {cpu:>9.3} ms of CPU (server and reader)");
    let named = std::env::var("TOOLGATE_BENCH_FETCH").unwrap_or_else(|_| "mcp-server-fetch".to_owned());
    let mut theirs = Command::new(&named);
    // It has a guard of its own by now, and the page is on this machine.
    theirs.arg("--allow-private-ips");
    match Peer::start(theirs) {
        None => println!("mcp-server-fetch  is not installed (pip install mcp-server-fetch), so there is nothing to compare with"),
        Some(mut peer) => {
            let (theirs, their_cpu) = peer.measure(&url, (calls / 20).max(3));
            println!("mcp-server-fetch  {theirs:>9.3} ms a call  {their_cpu:>9.3} ms of CPU");
            println!("ratio             {:>9.1}              {:>9.1}", theirs / wall, their_cpu / cpu);
        }
    }
}

/// A web server of one page, on a thread.
fn serve() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let paragraph = "<p>The river rose for three days before it reached the old <a href=/b>bridge</a>, and nobody slept.</p>";
    let page = format!(
        "<html><head><title>Flood</title></head><body><nav><a href=/>Home</a></nav><main><h1>Flood</h1>{}</main></body></html>",
        paragraph.repeat(98)
    );
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4096];
            let read = stream.read(&mut head).unwrap_or(0);
            let (status, body) =
                if head[..read].starts_with(b"GET /page ") { ("200 OK", page.as_str()) } else { ("404 Not Found", "none") };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}

/// One server over stdio.
struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Peer {
    fn start(mut command: Command) -> Option<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut peer = Self { child, input, output, next: 1 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        peer.request("initialize", &hello);
        writeln!(peer.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).ok()?;
        Some(peer)
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        writeln!(self.input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).expect("a request");
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("an answer") > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The wall time of the first call so long after the list of tools was read, in milliseconds.
    fn first(&mut self, url: &str, pause: Duration) -> f64 {
        self.request("tools/list", &json!({}));
        std::thread::sleep(pause);
        let begun = Instant::now();
        let answer = self.request("tools/call", &json!({"name": "fetch", "arguments": {"url": url}}));
        assert!(answer["result"]["content"].to_string().contains("nobody slept"), "{answer}");
        begun.elapsed().as_secs_f64() * 1e3
    }

    /// The median wall time of a call and its share of processor time, in milliseconds, after a few to warm up.
    fn measure(&mut self, url: &str, calls: usize) -> (f64, f64) {
        let call = json!({"name": "fetch", "arguments": {"url": url}});
        for _ in 0..3 {
            let answer = self.request("tools/call", &call);
            let text = answer["result"]["content"].to_string();
            assert!(text.contains("old [bridge]") && text.contains("nobody slept"), "{answer}");
        }
        let before = processor(self.child.id());
        let mut walls: Vec<f64> = (0..calls)
            .map(|_| {
                let began = Instant::now();
                self.request("tools/call", &call);
                began.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        let spent = processor(self.child.id()) - before;
        walls.sort_by(f64::total_cmp);
        (walls[calls / 2], spent / calls as f64)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Milliseconds of processor time of a process, of its dead children, and of the living below it.
fn processor(pid: u32) -> f64 {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0.0 };
    // proc(5): utime, stime, cutime and cstime are fields 14 to 17, in ticks of 10 ms; the name before may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let own: f64 = fields[11..15].iter().filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() * 10.0;
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let below: f64 = children
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|child| child.parse().ok())
        .map(processor)
        .sum();
    own + below
}
