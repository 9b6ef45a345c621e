//! What the file tools' answers have in common.

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::schema;
use crate::gate::Permit;
use crate::model::{Action, Block, CallPath, Code, Edit, Failure, Field, Kind, Origin, Output, Refusal, Target, ToolSpec};
use crate::sandbox::files::{Edited, Stop, Written};
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

/// Does the work of a tool for files, which may block for long, within the time of its call.
pub(super) fn on_files<'a, A: TryFrom<Action> + Send + 'a>(
    permit: Permit<Action>,
    stage: Stage,
    work: impl FnOnce(Permit<A>, &Stop) -> Result<Output, Failure> + Send + 'a,
) -> BoxFuture<'a, Result<Output, Failure>> {
    Box::pin(async move {
        let permit = permit.narrow::<A>()?;
        let stop = stop(&stage, &permit);
        stop.check()?;
        heavy(true, || work(permit, &stop))
    })
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

/// An answer about a file that was written: its text ends with the folders that were made for it, its facts with size and digest.
pub(super) fn of_written(text: String, output: Output, written: Written) -> Output {
    let folders = with_folders(&written.folders);
    let output = output.fact("size", written.size).optional_fact("sha256", written.sha256);
    let blocks = vec![Block::text(text + &folders, Origin::Own)];
    Output { blocks, bytes_written: written.size, ..output.optional_fact("folders", names(&written.folders)) }
}

/// A digest as texts show it; none is told of a content with masked secrets.
pub(super) fn digest(sha256: Option<&String>) -> String {
    sha256.map_or_else(|| "holds masked secrets".to_owned(), |sha256| format!("sha256 {sha256}"))
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
pub(super) fn names(folders: &[Target]) -> Option<Vec<String>> {
    (!folders.is_empty()).then(|| folders.iter().map(ToString::to_string).collect())
}

/// One replacement in a file. `at`: its place in the list.
pub(super) fn edit(at: usize, old_text: String, new_text: String, replace_all: Option<bool>) -> Result<Edit, Refusal> {
    if old_text == new_text {
        return Err(schema::invalid(&format!("edits[{at}].new_text"), "different from `old_text`", "the same"));
    }
    Ok(Edit { old_text, new_text, replace_all: replace_all.unwrap_or(false) })
}

/// What was replaced in a file, in words.
pub(super) fn passages(edited: &Edited) -> String {
    let sha256 = edited.sha256.as_ref().map(|sha256| format!(", sha256 {sha256}")).unwrap_or_default();
    match edited.replacements {
        1 => format!("1 passage{sha256}"),
        more => format!("{more} passages{sha256}"),
    }
}

/// Adds the diff of an edit to its answer. `rest`: which files show the rest of a diff that is cut.
pub(super) fn with_diff(mut output: Output, diff: String, rest: Option<&str>) -> Output {
    output.blocks.push(Block::text(diff.clone(), Origin::File));
    output.blocks.extend(rest.map(|rest| Block::text(format!("[the diff is longer; read {rest} to see the rest]"), Origin::Own)));
    output.field("diff", Field::Text(diff, Origin::File))
}

/// Facts of an answer for `_meta`, without those that are null.
pub(super) fn known(facts: Value) -> Map<String, Value> {
    let Value::Object(mut facts) = facts else { return Map::new() };
    facts.retain(|_, value| !value.is_null());
    facts
}

/// The line that tells how many entries may not be seen.
pub(super) fn left_out(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => "[1 entry is left out: not allowed]\n".to_owned(),
        more => format!("[{more} entries are left out: not allowed]\n"),
    }
}
