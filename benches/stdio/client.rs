//! A raw JSON-RPC client over pipes: a line out, a line in, nothing parsed inside the clock.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::peers::Peer;

/// A running peer after its handshake.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    next: u64,
    /// From the start of the process to the answer of `initialize`.
    pub(crate) started: Duration,
}

impl Server {
    /// Starts the peer and shakes hands.
    pub(crate) fn start(peer: &Peer) -> std::io::Result<Self> {
        let begun = Instant::now();
        let (program, arguments) = peer.command.split_first().expect("a program");
        let mut child = Command::new(program)
            .args(arguments)
            .envs(peer.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take();
        let output = BufReader::with_capacity(1 << 20, child.stdout.take().expect("a pipe"));
        let mut server = Self { child, input, output, line: Vec::new(), next: 1, started: Duration::ZERO };
        server.request("initialize", r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}"#);
        server.started = begun.elapsed();
        server.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        Ok(server)
    }

    fn send(&mut self, line: &str) {
        self.input.as_mut().expect("an open pipe").write_all(line.as_bytes()).expect("the peer reads");
    }

    fn receive(&mut self) {
        loop {
            self.line.clear();
            let length = self.output.read_until(b'\n', &mut self.line).expect("the peer answers");
            assert!(length > 0, "the peer ended");
            // Notifications (logging, progress) are no answers.
            let head = &self.line[..self.line.len().min(200)];
            let tail = &self.line[self.line.len().saturating_sub(200)..];
            if [head, tail].iter().any(|part| part.windows(5).any(|w| w == b"\"id\":")) {
                return;
            }
        }
    }

    fn message(&mut self, method: &str, params: &str) -> String {
        let id = self.next;
        self.next += 1;
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
    }

    /// One request and its whole answer.
    pub(crate) fn request(&mut self, method: &str, params: &str) -> String {
        let line = self.message(method, params);
        self.send(&line);
        self.receive();
        String::from_utf8_lossy(&self.line).into_owned()
    }

    /// From before the request is written to the last byte of its answer.
    pub(crate) fn timed(&mut self, params: &str) -> Duration {
        let line = self.message("tools/call", params);
        let begun = Instant::now();
        self.send(&line);
        self.receive();
        let time = begun.elapsed();
        let text = String::from_utf8_lossy(&self.line[..self.line.len().min(400)]);
        assert!(!text.contains("\"error\""), "{text}");
        time
    }

    /// Calls per second with so many requests under way.
    pub(crate) fn throughput(&mut self, params: &str, flight: usize, calls: usize) -> f64 {
        let begun = Instant::now();
        let mut sent = 0;
        for _ in 0..flight.min(calls) {
            let line = self.message("tools/call", params);
            self.send(&line);
            sent += 1;
        }
        for _ in 0..calls {
            self.receive();
            if sent < calls {
                let line = self.message("tools/call", params);
                self.send(&line);
                sent += 1;
            }
        }
        calls as f64 / begun.elapsed().as_secs_f64()
    }

    /// Resident memory of the peer's own process, now.
    pub(crate) fn own_mb(&self) -> f64 {
        status_kb(self.child.id(), "VmRSS:") / 1024.0
    }

    /// Resident memory of the peer and its children, now.
    pub(crate) fn resident_mb(&self) -> f64 {
        tree(self.child.id()).iter().map(|pid| status_kb(*pid, "VmRSS:")).sum::<f64>() / 1024.0
    }

    /// The most it ever was, summed over the processes that still run.
    pub(crate) fn peak_mb(&self) -> f64 {
        tree(self.child.id()).iter().map(|pid| status_kb(*pid, "VmHWM:")).sum::<f64>() / 1024.0
    }

    /// Ends the input; how long the peer took to go, or nothing when it did not within `most`.
    pub(crate) fn stop(mut self, most: Duration) -> Option<Duration> {
        let begun = Instant::now();
        self.input = None;
        while begun.elapsed() < most {
            if self.child.try_wait().expect("a child").is_some() {
                return Some(begun.elapsed());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        None
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn status_kb(pid: u32, field: &str) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0.0)
}

fn tree(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        at += 1;
    }
    all
}
