//! Floor 6: what a call that missed was likely meant to be: a tool, or an entry of a folder. Nothing is named that the caller could not have
//! listed with an ordinary call and without a question, and nothing that the filters would change.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

use crate::context::ServerContext;
use crate::filter;
use crate::gate::{CallGate, Opened};
use crate::manifest::Manifest;
use crate::model::{Access, Action, CallPath, Code, Decision, Facts, Kind, Refusal, RelPath, Target, ToolCall, is_alike, nearest};
use crate::policy::paths::visible;
use crate::policy::{self, State};
use crate::sandbox::files::Stop;
use crate::tool::Tool;

/// The refusal of a name that no tool has, with the tool that was likely meant, of those that the profile could use.
pub(crate) fn with_tool(refusal: Refusal, tools: &[&'static dyn Tool], manifest: &Manifest, profile: Option<&str>, asked: &str) -> Refusal {
    if refusal.code != Code::UnknownTool {
        return refusal;
    }
    let usable = |tool: &&&'static dyn Tool| profile.is_some_and(|profile| policy::could_use(manifest, profile, tool.spec()));
    let tools: Vec<&'static dyn Tool> = tools.iter().filter(usable).copied().collect();
    match tool(&tools, asked) {
        Some(name) => refusal.hint(format!("did you mean `{name}`?")),
        None => refusal,
    }
}

/// The tool of these that a name means: without what clients put before it, by the names that callers know such tools under, or by its letters.
fn tool(tools: &[&'static dyn Tool], asked: &str) -> Option<String> {
    // `server.tool`, `server/tool`, `mcp__server__tool`.
    let asked = asked.rsplit(['.', '/', ':']).next().unwrap_or(asked);
    let asked = asked.rsplit("__").next().unwrap_or(asked);
    let is_known = |tool: &&&'static dyn Tool| tool.card().known_as.split(' ').any(|name| is_alike(name, asked));
    let names = || tools.iter().map(|tool| tool.spec().name);
    names()
        .find(|name| is_alike(name, asked))
        .or_else(|| tools.iter().find(is_known).map(|tool| tool.spec().name))
        .map(str::to_owned)
        .or_else(|| nearest(asked, names()))
}

/// The refusal of a call that found nothing at a path, with the paths that were likely meant: the nearest name in the last folder that is there, and
/// files of that very name elsewhere in the root.
///
/// `opened`: what the action was judged on, in the order of its touches.
pub(crate) async fn with_path(
    server: &ServerContext,
    gate: &CallGate,
    call: &ToolCall,
    action: &Action,
    opened: &[Opened],
    refusal: Refusal,
) -> Refusal {
    if refusal.code != Code::NotFound {
        return refusal;
    }
    let is_sought = |access| !matches!(access, Access::Write(_) | Access::CreateDirectory | Access::MoveTo);
    let touched = action.touches().into_iter().zip(opened);
    let absent = touched.filter(|(touch, opened)| is_sought(touch.access) && opened.fact.kind == Kind::Absent).map(|(_, opened)| opened);
    let Some(target) = absent.map(|opened| opened.target.clone()).next() else { return refusal };
    let caller = Lister { server, gate, call };
    let Some((folder, missing)) = caller.last_folder(&target) else { return refusal };
    let whole = caller.list(&Target { root: target.root.clone(), path: RelPath::ROOT }, DEEPEST);
    let (roots, manifest, session) = (Arc::clone(&server.sandbox().roots), Arc::clone(gate.manifest()), call.caller.session.clone());
    let looking = tokio::task::spawn_blocking(move || {
        let judge = |path: &RelPath, is_folder| visible(&manifest, &target.root, path, is_folder);
        let name = target.path.segments().last().map(String::as_str).unwrap_or_default();
        let near = roots.near(&session, &folder, &missing, &judge);
        let is_it = near.as_ref().is_some_and(|near| near.path.segments().last().is_some_and(|found| is_alike(found, name)));
        let elsewhere = whole.filter(|_| !is_it).map(|whole| roots.of_name(&session, &whole, name, &judge, &stop())).unwrap_or_default();
        let shown = |path: RelPath, is_folder: bool| {
            let path = Target { root: target.root.clone(), path }.to_string();
            let is_plain = CallPath::parse(&path).is_ok() && filter::is_clean_name(&path, &manifest.filters);
            is_plain.then(|| if is_folder { format!("`{path}/`") } else { format!("`{path}`") })
        };
        let elsewhere = elsewhere.into_iter().filter_map(|path| shown(path, false));
        elsewhere.chain(near.and_then(|near| shown(near.path, near.is_folder))).collect::<Vec<_>>()
    });
    match looking.await {
        Ok(meant) if !meant.is_empty() => refusal.hint(format!("did you mean {}?", meant.join(" or "))),
        _ => refusal,
    }
}

/// Looks for what a call meant: at nothing that its caller could not list with a call of its own, without a question.
struct Lister<'a> {
    server: &'a ServerContext,
    gate: &'a CallGate,
    call: &'a ToolCall,
}

impl Lister<'_> {
    /// The last folder on the way to a missing target that is there, with the names below it; none where the caller may not list it.
    fn last_folder(&self, target: &Target) -> Option<(Opened, Vec<String>)> {
        let names = target.path.segments();
        let above: Vec<RelPath> = target.path.ancestors().take(names.len()).collect();
        for path in above.into_iter().rev() {
            let below = names.get(path.segments().len()..)?.to_vec();
            let folder = self.list(&Target { root: target.root.clone(), path }, 1)?;
            match folder.fact.kind {
                Kind::Absent => {}
                Kind::Directory => return Some((folder, below)),
                Kind::File | Kind::Symlink | Kind::Other => return None,
            }
        }
        None
    }

    /// A folder opened for listing, where `list_directory` with this depth would be done for the caller at once.
    fn list(&self, folder: &Target, depth: u32) -> Option<Opened> {
        let tool = self.server.tool("list_directory")?;
        let manifest = self.gate.manifest();
        let state = State::default();
        let capability = policy::admit(manifest, &self.call.caller, tool.spec().name, Some(tool.spec()), &state).ok()?;
        let arguments = Map::from_iter([("path".to_owned(), json!(folder.to_string())), ("depth".to_owned(), json!(depth))]);
        let action = tool.plan(capability.check_arguments(&arguments, None, filter::scan_arguments).ok()?).ok()?;
        let screened = capability.screen(&action).ok()?;
        let session = &self.call.caller.session;
        let opened = self.server.sandbox().look(session, &screened.targets, &[Access::List], manifest.files.symlinks).ok()?.pop()?;
        let facts = Facts { paths: vec![opened.fact.clone()], ..Facts::default() };
        let verdict = policy::judge(&capability, &action, &screened, &facts, &state);
        (verdict.decision == Decision::Allow && !verdict.review_due).then_some(opened)
    }
}

fn stop() -> Stop {
    const PATIENCE: Duration = Duration::from_millis(200);
    Stop::new(CancellationToken::new(), PATIENCE)
}

/// The depth of a listing that shows every file of a root.
const DEEPEST: u32 = 32;
