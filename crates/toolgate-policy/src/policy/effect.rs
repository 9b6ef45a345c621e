//! The level of a call, from what it would do: never from the tool's name.

use super::capability::{Capability, python_network, python_roots};
use super::later::{programs_reach, runs_later};
use super::screen::Screened;
use crate::model::{Access, Action, Effect, Facts, Kind, Level, PathFact, Target, WriteMode};

/// What a level means, in words for a person.
pub const fn meaning(level: Level) -> &'static str {
    match level {
        Level::Read => "reads",
        Level::Create => "creates something new, or stays in the session's own scratch",
        Level::Change => "changes what exists",
        Level::Destroy => "deletes, overwrites by a move, moves into scratch that ends with the session, changes what runs later, or sends",
        Level::System => "changes the system",
    }
}

/// The level of an action by its effect.
pub fn level(capability: &Capability, action: &Action, screened: &Screened, facts: &Facts) -> Level {
    let targets = &screened.targets;
    let touched = action
        .touches()
        .iter()
        .zip(targets)
        .zip(&facts.paths)
        .map(|((touch, target), fact)| level_of_touch(capability, action, touch.access, target, fact))
        .max()
        .unwrap_or(Level::Read);
    let own = match action.effect() {
        Effect::Sends => Level::Destroy,
        Effect::Runs => level_of_program(capability),
        Effect::Queries(kind) => kind.level(),
        Effect::Moves if moves_into_scratch(capability, action, targets) => Level::Destroy,
        Effect::Moves if moves_links_out(capability, targets, facts) => Level::Change,
        Effect::Reads | Effect::Changes | Effect::Makes | Effect::Moves | Effect::Copies | Effect::Removes | Effect::Fetches => Level::Read,
    };
    let later = if runs_later(&capability.manifest, action, screened, facts).is_empty() { Level::Read } else { Level::Destroy };
    own.max(touched).max(later)
}

fn level_of_touch(capability: &Capability, action: &Action, access: Access, target: &Target, fact: &PathFact) -> Level {
    let exists = fact.kind != Kind::Absent;
    let level = match access {
        // The statement decides.
        Access::Read | Access::List | Access::Stat | Access::Database { .. } => return Level::Read,
        // `create` opens with O_EXCL: it cannot change what exists.
        Access::Write(_) if !exists || matches!(action, Action::WriteFile(write) if write.mode == WriteMode::Create) => Level::Create,
        Access::CreateDirectory => Level::Create,
        Access::Write(_) | Access::Edit | Access::MoveFrom => Level::Change,
        // What the move takes from a root that stays is the change; the new name alone makes something new.
        Access::MoveTo if !exists => Level::Create,
        Access::MoveTo | Access::Delete { .. } => Level::Destroy,
    };
    // What a session does in its own scratch concerns nobody else.
    if is_scratch(capability, target) { level.min(Level::Create) } else { level }
}

/// Whether the target is in a root that is deleted with the session.
fn is_scratch(capability: &Capability, target: &Target) -> bool {
    capability.manifest.roots.get(&target.root).is_some_and(crate::manifest::Root::is_session)
}

/// Whether the action moves something from a root that stays into one that is deleted with the session: it is lost then.
pub fn moves_into_scratch(capability: &Capability, action: &Action, targets: &[Target]) -> bool {
    let is_move = matches!(action, Action::MoveFile(_));
    is_move && matches!(targets, [from, to] if !is_scratch(capability, from) && is_scratch(capability, to))
}

/// Whether a folder with a link in it leaves a session's scratch: a program left the link there, and no tool could create it.
fn moves_links_out(capability: &Capability, targets: &[Target], facts: &Facts) -> bool {
    let below = facts.paths.first().map_or(&[] as &[_], |fact| fact.below.as_slice());
    matches!(targets, [from, to] if is_scratch(capability, from) && !is_scratch(capability, to))
        && below.iter().any(|entry| !matches!(entry.kind, Kind::File | Kind::Directory))
}

fn level_of_program(capability: &Capability) -> Level {
    let manifest = &capability.manifest;
    if python_network(manifest, &capability.profile) {
        return Level::Destroy;
    }
    let writes = python_roots(manifest, &capability.profile).iter().any(|(name, writable)| *writable && manifest.stays(name));
    match (writes, programs_reach(capability).is_empty()) {
        (true, false) => Level::Destroy,
        (true, true) => Level::Change,
        (false, _) => Level::Create,
    }
}
