//! Where readers come from: our own program, executed again, which reads no page itself and forks a reader for each.
//!
//! It has one thread, no secret, no file, and the walls that its readers inherit. What costs a reader its start (relocations of a large
//! program, tables of the extractors) is paid here, once; a reader is a copy of this process from before any page.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use nix::sys::signalfd::SignalFd;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::net::{SendFlags, send};
use rustix::process::{Pid, Signal, WaitOptions};

use super::wire::{ENDED, UNWALLED};
use super::{walls, worker};
use toolgate_jail::primitives as jail;
use toolgate_page::{Options, read_html};

/// How a nursery ends that could not put up its walls: it has forked nothing.
pub(super) const NO_WALLS: u8 = 71;

/// A reader that is at work, and our copy of its channel: by it we hear that nobody waits for the answer any more. Then it is closed here, too,
/// for it would be heard again and again until the reader is dead.
#[derive(Debug)]
struct Ward {
    reader: Pid,
    channel: Option<OwnedFd>,
}

/// Forks a reader for every channel that comes over standard input, until its other end is closed.
pub(super) fn serve() -> ExitCode {
    if jail::close_from(3).is_err() || walls::enclose().is_err() {
        return ExitCode::from(NO_WALLS);
    }
    // A parser's last words are of no use to anybody, and hostile.
    std::panic::set_hook(Box::new(|_| {}));
    // Started by hand it has nobody to serve.
    if rustix::net::sockopt::socket_type(rustix::stdio::stdin()).is_err() {
        return ExitCode::SUCCESS;
    }
    let Ok(signals) = jail::hear_children() else { return ExitCode::FAILURE };
    let Ok(filter) = walls::filter() else { return ExitCode::from(NO_WALLS) };
    warm();
    let mut wards: Vec<Ward> = Vec::new();
    loop {
        let Stir { call, closed, gone } = wait(&signals, &wards);
        for ward in wards.iter_mut().filter(|ward| gone.contains(&ward.reader)) {
            let _ = rustix::process::kill_process(ward.reader, Signal::KILL);
            ward.channel = None;
        }
        while let Ok(Some(_)) = signals.read_signal() {}
        reap(&mut wards);
        if !call {
            continue;
        }
        match jail::receive(rustix::stdio::stdin()) {
            Ok(Some(channels)) => {
                let Some(channel) = channels.into_iter().next() else { continue };
                match jail::fork_alone() {
                    Ok(Some(reader)) => wards.push(Ward { reader, channel: Some(channel) }),
                    // Its descriptors are closed in one go; what owned them must not close them again.
                    Ok(None) => {
                        std::mem::forget((wards, signals));
                        return worker::serve(channel, &filter);
                    }
                    Err(_) => tell(channel.as_fd(), ENDED),
                }
            }
            Ok(None) => return close(&wards),
            Err(_) if closed => return close(&wards),
            // Nothing was there after all.
            Err(_) => {}
        }
    }
}

/// What woke the nursery.
#[derive(Debug, Default)]
struct Stir {
    /// The server has sent something, or closed its end.
    call: bool,
    closed: bool,
    /// Readers for whose answer nobody waits any more.
    gone: Vec<Pid>,
}

fn wait(signals: &SignalFd, wards: &[Ward]) -> Stir {
    let mut fds = vec![PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
    // No event is asked for, so what a reader says wakes nobody: a closed end is told all the same.
    let waited_for = || wards.iter().filter_map(|ward| ward.channel.as_ref().map(|channel| (ward.reader, channel)));
    fds.extend(waited_for().map(|(_, channel)| PollFd::new(channel, PollFlags::empty())));
    if retry_on_intr(|| poll(&mut fds, None)).is_err() {
        return Stir::default();
    }
    let server = fds.first().map_or(PollFlags::empty(), PollFd::revents);
    let gone = fds.iter().skip(2).zip(waited_for()).filter(|(fd, _)| !fd.revents().is_empty()).map(|(_, (reader, _))| reader).collect();
    Stir { call: !server.is_empty(), closed: server.intersects(PollFlags::HUP | PollFlags::ERR), gone }
}

/// Takes the dead. Each has said what it had to say; that it ended stands behind that, for a server that still waits.
fn reap(wards: &mut Vec<Ward>) {
    while let Ok(Some((reader, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if let Some(at) = wards.iter().position(|ward| ward.reader == reader) {
            let ward = wards.swap_remove(at);
            let end = if status.exit_status() == Some(i32::from(NO_WALLS)) { UNWALLED } else { ENDED };
            ward.channel.iter().for_each(|channel| tell(channel.as_fd(), end));
        }
    }
}

fn tell(channel: BorrowedFd<'_>, word: u64) {
    let _ = send(channel, &word.to_le_bytes(), SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// Leaves nobody behind: the server is gone or wants no more.
fn close(wards: &[Ward]) -> ExitCode {
    for ward in wards {
        let _ = rustix::process::kill_process(ward.reader, Signal::KILL);
    }
    while rustix::process::wait(WaitOptions::empty()).is_ok() {}
    ExitCode::SUCCESS
}

/// Reads a page of ours, so that no reader has to build what all of them use: half of it is content, for which both extractors are asked.
fn warm() {
    let paragraph = "<p>The river rose for three days before it reached the old <a href=/b>bridge</a>, and <b>nobody</b> slept.</p>";
    let links = "<li><a href=/x>More of this</a></li>".repeat(40);
    let page = format!(
        "<html lang=en><head><title>A page</title><meta name=author content=Nobody><script type=application/ld+json>{{\"@type\":\"Article\"}}</script>\
         </head><body class=page><nav class=menu><ul>{links}</ul></nav><div class=wrap><article><h1>A page</h1>{}<ul><li>one</ul><table><tr><th>a<td>b\
         </table><pre>c</pre><img src=/i.png alt=i></article><aside class=side><ul>{links}</ul></aside></div><footer class=foot>{links}</footer></body></html>",
        paragraph.repeat(30)
    );
    let base = url::Url::parse("https://nowhere.invalid/a").ok();
    let _ = std::panic::catch_unwind(|| read_html(&page, &Options { base: base.as_ref(), ..Options::default() }));
}

/// Makes `channel` standard input, which is all that stays open.
///
/// # Errors
/// The text of what went wrong.
pub(super) fn keep_only(channel: OwnedFd) -> Result<(), String> {
    let placed = jail::place(channel.as_raw_fd(), 0);
    // By its own number it is closed with everything else.
    std::mem::forget(channel);
    placed.and_then(|()| jail::close_from(1)).map_err(|fault| fault.to_string())
}
