//! The sections of `tools.toml` on deciding and recording. Every default is the contract's.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use smart_default::SmartDefault;

use super::fault::Ledger;
use super::{Profile, Rates, Remember, Root};
use crate::model::{Bytes, Code, Decision, Inside, Level, nearest, word_enum};

word_enum! {
    /// Who decides on a call of a level. A later one is stricter.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Mode {
        /// Nobody must agree.
        None = "none",
        /// A person must agree, once for each target.
        First = "first",
        /// A person must agree, each time.
        Every = "every",
        /// An operator must agree, with `toolgate approvals`.
        Operator = "operator",
        /// The call is refused.
        Deny = "deny",
    }
}

/// What happens when the client cannot ask a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoClientChannel {
    /// The call is denied.
    #[default]
    Deny,
    /// It waits in the operator's queue.
    Operator,
}

/// What untrusted content does to later calls of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AfterUntrusted {
    /// Nothing.
    #[default]
    Off,
    /// Calls of level 2 and above rise one level.
    Raise,
}

/// Who decides on each level. A level takes the strictest mode of its own and all lower ones: [`Approvals::mode`].
#[derive(Debug, Clone, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Approvals {
    /// Calls that read, and GET requests.
    #[default(Mode::None)]
    pub level_0: Mode,
    /// Calls that create something new.
    #[default(Mode::None)]
    pub level_1: Mode,
    /// Calls that change what exists.
    #[default(Mode::First)]
    pub level_2: Mode,
    /// Calls that delete, or that send something (POST).
    #[default(Mode::Every)]
    pub level_3: Mode,
    /// Calls that change the system.
    #[default(Mode::Operator)]
    pub level_4: Mode,
    /// How long an approval holds. `session`: for the same tool and target until the session ends. `off`: for one call.
    pub remember: Remember,
    /// How long to wait for an answer, e.g. `50s`. No answer is a no.
    #[default(Duration::from_secs(50))]
    pub timeout: Duration,
    /// What happens when the client cannot ask a person. `deny`: the call is refused. `operator`: it waits for an operator, who answers
    /// with `toolgate approvals`.
    pub no_client_channel: NoClientChannel,
    /// Tools whose calls two different operators must approve.
    pub two_persons: Vec<String>,
    /// `raise`: once a session has read untrusted content, its calls of level 2 and above count one level higher. `off`: they do not.
    pub after_untrusted: AfterUntrusted,
}

impl Approvals {
    /// Whether two different operators must agree to the calls of a tool.
    pub fn needs_two(&self, tool: &str) -> bool {
        self.two_persons.iter().any(|name| name == tool)
    }

    /// The mode that is written for each level.
    pub const fn modes(&self) -> [Mode; 5] {
        [self.level_0, self.level_1, self.level_2, self.level_3, self.level_4]
    }

    /// The same, to be changed.
    pub const fn modes_mut(&mut self) -> [&mut Mode; 5] {
        [&mut self.level_0, &mut self.level_1, &mut self.level_2, &mut self.level_3, &mut self.level_4]
    }

    /// The mode of a level: the strictest of its own and all lower ones, so that a higher level is never laxer.
    pub fn mode(&self, level: Level) -> Mode {
        self.modes().into_iter().take(usize::from(u8::from(level)) + 1).max().unwrap_or(Mode::Deny)
    }
}

/// Suspends a session after too many denied calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Breaker {
    /// The number of denied calls. A large number switches this off.
    #[schemars(range(min = 1))]
    #[default(10)]
    pub denials: u64,
    /// The time in which they are counted, e.g. `1m`.
    #[default(Duration::from_mins(1))]
    pub within: Duration,
}

/// Limits of every session.
#[derive(Debug, Clone, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Limits {
    /// Calls of a session.
    #[serde(flatten)]
    pub rates: Rates,
    /// Longest run time of a call, e.g. `10s`. Time spent waiting for a person does not count.
    #[default(Duration::from_secs(10))]
    pub timeout: Duration,
    /// Most calls that run at the same time.
    #[default(4)]
    pub concurrent_calls: u64,
    /// Most bytes that calls may write in any hour.
    #[default(Bytes::mib(50))]
    pub write_per_hour: Bytes,
    /// Most bytes that calls may send in any hour.
    #[default(Bytes::mib(20))]
    pub egress_per_hour: Bytes,
    /// Most processor time of programs in any hour.
    #[default(Duration::from_mins(10))]
    pub cpu_per_hour: Duration,
    /// Suspends a session after too many denied calls.
    pub breaker: Breaker,
}

/// A reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct Reviewer {
    /// A program and its arguments. It reads the action as JSON and writes `allow`, `deny` or `ask`. It runs in the sandbox, without
    /// network.
    pub command: Vec<String>,
    /// `true`: the client's own model answers, where the client offers it (sampling, before 2026-07-28). Then there is no `command`.
    pub client_model: bool,
    /// How long to wait for its answer, e.g. `10s`.
    #[default(Duration::from_secs(10))]
    pub timeout: Duration,
}

/// How verdicts of reviewers are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewRule {
    /// One deny denies; an error or doubt asks a person.
    #[default]
    AnyDeny,
}

/// Reviewers, who can only make a verdict stricter.
#[derive(Debug, Clone, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct ReviewRules {
    /// The reviewers see calls of this level and above.
    #[default(Level::Destroy)]
    pub from_level: Level,
    /// The reviewers: each is a program (`command`) or the client's own model (`client_model`).
    pub reviewers: Vec<Reviewer>,
    /// How the answers of several reviewers are joined. `any-deny`: one `deny` denies the call; an error or a doubt asks a person.
    pub rule: ReviewRule,
}

/// What is on disk before a call acts. Whatever the mode, every record is handed to the kernel first, so it survives the death of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A call that can change or send anything beyond its session's scratch is on disk before it acts, others within 50 ms.
    #[default]
    Effects,
    /// All are on disk before they act.
    Every,
    /// All are on disk within 50 ms.
    Relaxed,
}

/// The record of every call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema, SmartDefault)]
#[serde(default)]
pub struct AuditRules {
    /// When records are on disk. `effects`: before a call that can change or send something; others within 50 ms. `every`: before each
    /// call. `relaxed`: within 50 ms.
    pub durability: Durability,
    /// A new file begins at this size, e.g. `64 MiB`.
    #[default(Bytes::mib(64))]
    pub rotate: Bytes,
    /// Closed files are removed after this time, e.g. `400d`.
    #[default(Duration::from_hours(400 * 24))]
    pub keep: Duration,
    /// Arguments of which the log keeps only length and digest. `ARGUMENT.NAME` is a part of an argument, e.g. `edits.new_text`. Upper and
    /// lower case are the same.
    #[default(["content", "code", "body"].map(str::to_owned).into())]
    pub hash_args: Vec<String>,
    /// Arguments of which the log keeps only a keyed hash. `ARGUMENT.NAME` is a part of an argument, e.g. `headers.cookie` or
    /// `url.session`. A name matches when one of its words does: `access_token` matches `token`.
    #[default(["password", "token", "authorization"].map(str::to_owned).into())]
    pub redact: Vec<String>,
}

/// Where the server keeps what is its own.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StateFolder {
    /// The folder. Missing or empty: `$TOOLGATE_STATE_DIR`, else `$XDG_STATE_HOME/toolgate`.
    #[schemars(extend("format" = "text or none"))]
    pub dir: Option<String>,
}

/// A call and what must become of it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Test {
    /// A name for the message when the test fails.
    pub name: Option<String>,
    /// The profile of the caller.
    pub profile: String,
    /// The call.
    pub call: TestCall,
    /// The decision that it must get.
    pub expect: Decision,
    /// The code that it must get, e.g. `path_denied`.
    pub reason: Option<String>,
    /// The level that it must get, 0 to 4.
    pub level: Option<Level>,
    /// The files, addresses and earlier calls that are assumed, in the form of `toolgate simulate`.
    pub state: Map<String, Value>,
}

/// The call of a test.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TestCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

impl Ledger<'_> {
    pub(super) fn approvals(&mut self, approvals: &Approvals) {
        if approvals.remember == Remember::Envelope {
            self.fault("approvals.remember", "only `run_python` has an envelope; write it under `[tools.run_python]`");
        }
        for (index, name) in approvals.two_persons.iter().enumerate() {
            self.tool(&format!("approvals.two_persons[{index}]"), name);
        }
    }

    pub(super) fn review(&mut self, review: &ReviewRules) {
        for (index, Reviewer { command, client_model, .. }) in review.reviewers.iter().enumerate() {
            let at = format!("review.reviewers[{index}]");
            if *client_model && !command.is_empty() {
                self.fault(&format!("{at}.client_model"), "a reviewer is either a `command` or the client's model; write two reviewers");
            } else if !client_model && command.first().is_none_or(String::is_empty) {
                self.fault(&format!("{at}.command"), "`command` is missing; write the program and its arguments as a list");
            }
        }
    }

    pub(super) fn audit(&mut self, audit: &mut AuditRules) {
        if self.holds("audit.hash_args") {
            self.argument_names("audit.hash_args", &mut audit.hash_args, &[]);
        }
        if self.holds("audit.redact") {
            self.argument_names("audit.redact", &mut audit.redact, &AuditRules::default().redact);
        }
    }

    /// Names of arguments that some tool has, or one of `usual`. `ARGUMENT.NAME` is a name inside an argument that has such: a header, a parameter
    /// of an address, a field; `NAME` is what is looked for.
    fn argument_names(&mut self, at: &str, names: &mut [String], usual: &[String]) {
        let mut known: Vec<&str> = self.specs.iter().flat_map(|spec| spec.arguments).map(|argument| argument.name).collect();
        known.extend(usual.iter().map(String::as_str));
        known.sort_unstable();
        known.dedup();
        let inside: Vec<(&str, Inside)> = self.specs.iter().flat_map(|spec| spec.inside).copied().collect();
        let is_inside = |outer: &str, inner: &str| {
            inside.iter().filter(|(argument, _)| argument.eq_ignore_ascii_case(outer)).any(|(_, names)| match names {
                Inside::Free => inner.contains(char::is_alphanumeric) && !inner.contains(char::is_control),
                Inside::Names(names) => names.iter().any(|name| name.eq_ignore_ascii_case(inner)),
            })
        };
        for (index, text) in names.iter_mut().enumerate() {
            match text.split_once('.') {
                None if known.iter().any(|known| known.eq_ignore_ascii_case(text)) => {}
                Some((outer, inner)) if is_inside(outer, inner) => *text = inner.to_owned(),
                _ => {
                    let fields = inside.iter().flat_map(|(argument, names)| match names {
                        Inside::Free => Vec::new(),
                        Inside::Names(names) => names.iter().map(|name| format!("{argument}.{name}")).collect(),
                    });
                    let fields: Vec<String> = fields.collect();
                    let near = nearest(text, known.iter().copied().chain(fields.iter().map(String::as_str)));
                    let what = format!(
                        "`{}` is no argument of a tool; a name inside an argument is written with it, e.g. `headers.cookie` or `edits.new_text`",
                        text.escape_debug()
                    );
                    self.fault_near(&format!("{at}[{index}]"), what, near);
                }
            }
        }
    }

    pub(super) fn tests(&mut self, tests: &[Test], profiles: &BTreeMap<String, Profile>, roots: &BTreeMap<String, Root>) {
        for (index, test) in tests.iter().enumerate() {
            let at = format!("test[{index}]");
            self.profile_name(&format!("{at}.profile"), &test.profile, profiles);
            let key = format!("{at}.call.tool");
            self.required(&key, &test.call.tool);
            if !test.call.tool.is_empty() {
                self.tool(&key, &test.call.tool);
            }
            if test.reason.as_deref() != Some(Code::PathOutsideRoots.as_str()) {
                self.roots_of_paths(&format!("{at}.call.args"), &test.call.args, roots);
            }
            if !self.holds(&format!("{at}.expect")) {
                self.fault(&format!("{at}.expect"), "`expect` is missing; write `allow`, `ask` or `deny`");
            }
            if let Some(reason) = test.reason.as_deref().filter(|reason| Code::parse(reason).is_none()) {
                self.unknown(&format!("{at}.reason"), "code", reason, Code::ALL.iter().map(|code| code.as_str()));
            }
        }
    }

    /// A test whose path is in a root that is nearly one of the manifest's is refused for another reason than it was written for.
    fn roots_of_paths(&mut self, at: &str, args: &Map<String, Value>, roots: &BTreeMap<String, Root>) {
        for name in ["path", "paths", "from", "to", "save_to"] {
            let value = args.get(name);
            let listed = value.and_then(Value::as_array).into_iter().flatten();
            for path in value.into_iter().chain(listed).filter_map(Value::as_str) {
                let root = path.split('/').next().unwrap_or_default();
                let near = nearest(root, roots.keys().map(String::as_str));
                if !root.is_empty() && !roots.contains_key(root) && near.is_some() {
                    let what = format!(
                        "`{}` is no root of this manifest; where that is meant, write `reason = \"path_outside_roots\"`",
                        root.escape_debug()
                    );
                    self.fault_near(&format!("{at}.{name}"), what, near);
                }
            }
        }
    }
}
