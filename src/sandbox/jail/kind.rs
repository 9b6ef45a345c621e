//! What is the same for many calls: a jail that waits for one of them serves the others as well.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ground::Ground;
use super::interpreter::Interpreter;
use super::spec::{JailRoot, JailSpec, Layer, Limits};

/// How jails are built and interpreters started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// What the jail is built on.
    pub(crate) ground: Ground,
    /// The interpreter and what it needs to see.
    pub(crate) interpreter: Interpreter,
    /// How much a program may use; its time is the call's own.
    pub(crate) limits: Limits,
    /// Its environment, whole.
    pub(crate) env: BTreeMap<String, String>,
    /// What must stand.
    pub(crate) require: Vec<Layer>,
    /// The roots, in the order of their descriptors.
    pub(crate) roots: Vec<RootOrder>,
    /// Modules that a waiting interpreter has imported.
    pub(crate) preload: Vec<String>,
    /// What runs before a program; a waiting interpreter has compiled it.
    pub(crate) prelude: Option<String>,
    /// Whether a program has a doorway to the server's gateway.
    pub(crate) network: bool,
    /// The arguments of a program that is no interpreter, its own name first; empty for Python.
    pub(crate) command: Vec<String>,
}

/// One root of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RootOrder {
    /// Its name.
    pub(crate) name: String,
    /// Whether the program may write.
    pub(crate) writable: bool,
    /// Its own quota in bytes, where it has one.
    pub(crate) quota: Option<u64>,
}

impl RootOrder {
    /// What an order says of a root.
    pub(super) fn of(root: &JailRoot) -> Self {
        Self { name: root.name.clone(), writable: root.writable, quota: root.quota }
    }
}

/// A plan, and the text by which it travels.
#[derive(Debug)]
pub(crate) struct Kind {
    plan: Plan,
    text: Vec<u8>,
}

impl Kind {
    /// The kind of calls that are made by this plan.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(crate) fn new(plan: Plan) -> Result<Arc<Self>, String> {
        let text = serde_json::to_vec(&plan).map_err(|e| e.to_string())?;
        Ok(Arc::new(Self { plan, text }))
    }

    /// As it travels; the same for equal plans.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether a jail that was built for one of the two serves the other as well.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.text == other.text
    }
}

impl Deref for Kind {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// Kinds that are remembered: a few profiles, each with and without what differs between calls.
const MOST: usize = 8;

/// The kinds that came of late: reading one anew takes longer than everything else about an order.
#[derive(Debug, Default)]
pub(crate) struct Known(VecDeque<Arc<Kind>>);

impl Known {
    /// The kind that this text says.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(crate) fn read(&mut self, text: &[u8]) -> Result<Arc<Kind>, String> {
        if let Some(kind) = self.0.iter().find(|kind| kind.text == text) {
            return Ok(Arc::clone(kind));
        }
        let plan = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        let kind = Arc::new(Kind { plan, text: text.to_vec() });
        self.0.truncate(MOST - 1);
        self.0.push_front(Arc::clone(&kind));
        Ok(kind)
    }
}

/// The kinds of the calls that were made of late, each with the environment that was asked for.
#[derive(Debug, Default)]
pub(super) struct Made(Mutex<VecDeque<(Environment, Arc<Kind>)>>);

type Environment = BTreeMap<String, String>;

impl Made {
    /// The kind of a call on this ground, made by this plan where there was none like it of late.
    ///
    /// # Errors
    /// The text of what went wrong.
    pub(super) fn of(&self, spec: &JailSpec, ground: &Ground, plan: impl FnOnce() -> Plan) -> Result<Arc<Kind>, String> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, kind)) = made.iter().find(|(env, kind)| *env == spec.env && kind.plan.ground == *ground && kind.plan.is_for(spec)) {
            return Ok(Arc::clone(kind));
        }
        let kind = Kind::new(plan())?;
        made.truncate(MOST - 1);
        made.push_front((spec.env.clone(), Arc::clone(&kind)));
        Ok(kind)
    }
}

impl Plan {
    /// Whether this is what a call with this ground and environment is built by: the interpreter and what is loaded into it are the server's.
    fn is_for(&self, spec: &JailSpec) -> bool {
        // Whole, so that a new field has to be thought of here.
        let Self { ground: _, interpreter: _, limits, env: _, require, roots, preload: _, prelude, network, command } = self;
        let same_root = |(one, two): (&RootOrder, &JailRoot)| *one == RootOrder::of(two);
        *limits == timeless(spec.limits)
            && (require, command, *network) == (&spec.require, &spec.command, spec.network.is_some())
            && prelude.as_deref() == spec.prelude.as_deref()
            && (roots.len() == spec.roots.len() && roots.iter().zip(&spec.roots).all(same_root))
    }
}

/// What a kind has of the limits of its calls.
pub(super) fn timeless(limits: Limits) -> Limits {
    Limits { wall: Duration::ZERO, ..limits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(spec: &JailSpec) -> Plan {
        let interpreter = serde_json::json!({
            "program": "/usr/bin/python3", "argv0": "python3", "version": "3.11.2", "needs": [], "links": [], "module_path": [],
        });
        let roots = spec.roots.iter().map(RootOrder::of);
        Plan {
            ground: Ground::Whole,
            interpreter: serde_json::from_value(interpreter).unwrap(),
            limits: timeless(spec.limits),
            env: spec.env.clone(),
            require: spec.require.clone(),
            roots: roots.collect(),
            preload: Vec::new(),
            prelude: spec.prelude.as_deref().map(str::to_owned),
            network: spec.network.is_some(),
            command: spec.command.clone(),
        }
    }

    fn root(name: &str, writable: bool) -> JailRoot {
        let dir = std::os::fd::OwnedFd::from(std::fs::File::open("/").unwrap());
        JailRoot { name: name.to_owned(), dir: Arc::new(dir), writable, masked: Vec::new(), quota: None }
    }

    #[test]
    fn calls_that_differ_in_what_is_their_own_are_of_one_kind_and_others_are_not() {
        let made = Made::default();
        let of = |spec: &JailSpec| made.of(spec, &Ground::Whole, || plan(spec)).unwrap();
        let spec = JailSpec { roots: vec![root("a", true)], ..JailSpec::new("1") };
        let one = of(&spec);
        let mut same =
            JailSpec { fresh: true, profile: "q".to_owned(), start_dir: Some("/".to_owned()), owner: "o".to_owned(), ..spec.clone() };
        (same.limits.wall, same.stdin, same.program) = (Duration::from_secs(1), vec![1], "2".to_owned());
        same.roots[0].masked.push(crate::sandbox::jail::Mask { path: "x".to_owned(), object: None });
        assert!(Arc::ptr_eq(&one, &of(&same)));
        let limits = Limits { memory: spec.limits.memory - 1, ..spec.limits };
        let others = [
            JailSpec { limits, ..spec.clone() },
            JailSpec { env: [("A".to_owned(), "1".to_owned())].into(), ..spec.clone() },
            JailSpec { require: Vec::new(), ..spec.clone() },
            JailSpec { prelude: Some("pass".into()), ..spec.clone() },
            JailSpec { command: vec!["true".to_owned()], ..spec.clone() },
            JailSpec { roots: vec![root("a", false)], ..spec.clone() },
            JailSpec { roots: vec![root("b", true)], ..spec.clone() },
            JailSpec { roots: vec![root("a", true), root("b", true)], ..spec.clone() },
        ];
        for (at, other) in others.iter().enumerate() {
            let other = of(other);
            assert!(!one.is(&other) && !other.is(&one), "{at}: {other:?}");
        }
        let bare = made.of(&spec, &Ground::Bare, || Plan { ground: Ground::Bare, ..plan(&spec) }).unwrap();
        assert!(!one.is(&bare));
        // Forgotten by now, and made again.
        for memory in 1..=9 {
            of(&JailSpec { limits: Limits { memory, ..spec.limits }, ..spec.clone() });
        }
        let again = of(&spec);
        assert!(!Arc::ptr_eq(&one, &again) && one.is(&again));
    }

    #[test]
    fn a_text_is_read_once_while_it_is_remembered_and_nonsense_is_refused() {
        let mut known = Known::default();
        let kind = |memory| Kind::new(plan(&JailSpec { limits: Limits { memory, ..Limits::default() }, ..JailSpec::new("1") })).unwrap();
        let first = known.read(kind(0).text()).unwrap();
        assert!(first.is(&kind(0)) && Arc::ptr_eq(&first, &known.read(kind(0).text()).unwrap()));
        for memory in 1..=8 {
            assert!(!known.read(kind(memory).text()).unwrap().is(&first));
        }
        let again = known.read(kind(0).text()).unwrap();
        assert!(again.is(&first) && !Arc::ptr_eq(&again, &first) && known.0.len() == MOST);
        assert!(known.read(b"{}").unwrap_err().contains("ground"));
    }
}
