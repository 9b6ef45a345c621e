//! Two network namespaces and a wire between them: in the one the server under test, in the other the whole internet.
//!
//! Every address is local to the internet's side, so whatever the server connects to is accepted there, and told. What it connects to on its own
//! side (loopback) meets a listener of ours as well.

use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;

type Work = Box<dyn FnOnce() + Send>;

/// A thread that lives in namespaces of its own; what it starts lives there too.
pub(crate) struct Place {
    work: Sender<Work>,
    /// Its number, by which the kernel finds its namespaces.
    pub(crate) thread: i32,
}

impl Place {
    fn new(flags: CloneFlags) -> Result<Self, String> {
        let (work, todo) = channel::<Work>();
        let (ready, made) = channel();
        std::thread::spawn(move || {
            let entered = unshare(flags).map(|()| gettid().as_raw()).map_err(|fault| format!("no namespace of its own: {fault}"));
            let _ = ready.send(entered);
            for work in &todo {
                work();
            }
        });
        let thread = made.recv().map_err(|_| "the thread ended".to_owned())??;
        Ok(Self { work, thread })
    }

    /// Does something there and waits for it.
    pub(crate) fn within<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        self.work.send(Box::new(move || drop(done.send(work())))).unwrap();
        result.recv().unwrap()
    }

    fn ip(&self, lines: &[String]) -> Result<(), String> {
        let lines = lines.to_vec();
        self.within(move || {
            for line in lines {
                let done = Command::new("ip").args(line.split(' ')).output().map_err(|fault| format!("no `ip` (iproute2): {fault}"))?;
                if !done.status.success() {
                    return Err(format!("`ip {line}`: {}", String::from_utf8_lossy(&done.stderr).trim()));
                }
            }
            Ok(())
        })
    }
}

/// The two places.
pub(crate) struct Wire {
    pub(crate) server: Place,
    pub(crate) internet: Place,
}

/// Where names are asked for, on the internet's end of the wire.
const RESOLVER: &str = "198.18.0.1";

impl Wire {
    /// Lays the wire.
    ///
    /// # Errors
    /// Why this machine lets us not.
    pub(crate) fn new(folder: &Path) -> Result<Self, String> {
        let internet = Place::new(CloneFlags::CLONE_NEWNET)?;
        let server = Place::new(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS)?;
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        server.ip(&[format!("link add c0 type veth peer name w0 netns {}", internet.thread)])?;
        internet.ip(&lines(&[
            "link set lo up",
            "addr add 198.18.0.1/30 dev w0",
            "addr add fd00:18::1/64 dev w0 nodad",
            "link set w0 up",
            // In the main table, where the wire's own prefix is longer.
            "route add local default dev lo table main",
            "-6 route add local default dev lo table main",
        ]))?;
        server.ip(&lines(&[
            "link set lo up",
            "addr add 198.18.0.2/30 dev c0",
            "addr add fd00:18::2/64 dev c0 nodad",
            "link set c0 up",
            "route add default via 198.18.0.1",
            "-6 route add default via fd00:18::1",
        ]))?;
        let files = [
            ("/etc/resolv.conf", format!("nameserver {RESOLVER}\noptions timeout:5 attempts:1\n")),
            ("/etc/nsswitch.conf", "hosts: files dns\n".to_owned()),
            ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n".to_owned()),
        ];
        let mut binds = Vec::new();
        for (at, text) in files {
            let own = folder.join(at.replace('/', "-"));
            std::fs::write(&own, text).map_err(|fault| fault.to_string())?;
            binds.push((own, at));
        }
        server.within(move || {
            let none = None::<&str>;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(|fault| format!("mounts of its own: {fault}"))?;
            for (own, at) in binds {
                if Path::new(at).exists() {
                    mount(Some(&own), at, none, MsFlags::MS_BIND, none).map_err(|fault| format!("{at}: {fault}"))?;
                }
            }
            Ok::<_, String>(())
        })?;
        Ok(Self { server, internet })
    }

    /// The socket that names are asked over.
    pub(crate) fn resolver(&self) -> UdpSocket {
        self.internet.within(|| UdpSocket::bind((RESOLVER, 53)).unwrap())
    }

    /// Listeners on all addresses of one side.
    pub(crate) fn listen(place: &Place, ports: &[u16]) -> Vec<TcpListener> {
        let ports = ports.to_vec();
        place.within(move || ports.into_iter().map(|port| TcpListener::bind(("::", port)).unwrap()).collect())
    }
}

/// An address without the form that a listener for both versions gives it.
pub(crate) fn plain(address: SocketAddr) -> IpAddr {
    address.ip().to_canonical()
}
