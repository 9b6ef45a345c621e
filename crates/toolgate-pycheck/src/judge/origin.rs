//! What an expression stands for, as far as reading can tell.

use std::borrow::Cow;

use ruff_python_ast::{Expr, ExprName};
use ruff_text_size::Ranged;

use super::super::rules::Imports;
use super::super::scope::{Meaning, ScopeId, Site, What};
use super::super::tables;
use super::Judge;
use super::policy::{Kind, builtin_policy, export_policy};

/// Something a rule knows by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin<'a> {
    Builtin(&'a str),
    /// A module, by its dotted name.
    Module(Cow<'a, str>),
    /// A name out of a module.
    Export(Cow<'a, str>, &'a str),
    /// A class statement of the program, by its index.
    Class(usize),
}

impl<'a> Origin<'a> {
    fn module(self) -> Option<Cow<'a, str>> {
        if let Self::Module(path) = self { Some(path) } else { None }
    }

    /// The kind of its policy.
    pub(super) fn kind(&self) -> Option<Kind> {
        match self {
            Self::Builtin(name) => builtin_policy(name).map(|policy| policy.kind),
            Self::Export(module, name) => export_policy(module, name).map(|policy| policy.kind),
            Self::Module(_) | Self::Class(_) => None,
        }
    }

    /// Whether it is one of these names out of this module.
    pub(super) fn is_export(&self, module: &str, names: &[&str]) -> bool {
        matches!(self, Self::Export(from, name) if from == module && names.contains(name))
    }
}

/// No module lies deeper than this; following longer chains from each of their links would be quadratic.
const MAX_PATH: usize = 8;

impl<'a> Judge<'_, 'a> {
    pub(super) fn meaning(&self, name: &ExprName, scope: ScopeId) -> Meaning<'_, 'a> {
        self.program.scopes.meaning(&name.id, scope, name.start().to_usize())
    }

    /// Everything a name may stand for where it is read; empty where the rules know nothing of it.
    pub(super) fn name_origins(&self, name: &'a str, scope: ScopeId, at: usize) -> Vec<Origin<'a>> {
        let meaning = self.program.scopes.meaning(name, scope, at);
        let mut origins: Vec<Origin<'a>> = meaning.sites().filter_map(|site| self.site_origin(site)).collect();
        if let Some(module) = meaning.star {
            origins.push(Origin::Export(Cow::Borrowed(module), name));
        } else if meaning.builtin {
            origins.push(Origin::Builtin(name));
        }
        origins
    }

    fn site_origin(&self, site: &Site<'a>) -> Option<Origin<'a>> {
        match &site.what {
            What::Module(path) => Some(Origin::Module(Cow::Borrowed(path))),
            What::Export(module, name) => Some(self.member(Cow::Borrowed(module), name)),
            What::Class(index) => Some(Origin::Class(*index)),
            What::Function | What::Value(_) | What::Each(_) | What::Other => None,
        }
    }

    /// What `module.name` is.
    pub(super) fn member(&self, module: Cow<'a, str>, name: &'a str) -> Origin<'a> {
        let path = format!("{module}.{name}");
        let is_module = match &self.rules.imports {
            Imports::All => tables::knows_module(&path),
            Imports::Listed(_) if tables::is_standard_module(&path) => self.rules.allows_import(&path) || self.rules.leads_to_import(&path),
            Imports::Listed(listed) => listed.contains(&path) || self.rules.leads_to_import(&path),
        };
        if is_module { Origin::Module(Cow::Owned(path)) } else { Origin::Export(module, name) }
    }

    /// The modules an expression may stand for.
    pub(super) fn modules(&self, expr: &'a Expr, scope: ScopeId) -> Vec<Cow<'a, str>> {
        // Nearly every owner of an attribute is a plain variable.
        if self.starts_known(expr) { self.expr_origins(expr, scope).into_iter().filter_map(Origin::module).collect() } else { Vec::new() }
    }

    /// Whether the name that a path begins with can be a module.
    fn starts_known(&self, mut expr: &'a Expr) -> bool {
        for _ in 0..=MAX_PATH {
            match expr {
                Expr::Attribute(node) => expr = &node.value,
                Expr::Name(name) => return self.program.scopes.is_known(&name.id),
                _ => return false,
            }
        }
        false
    }

    pub(super) fn expr_origins(&self, expr: &'a Expr, scope: ScopeId) -> Vec<Origin<'a>> {
        self.path_origins(expr, scope, MAX_PATH)
    }

    fn path_origins(&self, expr: &'a Expr, scope: ScopeId, levels: usize) -> Vec<Origin<'a>> {
        match expr {
            Expr::Name(name) => self.name_origins(&name.id, scope, name.start().to_usize()),
            Expr::Attribute(node) if levels > 0 && matches!(&*node.value, Expr::Name(_) | Expr::Attribute(_)) => {
                let owners = self.path_origins(&node.value, scope, levels - 1).into_iter().filter_map(Origin::module);
                owners.map(|path| self.member(path, &node.attr)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the expression can be nothing but this builtin.
    pub(super) fn is_builtin(&self, expr: &'a Expr, scope: ScopeId, names: &[&str]) -> bool {
        let Expr::Name(name) = expr else { return false };
        if !names.contains(&name.id.as_str()) {
            return false;
        }
        let meaning = self.meaning(name, scope);
        meaning.builtin && meaning.star.is_none() && meaning.sites().next().is_none()
    }

    /// Whether the expression may be this name out of this module.
    pub(super) fn is_export(&self, expr: &'a Expr, scope: ScopeId, module: &str, names: &[&str]) -> bool {
        // Most attributes are no such name; look at the word before at what it stands for.
        let may_be = !matches!(expr, Expr::Attribute(node) if !names.contains(&node.attr.as_str()));
        may_be && self.expr_origins(expr, scope).iter().any(|origin| origin.is_export(module, names))
    }
}
