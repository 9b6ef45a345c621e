//! What one walk over the tree collects, so that the rules read lists and never recurse.

use ruff_python_ast::{Expr, ExprAttribute, ExprCall, Pattern, PatternKeyword, StmtClassDef, StmtFunctionDef, StmtImport, StmtImportFrom};

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
    pub(super) start: usize,
    pub(super) end: usize,
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

#[derive(Debug, Clone, Copy)]
pub(super) enum ImportStatement<'a> {
    Import(&'a StmtImport),
    From(&'a StmtImportFrom),
}

/// A string constant: its text and where it stands.
#[derive(Debug)]
pub(super) struct Text<'a> {
    pub(super) value: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// A statement of its own, e.g. a docstring.
    pub(super) alone: bool,
    pub(super) annotation: bool,
}

/// A name bound with two leading and trailing underscores.
#[derive(Debug)]
pub(super) struct DunderBinding<'a> {
    pub(super) name: &'a str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) scope: ScopeId,
    /// An annotation without or with a value: a dataclass makes a field of it.
    pub(super) annotated: bool,
    pub(super) value: Option<&'a ruff_python_ast::Expr>,
}

#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) scopes: Scopes<'a>,
    pub(super) names: Vec<NameUse<'a>>,
    pub(super) attributes: Vec<AttributeUse<'a>>,
    pub(super) imports: Vec<(ImportStatement<'a>, ScopeId)>,
    pub(super) classes: Vec<Class<'a>>,
    /// Class patterns and the scope they stand in.
    pub(super) patterns: Vec<(&'a Pattern, ScopeId)>,
    pub(super) keywords: Vec<(&'a PatternKeyword, ScopeId)>,
    pub(super) calls: Vec<Call<'a>>,
    /// Functions with decorators.
    pub(super) decorated: Vec<(&'a StmtFunctionDef, ScopeId)>,
    pub(super) texts: Vec<Text<'a>>,
    pub(super) dunders: Vec<DunderBinding<'a>>,
    /// Annotations, for programs in which some function evaluates them.
    pub(super) annotations: Vec<(&'a ruff_python_ast::Expr, ScopeId)>,
    /// A handler, an `__exit__` method or a chained exception may hold an `AttributeError`.
    pub(super) holds_errors: bool,
    /// Names in `except` clauses that are taken for builtin exceptions.
    pub(super) spared: Vec<&'a str>,
    /// Imports or classes bind one name too often to be followed.
    pub(super) crowded: bool,
}

impl<'a> Program<'a> {
    /// The dotted names of the modules it imports: by statements, and by calls that give a constant name. The names that a `from` takes are left out.
    pub(super) fn imported(&self) -> impl Iterator<Item = &'a str> {
        let statements = self.imports.iter().flat_map(|(statement, _)| match statement {
            ImportStatement::Import(node) => node.names.iter().map(|alias| alias.name.as_str()).collect(),
            ImportStatement::From(node) if node.level == 0 => node.module.iter().map(ruff_python_ast::Identifier::as_str).collect(),
            ImportStatement::From(_) => Vec::new(),
        });
        let calls = self.calls.iter().filter_map(|call| {
            let name = match &*call.node.func {
                Expr::Name(name) => name.id.as_str(),
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                _ => return None,
            };
            match call.node.arguments.args.first() {
                Some(Expr::StringLiteral(text)) if matches!(name, "__import__" | "import_module") => Some(text.value.to_str()),
                _ => None,
            }
        });
        statements.chain(calls)
    }

    /// `size` is the length of the source in bytes.
    pub(super) fn new(size: usize) -> Self {
        Self {
            scopes: Scopes::new(),
            names: Vec::with_capacity(size / 16),
            attributes: Vec::with_capacity(size / 64),
            imports: Vec::new(),
            classes: Vec::new(),
            patterns: Vec::new(),
            keywords: Vec::new(),
            calls: Vec::with_capacity(size / 64),
            decorated: Vec::new(),
            texts: Vec::new(),
            dunders: Vec::new(),
            annotations: Vec::new(),
            holds_errors: false,
            spared: Vec::new(),
            crowded: false,
        }
    }
}

/// Whether `name` has two leading and two trailing underscores.
pub(super) fn is_dunder(name: &str) -> bool {
    name.len() > 4 && name.starts_with("__") && name.ends_with("__")
}
