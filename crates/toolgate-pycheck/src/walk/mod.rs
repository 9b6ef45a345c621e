//! One walk over the tree: opens scopes, notes what binds names, and lists every use a rule judges.
//!
//! Recursion is bounded by [`super::nesting`].

mod expressions;
mod patterns;

use ruff_python_ast::visitor::walk_stmt;
use ruff_python_ast::{
    ExceptHandler, Expr, ExprList, ExprTuple, Identifier, Parameters, Stmt, StmtAnnAssign, StmtAugAssign, StmtClassDef, StmtFunctionDef,
    StmtImport, StmtImportFrom, StmtTry, Suite,
};
use ruff_text_size::{Ranged, TextRange};

use super::program::{Access, AttributeUse, Class, Decorated, DunderBinding, Import, Program, Use, elements, is_dunder};
use super::scope::{ScopeId, ScopeKind, Site, What};
use super::tables;

/// Walks a module.
pub(super) fn module(body: &Suite, size: usize) -> Program<'_> {
    let mut walker = Walker::new(size);
    walker.body(body);
    walker.program
}

/// Walks one expression, as in an annotation that is a string.
pub(super) fn expression(expr: &Expr) -> Program<'_> {
    let mut walker = Walker::new(0);
    walker.expr(expr, Use::Annotation);
    walker.program
}

pub(super) struct Walker<'a> {
    program: Program<'a>,
    scope: ScopeId,
    /// The current statement is reached whenever the end of the scope's body is.
    straight: bool,
    in_annotation: bool,
}

impl<'a> Walker<'a> {
    fn new(size: usize) -> Self {
        Self { program: Program::new(size), scope: 0, straight: true, in_annotation: false }
    }

    fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    /// A body that may be skipped or repeated.
    fn block(&mut self, body: &'a [Stmt]) {
        self.skippable(|walker| walker.body(body));
    }

    fn skippable(&mut self, walk: impl FnOnce(&mut Self)) {
        let straight = std::mem::replace(&mut self.straight, false);
        walk(self);
        self.straight = straight;
    }

    fn within(&mut self, scope: ScopeId, walk: impl FnOnce(&mut Self)) {
        let (outer, straight) = (std::mem::replace(&mut self.scope, scope), std::mem::replace(&mut self.straight, true));
        walk(self);
        (self.scope, self.straight) = (outer, straight);
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::FunctionDef(node) => self.function(node),
            Stmt::ClassDef(node) => self.class(node),
            Stmt::Delete(node) => node.targets.iter().for_each(|target| self.delete(target)),
            Stmt::TypeAlias(node) => {
                self.type_params(node.type_params.as_deref());
                self.expr(&node.value, Use::Annotation);
                self.target(&node.name, None, node.end());
            }
            Stmt::Assign(node) => {
                self.expr(&node.value, Use::Value);
                for target in &node.targets {
                    self.target(target, Some(&node.value), node.end());
                }
            }
            Stmt::AugAssign(node) => self.augmented_assignment(node),
            Stmt::AnnAssign(node) => self.annotated_assignment(node),
            Stmt::For(node) => {
                self.expr(&node.iter, Use::Value);
                self.skippable(|walker| {
                    walker.loop_target(&node.target, &node.iter, node.target.end());
                    walker.body(&node.body);
                    walker.body(&node.orelse);
                });
            }
            Stmt::While(node) => {
                self.expr(&node.test, Use::Test);
                self.block(&node.body);
                self.block(&node.orelse);
            }
            Stmt::If(node) => {
                self.expr(&node.test, Use::Test);
                self.block(&node.body);
                for clause in &node.elif_else_clauses {
                    self.maybe(clause.test.as_ref(), Use::Test);
                    self.block(&clause.body);
                }
            }
            Stmt::With(node) => self.skippable(|walker| {
                for item in &node.items {
                    walker.expr(&item.context_expr, Use::Value);
                    if let Some(target) = &item.optional_vars {
                        walker.target(target, None, target.end());
                    }
                }
                walker.body(&node.body);
            }),
            Stmt::Match(node) => {
                self.expr(&node.subject, Use::Value);
                self.skippable(|walker| {
                    for case in &node.cases {
                        walker.pattern(&case.pattern);
                        walker.maybe(case.guard.as_deref(), Use::Test);
                        walker.body(&case.body);
                    }
                });
            }
            Stmt::Try(node) => self.try_statement(node),
            Stmt::Assert(node) => {
                self.expr(&node.test, Use::Test);
                self.maybe(node.msg.as_deref(), Use::Value);
            }
            Stmt::Import(node) => self.import(node),
            Stmt::ImportFrom(node) => self.import_from(node),
            Stmt::Global(node) => node.names.iter().for_each(|name| self.program.scopes.declare(self.scope, name, true)),
            Stmt::Nonlocal(node) => node.names.iter().for_each(|name| self.program.scopes.declare(self.scope, name, false)),
            Stmt::Expr(node) => match &*node.value {
                Expr::StringLiteral(text) => self.text(text, true),
                value => self.expr(value, Use::Dropped),
            },
            // `return`, `raise`, `pass` and the like.
            other => walk_stmt(self, other),
        }
    }

    fn augmented_assignment(&mut self, node: &'a StmtAugAssign) {
        self.expr(&node.value, Use::Value);
        match &*node.target {
            Expr::Name(name) => {
                self.name(&name.id, name.range, Use::Value);
                self.bind(&name.id, name.range, What::Other, node.end());
            }
            Expr::Attribute(_) => self.attribute(&node.target, Use::Value, Access::Update),
            other => self.target(other, None, node.end()),
        }
    }

    fn annotated_assignment(&mut self, node: &'a StmtAnnAssign) {
        self.annotation(&node.annotation);
        match &node.value {
            Some(value) => {
                self.expr(value, Use::Value);
                self.target(&node.target, Some(value), node.end());
            }
            // The name is local to the scope, but has no value yet.
            None => self.skippable(|walker| walker.target(&node.target, None, node.end())),
        }
    }

    fn import(&mut self, node: &'a StmtImport) {
        for alias in &node.names {
            self.program.imports.push(Import { alias, from: None, scope: self.scope });
            let path = alias.name.as_str();
            let top = path.split('.').next().unwrap_or(path);
            match &alias.asname {
                Some(name) => self.bind(name, name.range, What::Module(path), node.end()),
                None => self.bind(top, alias.name.range, What::Module(top), node.end()),
            }
        }
    }

    fn import_from(&mut self, node: &'a StmtImportFrom) {
        let module = node.module.as_ref().map_or("", Identifier::as_str);
        for alias in &node.names {
            self.program.imports.push(Import { alias, from: Some(node), scope: self.scope });
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            match alias.name.as_str() {
                "*" => self.program.scopes.star_import(self.scope, module),
                _ => self.bind(name, name.range, What::Export(module, &alias.name), node.end()),
            }
        }
    }

    fn try_statement(&mut self, node: &'a StmtTry) {
        self.block(&node.body);
        for handler in &node.handlers {
            let ExceptHandler::ExceptHandler(handler) = handler;
            self.maybe(handler.type_.as_deref(), Use::Caught);
            self.skippable(|walker| {
                if let Some(name) = &handler.name {
                    walker.bind(name, name.range, What::Other, name.end());
                    walker.program.scopes.unbind(walker.scope, name);
                    walker.program.holds_errors |= handler.type_.as_deref().is_none_or(|types| !spares_attribute_errors(types));
                    handler.type_.iter().for_each(|types| walker.spared(types));
                }
                walker.body(&handler.body);
            });
        }
        self.block(&node.orelse);
        // What stands in `finally` is always reached, but its bindings are not worth the exception.
        self.block(&node.finalbody);
    }

    /// Notes names of exceptions that are taken for the builtin ones.
    fn spared(&mut self, types: &'a Expr) {
        match types {
            Expr::Name(name) => self.program.spared.push(&name.id),
            other => elements(other).into_iter().flatten().for_each(|types| self.spared(types)),
        }
    }

    fn function(&mut self, node: &'a StmtFunctionDef) {
        let method = self.program.scopes.get(self.scope).is_some_and(|scope| scope.kind == ScopeKind::Class);
        self.program.innermost.extend(node.decorator_list.last().map(|decorator| decorator.expression.range()));
        let place = if method { Decorated::Method } else { Decorated::Function };
        for decorator in &node.decorator_list {
            self.expr(&decorator.expression, Use::Decorator(place));
        }
        self.type_params(node.type_params.as_deref());
        self.parameters_outside(&node.parameters);
        if let Some(returns) = &node.returns {
            self.annotation(returns);
        }
        // Without a decorator nobody holds the function before its name is bound, so its own body may rely on that name.
        let from = match node.body.first() {
            Some(first) if node.decorator_list.is_empty() => first.start(),
            _ => node.end(),
        };
        self.bind(&node.name, node.name.range, What::Function, from);
        let scope = self.program.scopes.open(ScopeKind::Function, self.scope);
        self.within(scope, |walker| {
            walker.parameters_inside(&node.parameters);
            walker.body(&node.body);
        });
    }

    fn class(&mut self, node: &'a StmtClassDef) {
        for decorator in &node.decorator_list {
            self.expr(&decorator.expression, Use::Decorator(Decorated::Class));
        }
        self.type_params(node.type_params.as_deref());
        if let Some(arguments) = &node.arguments {
            for base in &arguments.args {
                self.expr(base, Use::Base);
            }
            for keyword in &arguments.keywords {
                let metaclass = keyword.arg.as_ref().is_some_and(|name| name.as_str() == "metaclass");
                self.expr(&keyword.value, if metaclass { Use::Metaclass } else { Use::Value });
            }
        }
        let body = self.program.scopes.open(ScopeKind::Class, self.scope);
        let index = self.program.classes.len();
        self.program.classes.push(Class { node, scope: self.scope, body });
        self.within(body, |walker| walker.body(&node.body));
        self.bind(&node.name, node.name.range, What::Class(index), node.end());
    }

    /// Defaults and annotations run where the function is defined.
    fn parameters_outside(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            if let Some(annotation) = parameter.annotation() {
                self.annotation(annotation);
            }
            self.maybe(parameter.default(), Use::Value);
        }
    }

    fn parameters_inside(&mut self, parameters: &'a Parameters) {
        for parameter in parameters {
            let name = parameter.name();
            self.bind(name, name.range, What::Other, name.start());
        }
    }

    fn annotation(&mut self, expr: &'a Expr) {
        self.program.annotations.push((expr, self.scope));
        let outer = std::mem::replace(&mut self.in_annotation, true);
        self.expr(expr, Use::Annotation);
        self.in_annotation = outer;
    }

    fn bind(&mut self, name: &'a str, range: TextRange, what: What<'a>, from: ruff_text_size::TextSize) {
        let value = if let What::Value(value) = &what { Some(*value) } else { None };
        self.dunder(name, range, value);
        self.program.crowded |= !self.program.scopes.bind(self.scope, name, Site { what, from: from.to_usize(), straight: self.straight });
    }

    fn dunder(&mut self, name: &'a str, range: TextRange, value: Option<&'a Expr>) {
        if is_dunder(name) {
            // Bound in whatever way, it is handed the exceptions that pass.
            self.program.holds_errors |= matches!(name, "__exit__" | "__aexit__");
            self.program.dunders.push(DunderBinding { name, range, scope: self.scope, value });
        }
    }

    /// Something that is assigned to. `value` is what a plain name gets.
    fn target(&mut self, target: &'a Expr, value: Option<&'a Expr>, from: ruff_text_size::TextSize) {
        match target {
            Expr::Name(name) => self.bind(&name.id, name.range, value.map_or(What::Other, What::Value), from),
            Expr::Attribute(_) => self.attribute(target, Use::Value, Access::Store),
            Expr::Subscript(node) => {
                self.expr(&node.value, Use::ItemStore);
                self.expr(&node.slice, Use::Index);
            }
            Expr::Starred(node) => self.target(&node.value, None, from),
            Expr::Tuple(ExprTuple { elts, .. }) | Expr::List(ExprList { elts, .. }) => {
                for target in elts {
                    self.target(target, None, from);
                }
            }
            other => self.expr(other, Use::Value),
        }
    }

    /// The target of a loop.
    fn loop_target(&mut self, target: &'a Expr, iter: &'a Expr, from: ruff_text_size::TextSize) {
        match (target, iter) {
            (Expr::Name(name), Expr::Tuple(_) | Expr::List(_)) => self.bind(&name.id, name.range, What::Each(iter), from),
            _ => self.target(target, None, from),
        }
    }

    fn delete(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => {
                self.dunder(&name.id, name.range, None);
                self.program.scopes.unbind(self.scope, &name.id);
            }
            Expr::Attribute(_) => self.attribute(target, Use::Dropped, Access::Delete),
            Expr::Tuple(ExprTuple { elts, .. }) | Expr::List(ExprList { elts, .. }) => elts.iter().for_each(|target| self.delete(target)),
            other => self.target(other, None, other.end()),
        }
    }

    fn attribute(&mut self, expr: &'a Expr, usage: Use<'a>, access: Access) {
        if let Expr::Attribute(node) = expr {
            if matches!(node.attr.as_str(), "__context__" | "__cause__" | "exceptions" | "exception") {
                self.program.holds_errors = true;
            }
            self.program.attributes.push(AttributeUse { node, scope: self.scope, usage, access });
            self.expr(&node.value, Use::Owner(node));
        }
    }
}

/// Whether an `except` clause names only exceptions that cannot be an `AttributeError`.
fn spares_attribute_errors(types: &Expr) -> bool {
    match types {
        Expr::Name(name) => tables::SPARED_ERRORS.contains(&name.id),
        Expr::Tuple(tuple) => tuple.elts.iter().all(spares_attribute_errors),
        _ => false,
    }
}
