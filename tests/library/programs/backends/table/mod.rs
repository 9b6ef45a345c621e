//! The attacks. Each row: what a hostile program tries, what must come of it, and the honest program next to it.

mod answers;
mod contents;
mod files;
mod kernel;
mod limits;
mod network;
mod processes;
mod shared;
mod traces;

use toolgate::sandbox::programs::JailSpec;

use super::harness::{Expect, Row, Wall};

fn same(_: &mut JailSpec) {}

fn row(name: &'static str, attack: &str, expect: Expect, ordinary: &str, works: Expect) -> Row {
    Row { name, attack: attack.to_owned(), expect, ordinary: ordinary.to_owned(), works, limits: same, wall: Wall::Everywhere }
}

fn with(limits: fn(&mut JailSpec), row: Row) -> Row {
    Row { limits, ..row }
}

fn behind(wall: Wall, row: Row) -> Row {
    Row { wall, ..row }
}

/// A program that makes one raw system call and prints how it was answered.
fn syscall(number: i64, arguments: &str) -> String {
    format!(
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nr = libc.syscall({number}, {arguments})\nprint(r, ctypes.get_errno())"
    )
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = files::files();
    rows.extend(contents::contents());
    rows.extend(processes::processes());
    rows.extend(network::network());
    rows.extend(kernel::kernel());
    rows.extend(limits::limits());
    rows.extend(answers::answers());
    rows.extend(answers::ordinary());
    rows.extend(traces::traces());
    rows
}

/// Attacks that only matter where a program is among the host's processes.
pub(crate) fn shared() -> Vec<Row> {
    shared::shared()
}

/// Prints what an expression raises, or its value.
const TRY: &str =
    "def attempt(f):\n    try:\n        return f()\n    except BaseException as e:\n        return type(e).__name__\nimport os\n";
