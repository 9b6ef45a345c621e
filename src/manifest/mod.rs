//! Floor 1: `tools.toml` as types. What is not written is denied; every fault is fatal, and all are told at once.

mod decisions;
mod fault;
mod http;
mod later;
mod packages;
mod pattern;
mod raw;
mod read;
mod roots;
mod schema;
mod segment;
mod shape;
mod text;
mod tree;
mod types;
pub mod units;

use std::collections::BTreeMap;

pub use decisions::{Approvals, AuditRules, Breaker, Durability, Limits, Mode, NoClientChannel, ReviewBy, ReviewRules, Reviewer, Test};
pub use fault::{Fault, Location, Spans};
pub use http::Http;
pub use later::LaterPattern;
pub use packages::{Lock, Pinned, requirement};
pub use pattern::{AllowPattern, DenyPattern, FoldedPath, NamePattern, Run};
pub use read::{parse, parse_json};
pub use schema::schema;
pub use text::fold;
pub use types::{
    ArgumentRule, BACKENDS, Bounds, Check, Clients, Container, Files, OAuth, Place, Profile, Python, Quota, Remember, Root, RootMode,
    RootUse, Symlinks, Token, ToolRules,
};

use crate::model::Flags;
use crate::policy::network::NetworkRules;

/// A valid manifest.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    /// Who gets which profile.
    pub clients: Clients,
    /// How the HTTP endpoint meets its callers.
    pub http: Http,
    /// Named folders.
    pub roots: BTreeMap<String, Root>,
    /// Rules of every root.
    pub files: Files,
    /// Which web addresses are open.
    pub network: NetworkRules,
    /// The walls of Python.
    pub python: Python,
    /// What each kind of caller may do.
    pub profiles: BTreeMap<String, Profile>,
    /// Tightening of single tools.
    pub tools: BTreeMap<String, ToolRules>,
    /// Who decides on which level.
    pub approvals: Approvals,
    /// Limits of every session.
    pub limits: Limits,
    /// What is done to what goes back to the model.
    pub filters: crate::filter::Settings,
    /// Who looks at calls before they are decided.
    pub review: ReviewRules,
    /// What is recorded, and how durably.
    pub audit: AuditRules,
    /// The state folder; none: the environment's.
    pub state_dir: Option<String>,
    /// Calls that are judged at every load.
    pub tests: Vec<Test>,
    /// SHA-256 of its text.
    pub sha256: [u8; 32],
    /// Where each key stands in the text.
    pub spans: Spans,
}

impl Manifest {
    /// Whether the manifest says that others wrote what lies at a place.
    pub fn is_untrusted(&self, target: &crate::model::Target) -> bool {
        let patterns = self.roots.get(&target.root).map_or(&[] as &[_], |root| &root.untrusted).iter().chain(&self.files.untrusted);
        let mut patterns = patterns.peekable();
        patterns.peek().is_some() && {
            let path = FoldedPath::of(&target.path);
            patterns.any(|pattern| pattern.covers(&path))
        }
    }

    /// The roots that a profile has, sorted by name; none where there is no such profile.
    pub fn roots_of(&self, profile: &str) -> impl Iterator<Item = (&String, &Root)> {
        let rules = self.profiles.get(profile);
        self.roots.iter().filter(move |(name, _)| rules.is_some_and(|rules| rules.roots.as_ref().is_none_or(|roots| roots.contains(*name))))
    }

    /// A fault of this manifest at a key, e.g. one that the machine shows.
    pub fn fault(&self, at: &str, what: impl Into<String>) -> Fault {
        self.spans.fault(at, what, None)
    }

    /// What holds without a file: a scratch folder for each session, and Python that sees it; no folder of the machine, no network.
    pub fn builtin() -> Self {
        let work = Root {
            place: Place::Session,
            mode: RootMode::ReadWrite,
            allowed: vec![AllowPattern::everything()],
            denied: Vec::new(),
            untrusted: Vec::new(),
            quota: Some(Quota { bytes: Some(crate::model::Bytes::mib(200)), files: Some(2000) }),
            paths: Vec::new(),
        };
        let standard = Profile {
            permissions: Flags::STANDARD.union(Flags::of(&[crate::model::Flag::ExecuteCode])),
            allowed_tools: vec![NamePattern::new("*")],
            denied_tools: Vec::new(),
            roots: None,
            bounds: Bounds::default(),
        };
        Self {
            clients: Clients { stdio: Some("standard".to_owned()), ..Clients::default() },
            roots: BTreeMap::from([("work".to_owned(), work)]),
            python: Python { roots: vec![RootUse::whole("work")], ..Python::default() },
            profiles: BTreeMap::from([("standard".to_owned(), standard)]),
            ..Self::default()
        }
    }
}
