//! What an expression stands for, as far as reading can tell.

use std::borrow::Cow;

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::rules::Imports;
use super::super::scope::{ScopeId, Site, What};
use super::super::tables;
use super::Judge;

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

/// No module lies deeper than this; following longer chains from each of their links would be quadratic.
const MAX_PATH: usize = 8;

impl<'a> Judge<'_, 'a> {
    /// Everything a name may stand for where it is read; empty where the rules know nothing of it.
    pub(super) fn name_origins(&self, name: &'a str, scope: ScopeId, at: usize) -> Vec<Origin<'a>> {
        let meaning = self.program.scopes.meaning(name, scope, at);
        let mut origins = Vec::new();
        origins.extend(meaning.sites.iter().chain(meaning.also).filter_map(|site| self.site_origin(site)));
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

    pub(super) fn expr_origins(&self, expr: &'a Expr, scope: ScopeId) -> Vec<Origin<'a>> {
        self.path_origins(expr, scope, MAX_PATH)
    }

    /// The modules an expression may stand for.
    pub(super) fn modules(&self, expr: &'a Expr, scope: ScopeId) -> Vec<Cow<'a, str>> {
        match expr {
            // Nearly every owner of an attribute is a plain variable.
            Expr::Name(name) if !self.program.scopes.is_known(&name.id) => Vec::new(),
            Expr::Name(name) => {
                let meaning = self.program.scopes.meaning(&name.id, scope, name.start().to_usize());
                let origins = meaning.sites.iter().chain(meaning.also).filter_map(|site| self.site_origin(site));
                let star = meaning.star.map(|module| Origin::Export(Cow::Borrowed(module), name.id.as_str()));
                origins.chain(star).filter_map(|origin| if let Origin::Module(path) = origin { Some(path) } else { None }).collect()
            }
            Expr::Attribute(_) if !self.starts_known(expr) => Vec::new(),
            Expr::Attribute(_) => self
                .path_origins(expr, scope, MAX_PATH)
                .into_iter()
                .filter_map(|origin| if let Origin::Module(path) = origin { Some(path) } else { None })
                .collect(),
            _ => Vec::new(),
        }
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

    fn path_origins(&self, expr: &'a Expr, scope: ScopeId, levels: usize) -> Vec<Origin<'a>> {
        match expr {
            Expr::Name(name) => self.name_origins(&name.id, scope, name.start().to_usize()),
            Expr::Attribute(node) if levels > 0 && matches!(&*node.value, Expr::Name(_) | Expr::Attribute(_)) => {
                let owners = self.path_origins(&node.value, scope, levels - 1);
                owners
                    .into_iter()
                    .filter_map(|owner| if let Origin::Module(path) = owner { Some(self.member(path, &node.attr)) } else { None })
                    .collect()
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
        let meaning = self.program.scopes.meaning(&name.id, scope, name.start().to_usize());
        meaning.builtin && meaning.sites.is_empty() && meaning.also.is_empty() && meaning.star.is_none()
    }

    /// Whether the expression may be this name out of this module.
    pub(super) fn is_export(&self, expr: &'a Expr, scope: ScopeId, module: &str, names: &[&str]) -> bool {
        // Most attributes are no such name; look at the word before at what it stands for.
        if let Expr::Attribute(node) = expr
            && !names.contains(&node.attr.as_str())
        {
            return false;
        }
        self.expr_origins(expr, scope)
            .iter()
            .any(|origin| matches!(origin, Origin::Export(from, name) if from == module && names.contains(name)))
    }
}
