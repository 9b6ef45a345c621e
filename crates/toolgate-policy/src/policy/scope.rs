//! How far a yes goes: for one call, or until the session ends for a target, its folder or its root.

use super::approval::{lasts, mode};
use super::capability::Capability;
use super::state::Grant;
use crate::manifest::Mode;
use crate::model::{Action, Effect, Level, Target, word_enum};

word_enum! {
    /// What a yes covers, the narrowest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Scope {
        /// This call alone.
        Once = "once",
        /// The same target, until the session ends.
        #[default]
        Session = "session",
        /// Each file in the target's folder and below, until the session ends.
        SessionFolder = "session_folder",
        /// Each file in the target's root, until the session ends.
        SessionRoot = "session_root",
    }
}

impl Scope {
    /// What a grant of this scope names, given for a file: the file itself, its folder or its root.
    pub fn names(self, target: &Target) -> String {
        match self {
            Self::Once | Self::Session => target.to_string(),
            Self::SessionFolder => folder_of(target),
            Self::SessionRoot => target.root.clone(),
        }
    }

    /// Whether a wide grant that names `granted` covers the file at `target`. Names have no `/` in them, so the text decides.
    pub fn covers(self, granted: &str, target: &str) -> bool {
        match self {
            Self::Once | Self::Session => false,
            Self::SessionFolder | Self::SessionRoot => target.strip_prefix(granted).is_some_and(|rest| rest.starts_with('/')),
        }
    }
}

/// The folder that holds a target, as `ROOT` or `ROOT/rest`.
pub fn folder_of(target: &Target) -> String {
    let whole = target.to_string();
    whole.rsplit_once('/').map_or(whole.clone(), |(folder, _)| folder.to_owned())
}

/// The tools of which a yes for one is a yes for all: each writes the content of files, and is shown as their difference.
const CHANGES: [&str; 3] = ["write_file", "edit_file", "edit_files"];

/// The tools that a grant for this one covers alike; none where it covers that one alone.
pub fn kin(tool: &str) -> &'static [&'static str] {
    if CHANGES.contains(&tool) { &CHANGES } else { &[] }
}

/// The targets of which a lasting yes to this action would be made, each a file of its own where it changes several.
pub fn parts<'g>(action: &Action, grant: &'g str) -> Vec<&'g str> {
    // No name holds a line end.
    if matches!(action, Action::EditFiles(_)) { grant.split('\n').collect() } else { vec![grant] }
}

/// The scopes that a question about this call offers, the narrowest first. What cannot last is offered once alone.
pub fn offered(capability: &Capability, action: &Action, level: Level, grant: Option<&str>) -> Vec<Scope> {
    let mut scopes = vec![Scope::Once];
    // What such a call took away or made is then no more what it was asked about, so a lasting yes would cover nothing.
    let is_spent = matches!(action.effect(), Effect::Makes | Effect::Moves | Effect::Removes);
    if grant.is_none() || !lasts(level) || mode(capability, level) != Mode::First || is_spent {
        return scopes;
    }
    scopes.push(Scope::Session);
    if action.effect() == Effect::Changes {
        let files = parts(action, grant.unwrap_or_default());
        // A folder or a root is that of the file which is named first.
        let root = |file: &str| file.split('/').next().map(str::to_owned);
        let is_one_root = files.windows(2).all(|pair| matches!(pair, [one, other] if root(one) == root(other)));
        scopes
            .extend([(files.len() == 1).then_some(Scope::SessionFolder), is_one_root.then_some(Scope::SessionRoot)].into_iter().flatten());
    }
    scopes
}

/// Whether a grant covers this call: the same target by the same tool or its kin, or a change of a file that lies within a wide one.
pub(super) fn covers(capability: &Capability, action: &Action, level: Level, grant: &Grant, target: &str) -> bool {
    let tool = capability.spec.name;
    let same = grant.tool == tool || kin(tool).contains(&grant.tool.as_str());
    same && match grant.scope {
        Scope::Once => false,
        Scope::Session => grant.target == target,
        // What runs later, what is protected and what a tool's rule raises is above this level, or refused before.
        Scope::SessionFolder | Scope::SessionRoot => {
            lasts(level) && action.effect() == Effect::Changes && grant.scope.covers(&grant.target, target)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RelPath;

    #[test]
    fn a_wide_grant_covers_what_lies_below_and_no_twin() {
        let target = |path: &str| Target { root: "project".to_owned(), path: RelPath::parse(path).unwrap() };
        let given = target("src/a.rs");
        assert_eq!(Scope::ALL.map(|scope| scope.names(&given)), ["project/src/a.rs", "project/src/a.rs", "project/src", "project"]);
        let folder = Scope::SessionFolder;
        assert!(folder.covers("project/src", "project/src/b.rs") && folder.covers("project/src", "project/src/deep/b.rs"));
        for other in ["project/srcs/b.rs", "project/src", "project/a.rs", "projects/src/b.rs", "project/SRC/b.rs"] {
            assert!(!folder.covers("project/src", other), "{other}");
        }
        assert!(Scope::SessionRoot.covers("project", "project/a") && !Scope::SessionRoot.covers("project", "projects/a"));
        assert_eq!(Scope::SessionFolder.names(&target("a.rs")), "project");
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
        }
        assert_eq!(Scope::parse("deny"), None);
    }
}
