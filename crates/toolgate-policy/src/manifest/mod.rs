//! `tools.toml` as types. What is not written is denied; every fault is fatal, and all are given at once.

mod clients;
mod content_rules;
mod databases;
mod decisions;
mod fault;
mod filters;
mod form;
mod http;
mod later;
mod mail;
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
pub use databases::{Database, DatabaseUrl};
pub use decisions::{
    AfterUntrusted, Approvals, AuditRules, Breaker, Durability, Limits, Mode, NoClientChannel, ReviewRule, ReviewRules, Reviewer,
    StateFolder, Test, TestCall,
};
pub use fault::{Fault, Location, Spans};
pub use filters::{Filters, Input, Stripping, Treatment, Trust, Watch};
pub use http::Http;
pub use later::LaterPattern;
pub use mail::{Mail, MailServer};
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

/// Everything that agents may do. What the file does not allow is denied. A denial wins over a question to a person, and a question over an
/// allowance. The order of keys does not matter. An unknown key is an error.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(title = "tools.toml")]
pub struct Manifest {
    /// The version of the manifest format: 1.
    pub version: Option<u64>,
    /// Which profile a caller has. Every caller has exactly one.
    pub clients: Clients,
    /// Settings of `toolgate serve --http`.
    pub http: Http,
    /// The folders that calls may work in, each with a name. A call names a file as `NAME/path/in/the/folder`.
    pub roots: BTreeMap<String, Root>,
    /// Rules for the files of every root.
    pub files: Files,
    /// The web addresses that calls may contact. Private, loopback and metadata addresses are closed, except those in `internal`.
    pub network: NetworkRules,
    /// The databases that `query_database` may use, each with a name.
    pub databases: BTreeMap<String, Database>,
    /// How `send_email` sends mail, and the recipients that are allowed.
    pub mail: Mail,
    /// How `run_python` runs programs: what they may import, which folders they see, and how much they may use.
    pub python: Python,
    /// What a caller may do. `[clients]` says which caller has which profile. A limit that is missing here is that of `[limits]` or
    /// `[files]`.
    pub profiles: BTreeMap<String, Profile>,
    /// Stricter rules for single tools. A limit that is missing here is that of the profile.
    pub tools: BTreeMap<String, ToolRules>,
    /// Who must agree to a call before it runs. The effect of a call sets its level. `none`: nobody. `first`: a person, once for each
    /// target. `every`: a person, each time. `operator`: an operator, with `toolgate approvals`. `deny`: the call is refused.
    pub approvals: Approvals,
    /// Limits of every session. A profile or a tool can set lower ones. Without `rate_limit_per_minute` here and in the profile: 10 calls
    /// in any 60 seconds.
    pub limits: Limits,
    /// What is done about secrets, personal data and hidden instructions in texts that go to the model. `off`: nothing. `mark`: they are
    /// reported. `mask` or `strip`: they are taken out. `deny`: the text is refused.
    pub filters: Filters,
    /// Programs or models that look at a call before it runs. They can only make the decision stricter.
    pub review: ReviewRules,
    /// The log of all calls. A call that cannot be recorded does not run.
    pub audit: AuditRules,
    /// Where the server keeps its log, approvals, keys and session folders.
    pub state: StateFolder,
    /// Calls with the decision that each must get. They are judged whenever the file is loaded. If one gets another decision, the file is
    /// refused.
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
