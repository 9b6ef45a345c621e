//! The bounds of a program as they hold: the server may have been started with lower ones, which hold for all that it starts.

use rustix::process::{Resource, getrlimit};

use super::spec::Limits;

/// One bound, and where it is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    /// As much as a program may have.
    pub(super) most: u64,
    /// What the manifest would have let it have, and the letter of `ulimit` that says less, where that is so.
    lowered: Option<(u64, char)>,
}

impl Bound {
    fn new(wanted: u64, inherited: Option<u64>, letter: char) -> Self {
        match inherited.filter(|inherited| *inherited < wanted) {
            Some(most) => Self { most, lowered: Some((wanted, letter)) },
            None => Self { most: wanted, lowered: None },
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let most = self.most;
        match self.lowered {
            None => write!(f, "{most}"),
            Some((wanted, letter)) => {
                write!(f, "{most} (less than the {wanted} of the manifest: the server was started under `ulimit -{letter}`)")
            }
        }
    }
}

/// The bounds that an exception can speak of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The address space of a process, in bytes.
    pub(super) memory: Bound,
    /// Processes and threads at one time.
    pub(super) processes: Bound,
    /// Open files of a process.
    pub(super) open_files: Bound,
    /// The largest file, in bytes.
    pub(super) file_size: Bound,
}

impl Bounds {
    /// Those of a program with these limits that this process starts.
    pub(super) fn of(limits: &Limits) -> Self {
        let inherited = |resource| getrlimit(resource).maximum;
        // `ulimit -v` counts in KiB, which the unit of the message says.
        Self {
            memory: Bound::new(limits.memory, inherited(Resource::As), 'v'),
            processes: Bound::new(limits.processes, inherited(Resource::Nproc), 'u'),
            open_files: Bound::new(limits.open_files, inherited(Resource::Nofile), 'n'),
            file_size: Bound::new(limits.file_size, inherited(Resource::Fsize), 'f'),
        }
    }
}

/// Why programs may not run where this process may open few files, and what mends it.
pub fn too_few_files() -> Option<String> {
    let few = getrlimit(Resource::Nofile).current.filter(|most| *most < FEWEST_FILES)?;
    Some(format!(
        "this server may open {few} files only, and needs {FEWEST_FILES} or more to run a program: start it under a higher `ulimit -n`, e.g. 1024"
    ))
}

/// Files that a server and its jails have open when one program starts.
const FEWEST_FILES: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_the_server_was_started_under_is_named_where_it_is_lower() {
        let said = |inherited| Bound::new(256, inherited, 'n').to_string();
        assert_eq!([said(None), said(Some(256)), said(Some(1024))], ["256", "256", "256"]);
        assert_eq!(said(Some(100)), "100 (less than the 256 of the manifest: the server was started under `ulimit -n`)");
    }
}
