//! Scopes, what binds each name in them, and what a name can mean where it is read.

use std::collections::HashMap;

use ruff_python_ast::Expr;
use rustc_hash::FxHashMap;

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
    /// By the number of the name, so that no program can choose names whose hashes collide.
    names: FxHashMap<u32, Names<'a>>,
    /// `global` (true) and `nonlocal` (false) declarations.
    elsewhere: FxHashMap<u32, bool>,
    /// Modules whose names were all imported.
    stars: Vec<&'a str>,
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
    /// Each element of this literal in turn, in a loop.
    Each(&'a Expr),
    /// Parameters, loop variables, captures and the rest.
    Other,
}

impl What<'_> {
    /// Whether rules know what it stands for.
    fn is_known(&self) -> bool {
        matches!(self, Self::Module(_) | Self::Export(..) | Self::Class(_))
    }
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
    /// More of them, outside a class body whose own may not have run yet.
    pub(super) also: &'s [Site<'a>],
    /// The scope they are in.
    pub(super) scope: ScopeId,
    /// Python may fall back to the builtin of that name.
    pub(super) builtin: bool,
    /// A star import may have bound it.
    pub(super) star: Option<&'a str>,
}

impl<'s, 'a> Meaning<'s, 'a> {
    /// Nothing but the builtin of that name.
    const BUILTIN: Self = Self { sites: &[], also: &[], scope: 0, builtin: true, star: None };

    pub(super) fn sites(&self) -> impl Iterator<Item = &'s Site<'a>> + use<'s, 'a> {
        self.sites.iter().chain(self.also)
    }
}

/// Every scope of a program, and every name that something in it binds.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    all: Vec<Scope<'a>>,
    /// Numbered in the order of their first binding; whether an import or a class binds the name anywhere.
    names: HashMap<&'a str, (u32, bool)>,
    spelling: Vec<&'a str>,
    any_star: bool,
}

impl Default for Scopes<'_> {
    fn default() -> Self {
        Self { all: vec![Scope::new(ScopeKind::Module, 0)], names: HashMap::new(), spelling: Vec::new(), any_star: false }
    }
}

impl<'a> Scopes<'a> {
    pub(super) fn open(&mut self, kind: ScopeKind, parent: ScopeId) -> ScopeId {
        self.all.push(Scope::new(kind, parent));
        self.all.len() - 1
    }

    pub(super) fn get(&self, id: ScopeId) -> Option<&Scope<'a>> {
        self.all.get(id)
    }

    /// Notes `from module import *`.
    pub(super) fn star_import(&mut self, scope: ScopeId, module: &'a str) {
        self.any_star = true;
        if let Some(scope) = self.all.get_mut(scope) {
            scope.stars.push(module);
        }
    }

    fn number(&mut self, name: &'a str) -> u32 {
        let next = u32::try_from(self.spelling.len()).unwrap_or(u32::MAX);
        let (number, _) = self.names.entry(name).or_insert((next, false));
        if *number == next {
            self.spelling.push(name);
        }
        *number
    }

    fn number_of(&self, name: &str) -> Option<u32> {
        self.names.get(name).map(|(number, _)| *number)
    }

    /// Whether anything binds the name anywhere.
    pub(super) fn is_bound(&self, name: &str) -> bool {
        self.any_star || self.names.contains_key(name)
    }

    /// Whether some import or class may have bound the name, anywhere.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.any_star || self.names.get(name).is_some_and(|(_, known)| *known)
    }

    /// Notes a `global` (`to_module`) or `nonlocal` declaration.
    pub(super) fn declare(&mut self, scope: ScopeId, name: &'a str, to_module: bool) {
        let name = self.number(name);
        if let Some(scope) = self.all.get_mut(scope) {
            scope.elsewhere.insert(name, to_module);
        }
    }

    fn declared(&self, scope: ScopeId, name: u32) -> Option<bool> {
        self.all.get(scope).and_then(|scope| scope.elsewhere.get(&name).copied())
    }

    /// The scopes in which a binding in `scope` takes effect.
    fn homes(&self, scope: ScopeId, name: u32) -> Vec<ScopeId> {
        match self.declared(scope, name) {
            None => vec![scope],
            Some(true) => vec![0],
            // Which of the functions around owns the name may be decided by a line further down: it may be any of them.
            Some(false) => {
                let around =
                    std::iter::successors(Some(scope), |at| self.all.get(*at).map(|here| here.parent).filter(|_| *at != 0)).skip(1);
                around.filter(|at| self.all.get(*at).is_some_and(|scope| scope.kind == ScopeKind::Function)).collect()
            }
        }
    }

    /// Notes that `scope` binds `name`; false when imports and classes have bound it too often to follow.
    #[must_use]
    pub(super) fn bind(&mut self, scope: ScopeId, name: &'a str, mut site: Site<'a>) -> bool {
        let number = self.number(name);
        if site.what.is_known()
            && let Some((_, known)) = self.names.get_mut(name)
        {
            *known = true;
        }
        let Some(to_module) = self.declared(scope, number) else { return self.bind_in(scope, number, site) };
        site.straight &= to_module && scope == 0;
        let mut kept = true;
        for home in self.homes(scope, number) {
            kept &= self.bind_in(home, number, site.clone());
        }
        kept
    }

    fn bind_in(&mut self, home: ScopeId, name: u32, site: Site<'a>) -> bool {
        let Some(scope) = self.all.get_mut(home) else { return true };
        let names = scope.names.entry(name).or_default();
        names.straight = site.straight && (names.count == 0 || names.straight);
        if site.straight {
            names.bound_from = Some(names.bound_from.map_or(site.from, |from| from.min(site.from)));
        }
        names.last_from = names.last_from.max(site.from);
        names.count += 1;
        let known = site.what.is_known();
        // A name that is bound in every line would make each of its uses cost as many steps. Leaving out a binding that stands for nothing
        // known can only make the name look more like the known ones.
        if names.sites.len() < if known { MAX_SITES } else { MAX_PLAIN_SITES } {
            names.sites.push(site);
            return true;
        }
        !known
    }

    pub(super) fn unbind(&mut self, scope: ScopeId, name: &'a str) {
        let name = self.number(name);
        for home in self.homes(scope, name) {
            if let Some(scope) = self.all.get_mut(home) {
                scope.names.entry(name).or_default().unbound = true;
            }
        }
    }

    /// The nearest scope around `from` that is no comprehension: where `:=` binds.
    pub(super) fn outside_comprehensions(&self, from: ScopeId) -> ScopeId {
        let mut at = from;
        while let Some(scope) = self.all.get(at)
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
        let Some(number) = self.number_of(name) else {
            return Meaning { star: self.star(0, name), ..Meaning::BUILTIN };
        };
        let (id, first) = match self.declared(scope, number) {
            None => (scope, true),
            Some(true) => (0, false),
            Some(false) => (self.all.get(scope).map_or(0, |scope| scope.parent), false),
        };
        self.lookup((name, number), scope, id, first, at)
    }

    /// `reader` is the scope that reads the name; the search starts in `from`.
    fn lookup(&self, (name, number): (&str, u32), reader: ScopeId, from: ScopeId, first: bool, at: usize) -> Meaning<'_, 'a> {
        let (mut id, mut first) = (from, first);
        loop {
            let Some(here) = self.all.get(id) else { return Meaning::BUILTIN };
            let visible = first || here.kind != ScopeKind::Class;
            if visible && let Some(names) = here.names.get(&number) {
                let closed = matches!(here.kind, ScopeKind::Function | ScopeKind::Comprehension);
                let bound = !names.unbound && names.bound_from.is_some_and(|from| from <= at);
                if closed || bound || (here.kind == ScopeKind::Module && !names.sites.is_empty()) {
                    let all = names.sites.as_slice();
                    let last = all.iter().rposition(|site| site.from <= at).and_then(|last| all.get(last..=last));
                    // What runs later may meet any of the bindings; only in the scope itself do lines run in their order.
                    let settled = names.straight && (reader == id || names.last_from <= at);
                    let sites = if settled { last.unwrap_or(all) } else { all };
                    return Meaning { sites, also: &[], scope: id, builtin: !(closed || bound), star: self.star(id, name) };
                }
                // A class body's name that may not be bound yet: what is outside may be meant as well.
                if here.kind == ScopeKind::Class && !names.sites.is_empty() {
                    let outer = self.lookup((name, number), reader, here.parent, false, at);
                    return Meaning { sites: &names.sites, also: outer.sites, scope: id, ..outer };
                }
            }
            if id == 0 {
                return Meaning { star: self.star(0, name), ..Meaning::BUILTIN };
            }
            first = false;
            id = here.parent;
        }
    }

    /// The module whose star import in `scope` may have bound `name`.
    fn star(&self, scope: ScopeId, name: &str) -> Option<&'a str> {
        if !self.any_star {
            return None;
        }
        self.all.get(scope)?.stars.iter().find(|module| tables::is_export(module, name)).copied()
    }

    /// Every site of `name` directly in `scope`.
    pub(super) fn sites(&self, scope: ScopeId, name: &str) -> Option<&Names<'a>> {
        self.all.get(scope)?.names.get(&self.number_of(name)?)
    }

    /// The names bound directly in `scope`.
    pub(super) fn names(&self, scope: ScopeId) -> impl Iterator<Item = (&'a str, &Names<'a>)> {
        self.all.get(scope).into_iter().flat_map(|scope| {
            scope.names.iter().filter_map(|(name, names)| Some((*self.spelling.get(usize::try_from(*name).ok()?)?, names)))
        })
    }
}

impl Scope<'_> {
    fn new(kind: ScopeKind, parent: ScopeId) -> Self {
        Self { kind, parent, names: FxHashMap::default(), elsewhere: FxHashMap::default(), stars: Vec::new() }
    }
}
