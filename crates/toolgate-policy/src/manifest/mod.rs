//! `tools.toml` as types. What is not written is denied; every fault is fatal, and all are given at once.

mod clients;
mod content_rules;
mod decisions;
mod fault;
mod filters;
mod form;
mod http;
mod later;
mod network;
mod packages;
mod pattern;
mod places;
mod profiles;
mod proxy;
mod python;
mod read;
mod roots;
mod schema;
mod segment;
mod shape;
mod text;
mod tree;
mod unclosed;
pub mod units;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use clients::{Clients, OAuth, Token};
pub use content_rules::{ContentRule, ContentRules};
pub use decisions::{
    AfterUntrusted, Approvals, AuditRules, Breaker, Durability, Limits, Mode, NoClientChannel, ReviewRule, ReviewRules, Reviewer,
    StateFolder, Test, TestCall,
};
pub use fault::{Fault, Location, Spans};
pub use filters::{Filters, Input, Stripping, Treatment, Trust, Watch};
pub use http::Http;
pub use later::LaterPattern;
pub use network::{DomainPattern, HeaderSecret, NetworkRules, Robots};
pub(crate) use network::{is_below, is_secret_name};
pub use packages::{Lock, Pinned, requirement};
pub use pattern::{AllowPattern, DenyPattern, FoldedPath, NamePattern, Run};
pub use profiles::{ArgumentBounds, ArgumentRule, Bounds, Profile, Rates, Remember, ToolRules};
pub use proxy::UpstreamProxy;
pub use python::{BACKENDS, Check, Container, Python, RootUse, Sessions};
pub use read::{parse, parse_json};
pub use roots::{Files, Place, Quota, Root, RootMode, Symlinks};
pub use schema::schema;
pub use text::fold;

use crate::model::Flags;

/// Everything agents may do here. What is not written is denied; deny beats ask beats allow; order never matters; unknown keys are errors.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "tools.toml")]
pub struct Manifest {
    /// The version of this format: 1.
    pub version: Option<u64>,
    /// Who: every caller gets exactly one profile.
    pub clients: Clients,
    /// How `serve --http` meets its callers.
    pub http: Http,
    /// Where: named folders. A call names a file as `ROOT/rest`.
    pub roots: BTreeMap<String, Root>,
    /// Rules that hold inside every root.
    pub files: Files,
    /// Which web addresses are open. Private, loopback and metadata addresses are never reachable.
    pub network: NetworkRules,
    /// The walls in which Python runs.
    pub python: Python,
    /// What each kind of caller may do.
    pub profiles: BTreeMap<String, Profile>,
    /// Optional tightening of single tools.
    pub tools: BTreeMap<String, ToolRules>,
    /// Who decides; the level comes from what the call would really do.
    pub approvals: Approvals,
    /// Limits of every session, unless a profile or tool says less.
    pub limits: Limits,
    /// What is done to what goes back to the model.
    pub filters: Filters,
    /// Reviewers, who can only make a verdict stricter.
    pub review: ReviewRules,
    /// The record of every call. No record, no call.
    pub audit: AuditRules,
    /// Where the server keeps its log, approvals, keys and session folders.
    pub state: StateFolder,
    /// Calls that are judged at every load; one failure and the file is refused.
    #[serde(rename = "test")]
    pub tests: Vec<Test>,
    /// SHA-256 of its text.
    #[serde(skip)]
    pub sha256: [u8; 32],
    /// Where each key stands in the text.
    #[serde(skip)]
    pub spans: Spans,
}

impl Manifest {
    /// Whether the manifest says that others wrote what lies at a place.
    pub fn is_untrusted(&self, target: &crate::model::Target) -> bool {
        let own = self.roots.get(&target.root).into_iter().flat_map(|root| &root.untrusted);
        let mut patterns = own.chain(&self.files.untrusted).peekable();
        if patterns.peek().is_none() {
            // Every read of a file asks: a path is folded only where a pattern is compared with it.
            return false;
        }
        let path = FoldedPath::of(&target.path);
        patterns.any(|pattern| pattern.covers(&path))
    }

    /// Whether this is a root that stays when the session ends.
    pub fn stays(&self, root: &str) -> bool {
        self.roots.get(root).is_some_and(|root| !root.is_session())
    }

    /// The roots that a profile has, sorted by name; none where there is no such profile.
    pub fn roots_of(&self, profile: &str) -> impl Iterator<Item = (&String, &Root)> {
        let rules = self.profiles.get(profile);
        self.roots.iter().filter(move |(name, _)| rules.is_some_and(|rules| rules.has_root(name)))
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
            quota: Some(Quota { bytes: Some(crate::model::Bytes::mib(200)), files: Some(2000) }),
            ..Root::default()
        };
        let standard = Profile {
            permissions: Flags::STANDARD.union(Flags::of(&[crate::model::Flag::ExecuteCode])),
            allowed_tools: vec![NamePattern::new("*")],
            ..Profile::default()
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
