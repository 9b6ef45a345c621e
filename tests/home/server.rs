//! A server over HTTP, on a port of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::home::Home;

/// The running server; killed when it is dropped.
pub(crate) struct HttpServer {
    /// The process, until it is waited for.
    pub(crate) child: Option<Child>,
    /// `http://127.0.0.1:PORT`.
    pub(crate) address: String,
    errors: Arc<Mutex<String>>,
    /// Reads what it writes to stderr, to the end.
    reading: Option<std::thread::JoinHandle<()>>,
}

impl HttpServer {
    /// Starts one with both transports; ready when this returns.
    pub(crate) fn start(home: &Home) -> Self {
        Self::start_with(home, &["--http", "127.0.0.1:0", "--sse"])
    }

    /// Starts one with these arguments of `serve`.
    pub(crate) fn start_with(home: &Home, arguments: &[&str]) -> Self {
        Self::start_in(home, arguments, &[])
    }

    /// Starts one with these arguments of `serve` and these variables.
    pub(crate) fn start_in(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let manifest = home.manifest();
        let mut child = home
            .toolgate(&["serve", "--manifest", manifest.to_str().unwrap()])
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let errors = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("the server ended: {}", errors.lock().unwrap())).unwrap();
            if let Some((_, rest)) = line.split_once("serving MCP at ") {
                break rest.trim_end_matches("/mcp").to_owned();
            }
            if let Some((_, rest)) = line.split_once("\"address\":\"") {
                // One JSON object a line, if it was asked for.
                *errors.lock().unwrap() += &(line.clone() + "\n");
                break rest.split('"').next().unwrap().trim_end_matches("/mcp").to_owned();
            }
            *errors.lock().unwrap() += &(line + "\n");
        };
        let told = Arc::clone(&errors);
        let reading = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut told = told.lock().unwrap();
                told.push_str(&line);
                told.push('\n');
            }
        });
        Self { child: Some(child), address, errors, reading: Some(reading) }
    }

    /// Ends it as a service manager does, and gives what it wrote to stderr.
    pub(crate) fn stop(mut self) -> String {
        let mut child = self.child.take().unwrap();
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        child.wait().unwrap();
        // What it wrote last may still be on its way.
        self.reading.take().unwrap().join().unwrap();
        self.errors.lock().unwrap().clone()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
