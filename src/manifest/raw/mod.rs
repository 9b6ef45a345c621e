//! `tools.toml` as it is written. These structs are the one source of its keys, of their descriptions and of `toolgate schema`.
//!
//! Every field may be missing; what a missing one means, and what else must hold, is decided where the typed manifest is read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Number, Value};

mod http;
mod walls;

pub(super) use http::Http;
pub(super) use walls::{
    Check, Container, Engine, Files, Network, Python, Robots, Root, RootMode, RootUse, Runtime, Secret, Symlinks, Writes,
};

/// Everything agents may do here. What is not written is denied; deny beats ask beats allow; order never matters; unknown keys are errors.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "tools.toml")]
pub(super) struct Manifest {
    /// The version of this format: 1.
    pub(super) version: Option<u64>,
    /// Who: every caller gets exactly one profile.
    pub(super) clients: Option<Clients>,
    /// How `serve --http` meets its callers.
    pub(super) http: Option<Http>,
    /// Where: named folders. A call names a file as `ROOT/rest`.
    pub(super) roots: Option<BTreeMap<String, Root>>,
    /// Rules that hold inside every root.
    pub(super) files: Option<Files>,
    /// Which web addresses are open. Private, loopback and metadata addresses are never reachable.
    pub(super) network: Option<Network>,
    /// The walls in which Python runs.
    pub(super) python: Option<Python>,
    /// What each kind of caller may do.
    pub(super) profiles: Option<BTreeMap<String, Profile>>,
    /// Optional tightening of single tools.
    pub(super) tools: Option<BTreeMap<String, Tool>>,
    /// Who decides; the level comes from what the call would really do.
    pub(super) approvals: Option<Approvals>,
    /// Limits of every session, unless a profile or tool says less.
    pub(super) limits: Option<Limits>,
    /// What is done to what goes back to the model.
    pub(super) filters: Option<crate::filter::Settings>,
    /// Reviewers, who can only make a verdict stricter.
    pub(super) review: Option<Review>,
    /// The record of every call. No record, no call.
    pub(super) audit: Option<Audit>,
    /// Where the server keeps its log, approvals, keys and session folders.
    pub(super) state: Option<State>,
    /// Calls that are judged at every load; one failure and the file is refused.
    pub(super) test: Option<Vec<Test>>,
}

/// Which caller gets which profile.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Clients {
    /// The profile of a client that starts the server as its child, or `none`.
    pub(super) stdio: Option<String>,
    /// The profile of an HTTP caller without a valid token, or `none`.
    pub(super) http: Option<String>,
    /// Bearer tokens.
    pub(super) token: Option<Vec<Token>>,
    /// Rules for verified JSON Web Tokens; a token that fits two rules with different profiles has no access.
    pub(super) oauth: Option<Vec<OAuth>>,
}

/// A bearer token.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Token {
    /// The caller's name in records.
    pub(super) name: Option<String>,
    /// The SHA-256 of the token, 64 hex digits.
    pub(super) sha256: Option<String>,
    /// Its profile.
    pub(super) profile: Option<String>,
}

/// A rule for JSON Web Tokens.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OAuth {
    /// The issuer, exactly as in the token.
    pub(super) issuer: Option<String>,
    /// The audience: the address of this server.
    pub(super) audience: Option<String>,
    /// The issuer's keys: an https URL or a file.
    pub(super) jwks: Option<String>,
    /// The accepted signature algorithms; all asymmetric ones where none is named.
    pub(super) algorithms: Option<Vec<String>>,
    /// Claims that must hold, each a text or a list of texts that must all be there.
    pub(super) claims: Option<BTreeMap<String, Claim>>,
    /// The profile of a caller that fits.
    pub(super) profile: Option<String>,
}

/// One claim or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Claim {
    /// One value.
    One(String),
    /// Values that must all be there.
    All(Vec<String>),
}

/// What a kind of caller may do.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// What it is trusted with: flags or the sets READONLY, STANDARD, FULL.
    #[schemars(schema_with = "permissions")]
    pub(super) permissions: Option<Vec<String>>,
    /// Tools it may call; `*` stands for any characters.
    pub(super) allowed_tools: Option<Vec<String>>,
    /// Tools it may not call, whatever allows them.
    pub(super) denied_tools: Option<Vec<String>>,
    /// Its roots; missing: every root of this file.
    pub(super) roots: Option<Vec<String>>,
    /// Calls in any 60 seconds.
    pub(super) rate_limit_per_minute: Option<u64>,
    /// Calls in any hour.
    pub(super) rate_limit_per_hour: Option<u64>,
    /// Largest file, e.g. `1 MiB`.
    pub(super) max_file_size: Option<String>,
    /// Longest answer, e.g. `64 KiB`.
    pub(super) max_answer: Option<String>,
    /// Longest run time of a call, e.g. `10s`.
    pub(super) timeout: Option<String>,
    /// Calls under way at one time.
    pub(super) concurrent_calls: Option<u64>,
    /// Bytes written in any hour.
    pub(super) write_per_hour: Option<String>,
    /// Bytes sent in any hour.
    pub(super) egress_per_hour: Option<String>,
    /// Processor time in any hour.
    pub(super) cpu_per_hour: Option<String>,
}

/// Tightening of one tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    /// Raises the approval level; never lowers it.
    #[schemars(range(min = 0, max = 4))]
    pub(super) level: Option<u64>,
    /// How long a yes lasts. `envelope` (`run_python` alone): the walls are approved once, not every script.
    pub(super) remember: Option<Remember>,
    /// What arguments may be: a list of values (an absent argument takes the first), or bounds.
    pub(super) allowed_arguments: Option<BTreeMap<String, ArgumentRule>>,
    /// True: arguments without a rule are refused.
    pub(super) only_listed: Option<bool>,
    /// Calls of this tool in any 60 seconds.
    pub(super) rate_limit_per_minute: Option<u64>,
    /// Calls of this tool in any hour.
    pub(super) rate_limit_per_hour: Option<u64>,
    /// Largest file, e.g. `256 KiB`.
    pub(super) max_file_size: Option<String>,
    /// Longest answer, e.g. `64 KiB`.
    pub(super) max_answer: Option<String>,
    /// Longest run time of a call, e.g. `10s`.
    pub(super) timeout: Option<String>,
}

/// What an argument may be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum ArgumentRule {
    /// One of these values, exactly.
    Listed(Vec<Value>),
    /// A number or a text within bounds.
    Bounded(ArgumentBounds),
}

/// Bounds of an argument: `min` and `max` of a number, or `min_length` and `max_length` of a text in bytes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ArgumentBounds {
    /// Least number.
    #[schemars(schema_with = "number")]
    pub(super) min: Option<Number>,
    /// Greatest number.
    #[schemars(schema_with = "number")]
    pub(super) max: Option<Number>,
    /// Shortest text in bytes.
    pub(super) min_length: Option<u64>,
    /// Longest text in bytes.
    pub(super) max_length: Option<u64>,
}

/// How long a yes lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Remember {
    Session,
    Envelope,
    Off,
}

/// Who decides on each level.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Approvals {
    /// Reads, GET.
    pub(super) level_0: Option<Mode>,
    /// Creates something new.
    pub(super) level_1: Option<Mode>,
    /// Changes what exists.
    pub(super) level_2: Option<Mode>,
    /// Deletes, sends, POST.
    pub(super) level_3: Option<Mode>,
    /// Changes the system.
    pub(super) level_4: Option<Mode>,
    /// How long a yes lasts: `session` (same tool and target) or `off`.
    pub(super) remember: Option<Remember>,
    /// How long an answer is waited for, e.g. `50s`; no answer is a no.
    pub(super) timeout: Option<String>,
    /// When the client cannot ask: `deny` (default), or `operator`: the call waits in the operator's queue.
    pub(super) no_client_channel: Option<NoClientChannel>,
    /// Tools that need two different operators.
    pub(super) two_persons: Option<Vec<String>>,
    /// `raise`: once a session has read untrusted content, calls of level 2 and above rise one level.
    pub(super) after_untrusted: Option<AfterUntrusted>,
}

/// Who decides.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    None,
    First,
    Every,
    Operator,
    Deny,
}

/// When the client cannot ask.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum NoClientChannel {
    Deny,
    Operator,
}

/// What untrusted content does to later calls.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AfterUntrusted {
    Off,
    Raise,
}

/// Limits of every session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// Calls in any 60 seconds.
    pub(super) rate_limit_per_minute: Option<u64>,
    /// Calls in any hour.
    pub(super) rate_limit_per_hour: Option<u64>,
    /// Longest run time of a call, e.g. `10s`; waiting for a person is not counted.
    pub(super) timeout: Option<String>,
    /// Calls under way at one time.
    pub(super) concurrent_calls: Option<u64>,
    /// Bytes written in any hour.
    pub(super) write_per_hour: Option<String>,
    /// Bytes sent in any hour.
    pub(super) egress_per_hour: Option<String>,
    /// Processor time in any hour.
    pub(super) cpu_per_hour: Option<String>,
    /// Suspends a session that only runs into walls.
    pub(super) breaker: Option<Breaker>,
}

/// When a session is suspended.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Breaker {
    /// This many denials.
    pub(super) denials: Option<u64>,
    /// Within this time, e.g. `1m`.
    pub(super) within: Option<String>,
}

/// Reviewers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Review {
    /// Calls of this level and above are shown to the reviewers.
    #[schemars(range(min = 0, max = 4))]
    pub(super) from_level: Option<u64>,
    /// Who is asked.
    pub(super) reviewers: Option<Vec<Reviewer>>,
    /// `any-deny`: one deny denies; an error or doubt asks a person.
    pub(super) rule: Option<ReviewRule>,
}

/// How verdicts of reviewers are joined.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReviewRule {
    AnyDeny,
}

/// A reviewer.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reviewer {
    /// A program and its arguments: the action as JSON in, `allow`, `deny` or `ask` out. It runs in a jail without network.
    pub(super) command: Option<Vec<String>>,
    /// Instead of a program: the client's own model, where the client offers it (sampling, before 2026-07-28).
    pub(super) client_model: Option<bool>,
    /// How long it is waited for, e.g. `10s`.
    pub(super) timeout: Option<String>,
}

/// The record of every call.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Audit {
    /// What is on disk before a call acts: `effects` (default), `every` or `relaxed`.
    pub(super) durability: Option<Durability>,
    /// A new file at this size, e.g. `64 MiB`.
    pub(super) rotate: Option<String>,
    /// Older closed files are removed, e.g. `400d`.
    pub(super) keep: Option<String>,
    /// Arguments stored as length and digest; `ARGUMENT.NAME` for what lies inside one, e.g. `edits.new_text`.
    pub(super) hash_args: Option<Vec<String>>,
    /// Arguments stored as a keyed hash; `ARGUMENT.NAME` for what lies inside one, e.g. `headers.cookie` or `url.session`.
    pub(super) redact: Option<Vec<String>>,
}

/// What is on disk before a call acts.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Durability {
    Effects,
    Every,
    Relaxed,
}

/// Where the server keeps what is its own.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// A folder; empty: `$TOOLGATE_STATE_DIR`, else `$XDG_STATE_HOME/toolgate`.
    pub(super) dir: Option<String>,
}

/// A call and what must become of it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// What the test is about.
    pub(super) name: Option<String>,
    /// The caller's profile.
    pub(super) profile: Option<String>,
    /// The call.
    pub(super) call: Option<TestCall>,
    /// What must become of it.
    pub(super) expect: Option<Expect>,
    /// The code, e.g. `path_denied`.
    pub(super) reason: Option<String>,
    /// The level, 0 to 4.
    #[schemars(range(min = 0, max = 4))]
    pub(super) level: Option<u64>,
    /// The world, as `toolgate simulate` describes it.
    pub(super) state: Option<Map<String, Value>>,
}

/// The call of a test.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TestCall {
    /// The tool.
    pub(super) tool: Option<String>,
    /// Its arguments.
    pub(super) args: Option<Map<String, Value>>,
}

/// What must become of a call.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Expect {
    Allow,
    Ask,
    Deny,
}

fn permissions(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "array", "items": { "type": "string", "enum": crate::model::Flags::NAMES } })
}

fn number(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "number" })
}
