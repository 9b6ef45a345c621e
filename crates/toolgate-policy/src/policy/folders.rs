//! Folders that a call makes on its way to a new file: each is judged as `create_directory` would judge it, by its path and by the rules
//! that the manifest has for that tool.

use super::capability::{Capability, judge_tool};
use super::paths::judge_text;
use crate::manifest::{Manifest, Rates};
use crate::model::{Access, Code, Facts, Level, PathFact, Refusal, RelPath, Target};

/// The tool whose rules hold for folders, whichever tool makes them.
const MAKER: &str = "create_directory";

/// The folders that are made for a target, the topmost first, where links on the way were followed.
pub fn made(target: &Target, fact: &PathFact) -> Vec<Target> {
    folders_above(target, fact.resolved(&target.path), fact)
}

fn folders_above(target: &Target, path: &RelPath, fact: &PathFact) -> Vec<Target> {
    path.last_folders(fact.missing_folders).into_iter().map(|path| Target { root: target.root.clone(), path }).collect()
}

/// The level that the manifest gives to the making of folders, where the call makes some.
pub(super) fn raised(manifest: &Manifest, facts: &Facts) -> Level {
    let makes = facts.paths.iter().any(|fact| fact.missing_folders > 0);
    manifest.tools.get(MAKER).filter(|_| makes).and_then(|rules| rules.level).unwrap_or_default()
}

/// Judges the folders that are made for a target.
///
/// # Errors
/// `not_found` where this caller may make no folders; `path_denied`, `path_not_allowed` for one of them.
pub(super) fn judge_made(capability: &Capability, target: &Target, fact: &PathFact) -> Result<(), Refusal> {
    let folders = folders_above(target, &target.path, fact);
    let Some(deepest) = folders.last() else { return Ok(()) };
    if let Some((why, rule)) = closed(capability) {
        return Err(Refusal::new(Code::NotFound, format!("the folder `{deepest}` does not exist, and this call may not make it: {why}"))
            .rule(rule)
            .hint("write into a folder that exists"));
    }
    for folder in &folders {
        judge_text(&capability.manifest, &capability.profile, folder, Access::CreateDirectory).map_err(|refusal| {
            let message = format!("{}, and it would have to be made for `{target}`", refusal.message);
            Refusal { message, ..refusal }
        })?;
    }
    Ok(())
}

/// Why this caller may make no folder on the way, and by which rule. A rule about the calls of the tool that makes folders cannot be kept by a call
/// of another one.
fn closed(capability: &Capability) -> Option<(String, String)> {
    let (manifest, profile) = (&capability.manifest, &capability.profile);
    if let Err(refusal) = manifest.profiles.get(profile).map_or(Ok(()), |rules| judge_tool(profile, rules, MAKER)) {
        return Some((refusal.message, refusal.rule.unwrap_or_default()));
    }
    if manifest.approvals.needs_two(MAKER) {
        return Some((format!("two persons must agree to `{MAKER}`"), "approvals.two_persons".to_owned()));
    }
    let rules = manifest.tools.get(MAKER)?;
    let restricts = rules.only_listed || !rules.arguments.is_empty() || rules.bounds.rates != Rates::default();
    restricts.then(|| (format!("`[tools.{MAKER}]` restricts its calls"), format!("tools.{MAKER}")))
}
