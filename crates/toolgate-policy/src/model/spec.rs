//! What every floor must know of a tool without knowing the tool.

use super::{Flag, Flags};

/// One argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// Its name in calls and in `allowed_arguments`.
    pub name: &'static str,
    /// The value an absent argument takes, as JSON text, where it has one.
    pub default: Option<&'static str>,
}

/// The name of a tool, the flags it needs and the arguments it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolSpec {
    /// Its name, 1 to 128 of `[A-Za-z0-9_.-]`.
    pub name: &'static str,
    /// The permission flags every call of it needs.
    pub flags: Flags,
    /// Its arguments.
    pub arguments: &'static [Argument],
    /// The arguments that have names inside them.
    pub inside: &'static [(&'static str, Inside)],
    /// Older tools that do a part of what this one does: where a manifest restricts one of those and says nothing of this one, this one is closed.
    pub alike: &'static [&'static str],
}

impl ToolSpec {
    /// A tool that needs these flags and has nothing special about its arguments.
    pub const fn new(name: &'static str, flags: &[Flag], arguments: &'static [Argument]) -> Self {
        Self { name, flags: Flags::of(flags), arguments, inside: &[], alike: &[] }
    }
}

/// The names inside an argument: of the fields of an object, of the parameters of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// The caller's own.
    Free,
    /// These.
    Names(&'static [&'static str]),
}
