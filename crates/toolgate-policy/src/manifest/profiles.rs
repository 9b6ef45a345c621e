//! `[profiles]` and `[tools]`: what each kind of caller may do, and what single tools may do less.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::fault::Ledger;
use super::form::printable;
use super::{NamePattern, Root};
use crate::model::{Bytes, Flags, Level, nearest, nearest_argument};

/// How often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rates {
    /// Most calls in any 60 seconds.
    #[serde(rename = "rate_limit_per_minute")]
    pub per_minute: Option<u64>,
    /// Most calls in any hour.
    #[serde(rename = "rate_limit_per_hour")]
    pub per_hour: Option<u64>,
}

/// Limits that a profile or a tool sets below those of `[limits]` and `[files]`. None: as those say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bounds {
    /// How often.
    #[serde(flatten)]
    pub rates: Rates,
    /// Largest file that a call may write or read whole, e.g. `1 MiB`.
    pub max_file_size: Option<Bytes>,
    /// Longest answer of a call, e.g. `64 KiB`.
    pub max_answer: Option<Bytes>,
    /// Longest run time of a call, e.g. `10s`.
    pub timeout: Option<Duration>,
}

/// What a kind of caller may do.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Profile {
    /// What its calls may do: flags such as `READ_FILE`, or the sets `READONLY`, `STANDARD`, `FULL`.
    pub permissions: Flags,
    /// Tools that it may call; `*` stands for any characters. Without this key, none.
    pub allowed_tools: Vec<NamePattern>,
    /// Tools that it may not call, even where `allowed_tools` allows them.
    pub denied_tools: Vec<NamePattern>,
    /// The names of its roots. Without this key, every root of this file.
    pub roots: Option<Vec<String>>,
    /// What its calls may use.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// Most calls that run at the same time.
    pub concurrent_calls: Option<u64>,
    /// Most bytes that its calls may write in any hour.
    pub write_per_hour: Option<Bytes>,
    /// Most bytes that its calls may send in any hour.
    pub egress_per_hour: Option<Bytes>,
    /// Most processor time of its programs in any hour.
    pub cpu_per_hour: Option<Duration>,
}

impl Profile {
    /// Whether it has a root of this name, where there is one.
    pub fn has_root(&self, name: &str) -> bool {
        self.roots.as_ref().is_none_or(|roots| roots.iter().any(|root| root == name))
    }
}

/// What an argument may be.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ArgumentRule {
    /// One of these values, exactly; an absent argument takes the first.
    Listed(Vec<Value>),
    /// A number or a text within bounds.
    Bounded(ArgumentBounds),
}

/// Bounds of an argument, both included: `min` and `max` of a number, or `min_length` and `max_length` of a text in bytes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ArgumentBounds {
    /// Least number.
    #[schemars(with = "Option<f64>")]
    pub min: Option<Number>,
    /// Greatest number.
    #[schemars(with = "Option<f64>")]
    pub max: Option<Number>,
    /// Shortest text in bytes.
    pub min_length: Option<u64>,
    /// Longest text in bytes.
    pub max_length: Option<u64>,
}

impl ArgumentBounds {
    /// Whether they are those of a text.
    pub const fn is_of_text(&self) -> bool {
        self.min_length.is_some() || self.max_length.is_some()
    }
}

/// How long a yes lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Remember {
    /// For this tool and target, until the session ends or the manifest changes.
    #[default]
    Session,
    /// For each program with the same sandbox settings, not only for the one that was approved.
    Envelope,
    /// Not at all.
    Off,
}

/// Tightening of one tool.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ToolRules {
    /// The lowest approval level of its calls, 0 to 4. It can only raise the level that follows from the effect.
    pub level: Option<Level>,
    /// How long an approval holds. Without this key, as `[approvals]` says. `envelope` (only `run_python`): it holds for each program with
    /// the same sandbox settings.
    pub remember: Option<Remember>,
    /// The values that arguments may have: a list, of which an absent argument takes the first, or bounds.
    #[serde(rename = "allowed_arguments")]
    pub arguments: BTreeMap<String, ArgumentRule>,
    /// `true`: an argument that `allowed_arguments` does not name is refused.
    pub only_listed: bool,
    /// What its calls may use.
    #[serde(flatten)]
    pub bounds: Bounds,
}

impl Ledger<'_> {
    pub(super) fn profiles(&mut self, profiles: &BTreeMap<String, Profile>, roots: &BTreeMap<String, Root>) {
        for (name, profile) in profiles {
            let at = format!("profiles.{name}");
            if name.trim().is_empty() || printable(name).is_err() {
                self.fault(&at, format!("`{}` is no name: it is empty or holds a control character", name.escape_debug()));
            }
            if name == "none" {
                self.fault(&at, "`none` means no access in `[clients]` and cannot be the name of a profile");
            }
            for (key, patterns) in [("allowed_tools", &profile.allowed_tools), ("denied_tools", &profile.denied_tools)] {
                for (index, pattern) in patterns.iter().enumerate() {
                    // A pattern that matches no tool could never do anything: a slip of the pen.
                    if !self.specs.iter().any(|spec| pattern.matches(spec.name)) {
                        let near = nearest(pattern.as_str(), self.specs.iter().map(|spec| spec.name));
                        let what = format!("`{}` matches no tool", pattern.as_str().escape_debug());
                        self.fault_near(&format!("{at}.{key}[{index}]"), what, near);
                    }
                }
            }
            for (index, root) in profile.roots.iter().flatten().enumerate().filter(|(_, root)| !roots.contains_key(*root)) {
                self.unknown(&format!("{at}.roots[{index}]"), "root of this manifest", root, roots.keys().map(String::as_str));
            }
        }
    }

    pub(super) fn tools(&mut self, tools: &BTreeMap<String, ToolRules>) {
        for (name, rules) in tools {
            let at = format!("tools.{name}");
            self.tool(&at, name);
            let Some(spec) = self.spec(name).copied() else { continue };
            for (argument, rule) in &rules.arguments {
                let at = format!("{at}.allowed_arguments.{argument}");
                if spec.arguments.iter().any(|known| known.name == argument) {
                    self.argument_rule(&at, rule);
                } else {
                    let known: Vec<&str> = spec.arguments.iter().map(|known| known.name).collect();
                    let what = format!("`{}` is no argument of `{name}`", argument.escape_debug());
                    self.fault_near(&at, what, nearest_argument(argument, &known));
                }
            }
            if rules.remember == Some(Remember::Envelope) && name != "run_python" {
                self.fault(&format!("{at}.remember"), "only `run_python` has an envelope; write `session` or `off`");
            }
        }
    }

    fn argument_rule(&mut self, at: &str, rule: &ArgumentRule) {
        match rule {
            ArgumentRule::Listed(values) if values.is_empty() => {
                self.fault(at, "the list is empty, so every call would be refused; deny the tool instead");
            }
            ArgumentRule::Listed(_) => {}
            ArgumentRule::Bounded(bounds) if bounds.is_of_text() == (bounds.min.is_some() || bounds.max.is_some()) => {
                self.fault(at, "write `min` and `max` for a number, or `min_length` and `max_length` for a text");
            }
            ArgumentRule::Bounded(ArgumentBounds { min, max, min_length, max_length }) => {
                let f64_of = |number: &Option<Number>| number.as_ref().and_then(Number::as_f64);
                let crossed = matches!((f64_of(min), f64_of(max)), (Some(min), Some(max)) if min > max);
                if crossed || matches!((min_length, max_length), (Some(min), Some(max)) if min > max) {
                    self.fault(at, "the least is greater than the most, so every call would be refused");
                }
            }
        }
    }
}
