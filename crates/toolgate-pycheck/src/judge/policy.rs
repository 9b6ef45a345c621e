//! Builtins and exports that may be used in some ways only.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::tables::{List, sections};

/// How a restricted name may be used. Everything not restricted is an ordinary value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy {
    pub(super) kind: Kind,
    /// Why another use is refused, as the rest of a sentence that begins with the name.
    pub(super) why: &'static str,
    /// What to write instead; `NAME` stands for the name.
    pub(super) hint: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not at all.
    Refused,
    /// Only called, and then judged by its arguments.
    Called(Arguments),
    /// Only as a decorator of a function in a class.
    MethodDecorator,
    /// Only as the decorator of a class.
    ClassDecorator,
    /// Only as a class: base, annotation, in `isinstance`; called with names that can be read.
    Enumeration,
    /// Only as a class of classes: base, `metaclass=`, annotation, in `isinstance`.
    Metaclass,
    /// `type`: called with one value, or as a class.
    Type,
    /// Only named in annotations and `isinstance`.
    Annotation,
}

/// What the arguments of a call must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// Anything.
    Any,
    /// `getattr` and its kin: a constant name second.
    AttributeName,
    /// `attrgetter`, `methodcaller`: constant names.
    AttributeNames,
    /// `wraps`, `update_wrapper`: no choice of attributes.
    Wrapper,
    /// The result's `format` or `parse` is called at once.
    Formatter,
    /// A module's constant name.
    Module,
    /// A function instead of text.
    Function,
}

/// By module and name; the module of a builtin is empty.
static POLICIES: LazyLock<HashMap<(&str, &str), Policy>> = LazyLock::new(|| {
    let mut policies = HashMap::new();
    for (heading, text, names) in sections(include_str!("../../data/policies.txt")) {
        let (why, hint) = text.split_once(" | ").unwrap_or((text, ""));
        let policy = Policy { kind: kind(heading), why, hint };
        policies.extend(names.into_iter().map(|name| (name.rsplit_once('.').unwrap_or(("", name)), policy)));
    }
    policies
});

fn kind(heading: &str) -> Kind {
    match heading {
        "called" => Kind::Called(Arguments::Any),
        "attribute name" => Kind::Called(Arguments::AttributeName),
        "attribute names" => Kind::Called(Arguments::AttributeNames),
        "wrapper" => Kind::Called(Arguments::Wrapper),
        "formatter" => Kind::Called(Arguments::Formatter),
        "module" => Kind::Called(Arguments::Module),
        "function" => Kind::Called(Arguments::Function),
        "method decorator" => Kind::MethodDecorator,
        "class decorator" => Kind::ClassDecorator,
        "enumeration" => Kind::Enumeration,
        "metaclass" => Kind::Metaclass,
        "type" => Kind::Type,
        "annotation" => Kind::Annotation,
        _ => Kind::Refused,
    }
}

/// The builtins with a policy.
pub(super) static RESTRICTED_BUILTINS: LazyLock<List> =
    LazyLock::new(|| List::new(POLICIES.keys().filter(|(module, _)| module.is_empty()).map(|(_, name)| *name).collect()));

/// The policy of a builtin.
pub(super) fn builtin_policy(name: &str) -> Option<Policy> {
    export_policy("", name)
}

/// The policy of a name out of a module.
pub(super) fn export_policy(module: &str, name: &str) -> Option<Policy> {
    POLICIES.get(&(module, name)).or_else(|| POLICIES.get(&(module, "*"))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_names_a_reason_and_a_way_on() {
        for (heading, text, names) in sections(include_str!("../../data/policies.txt")) {
            assert!(!names.is_empty() && text.contains(" | "), "{heading}");
            assert_eq!(heading == "refused", kind(heading) == Kind::Refused, "{heading}");
        }
    }
}
