//! `toolgate doctor --kill-drill`: how fast the emergency stop ends what runs, shown on this machine with a server and a state folder of its own.

#![expect(clippy::disallowed_methods, reason = "the drill starts a server of its own and watches its processes die")]

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::audit::StateDir;
use crate::sandbox::processes::{below, kill_tree, lives};

/// Programs that run when the stop is pulled; beside them a reader of pages waits, and packages are being installed.
const PROGRAMS: usize = 10;
/// How often it is pulled: by the file and by the signal in turn.
const ROUNDS: usize = 6;
/// How long programs may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the drill saw. Times are from the pull to the death of a process, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drill {
    /// Processes that were killed, over all rounds.
    pub processes: usize,
    /// Half of them were dead by then.
    pub median_ms: u64,
    /// 99 of 100 were.
    pub p99_ms: u64,
    /// All were.
    pub last_ms: u64,
    /// 99 of 100 within 100 ms and all within a second.
    pub good: bool,
}

/// Runs the drill.
/// # Errors  When the server or its programs cannot be started; the reason says why.
pub fn run() -> io::Result<Drill> {
    let folder = tempfile::Builder::new().prefix("toolgate-drill-").tempdir()?;
    std::fs::create_dir(folder.path().join("begun"))?;
    let site = Site::open()?;
    std::fs::write(folder.path().join("tools.toml"), MANIFEST.replace("{site}", &site.address))?;
    std::fs::write(folder.path().join("packages.toml"), PACKAGES)?;
    std::fs::write(folder.path().join("installer"), INSTALLER)?;
    std::fs::set_permissions(folder.path().join("installer"), Permissions::from_mode(0o700))?;
    let state = folder.path().join("state");
    let mut server = Server::start(folder.path(), &state)?;
    let switch = StateDir::open(&state).map_err(io::Error::other)?;
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        server.read_a_page(&site)?;
        let mut install = Install::begin(folder.path(), &state)?;
        server.begin(folder.path(), round)?;
        let mut alive = below(server.child.id());
        alive.extend(below(install.0.id()));
        let pulled = Instant::now();
        if round % 2 == 0 {
            switch.kill("drill")?;
        } else {
            let sent = Command::new("kill").args(["-USR2", &server.child.id().to_string()]).status()?;
            if !sent.success() {
                return Err(io::Error::other("the signal was not sent"));
            }
        }
        times.extend(deaths(alive, pulled));
        server.refusals(PROGRAMS)?;
        install.0.wait()?;
        switch.resume()?;
    }
    server.stop();
    Ok(sum_up(times))
}

fn sum_up(mut times: Vec<u64>) -> Drill {
    times.sort_unstable();
    // The least time by which so many of a hundred were dead.
    let by = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(u64::MAX);
    let (median_ms, p99_ms, last_ms) = (by(50), by(99), by(100));
    Drill { processes: times.len(), median_ms, p99_ms, last_ms, good: p99_ms <= 100 && last_ms <= 1000 }
}

impl Drill {
    /// The result for a person.
    pub fn text(&self) -> String {
        let word = if self.good { "good" } else { "TOO SLOW" };
        format!(
            "kill drill: {} processes in {ROUNDS} pulls; half dead after {} ms, 99 % after {} ms, the last after {} ms: {word} (99 % within 100 ms, all within 1 s)",
            self.processes, self.median_ms, self.p99_ms, self.last_ms
        )
    }
}

/// When each process died, in milliseconds after the pull. One that outlives ten seconds counts as that.
fn deaths(mut alive: BTreeSet<u32>, pulled: Instant) -> Vec<u64> {
    let mut times = Vec::new();
    while !alive.is_empty() {
        let now = u64::try_from(pulled.elapsed().as_millis()).unwrap_or(u64::MAX);
        alive.retain(|process| {
            let lives = lives(*process) && now < 10_000;
            if !lives {
                times.push(now);
            }
            lives
        });
        std::thread::sleep(Duration::from_millis(1));
    }
    times
}

struct Server {
    child: Child,
    lines: std::sync::mpsc::Receiver<Value>,
    next: u64,
}

impl Server {
    fn start(folder: &Path, state: &Path) -> io::Result<Self> {
        let mut child = Command::new("/proc/self/exe")
            .arg("serve")
            .arg("--manifest")
            .arg(folder.join("tools.toml"))
            .env("TOOLGATE_STATE_DIR", state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("the server has no output"))?;
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str(&line) else { continue };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut server = Self { child, lines, next: 1 };
        let info = json!({"name": "drill", "version": env!("CARGO_PKG_VERSION")});
        server.send("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}))?;
        server.lines.recv_timeout(PATIENCE).map_err(|_| io::Error::other("the server does not answer"))?;
        server.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn line(&mut self, message: &Value) -> io::Result<()> {
        let input = self.child.stdin.as_mut().ok_or_else(|| io::Error::other("the server has no input"))?;
        input.write_all(format!("{message}\n").as_bytes())
    }

    fn send(&mut self, method: &str, params: &Value) -> io::Result<()> {
        self.next += 1;
        self.line(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))
    }

    /// Has a page read, so that its reader waits for the next one.
    fn read_a_page(&mut self, site: &Site) -> io::Result<()> {
        self.send("tools/call", &json!({"name": "fetch", "arguments": {"url": format!("http://{}/", site.address)}}))?;
        let answer = self.lines.recv_timeout(PATIENCE).map_err(|_| io::Error::other("a page was not answered"))?;
        if answer.pointer("/result/isError") == Some(&Value::Bool(true)) || answer.get("error").is_some() {
            return Err(io::Error::other(format!("a page could not be read: {answer}")));
        }
        Ok(())
    }

    /// Starts programs that would run for an hour, each with a child of its own, and waits until all have begun.
    fn begin(&mut self, folder: &Path, round: usize) -> io::Result<()> {
        for program in 0..PROGRAMS {
            let code = format!(
                "import os, time\nif os.fork() == 0:\n    time.sleep(3600)\nopen('/roots/begun/{round}-{program}', 'w').close()\n\
                 while True:\n    time.sleep(3600)\n"
            );
            self.send("tools/call", &json!({"name": "run_python", "arguments": {"code": code}}))?;
        }
        let started = Instant::now();
        loop {
            let prefix = format!("{round}-");
            let begun = std::fs::read_dir(folder.join("begun"))?
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
                .count();
            if begun == PROGRAMS {
                return Ok(());
            }
            if let Ok(early) = self.lines.try_recv() {
                let why = early.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or("it ended at once");
                return Err(io::Error::other(format!("no program runs here: {why}")));
            }
            if started.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("only {begun} of {PROGRAMS} programs began")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Takes the answers of the killed calls.
    fn refusals(&mut self, count: usize) -> io::Result<()> {
        for _ in 0..count {
            let answer = self.lines.recv_timeout(PATIENCE).map_err(|_| io::Error::other("a killed call was not answered"))?;
            if answer.pointer("/result/isError") != Some(&Value::Bool(true)) {
                return Err(io::Error::other("a killed call was answered as if it had been done"));
            }
        }
        Ok(())
    }

    fn stop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A page of this machine, for the reader to have read.
#[derive(Debug)]
struct Site {
    address: String,
}

impl Site {
    /// Answers every connection with one page, for as long as this process lives.
    fn open() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Whether it was heard is seen in the answer of the call.
                let _ = answer(stream);
            }
        });
        Ok(Self { address })
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncache-control: no-store\r\ncontent-length: 9\r\nconnection: close\r\n\r\n<p>drill\n",
    )
}

/// `toolgate packages sync` with an installer that never ends.
#[derive(Debug)]
struct Install(Child);

impl Install {
    fn begin(folder: &Path, state: &Path) -> io::Result<Self> {
        let begun = folder.join("installing");
        let _ = std::fs::remove_file(&begun);
        let mut install = Command::new("/proc/self/exe");
        install.args(["packages", "sync", "--manifest"]).arg(folder.join("packages.toml")).env("TOOLGATE_STATE_DIR", state);
        let install = Self(install.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        let started = Instant::now();
        while !begun.exists() {
            if started.elapsed() > PATIENCE {
                return Err(io::Error::other("the installation did not begin"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(install)
    }
}

impl Drop for Install {
    fn drop(&mut self) {
        kill_tree(self.0.id());
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const MANIFEST: &str = r#"version = 1
[clients]
stdio = "drill"
[roots.begun]
path = "begun"
mode = "rw"
allowed_paths = ["**"]
[files]
runs_later = []
[python]
check = "off"
roots = ["begun"]
require = []
timeout = "1h"
processes = 8
[network]
internal = ["{site}"]
allowed_schemes = ["http"]
robots = "ignore"
[profiles.drill]
permissions = ["FULL"]
allowed_tools = ["run_python", "fetch"]
rate_limit_per_minute = 1000
[approvals]
level_2 = "none"
[limits]
concurrent_calls = 32
timeout = "1h"
breaker = { denials = 100000 }
"#;

const PACKAGES: &str = r#"version = 1
[python]
interpreter = "./installer"
packages = ["drill"]
"#;

/// Answers like an interpreter that has pip and venv, then works for an hour with a child of its own.
const INSTALLER: &str = r#"#!/bin/sh
case "$*" in
*sysconfig*) echo '{"python": "drill", "pip": true, "venv": true}' ;;
*) sleep 3600 & echo > installing; wait ;;
esac
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drill_is_good_when_nearly_all_are_dead_in_a_tenth_of_a_second_and_all_in_one() {
        let times = |slow: u64, last: u64| (0..98).map(|_| 10).chain([slow, last]).collect();
        assert_eq!(sum_up(times(90, 900)), Drill { processes: 100, median_ms: 10, p99_ms: 90, last_ms: 900, good: true });
        assert!(!sum_up(times(101, 900)).good && !sum_up(times(90, 1001)).good && !sum_up(Vec::new()).good);
    }
}
