//! What the file tools' answers have in common.

use jiff::Timestamp;
use serde_json::Value;

use crate::gate::Permit;
use crate::model::{CallPath, Code, Kind, Refusal, Target, ToolSpec};
use crate::sandbox::files::Stop;
use crate::tool::{Piece, Stage};

/// Above this many bytes work is kept off the threads that answer others.
pub(super) const LARGE: u64 = 256 * 1024;

/// Runs work that may block for long; on a runtime of many threads the others take over what waits here.
pub(super) fn heavy<T>(is_heavy: bool, work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if is_heavy && handle.runtime_flavor() == RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// When the verb for this permit must end.
pub(super) fn stop<A>(stage: &Stage, permit: &Permit<A>) -> Stop {
    Stop::new(stage.cancel.clone(), permit.terms().timeout)
}

/// The first path the permit is for, as answers speak of it.
pub(super) fn first_target<A>(permit: &Permit<A>) -> String {
    permit.opened().first().map(|opened| opened.target.to_string()).unwrap_or_default()
}

/// The parts of a call of many: one for each value of `argument`, with the arguments that all of them share.
pub(super) fn pieces(argument: &str, values: Vec<String>, shared: &[(&str, Option<Value>)]) -> Vec<Piece> {
    let piece = |value: String| {
        let shared = shared.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
        Piece { arguments: shared.chain([(argument.to_owned(), Value::from(value.as_str()))]).collect(), name: value }
    };
    values.into_iter().map(piece).collect()
}

/// A time in RFC 3339, to the second.
pub(super) fn time(nanoseconds: i128) -> String {
    let seconds = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or_default();
    Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default()
}

/// A path as text shows it: plain where a caller could write it, else with its odd characters escaped.
pub(super) fn name(path: &str) -> String {
    if CallPath::parse(path).is_ok() { path.to_owned() } else { path.escape_debug().to_string() }
}

/// What is said where a tool that consists of calls of another one is taken for one that acts itself.
pub(super) fn no_action(spec: &ToolSpec) -> Refusal {
    Refusal::new(Code::Internal, format!("`{}` consists of other calls and does nothing of its own", spec.name))
}

/// A kind as answers name it.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Absent => "absent",
        Kind::File => "file",
        Kind::Directory => "directory",
        Kind::Symlink => "symlink",
        Kind::Other => "other",
    }
}

/// What an answer says of the folders that were made on the way.
pub(super) fn with_folders(folders: &[Target]) -> String {
    match folders {
        [] => String::new(),
        [one] => format!("; the folder `{one}` was made for it"),
        [first, .., last] => format!("; the folders from `{first}` to `{last}` were made for it"),
    }
}

/// The folders that were made, as an answer lists them.
pub(super) fn names(folders: &[Target]) -> Vec<String> {
    folders.iter().map(ToString::to_string).collect()
}

/// The line that tells how many entries may not be seen.
pub(super) fn left_out(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => "[1 entry is left out: not allowed]\n".to_owned(),
        more => format!("[{more} entries are left out: not allowed]\n"),
    }
}
