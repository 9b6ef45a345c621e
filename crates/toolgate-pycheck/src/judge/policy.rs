//! Builtins and exports that may be used in some ways only.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::tables::{List, sections};

/// How a restricted name may be used. Everything not restricted is an ordinary value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Not at all: why, and what to write instead.
    Refused(&'static str, &'static str),
    /// Only called, and then judged by its arguments.
    Called(Arguments),
    /// Only as a decorator of a function in a class.
    MethodDecorator,
    /// Only as the decorator of a class.
    ClassDecorator,
    /// Only as a class: base, annotation, in `isinstance`; called with names that can be read.
    EnumClass,
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
    let sections = sections(include_str!("../../data/policies.txt"));
    sections
        .into_iter()
        .flat_map(|(heading, text, names)| {
            let policy = parse(heading, text);
            names.into_iter().map(move |name| (name.rsplit_once('.').unwrap_or(("", name)), policy))
        })
        .collect()
});

fn parse(heading: &'static str, text: &'static str) -> Policy {
    match heading {
        "called" => Policy::Called(Arguments::Any),
        "attribute name" => Policy::Called(Arguments::AttributeName),
        "attribute names" => Policy::Called(Arguments::AttributeNames),
        "wrapper" => Policy::Called(Arguments::Wrapper),
        "formatter" => Policy::Called(Arguments::Formatter),
        "module" => Policy::Called(Arguments::Module),
        "function" => Policy::Called(Arguments::Function),
        "method decorator" => Policy::MethodDecorator,
        "class decorator" => Policy::ClassDecorator,
        "enumeration" => Policy::EnumClass,
        "metaclass" => Policy::Metaclass,
        "type" => Policy::Type,
        "annotation" => Policy::Annotation,
        _ => {
            let (why, hint) = text.split_once(" | ").unwrap_or((text, ""));
            Policy::Refused(why, hint)
        }
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
    fn every_refusal_has_a_reason_and_a_way_on() {
        for (heading, text, names) in sections(include_str!("../../data/policies.txt")) {
            assert!(!names.is_empty(), "{heading}");
            assert_eq!(
                heading == "refused",
                matches!(parse(heading, text), Policy::Refused(why, hint) if !why.is_empty() && !hint.is_empty())
            );
        }
    }
}
