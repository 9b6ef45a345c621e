//! Attacks on the network.

use super::{TRY, behind, row};
use crate::programs::backends::harness::Expect::{Has, Out};
use crate::programs::backends::harness::{Row, Wall};

#[expect(clippy::too_many_lines, reason = "a table is as long as it has rows")]
pub(super) fn network() -> Vec<Row> {
    let socket = |what: &str| format!("{TRY}import socket\nprint(attempt(lambda: socket.socket({what})))");
    let pair = "import socket\na, b = socket.socketpair()\na.send(b'hi')\nprint(b.recv(2))";
    let asyncio = "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 5\nprint(asyncio.run(main()))";
    vec![
        row("no internet socket", &socket("socket.AF_INET, socket.SOCK_STREAM"), Out("PermissionError"), pair, Out("b'hi'")),
        row(
            "no internet socket of the newer kind",
            &socket("socket.AF_INET6, socket.SOCK_DGRAM"),
            Out("PermissionError"),
            asyncio,
            Out("5"),
        ),
        row("no socket to the hypervisor", &socket("40, socket.SOCK_STREAM"), Out("PermissionError"), pair, Out("b'hi'")),
        row("no netlink socket", &socket("16, socket.SOCK_RAW, 0"), Out("PermissionError"), asyncio, Out("5")),
        row("no packet socket", &socket("17, socket.SOCK_RAW, 3"), Out("PermissionError"), pair, Out("b'hi'")),
        row(
            "no bluetooth, no crypto, no xdp socket",
            &format!("{TRY}import socket\nprint([attempt(lambda f=f: socket.socket(f, socket.SOCK_RAW, 0)) for f in (31, 38, 44)])"),
            Out("['PermissionError', 'PermissionError', 'PermissionError']"),
            pair,
            Out("b'hi'"),
        ),
        row(
            "no socket of the host that lies in a root, and no abstract one, can be connected to",
            &format!(
                "{TRY}import socket\ndef connect(name):\n    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect(name)\nprint({{attempt(lambda: connect(name)) in ('PermissionError', 'ConnectionRefusedError') for name in ('/roots/shelf/host.sock', '\\0toolgate-host')}})"
            ),
            Out("{True}"),
            "import multiprocessing as m\na, b = m.Pipe()\na.send([1])\nprint(b.recv())",
            Out("[1]"),
        ),
        behind(
            Wall::Layer("filesystem"),
            row(
                "no socket for datagrams",
                &socket("socket.AF_UNIX, socket.SOCK_DGRAM"),
                Out("PermissionError"),
                "import socket\nl = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)\nl.bind('/tmp/own.sock')\nl.listen()\ns = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)\ns.connect('/tmp/own.sock')\ns.send(b'own')\nprint(l.accept()[0].recv(9))",
                Out("b'own'"),
            ),
        ),
        row(
            "a pair for datagrams cannot be sent elsewhere",
            &format!(
                "{TRY}import socket\nprint([attempt(lambda k=k: socket.socketpair(socket.AF_UNIX, k | f)) for k in (socket.SOCK_DGRAM, socket.SOCK_RAW) for f in (0, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK)])"
            ),
            Out("['PermissionError', 'PermissionError', 'PermissionError', 'PermissionError', 'PermissionError', 'PermissionError']"),
            "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\na.send(b'one')\na.send(b'two')\nprint(b.recv(9))",
            Out("b'one'"),
        ),
        row(
            "a pair cannot be connected to anything else",
            &format!(
                "{TRY}import socket\na, b = socket.socketpair()\nprint([attempt(lambda p=p: a.connect(p)) for p in ('/run/x', '\\0x')])"
            ),
            Has("Error"),
            pair,
            Out("b'hi'"),
        ),
        row(
            "a pair of another family is refused",
            &format!("{TRY}import socket\nprint(attempt(lambda: socket.socketpair(socket.AF_INET)))"),
            Has("Error"),
            pair,
            Out("b'hi'"),
        ),
        row(
            "a name is not looked up",
            &format!("{TRY}import socket\nprint(attempt(lambda: socket.getaddrinfo('example.com', 80)))"),
            Has("rror"),
            "import socket\nprint(socket.inet_aton('1.2.3.4'))",
            Has("\\x01"),
        ),
        row(
            "a page is not fetched",
            &format!("{TRY}import urllib.request\nprint(attempt(lambda: urllib.request.urlopen('http://127.0.0.1:1/')))"),
            Has("Error"),
            "import urllib.parse\nprint(urllib.parse.urlsplit('http://a/b').path)",
            Out("/b"),
        ),
    ]
}
