//! Scopes, what binds each name in them, and what a name can mean where it is read.

use std::collections::HashMap;

use ruff_python_ast::Expr;

use super::tables;

/// Index of a scope in a [`Scopes`].
pub(super) type ScopeId = usize;

/// What a piece of code does with names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    /// Names bound here are seen only by the body itself; a name not yet bound is looked up outside.
    Class,
    /// Functions and lambdas: a name bound here is never looked up outside.
    Function,
    Comprehension,
}

#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) kind: ScopeKind,
    pub(super) parent: ScopeId,
    names: HashMap<&'a str, Names<'a>>,
    /// `global` and `nonlocal` declarations.
    elsewhere: HashMap<&'a str, ScopeId>,
    /// Modules whose names were all imported.
    pub(super) stars: Vec<&'a str>,
}

/// Everything that binds one name in one scope.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    pub(super) sites: Vec<Site<'a>>,
    /// How many sites there are; `sites` leaves out some of a name bound very often, but none that a rule knows.
    pub(super) count: usize,
    /// From where on a site that is always reached has bound it.
    bound_from: Option<usize>,
    straight: bool,
    last_from: usize,
    /// Something unbinds it again: `del`, the end of an `except … as`.
    pub(super) unbound: bool,
}

/// One place that binds a name.
#[derive(Debug, Clone)]
pub(super) struct Site<'a> {
    pub(super) what: What<'a>,
    /// Byte offset from which on the name is bound.
    pub(super) from: usize,
    /// A simple statement directly in the scope's body: reached whenever what follows it is.
    pub(super) straight: bool,
}

#[derive(Debug, Clone)]
pub(super) enum What<'a> {
    /// The module of this dotted name.
    Module(&'a str),
    /// A name out of a module.
    Export(&'a str, &'a str),
    /// A class statement, by its index.
    Class(usize),
    Function,
    /// An assignment of this value alone.
    Value(&'a Expr),
    /// Parameters, loop variables, captures and the rest.
    Other,
}

/// Sites kept of a name.
const MAX_SITES: usize = 64;
/// Sites kept of a name, when they stand for nothing a rule knows.
const MAX_PLAIN_SITES: usize = 16;

/// What a name can mean where it is read.
#[derive(Debug)]
pub(super) struct Meaning<'s, 'a> {
    /// The sites that may have bound it.
    pub(super) sites: &'s [Site<'a>],
    /// The scope they are in.
    pub(super) scope: ScopeId,
    /// Python may fall back to the builtin of that name.
    pub(super) builtin: bool,
    /// A star import may have bound it.
    pub(super) star: Option<&'a str>,
}

#[derive(Debug)]
pub(super) struct Scopes<'a>(Vec<Scope<'a>>);

impl<'a> Scopes<'a> {
    pub(super) fn new() -> Self {
        Self(vec![Scope::new(ScopeKind::Module, 0)])
    }

    pub(super) fn open(&mut self, kind: ScopeKind, parent: ScopeId) -> ScopeId {
        self.0.push(Scope::new(kind, parent));
        self.0.len() - 1
    }

    pub(super) fn get(&self, id: ScopeId) -> Option<&Scope<'a>> {
        self.0.get(id)
    }

    pub(super) fn get_mut(&mut self, id: ScopeId) -> Option<&mut Scope<'a>> {
        self.0.get_mut(id)
    }

    /// Notes a `global` (`to_module`) or `nonlocal` declaration.
    pub(super) fn declare(&mut self, scope: ScopeId, name: &'a str, to_module: bool) {
        let target = if to_module { 0 } else { self.enclosing_function(scope, name) };
        if let Some(scope) = self.0.get_mut(scope) {
            scope.elsewhere.insert(name, target);
        }
    }

    /// The scope in which `scope` binds `name`.
    fn home(&self, scope: ScopeId, name: &str) -> ScopeId {
        self.0.get(scope).and_then(|scope| scope.elsewhere.get(name).copied()).unwrap_or(scope)
    }

    /// Notes that `scope` binds `name`; false when imports and classes have bound it too often to follow.
    #[must_use]
    pub(super) fn bind(&mut self, scope: ScopeId, name: &'a str, mut site: Site<'a>) -> bool {
        let home = self.home(scope, name);
        site.straight &= home == scope;
        let Some(scope) = self.0.get_mut(home) else { return true };
        let names = scope.names.entry(name).or_default();
        names.straight = site.straight && (names.count == 0 || names.straight);
        if site.straight {
            names.bound_from = Some(names.bound_from.map_or(site.from, |from| from.min(site.from)));
        }
        names.last_from = names.last_from.max(site.from);
        names.count += 1;
        let known = matches!(site.what, What::Module(_) | What::Export(..) | What::Class(_));
        // A name that is bound in every line would make each of its uses cost as many steps. Leaving out a binding that stands for nothing
        // known can only make the name look more like the known ones.
        if names.sites.len() < if known { MAX_SITES } else { MAX_PLAIN_SITES } {
            names.sites.push(site);
            return true;
        }
        !known
    }

    pub(super) fn unbind(&mut self, scope: ScopeId, name: &'a str) {
        let home = self.home(scope, name);
        if let Some(scope) = self.0.get_mut(home) {
            scope.names.entry(name).or_default().unbound = true;
        }
    }

    fn enclosing_function(&self, from: ScopeId, name: &str) -> ScopeId {
        let mut at = self.0.get(from).map_or(0, |scope| scope.parent);
        while let Some(scope) = self.0.get(at)
            && at != 0
        {
            if scope.kind == ScopeKind::Function && scope.names.contains_key(name) {
                return at;
            }
            at = scope.parent;
        }
        0
    }

    /// The nearest scope around `from` that is no comprehension: where `:=` binds.
    pub(super) fn outside_comprehensions(&self, from: ScopeId) -> ScopeId {
        let mut at = from;
        while let Some(scope) = self.0.get(at)
            && scope.kind == ScopeKind::Comprehension
        {
            at = scope.parent;
        }
        at
    }

    /// The innermost scope and the site list for `name` read in `scope` at byte offset `at`.
    ///
    /// Python never falls back from a function's own name; from a class body and from the module it does while the name is not bound
    /// yet. A module-level name counts as bound only after a statement that is always reached, and if nothing unbinds it.
    pub(super) fn meaning(&self, name: &str, scope: ScopeId, at: usize) -> Meaning<'_, 'a> {
        let mut id = self.home(scope, name);
        let mut first = true;
        loop {
            let Some(here) = self.0.get(id) else { return Meaning { sites: &[], scope: 0, builtin: true, star: None } };
            let visible = first || here.kind != ScopeKind::Class;
            if visible && let Some(names) = here.names.get(name) {
                let closed = matches!(here.kind, ScopeKind::Function | ScopeKind::Comprehension);
                let bound = !names.unbound && names.bound_from.is_some_and(|from| from <= at);
                if closed || bound || (here.kind == ScopeKind::Module && !names.sites.is_empty()) {
                    let all = names.sites.as_slice();
                    let last = all.iter().rposition(|site| site.from <= at).and_then(|last| all.get(last..=last));
                    let settled = names.straight && (scope == id || names.last_from <= at);
                    let sites = if settled { last.unwrap_or(all) } else { all };
                    return Meaning { sites, scope: id, builtin: !(closed || bound), star: None };
                }
                // A class body's name that may not be bound yet: what is outside may be meant as well, so take the stricter way.
                if here.kind == ScopeKind::Class && !names.sites.is_empty() {
                    let outer = self.meaning(name, here.parent, at);
                    let sites = if outer.sites.is_empty() { names.sites.as_slice() } else { outer.sites };
                    return Meaning { sites, ..outer };
                }
            }
            if id == 0 {
                return Meaning {
                    sites: &[],
                    scope: 0,
                    builtin: true,
                    star: here.stars.iter().rev().find(|module| tables::is_export(module, name)).copied(),
                };
            }
            first = false;
            id = here.parent;
        }
    }

    /// Every site of `name` directly in `scope`.
    pub(super) fn sites(&self, scope: ScopeId, name: &str) -> Option<&Names<'a>> {
        self.0.get(scope)?.names.get(name)
    }

    /// The names bound directly in `scope`.
    pub(super) fn names(&self, scope: ScopeId) -> impl Iterator<Item = (&'a str, &Names<'a>)> {
        self.0.get(scope).into_iter().flat_map(|scope| scope.names.iter().map(|(name, names)| (*name, names)))
    }
}

impl Scope<'_> {
    fn new(kind: ScopeKind, parent: ScopeId) -> Self {
        Self { kind, parent, names: HashMap::new(), elsewhere: HashMap::new(), stars: Vec::new() }
    }
}
