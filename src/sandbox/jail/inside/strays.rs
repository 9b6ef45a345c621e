//! What a supervisor leaves that was itself ended from outside, where no process namespace ends with it: its orphans come to the spawner.

use rustix::process::{Pid, Signal, getpgid, getpgrp, getsid, kill_process_group};

use super::watch;

/// Ends the process groups of those children of this process that `is_known` does not know and that are of another session. A program cannot leave the
/// group that its keeper leads, so what it started without its parent is ended with it.
pub(super) fn end(is_known: impl Fn(Pid) -> bool) {
    let (Ok(own), own_group) = (getsid(None), getpgrp()) else { return };
    for pid in watch::own_children().into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())).filter(|pid| !is_known(*pid)) {
        let (Ok(session), Ok(group)) = (getsid(Some(pid)), getpgid(Some(pid))) else { continue };
        if session != own && group != own_group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
