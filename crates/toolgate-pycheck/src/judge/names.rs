//! Plain names: builtins, double-underscore names, modules as values, and what may be used in some ways only.

use ruff_python_ast::{Expr, ExprCall};

use super::super::program::{Decorated, NameUse, Use, is_dunder};
use super::super::rules::Imports;
use super::super::scope::ScopeKind;
use super::super::tables;
use super::origin::Origin;
use super::policy::{Arguments, Policy, RESTRICTED_BUILTINS, builtin_policy, export_policy};
use super::{Judge, Problem};

impl<'a> Judge<'_, 'a> {
    pub(super) fn names(&mut self) {
        let program = self.program;
        for name in &program.names {
            // Nearly every name is a variable or a harmless builtin, whatever scope it is in.
            if !program.scopes.is_known(name.name) && !may_matter(name.name) {
                continue;
            }
            if let Some(problem) = self.name_problem(name) {
                self.deny(name.start, name.end, problem);
            }
        }
        self.dunder_bindings();
    }

    fn name_problem(&self, name: &NameUse<'a>) -> Option<Problem> {
        if is_private_to_class(name.name)
            && let Some(problem) = self.mangled(name)
        {
            return Some(problem);
        }
        for origin in self.name_origins(name.name, name.scope, name.start) {
            let problem = match &origin {
                Origin::Builtin(builtin) if is_dunder(builtin) && !tables::DUNDER_NAMES.contains(builtin) => self.dunder_name(name),
                Origin::Builtin(builtin) => builtin_policy(builtin)
                    .and_then(|policy| self.usage_problem("builtin", builtin, builtin, policy, &name.usage, name.scope)),
                other => self.origin_problem(other, name.name, &name.usage, name.scope),
            };
            if problem.is_some() {
                return problem;
            }
        }
        None
    }

    /// The same for what an attribute of a module stands for.
    pub(super) fn origin_problem(&self, origin: &Origin<'a>, shown: &str, usage: &Use<'a>, scope: usize) -> Option<Problem> {
        match origin {
            Origin::Module(_) => self.module_value(shown, usage, scope),
            Origin::Export(module, name) => {
                let policy = export_policy(module, name)?;
                self.usage_problem("name", shown, &format!("{module}.{name}"), policy, usage, scope)
            }
            Origin::Class(index) => {
                let facts = self.facts.classes.get(*index)?;
                let policy = if facts.metaclass {
                    Policy::Metaclass
                } else if facts.open_enumeration {
                    Policy::EnumClass
                } else {
                    return None;
                };
                self.usage_problem("class", shown, shown, policy, usage, scope)
            }
            Origin::Builtin(_) => None,
        }
    }

    /// Modules are no values: whoever holds one holds every module it imported.
    fn module_value(&self, shown: &str, usage: &Use<'a>, scope: usize) -> Option<Problem> {
        let harmless = match usage {
            Use::Owner(_) | Use::Identity | Use::Test | Use::Dropped | Use::Shown => true,
            Use::Argument(call, 0, None) => self.is_builtin(&call.func, scope, &["dir", "hasattr", "print", "repr", "str"]),
            _ => false,
        };
        if harmless || self.rules.imports == Imports::All {
            return None;
        }
        let message = format!("the module `{shown}` is used as a value; a module may only stand before a dot");
        Some(Problem::new("module.value", message, format!("name what you need: `{shown}.name`")))
    }

    fn dunder_name(&self, name: &NameUse<'a>) -> Option<Problem> {
        if self.rules.allows_call(name.name) || self.rules.allows_attribute(name.name) {
            return None;
        }
        match builtin_policy(name.name) {
            Some(Policy::Refused(why, hint)) => Some(Problem::new("builtin", format!("`{}` {why}", name.name), hint)),
            _ => Some(Problem::new(
                "name.dunder",
                format!("the name `{}` belongs to the interpreter", name.name),
                "use an ordinary name of your own",
            )),
        }
    }

    /// In a class `__x` means `_Class__x`: only what is bound inside the class can be followed.
    fn mangled(&self, name: &NameUse<'a>) -> Option<Problem> {
        let mut scope = name.scope;
        while let Some(here) = self.program.scopes.get(scope)
            && scope != 0
        {
            let bound = self.program.scopes.sites(scope, name.name).is_some_and(|names| names.count > 0);
            match here.kind {
                ScopeKind::Class if bound && scope == name.scope => return None,
                ScopeKind::Class => {
                    let message = format!("`{}` is rewritten to a private name of the class, which hides what it stands for", name.name);
                    return Some(Problem::new("name.mangled", message, "use a name with one leading underscore"));
                }
                _ if bound => return None,
                _ => scope = here.parent,
            }
        }
        None
    }

    /// Whether `policy` allows this use.
    pub(super) fn usage_problem(
        &self,
        rule: &'static str,
        shown: &str,
        full: &str,
        policy: Policy,
        usage: &Use<'a>,
        scope: usize,
    ) -> Option<Problem> {
        if self.rules.allows_call(full) || self.rules.allows_call(shown) {
            return None;
        }
        let type_position = self.is_type_position(usage, scope);
        let (why, hint) = match policy {
            Policy::Refused(why, hint) => {
                if full == "vars" && self.namespace_is_only_shown(usage, scope) {
                    return None;
                }
                (why.to_owned(), hint.to_owned())
            }
            Policy::Called(arguments) => {
                let Use::Called(call) = usage else {
                    if type_position && !matches!(usage, Use::Annotation) {
                        return None;
                    }
                    return Some(Problem::new(
                        "alias",
                        format!(
                            "`{shown}` may only be called directly; under another name or inside another call its arguments cannot be read"
                        ),
                        format!("write `{shown}(…)` where it is needed"),
                    ));
                };
                return self.arguments_problem(shown, full, arguments, call, scope);
            }
            Policy::MethodDecorator if matches!(usage, Use::Decorator(Decorated::Method)) => return None,
            Policy::MethodDecorator => ("may only decorate a method".to_owned(), format!("write `@{shown}` above the method")),
            Policy::ClassDecorator => match usage {
                Use::Decorator(Decorated::Class) => return None,
                Use::Called(call) if self.call_usage(call).is_some_and(|usage| matches!(usage, Use::Decorator(Decorated::Class))) => {
                    return None;
                }
                _ => (
                    "executes text that it builds from field names, so it may only decorate a class".to_owned(),
                    format!("write `@{shown}` above the class"),
                ),
            },
            Policy::EnumClass => match usage {
                Use::Base | Use::Owner(_) | Use::Identity | Use::Pattern | Use::Shown => return None,
                Use::Called(call) if has_readable_names(call) => return None,
                _ if type_position => return None,
                Use::Called(_) => {
                    ("builds a class from names that cannot be read".to_owned(), "write an `enum` class with its members".to_owned())
                }
                _ => ("may only be used as a class".to_owned(), "derive a class from it".to_owned()),
            },
            Policy::Metaclass => match usage {
                Use::Base | Use::Metaclass | Use::Identity => return None,
                Use::Owner(node) if !matches!(node.attr.as_str(), "__new__" | "__call__" | "__init__") || self.facts.dynamic_classes => {
                    return None;
                }
                _ if type_position => return None,
                _ => ("builds classes by call, with entries that cannot be read".to_owned(), "write a `class` statement".to_owned()),
            },
            Policy::Type => match usage {
                Use::Called(call) => return self.type_call(call, scope),
                Use::Base | Use::Metaclass | Use::Identity | Use::Shown | Use::Dropped | Use::Test => return None,
                Use::Owner(node) if matches!(node.attr.as_str(), "__name__" | "__doc__") => return None,
                Use::Owner(node) if matches!(node.attr.as_str(), "__new__" | "__call__" | "__init__") && self.facts.dynamic_classes => {
                    return None;
                }
                Use::Argument(call, 0, None) if self.is_builtin(&call.func, scope, &["map"]) => return None,
                Use::Argument(call, _, Some("key")) if self.is_builtin(&call.func, scope, &["sorted", "min", "max"]) => return None,
                Use::Argument(call, 0, None) if self.is_builtin(&call.func, scope, &["super"]) => return None,
                _ if type_position => return None,
                _ => ("may only be called as `type(value)` or used as a class".to_owned(), "call it where the type is needed".to_owned()),
            },
            Policy::Annotation if type_position => return None,
            Policy::Annotation => ("may only be named in annotations".to_owned(), "leave it out".to_owned()),
        };
        Some(Problem::new(rule, format!("`{shown}` {why}"), hint))
    }

    /// An annotation, an `except`, or the second argument of the real `isinstance`.
    pub(super) fn is_type_position(&self, usage: &Use<'a>, scope: usize) -> bool {
        match usage {
            Use::Annotation | Use::Caught => true,
            Use::Argument(call, 1, None) => self.is_builtin(&call.func, scope, &["isinstance", "issubclass"]),
            _ => false,
        }
    }

    /// `type(x)`: one value, and not one that is a class by its looks.
    fn type_call(&self, call: &'a ExprCall, scope: usize) -> Option<Problem> {
        let one =
            call.arguments.args.len() == 1 && call.arguments.keywords.is_empty() && !call.arguments.args.iter().any(Expr::is_starred_expr);
        if !one {
            return Some(Problem::new(
                "type.call",
                "`type` with three arguments builds a class that cannot be read",
                "write a `class` statement",
            ));
        }
        let class_like = call.arguments.args.first().is_some_and(|argument| match argument {
            Expr::Call(inner) => self.is_builtin(&inner.func, scope, &["type"]),
            Expr::Attribute(node) => node.attr.as_str() == "__class__",
            other => self.expr_origins(other, scope).iter().any(|origin| match origin {
                Origin::Class(_) => true,
                Origin::Builtin(name) => tables::FIELD_BASES.contains(name) || *name == "type",
                _ => false,
            }),
        });
        let shown = self
            .call_usage(call)
            .is_some_and(|usage| matches!(usage, Use::Comparison | Use::Identity | Use::Shown | Use::Dropped) || is_printed(usage));
        if class_like && !shown {
            return Some(Problem::new("type.call", "the type of a class builds classes that cannot be read", "write a `class` statement"));
        }
        None
    }

    pub(super) fn call_usage(&self, call: &ExprCall) -> Option<&Use<'a>> {
        let at = self.facts.calls.binary_search_by_key(&std::ptr::from_ref(call).addr(), |(address, _)| *address).ok()?;
        let (_, index) = self.facts.calls.get(at)?;
        self.program.calls.get(*index).map(|call| &call.usage)
    }

    /// Whether the namespace that `vars(x)` yields is turned into text at once.
    fn namespace_is_only_shown(&self, usage: &Use<'a>, scope: usize) -> bool {
        match usage {
            Use::Called(call) => call.arguments.args.len() == 1 && self.call_usage(call).is_some_and(|usage| self.is_shown(usage, scope)),
            // `json.dumps(…, default=vars)`
            Use::Argument(call, _, Some("default")) => self.is_encoder(call, scope),
            _ => false,
        }
    }

    /// Whether a namespace in this place can give away nothing but text and keys, or be written to.
    ///
    /// No `keys()`: a view has a `mapping`. No comparison: it calls the `__eq__` of what stands on the other side.
    pub(super) fn is_shown(&self, usage: &Use<'a>, scope: usize) -> bool {
        match usage {
            Use::Shown | Use::Dropped | Use::Test => true,
            Use::ItemStore => !self.facts.sensitive,
            Use::Owner(node) => node.attr.as_str() == "update" && !self.facts.sensitive,
            Use::Argument(call, 0, None) => {
                self.is_builtin(&call.func, scope, &["print", "str", "repr", "len", "sorted", "list", "tuple", "set", "bool"])
            }
            Use::Encoder(call) => self.is_encoder(call, scope),
            _ => false,
        }
    }

    /// `json.dumps` with its own encoder: what `default` yields goes to it and nowhere else.
    fn is_encoder(&self, call: &'a ExprCall, scope: usize) -> bool {
        let own = !call.arguments.keywords.iter().any(|keyword| keyword.arg.as_ref().is_none_or(|name| name == "cls"));
        own && self.is_export(&call.func, scope, "json", &["dumps", "dump"])
    }

    fn dunder_bindings(&mut self) {
        let program = self.program;
        for binding in &program.dunders {
            let in_class = program.scopes.get(binding.scope).is_some_and(|scope| scope.kind == ScopeKind::Class);
            if self.rules.allows_attribute(binding.name) {
                continue;
            }
            let problem = if in_class {
                Self::class_entry(binding)
            } else if tables::MODULE_STORES.contains(binding.name)
                || (binding.scope == 0 && matches!(binding.name, "__getattr__" | "__dir__"))
            {
                None
            } else {
                Some(Problem::new(
                    "name.dunder",
                    format!("the name `{}` belongs to the interpreter", binding.name),
                    "use an ordinary name of your own",
                ))
            };
            if let Some(problem) = problem {
                self.deny(binding.start, binding.end, problem);
            }
        }
    }

    fn arguments_problem(&self, shown: &str, full: &str, arguments: Arguments, call: &'a ExprCall, scope: usize) -> Option<Problem> {
        match arguments {
            Arguments::Any => None,
            Arguments::AttributeName => self.attribute_name_call(full, call, scope),
            Arguments::AttributeNames => self.attribute_names_call(full, call),
            Arguments::Wrapper => wrapper_call(shown, full, call).or_else(|| self.wrapped_class(shown, call)),
            Arguments::Formatter => self.formatter_call(call),
            Arguments::Module => {
                let module = call
                    .arguments
                    .args
                    .first()
                    .and_then(|argument| if let Expr::StringLiteral(text) = argument { Some(text.value.to_str()) } else { None });
                if module.is_some_and(|module| self.rules.allows_import(module)) || (self.rules.imports == Imports::All && module.is_some())
                {
                    return None;
                }
                Some(Problem::new(
                    "import",
                    format!("`{shown}` imports a module that cannot be read or is not allowed"),
                    "use an `import` statement",
                ))
            }
            Arguments::Function => {
                let function = call.arguments.args.first().is_some_and(|argument| match argument {
                    Expr::Lambda(_) => true,
                    Expr::Name(name) => {
                        let meaning = self.program.scopes.meaning(&name.id, scope, call.range_start.to_usize());
                        !meaning.sites.is_empty()
                            && meaning.sites.iter().all(|site| matches!(site.what, super::super::scope::What::Function))
                    }
                    _ => false,
                });
                let plain = call.arguments.args.len() == 1
                    && call
                        .arguments
                        .keywords
                        .iter()
                        .all(|keyword| keyword.arg.as_ref().is_some_and(|name| name == "number" || name == "repeat"));
                (!(function && plain))
                    .then(|| Problem::new("name", format!("`{shown}` evaluates text as code"), format!("write `{shown}(lambda: …)`")))
            }
        }
    }

    /// Wrapping copies `__annotations__`, which a dataclass executes, and a whole `__dict__`.
    fn wrapped_class(&self, shown: &str, call: &'a ExprCall) -> Option<Problem> {
        let on_function =
            self.call_usage(call).is_some_and(|usage| matches!(usage, Use::Decorator(Decorated::Function | Decorated::Method)));
        let harmful = self.facts.sensitive || self.facts.classes.iter().any(|class| class.dataclass);
        (harmful && !on_function).then(|| {
            Problem::new(
                "name",
                format!("`{shown}` can give a class annotations of another's making, which `@dataclass` executes"),
                "use `@wraps(function)` above a function",
            )
        })
    }

    fn formatter_call(&self, call: &'a ExprCall) -> Option<Problem> {
        let used = self
            .call_usage(call)
            .is_some_and(|usage| matches!(usage, Use::Owner(node) if matches!(node.attr.as_str(), "format" | "parse")));
        let plain = call.arguments.args.is_empty() && call.arguments.keywords.is_empty();
        (!(used && plain)).then(|| {
            Problem::new(
                "name",
                "a kept `string.Formatter` follows attribute paths that are worked out at run time",
                "use an f-string or `str.format`",
            )
        })
    }
}

/// Whether a name can be refused where no import or class binds it.
fn may_matter(name: &str) -> bool {
    name.starts_with("__") || RESTRICTED_BUILTINS.contains(name)
}

/// Whether names are rewritten inside a class: `__x`, but not `__x__`.
pub(super) fn is_private_to_class(name: &str) -> bool {
    name.starts_with("__") && !name.ends_with("__")
}

fn is_printed(usage: &Use<'_>) -> bool {
    matches!(usage, Use::Argument(call, _, None) if matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "print" | "str" | "repr")))
}

/// The functional form of an enumeration: its names must be constants without underscores around them.
fn has_readable_names(call: &ExprCall) -> bool {
    let arguments = &call.arguments;
    if arguments.args.iter().any(Expr::is_starred_expr) {
        return false;
    }
    match (arguments.args.len(), arguments.keywords.is_empty()) {
        (0 | 1, true) => true,
        (2, _) => {
            arguments.keywords.iter().all(|keyword| keyword.arg.as_ref().is_some_and(|name| name == "start"))
                && arguments.args.get(1).is_some_and(readable)
        }
        _ => false,
    }
}

fn readable(names: &Expr) -> bool {
    let public =
        |name: &Expr| matches!(name, Expr::StringLiteral(text) if text.value.to_str().split([' ', ',']).all(|name| !name.starts_with('_')));
    match names {
        Expr::StringLiteral(_) => public(names),
        Expr::List(list) => list.elts.iter().all(|item| public(item) || pair(item, public)),
        Expr::Tuple(tuple) => tuple.elts.iter().all(|item| public(item) || pair(item, public)),
        Expr::Dict(dict) => dict.items.iter().all(|item| item.key.as_ref().is_some_and(public)),
        _ => false,
    }
}

fn pair(item: &Expr, public: impl Fn(&Expr) -> bool) -> bool {
    let elements = match item {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        Expr::List(list) => list.elts.as_slice(),
        _ => return false,
    };
    matches!(elements, [name, _] if public(name))
}

/// `wraps` copies attributes by name; without a choice of names it copies harmless ones.
fn wrapper_call(shown: &str, full: &str, call: &ExprCall) -> Option<Problem> {
    let most = if full == "functools.wraps" { 1 } else { 2 };
    let plain = call.arguments.args.len() <= most && !call.arguments.args.iter().any(Expr::is_starred_expr);
    let named =
        call.arguments.keywords.iter().all(|keyword| keyword.arg.as_ref().is_some_and(|name| name == "wrapped" || name == "wrapper"));
    (!(plain && named)).then(|| {
        Problem::new(
            "name",
            format!("`{shown}` with its own list of attributes copies any attribute by name"),
            format!("write `{shown}(function)` alone"),
        )
    })
}
