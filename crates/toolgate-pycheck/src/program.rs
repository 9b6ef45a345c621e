//! What one walk over the tree collects, so that the rules read lists and never recurse.

use ruff_python_ast::{Alias, Expr, ExprAttribute, ExprCall, Identifier, PatternMatchClass, StmtClassDef, StmtImportFrom};
use ruff_text_size::TextRange;

use super::scope::{ScopeId, Scopes};

/// Where an expression stands: what happens to its value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Use<'a> {
    /// Anything not listed below: assigned, returned, put in a container.
    Value,
    /// `x(…)`
    Called(&'a ExprCall),
    /// `f(…, x, …)`: the call, the position, the keyword.
    Argument(&'a ExprCall, usize, Option<&'a str>),
    /// `x.name`
    Owner(&'a ExprAttribute),
    /// `x[…]`
    Subscripted,
    /// `x[…] = …`
    ItemStore,
    /// The body of `default=lambda o: x` in this call.
    Encoder(&'a ExprCall),
    /// `…[x]`
    Index,
    /// A base class.
    Base,
    /// `metaclass=x`
    Metaclass,
    /// `@x` on a function in a class body or elsewhere.
    Decorator(Decorated),
    /// In an annotation.
    Annotation,
    /// `x is …`, `x is not …`
    Identity,
    /// `x == …` and the other comparisons.
    Comparison,
    /// `if x`, `while x`, `not x`
    Test,
    /// An exception type.
    Caught,
    /// The class of a class pattern.
    Pattern,
    /// In an f-string field, or the right side of `"…" % x`.
    Shown,
    /// A statement of its own.
    Dropped,
}

/// What a decorator stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decorated {
    Class,
    Function,
    Method,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Load,
    Store,
    /// Read and written, as in `x.y += 1`.
    Update,
    Delete,
}

#[derive(Debug)]
pub(super) struct NameUse<'a> {
    pub(super) name: &'a str,
    pub(super) range: TextRange,
    pub(super) scope: ScopeId,
    pub(super) usage: Use<'a>,
}

#[derive(Debug)]
pub(super) struct AttributeUse<'a> {
    pub(super) node: &'a ExprAttribute,
    pub(super) scope: ScopeId,
    pub(super) usage: Use<'a>,
    pub(super) access: Access,
}

#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) node: &'a ExprCall,
    pub(super) scope: ScopeId,
    pub(super) usage: Use<'a>,
}

#[derive(Debug)]
pub(super) struct Class<'a> {
    pub(super) node: &'a StmtClassDef,
    /// The scope the statement stands in.
    pub(super) scope: ScopeId,
    pub(super) body: ScopeId,
}

/// One name of an import statement.
#[derive(Debug)]
pub(super) struct Import<'a> {
    pub(super) alias: &'a Alias,
    /// The statement, where it is `from … import`.
    pub(super) from: Option<&'a StmtImportFrom>,
    pub(super) scope: ScopeId,
}

/// A string constant: its text and where it stands.
#[derive(Debug)]
pub(super) struct Text<'a> {
    pub(super) value: &'a str,
    pub(super) range: TextRange,
    /// A statement of its own, e.g. a docstring.
    pub(super) alone: bool,
    pub(super) annotation: bool,
}

/// A name bound with two leading and trailing underscores.
#[derive(Debug)]
pub(super) struct DunderBinding<'a> {
    pub(super) name: &'a str,
    pub(super) range: TextRange,
    pub(super) scope: ScopeId,
    pub(super) value: Option<&'a Expr>,
}

#[derive(Debug, Default)]
pub(super) struct Program<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) names: Vec<NameUse<'a>>,
    pub(super) attributes: Vec<AttributeUse<'a>>,
    pub(super) imports: Vec<Import<'a>>,
    pub(super) classes: Vec<Class<'a>>,
    /// Class patterns and the scope they stand in.
    pub(super) patterns: Vec<(&'a PatternMatchClass, ScopeId)>,
    pub(super) calls: Vec<Call<'a>>,
    /// Decorators that stand directly above their functions.
    pub(super) innermost: Vec<TextRange>,
    pub(super) texts: Vec<Text<'a>>,
    pub(super) dunders: Vec<DunderBinding<'a>>,
    /// Annotations, for programs in which some function evaluates them.
    pub(super) annotations: Vec<(&'a Expr, ScopeId)>,
    /// A handler, an `__exit__` method or a chained exception may hold an `AttributeError`.
    pub(super) holds_errors: bool,
    /// Names in `except` clauses that are taken for builtin exceptions.
    pub(super) spared: Vec<&'a str>,
    /// Imports or classes bind one name too often to be followed.
    pub(super) crowded: bool,
}

impl<'a> Program<'a> {
    /// `size` is the length of the source in bytes.
    pub(super) fn new(size: usize) -> Self {
        Self {
            names: Vec::with_capacity(size / 16),
            attributes: Vec::with_capacity(size / 64),
            calls: Vec::with_capacity(size / 64),
            ..Self::default()
        }
    }

    /// The dotted names of the modules it imports: by statements, and by calls that give a constant name. The names that a `from` takes are left out.
    pub(super) fn imported(&self) -> impl Iterator<Item = &'a str> {
        let statements = self.imports.iter().filter_map(|import| match import.from {
            None => Some(import.alias.name.as_str()),
            Some(node) if node.level == 0 => node.module.as_ref().map(Identifier::as_str),
            Some(_) => None,
        });
        let calls = self.calls.iter().filter_map(|call| match callee(call.node) {
            Some("__import__" | "import_module") => call.node.arguments.args.first().and_then(constant),
            _ => None,
        });
        statements.chain(calls)
    }
}

/// The last name of what is called, e.g. `f` of `f(…)` and of `a.f(…)`.
pub(super) fn callee(call: &ExprCall) -> Option<&str> {
    match &*call.func {
        Expr::Name(name) => Some(&name.id),
        Expr::Attribute(attribute) => Some(&attribute.attr),
        _ => None,
    }
}

/// The text of a string constant.
pub(super) fn constant(expr: &Expr) -> Option<&str> {
    if let Expr::StringLiteral(text) = expr { Some(text.value.to_str()) } else { None }
}

/// The elements of a tuple or list that is written out.
pub(super) fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}

/// Whether an argument is written `*x`.
pub(super) fn is_starred(call: &ExprCall) -> bool {
    call.arguments.args.iter().any(Expr::is_starred_expr)
}

/// Whether `name` has two leading and two trailing underscores.
pub(super) fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}
