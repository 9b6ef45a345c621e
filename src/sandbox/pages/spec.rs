//! What a reader sees of the host, and how much it may use.

#![expect(clippy::disallowed_methods, reason = "our own program is looked for before any page is read")]

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind};
use std::path::Path;
use std::time::Duration;

use toolgate_jail::{Layer, Limits, Spec};

use super::READER_ARGUMENT;
use crate::model::Bytes;
use crate::sandbox::programs::shown;

/// A reader that waits for its page. `helper`: our own program, which calls [`super::enter_if_asked`].
///
/// # Errors
/// The program is not to be found.
pub(super) fn reader(helper: &Path) -> Result<Spec, Error> {
    let program = std::fs::canonicalize(helper)?.into_os_string().into_string().map_err(|_| Error::from(ErrorKind::InvalidFilename))?;
    // This process is the same program: what it has loaded, a reader loads as well.
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let libraries = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5)).filter(|path| path.contains(".so"));
    let (shown, links) = shown(&program, libraries);
    Ok(Spec {
        arguments: vec![program.clone(), READER_ARGUMENT.to_owned()],
        program,
        // Each arena reserves address space, which is bounded.
        environment: BTreeMap::from([("MALLOC_ARENA_MAX".to_owned(), "1".to_owned())]),
        shown,
        links,
        folders: Vec::new(),
        start_dir: "/tmp".to_owned(),
        limits: Limits {
            // The server's patience is shorter than both.
            wall: Duration::from_mins(10),
            cpu: Duration::from_mins(1),
            cpu_share: 100,
            // A page that needs more ends its reader: an allocation that fails aborts the process.
            memory: Bytes::mib(1024).0,
            // The first thread, and the one with the large stack.
            processes: 2,
            open_files: 64,
            file_size: 0,
            scratch: 0,
        },
        require: vec![Layer::Network, Layer::Syscalls],
        network: false,
        waits: true,
        label: String::new(),
    })
}

/// A start of the same program that leaves with 0, by which a backend is tried.
pub(super) fn trial(reader: &Spec) -> Spec {
    let arguments = reader.arguments.iter().cloned().chain(["trial".to_owned()]).collect();
    Spec { arguments, waits: false, ..reader.clone() }
}
