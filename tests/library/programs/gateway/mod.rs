//! A program that may use the network reaches one thing: the proxy of its own jail. Each attack stands beside the ordinary use it must not
//! break, from a jail that waits and from one that is made anew, as the user who runs the tests and as an ordinary one.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot be set up fails loudly, and says what it ran")]

mod harness;

use std::sync::Arc;

use harness::{Greeter, World, again_as_ordinary_user};
use toolgate::sandbox::programs::{NoRun, Session, Status};

/// Prints, for each attempt, what it raised, or its value.
const ATTACKS: &str = r#"
import socket, errno, os
def attempt(f):
    try:
        return f()
    except OSError as e:
        return errno.errorcode.get(e.errno, type(e).__name__)
    except BaseException as e:
        return type(e).__name__
def dial(address, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(2)
        s.connect(address)
        return "connected"
def opened(*what):
    with socket.socket(*what):
        return "opened"
refused = {"ECONNREFUSED", "ENETUNREACH", "EHOSTUNREACH", "EACCES", "EPERM", "TimeoutError", "EADDRNOTAVAIL"}
direct = [("127.0.0.1", 1), ("127.0.0.1", 22), ("127.0.0.1", HOST_PORT), ("127.0.0.2", 3128), ("10.0.0.1", 80), ("169.254.169.254", 80),
          ("93.184.216.34", 443), ("0.0.0.0", HOST_PORT), ("8.8.8.8", 53), ("255.255.255.255", 80)]
for address in direct:
    got = attempt(lambda: dial(address))
    assert got in refused or (address[0] in ("0.0.0.0", "127.0.0.2") and got in refused), (address, got)
for address in ["::1", "fe80::1", "2606:2800:220:1::1", "::ffff:127.0.0.1", "fd00::1"]:
    got = attempt(lambda: dial((address, HOST_PORT), socket.AF_INET6))
    assert got in refused | {"EINVAL"}, (address, got)
for what in [(socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_INET6, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_RAW, 1),
             (socket.AF_INET, socket.SOCK_RAW, 6), (socket.AF_INET, socket.SOCK_STREAM, 262), (socket.AF_INET, socket.SOCK_STREAM, 132),
             (socket.AF_INET, socket.SOCK_SEQPACKET, 132), (socket.AF_INET, socket.SOCK_STREAM | 0x10, 0), (16, socket.SOCK_RAW, 0),
             (16, socket.SOCK_DGRAM, 9), (40, socket.SOCK_STREAM), (40, socket.SOCK_DGRAM), (17, socket.SOCK_RAW, 3),
             (socket.AF_UNIX, socket.SOCK_DGRAM), (38, socket.SOCK_SEQPACKET), (44, socket.SOCK_RAW), (31, socket.SOCK_RAW), (43, socket.SOCK_STREAM),
             (30, socket.SOCK_STREAM), (29, socket.SOCK_RAW)]:
    got = attempt(lambda: opened(*what))
    assert got in {"EPERM", "EINVAL", "EPROTONOSUPPORT"}, (what, got)
# TCP that begins with its first bytes, and needs no connect.
def fast_open():
    with socket.socket() as s:
        return s.sendto(b"x", 0x20000000, ("127.0.0.1", HOST_PORT))
assert attempt(fast_open) in refused | {"EOPNOTSUPP"}, attempt(fast_open)
assert attempt(lambda: socket.getaddrinfo("example.com", 80)) == "gaierror"
assert attempt(lambda: socket.gethostbyname("metadata.google.internal")) == "gaierror"
# What it needs to look at, or to change, the network of its jail.
assert attempt(lambda: socket.if_nameindex()) in {"EPERM", "EACCES"} or [name for _, name in socket.if_nameindex()] == ["lo"]
import fcntl, struct
def ioctl(number, flags):
    with socket.socket() as s:
        return fcntl.ioctl(s, number, struct.pack("16sh22x", b"lo", flags))
assert attempt(lambda: ioctl(0x8914, 0)) in {"EPERM", "EACCES"}, "the loopback can be put down"
print("held")
"#;

const ORDINARY: &str = r#"
import os, socket, urllib.request
print(urllib.request.urlopen("http://any.example/").read().decode())
for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
    assert os.environ.pop(name) == "http://127.0.0.1:3128"
# By hand, for the variables are a convenience.
with socket.create_connection(("127.0.0.1", 3128)) as s:
    s.sendall(b"GET http://any.example/ HTTP/1.1\r\n\r\n")
    print(s.recv(100).decode().split("\r\n\r\n")[1])
"#;

#[test]
fn a_program_with_a_proxy_reaches_it_and_nothing_else() {
    let world = World::new();
    let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let attacks = ATTACKS.replace("HOST_PORT", &host.local_addr().unwrap().port().to_string());
    world.warm_up();
    for fresh in [false, true] {
        for (program, wanted) in [(attacks.as_str(), "held\n"), (ORDINARY, "1\n1\n")] {
            let mut spec = World::spec(program, Some(Greeter::new("1")));
            spec.fresh = fresh;
            let outcome = world.run(&spec).unwrap();
            assert_eq!((outcome.stdout.as_str(), outcome.status), (wanted, Status::Ok), "fresh {fresh}: {}", outcome.stderr);
        }
    }
    host.set_nonblocking(true).unwrap();
    assert!(host.accept().is_err(), "nothing came to the host's own loopback");
}

#[test]
fn with_its_variables_gone_a_program_reaches_nothing_by_itself() {
    let world = World::new();
    let program = "import os, urllib.request\nfor name in list(os.environ):\n    if 'proxy' in name.lower():\n        del os.environ[name]\n\
                   try:\n    urllib.request.urlopen('http://93.184.216.34/', timeout=2)\nexcept OSError as e:\n    print('nothing')\n";
    let greeter = Greeter::new("1");
    assert_eq!(world.run(&World::spec(program, Some(Arc::clone(&greeter)))).unwrap().stdout, "nothing\n");
    assert_eq!(greeter.guests(), 0);
}

#[test]
fn each_program_has_a_proxy_of_its_own() {
    let world = World::new();
    // Each tells its own from another's for as long as the others live, and finds none of their listeners.
    let program = "import socket, urllib.request, time\n\
                   door = socket.socket()\ntry:\n    door.bind(('127.0.0.1', 4000))\nexcept PermissionError:\n    pass\n\
                   told = set()\n\
                   for _ in range(10):\n    told.add(urllib.request.urlopen('http://any.example/').read().decode())\n    time.sleep(0.02)\n\
                   try:\n    socket.create_connection(('127.0.0.1', 4000), timeout=1)\n    told.add('found')\nexcept OSError:\n    pass\n\
                   print(*told)\n";
    let greeters: Vec<_> = (0..6).map(|number| Greeter::new(&number.to_string())).collect();
    let specs: Vec<_> = greeters.iter().map(|greeter| World::spec(program, Some(Arc::clone(greeter)))).collect();
    for (number, outcome) in world.run_all(&specs).into_iter().enumerate() {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.stdout, format!("{number}\n"), "{}", outcome.stderr);
    }
}

#[test]
fn a_program_without_leave_has_no_socket_though_others_have_a_proxy() {
    let world = World::new();
    let program = "import socket\ntry:\n    socket.socket()\nexcept PermissionError:\n    print('none')";
    let specs =
        [World::spec(ORDINARY, Some(Greeter::new("1"))), World::spec(program, None), World::spec(ORDINARY, Some(Greeter::new("1")))];
    let told: Vec<_> = world.run_all(&specs).into_iter().map(|outcome| outcome.unwrap().stdout).collect();
    assert_eq!(told, ["1\n1\n", "none\n", "1\n1\n"]);
}

#[test]
fn nobody_answers_between_the_calls_of_a_session() {
    let world = World::new();
    let greeter = Greeter::new("1");
    let start = "import threading, urllib.request, time\ncame = []\ndef ask():\n    while True:\n        try:\n\
                 \x20           came.append(urllib.request.urlopen('http://any.example/', timeout=0.3).read())\n        except OSError:\n            pass\n\
                 \x20       time.sleep(0.01)\nthreading.Thread(target=ask, daemon=True).start()\nwhile not came:\n    time.sleep(0.01)\nprint('asking')";
    let mut spec = World::spec(start, Some(Arc::clone(&greeter)));
    spec.session = Some(Session::New);
    let first = world.run(&spec).unwrap();
    assert_eq!(first.stdout, "asking\n", "{}", first.stderr);
    let handle = first.session.unwrap();
    let between = greeter.guests();
    assert!(between >= 1);
    // It goes on asking; long enough for many questions, were anybody there.
    let other = world.run(&World::spec("import time\ntime.sleep(0.7)\nprint(2)", None)).unwrap();
    assert_eq!((other.stdout.as_str(), greeter.guests()), ("2\n", between));
    // One answer may have been under way when the first call ended.
    let mut spec =
        World::spec("before = len(came)\nwhile len(came) < before + 2:\n    time.sleep(0.01)\nprint('again')", Some(Arc::clone(&greeter)));
    spec.session = Some(Session::Known(handle.clone()));
    let second = world.run(&spec).unwrap();
    assert_eq!((second.stdout.as_str(), greeter.guests() > between), ("again\n", true), "{}", second.stderr);
    // A call without leave has no such session: that ends, and with it the asking.
    let held = greeter.guests();
    let mut spec = World::spec("import time\ntime.sleep(0.5)\nprint('alone')", None);
    spec.session = Some(Session::Known(handle.clone()));
    let refused = world.run(&spec);
    assert!(matches!(&refused, Err(NoRun::Session { reason, .. }) if reason.contains("other roots, limits or rights")), "{refused:?}");
    spec.session = None;
    assert_eq!((world.run(&spec).unwrap().stdout.as_str(), greeter.guests()), ("alone\n", held));
}

#[test]
fn a_proxy_is_gone_with_its_program() {
    let world = World::new();
    let greeter = Greeter::new("1");
    let program = "import os, socket, time\n\
                   a = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(5)]\n\
                   if os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nprint('left')";
    let outcome = world.run(&World::spec(program, Some(Arc::clone(&greeter)))).unwrap();
    assert_eq!(outcome.stdout, "left\n", "{}", outcome.stderr);
    assert!(greeter.is_over(), "the serving has ended with the call");
    assert_eq!(harness::listeners_left(&greeter), 0);
}

#[test]
fn an_ordinary_user_has_the_same_proxy() {
    if rustix::process::geteuid().is_root() {
        again_as_ordinary_user();
    }
}
