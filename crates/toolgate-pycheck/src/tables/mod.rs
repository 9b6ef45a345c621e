//! The rules of the check as data.

mod exports;
mod filter;
mod names;

pub use exports::is_standard_module;
pub(super) use exports::{implied, implied_parent, is_export, is_risky_module, knows_module};
pub(super) use filter::{ATTRIBUTES, Filter};
pub(super) use names::{
    ALWAYS_REFUSED, CLASS_BODY, DUNDER_LOADS, DUNDER_NAMES, DUNDER_STORES, FIELD_BASES, FOREIGN_PRIVATE, MODULE_STORES, RISKY_PUBLIC,
    VALUE_TYPES, contains,
};
