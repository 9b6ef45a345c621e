//! Lines 8 and 9 as far as the world decides them: what was seen at each path, and what the URL's host resolved to.

use super::capability::Capability;
use super::folders::judge_made;
use super::network::{judge_addresses, judge_redirect, judge_url};
use super::paths::{judge_patterns, judge_text, outside, unknown_spelling};
use super::screen::Screened;
use crate::manifest::Symlinks;
use crate::model::name::is_temporary;
use crate::model::{
    Access, Action, Bytes, Code, Entry, Facts, HttpUrl, Kind, Link, PathFact, Refusal, RelPath, Spelling, Target, Touch, WriteMode,
};

/// Judges what was seen. Gives the targets as they are after links were followed.
///
/// # Errors
/// The codes of lines 8 and 9.
pub(super) fn judge_facts(capability: &Capability, action: &Action, screened: &Screened, facts: &Facts) -> Result<Vec<Target>, Refusal> {
    let touches = action.touches();
    if touches.len() != screened.targets.len() || touches.len() != facts.paths.len() {
        // Fail closed: a path nobody looked at is not judged.
        return Err(Refusal::new(Code::Internal, "not every path of the call was looked at"));
    }
    let mut targets = Vec::with_capacity(touches.len());
    for ((touch, target), fact) in touches.iter().zip(&screened.targets).zip(&facts.paths) {
        targets.push(judge_path(capability, action, touch, target, fact)?);
    }
    judge_below(capability, &touches, &targets, &facts.paths)?;
    if let Some(url) = &screened.url {
        judge_hops(capability, url, facts)?;
    }
    Ok(targets)
}

fn judge_path(capability: &Capability, action: &Action, touch: &Touch, target: &Target, fact: &PathFact) -> Result<Target, Refusal> {
    let named = spelled(capability, touch.access, target, &fact.spelling)?;
    let target = follow(capability, touch.access, &named, &fact.link)?;
    if touch.access.places() && target.path.segments().iter().any(|name| is_temporary(name.as_bytes())) {
        return Err(Refusal::new(
            Code::PathDenied,
            format!("`{target}` has the name of a temporary file of this server, which removes such files"),
        )
        .hint("choose another name"));
    }
    if fact.protected {
        return Err(protected(&target));
    }
    if fact.missing_folders > 0 {
        judge_made(capability, &named, fact)?;
        judge_made(capability, &target, fact)?;
    }
    let whole = matches!(touch.access, Access::Read | Access::Edit | Access::Write(_) | Access::Database { .. });
    match fact.kind {
        Kind::Symlink => return Err(linked(&target)),
        Kind::Other => return Err(irregular(&target, "a device, pipe or socket")),
        Kind::Directory if whole => return Err(irregular(&target, "a folder")),
        Kind::File if fact.names > 1 => {
            return Err(Refusal::new(
                Code::Hardlink,
                format!("`{target}` has {} names (hard links), and a rule for one name does not cover the others", fact.names),
            )
            .hint("do without it, or ask a person to replace it with a copy"));
        }
        // No statement makes a database.
        Kind::Absent if matches!(touch.access, Access::Database { .. }) => {
            return Err(Refusal::new(Code::NotFound, format!("the database's file `{target}` does not exist")));
        }
        Kind::File | Kind::Directory | Kind::Absent => {}
    }
    let size = match touch.access {
        // A few lines of a long log are not the whole file; the answer is bound by its own limit.
        Access::Read if matches!(action, Action::ReadFile(read) if read.limit.is_some()) => 0,
        Access::Read | Access::Edit => fact.size,
        Access::Write(Bytes(size)) if matches!(action, Action::WriteFile(write) if write.mode == WriteMode::Append) => {
            size.saturating_add(fact.size)
        }
        Access::Write(Bytes(size)) => size,
        _ => 0,
    };
    match capability.judge_size(&target, Bytes(size)) {
        Err(refusal) if matches!(action, Action::ReadFile(_)) => Err(refusal.hint("read a part of it with `offset` and `limit`")),
        fits => fits.map(|()| target),
    }
}

/// The path in the entries' own bytes, judged anew: a rule may be written for those.
fn spelled(capability: &Capability, access: Access, target: &Target, spelling: &Spelling) -> Result<Target, Refusal> {
    match spelling {
        Spelling::AsWritten => Ok(target.clone()),
        Spelling::Own(path) => judged(capability, access, target, path),
        Spelling::Unknown => Err(unknown_spelling(target)),
        Spelling::Ambiguous => Err(Refusal::new(
            Code::PathMalformed,
            format!("`{target}` is another spelling of more than one entry (Unicode normal form C makes them equal)"),
        )
        .hint("list its folder and copy the exact name of the entry you mean")),
    }
}

/// Where a path leads. Where links are followed at all, what counts is where they lead, judged anew.
fn follow(capability: &Capability, access: Access, target: &Target, link: &Link) -> Result<Target, Refusal> {
    let inside = capability.manifest.files.symlinks == Symlinks::Inside;
    match link {
        Link::None => Ok(target.clone()),
        Link::Leads(path) if inside => judged(capability, access, target, path),
        Link::Outside if inside => Err(outside(target)),
        Link::OnTheWay | Link::Leads(_) | Link::Outside => Err(linked(target)),
    }
}

/// Another path of the target's root, judged by its text.
fn judged(capability: &Capability, access: Access, target: &Target, path: &RelPath) -> Result<Target, Refusal> {
    let target = Target { root: target.root.clone(), path: path.clone() };
    judge_text(&capability.manifest, &capability.profile, &target, access)?;
    Ok(target)
}

fn linked(target: &Target) -> Refusal {
    Refusal::new(Code::Symlink, format!("`{target}` is or goes through a symbolic link"))
        .rule("files.symlinks")
        .hint("name the file by its own path")
}

fn irregular(target: &Target, what: &str) -> Refusal {
    Refusal::new(Code::NotARegularFile, format!("`{target}` is {what}, not a regular file"))
        .hint("name a file; a folder is listed with `list_directory`")
}

fn protected(target: &Target) -> Refusal {
    Refusal::new(Code::PathDenied, format!("`{target}` is or contains a file of this server (its manifest or its state)"))
        .hint("do without it; no call can reach it")
}

/// A folder that is moved or deleted takes everything below it along: every entry is judged under its old and its new name.
fn judge_below(capability: &Capability, touches: &[Touch], targets: &[Target], facts: &[PathFact]) -> Result<(), Refusal> {
    let renamed = |touch: &Touch| {
        let to = touches.iter().position(|other| other.access == Access::MoveTo)?;
        (touch.access == Access::MoveFrom).then(|| targets.get(to)).flatten()
    };
    for ((touch, target), fact) in touches.iter().zip(targets).zip(facts) {
        if !matches!(touch.access, Access::MoveFrom | Access::Delete { .. }) {
            continue;
        }
        if fact.cut {
            return Err(Refusal::new(Code::PathDenied, format!("`{target}` contains more entries than one call can check"))
                .hint("move or delete smaller folders"));
        }
        for entry in &fact.below {
            judge_entry(capability, target, entry, touch.access)?;
            if let Some(to) = renamed(touch) {
                let path = entry.path.rebased(&target.path, &to.path).ok_or_else(|| outside(target))?;
                judged(capability, Access::MoveTo, to, &path)?;
            }
        }
    }
    Ok(())
}

fn judge_entry(capability: &Capability, folder: &Target, entry: &Entry, access: Access) -> Result<(), Refusal> {
    let target = Target { root: folder.root.clone(), path: entry.path.clone() };
    if entry.protected {
        return Err(protected(&target));
    }
    let root = capability.manifest.roots.get(&folder.root).ok_or_else(|| outside(folder))?;
    judge_patterns(&capability.manifest, root, &target, access)
}

/// Every address of the host, and every hop that is known beforehand, up to as many as are followed.
fn judge_hops(capability: &Capability, url: &HttpUrl, facts: &Facts) -> Result<(), Refusal> {
    let rules = &capability.manifest.network;
    judge_addresses(rules, url, &facts.addresses)?;
    let mut from = url.clone();
    for (hop, addresses) in facts.redirects.iter().take(rules.max_redirects as usize) {
        let to = from.join(hop)?;
        judge_redirect(&from, &to)?;
        judge_url(rules, &to)?;
        judge_addresses(rules, &to, addresses)?;
        from = to;
    }
    Ok(())
}
