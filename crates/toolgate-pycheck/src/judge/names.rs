//! Plain names: builtins, double-underscore names, modules as values, and what may be used in some ways only.

use ruff_python_ast::{Expr, ExprCall};

use super::super::program::{Decorated, NameUse, Use, callee, constant, elements, is_dunder, is_starred};
use super::super::report::Problem;
use super::super::rules::Imports;
use super::super::scope::{ScopeKind, What};
use super::super::tables;
use super::Judge;
use super::origin::Origin;
use super::policy::{Arguments, Kind, Policy, RESTRICTED_BUILTINS, builtin_policy, export_policy};

impl<'a> Judge<'_, 'a> {
    pub(super) fn names(&mut self) {
        let program = self.program;
        for name in &program.names {
            // Nearly every name is a variable or a harmless builtin, whatever scope it is in.
            let may_matter = name.name.starts_with("__") || RESTRICTED_BUILTINS.contains(name.name) || program.scopes.is_known(name.name);
            if may_matter {
                self.deny(name.range, self.name_problem(name));
            }
        }
        self.dunder_bindings();
    }

    fn name_problem(&self, name: &NameUse<'a>) -> Option<Problem> {
        let origins = self.name_origins(name.name, name.scope, name.range.start().to_usize());
        origins.iter().find_map(|origin| match origin {
            Origin::Builtin(builtin) if is_dunder(builtin) && !tables::DUNDER_NAMES.contains(builtin) => self.dunder_name(name),
            Origin::Builtin(builtin) => self.usage_problem("builtin", builtin, builtin, builtin_policy(builtin)?, &name.usage, name.scope),
            other => self.origin_problem(other, name.name, &name.usage, name.scope),
        })
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
                // The program's own class is used as the one that it derives from.
                let base = if facts.metaclass { "EnumMeta" } else { "Enum" };
                let policy = export_policy("enum", base).filter(|_| facts.metaclass || facts.open_enumeration)?;
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
            Some(policy) if policy.kind == Kind::Refused => Some(refusal("builtin", name.name, policy)),
            _ => Some(dunder_name_problem(name.name)),
        }
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
        let makes_class = |name: &str| matches!(name, "__new__" | "__call__" | "__init__");
        let is_argument_of = |call: &'a ExprCall, names: &[&str]| self.is_builtin(&call.func, scope, names);
        let allowed = match (policy.kind, usage) {
            (Kind::Refused, _) => full == "vars" && self.namespace_is_only_shown(usage, scope),
            (Kind::Called(Arguments::AttributeName), Use::Called(call)) => return self.attribute_name_call(full, call, scope),
            (Kind::Called(Arguments::AttributeNames), Use::Called(call)) => return self.attribute_names_call(full, call),
            (Kind::Called(arguments), Use::Called(call)) => self.allows_arguments(full, arguments, call, scope),
            (Kind::Called(_), _) => type_position && !matches!(usage, Use::Annotation),
            (Kind::MethodDecorator, _) => matches!(usage, Use::Decorator(Decorated::Method)),
            (Kind::ClassDecorator, Use::Called(call)) => matches!(self.call_usage(call), Some(Use::Decorator(Decorated::Class))),
            (Kind::ClassDecorator, _) => matches!(usage, Use::Decorator(Decorated::Class)),
            (_, _) if type_position => true,
            (Kind::Enumeration, Use::Called(call)) => has_readable_names(call),
            (Kind::Enumeration, _) => matches!(usage, Use::Base | Use::Owner(_) | Use::Identity | Use::Pattern | Use::Shown),
            (Kind::Metaclass, Use::Owner(node)) => !makes_class(&node.attr) || self.facts.dynamic_classes,
            (Kind::Metaclass, _) => matches!(usage, Use::Base | Use::Metaclass | Use::Identity),
            (Kind::Type, Use::Called(call)) => return self.type_call(call, scope),
            (Kind::Type, Use::Owner(node)) => {
                matches!(node.attr.as_str(), "__name__" | "__doc__") || (makes_class(&node.attr) && self.facts.dynamic_classes)
            }
            (Kind::Type, Use::Argument(call, 0, None)) => is_argument_of(call, &["map", "super"]),
            (Kind::Type, Use::Argument(call, _, Some("key"))) => is_argument_of(call, &["sorted", "min", "max"]),
            (Kind::Type, _) => {
                matches!(usage, Use::Base | Use::Metaclass | Use::Identity | Use::Shown | Use::Dropped | Use::Test)
            }
            (Kind::Annotation, _) => false,
        };
        let rule = match (policy.kind, usage) {
            (Kind::Called(Arguments::Module), Use::Called(_)) => "import",
            (Kind::Called(_), Use::Called(_)) => rule,
            (Kind::Called(_), _) => "alias",
            _ => rule,
        };
        (!allowed).then(|| refusal(rule, shown, policy))
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
        let problem = |message| Some(Problem::new("type.call", message, "write a `class` statement"));
        let argument = match &*call.arguments.args {
            [argument] if call.arguments.keywords.is_empty() && !argument.is_starred_expr() => argument,
            _ => return problem("`type` with three arguments builds a class that cannot be read"),
        };
        let class_like = self.yields_class(argument, scope)
            || self.expr_origins(argument, scope).iter().any(|origin| match origin {
                Origin::Class(_) => true,
                Origin::Builtin(name) => tables::FIELD_BASES.contains(name) || *name == "type",
                _ => false,
            });
        let shown = self
            .call_usage(call)
            .is_some_and(|usage| matches!(usage, Use::Comparison | Use::Identity | Use::Shown | Use::Dropped) || is_printed(usage));
        if class_like && !shown { problem("the type of a class builds classes that cannot be read") } else { None }
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
            let of_module = binding.scope == 0 && matches!(binding.name, "__getattr__" | "__dir__");
            let problem = if self.rules.allows_attribute(binding.name) {
                None
            } else if in_class {
                Self::class_entry(binding)
            } else {
                (!of_module && !tables::MODULE_STORES.contains(binding.name)).then(|| dunder_name_problem(binding.name))
            };
            self.deny(binding.range, problem);
        }
    }

    /// Whether a call has the arguments that a policy wants.
    fn allows_arguments(&self, full: &str, arguments: Arguments, call: &'a ExprCall, scope: usize) -> bool {
        let (values, keywords) = (&*call.arguments.args, &call.arguments.keywords);
        match arguments {
            Arguments::Any | Arguments::AttributeName | Arguments::AttributeNames => true,
            Arguments::Wrapper => {
                let most = if full == "functools.wraps" { 1 } else { 2 };
                values.len() <= most && !is_starred(call) && has_only_keywords(call, &["wrapped", "wrapper"])
            }
            Arguments::Formatter => {
                let used = matches!(self.call_usage(call), Some(Use::Owner(node)) if matches!(node.attr.as_str(), "format" | "parse"));
                used && values.is_empty() && keywords.is_empty()
            }
            Arguments::Module => values.first().and_then(constant).is_some_and(|module| self.rules.allows_import(module)),
            Arguments::Function => {
                let function = match values {
                    [Expr::Lambda(_)] => true,
                    [Expr::Name(name)] => {
                        let sites = self.meaning(name, scope).sites;
                        !sites.is_empty() && sites.iter().all(|site| matches!(site.what, What::Function))
                    }
                    _ => false,
                };
                function && has_only_keywords(call, &["number", "repeat"])
            }
        }
    }
}

/// What is wrong with a use that `policy` does not allow.
pub(super) fn refusal(rule: &'static str, shown: &str, policy: Policy) -> Problem {
    Problem::new(rule, format!("`{shown}` {}", policy.why), policy.hint.replace("NAME", shown))
}

fn dunder_name_problem(name: &str) -> Problem {
    Problem::new("name.dunder", format!("the name `{name}` belongs to the interpreter"), "use an ordinary name of your own")
}

/// Whether every argument by keyword has one of these names.
fn has_only_keywords(call: &ExprCall, names: &[&str]) -> bool {
    call.arguments.keywords.iter().all(|keyword| keyword.arg.as_ref().is_some_and(|name| names.contains(&name.as_str())))
}

fn is_printed(usage: &Use<'_>) -> bool {
    matches!(usage, Use::Argument(call, _, None) if call.func.is_name_expr() && matches!(callee(call), Some("print" | "str" | "repr")))
}

/// The functional form of an enumeration: its names must be constants without underscores around them.
fn has_readable_names(call: &ExprCall) -> bool {
    let arguments = &call.arguments;
    !is_starred(call)
        && match &*arguments.args {
            [] | [_] => arguments.keywords.is_empty(),
            [_, names] => has_only_keywords(call, &["start"]) && is_readable(names),
            _ => false,
        }
}

fn is_readable(names: &Expr) -> bool {
    let public = |name: &Expr| constant(name).is_some_and(|text| text.split([' ', ',']).all(|name| !name.starts_with('_')));
    let public_or_pair = |item: &Expr| public(item) || matches!(elements(item), Some([name, _]) if public(name));
    match names {
        Expr::Dict(dict) => dict.items.iter().all(|item| item.key.as_ref().is_some_and(public)),
        other => public(other) || elements(other).is_some_and(|items| items.iter().all(public_or_pair)),
    }
}
