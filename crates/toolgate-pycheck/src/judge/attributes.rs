//! Attributes: of modules, with underscores, of frames, and those that name modules.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::program::{Access, AttributeUse, Use, is_dunder};
use super::super::scope::What;
use super::super::tables;
use super::names::is_private_to_class;
use super::origin::Origin;
use super::{Judge, Problem};

impl<'a> Judge<'_, 'a> {
    pub(super) fn attributes(&mut self) {
        let program = self.program;
        for attribute in &program.attributes {
            let node = attribute.node;
            let (start, end) = (node.attr.start().to_usize(), node.attr.end().to_usize());
            if self.module_attribute(node, attribute.scope, attribute.access) {
                let origins = self.expr_origins_of(attribute);
                let name = node.attr.as_str();
                let problem = origins.iter().find_map(|origin| self.origin_problem(origin, name, &attribute.usage, attribute.scope));
                if let Some(problem) = problem {
                    self.deny(start, end, problem);
                }
                // A dunder of a module is no export; the rest of the rules would only say it again.
                if !is_dunder(name) {
                    continue;
                }
            }
            let problem = self
                .attribute_problem(&node.attr, attribute.access)
                .or_else(|| self.context_problem(attribute))
                .or_else(|| self.foreign_store(attribute));
            if let Some(problem) = problem {
                self.deny(start, end, problem);
            }
        }
    }

    /// What is wrong with reading or changing an attribute of this name on any object.
    pub(super) fn attribute_problem(&self, name: &str, access: Access) -> Option<Problem> {
        if name == "name" && access == Access::Store && self.facts.renames_fields && !self.rules.allows_attribute(name) {
            return Some(Problem::new(
                "dataclass.name",
                "a dataclass executes the names of its fields, and `.name` of a field can be changed here",
                "call the attribute otherwise, or leave out `field`",
            ));
        }
        if self.rules.allows_attribute(name) {
            return None;
        }
        if is_dunder(name) {
            return dunder_problem(name, access);
        }
        if tables::ALWAYS_REFUSED.contains(name) {
            return Some(Problem::new(
                "attribute.interpreter",
                format!("`.{name}` reaches into the interpreter"),
                "pass the values you need as arguments",
            ));
        }
        if matches!(name, "_stream" | "_old_targets") && self.facts.redirects {
            return Some(Problem::new("attribute.private", format!("`.{name}` belongs to `contextlib`"), "give it another name"));
        }
        if name.starts_with('_') {
            return self.private_problem(name);
        }
        if name == "obj" && access != Access::Store && (self.program.holds_errors || self.facts.handles_errors) {
            return Some(Problem::new(
                "attribute.module",
                "`.obj` of a caught exception holds the object whose attribute was missing",
                "give the attribute another name, e.g. `.item`",
            ));
        }
        let foreign = tables::RISKY_PUBLIC.contains(name) && access == Access::Load && !self.facts.defined.contains(name);
        if foreign {
            return Some(Problem::new(
                "attribute.module",
                format!("`.{name}` is no attribute the program defines; on objects of other modules it leads out of the sandboxed part"),
                "import what you need by name, from an allowed module",
            ));
        }
        if name == "evaluate" && self.facts.forward_references {
            return Some(Problem::new(
                "attribute.module",
                "`.evaluate` of a forward reference evaluates text as code",
                "give the method another name",
            ));
        }
        None
    }

    /// The same for a name that a constant spells, as in `getattr` and in keyword patterns: rules that look at the place cannot see it.
    fn spelt_problem(&self, name: &str, access: Access) -> Option<Problem> {
        if name == "register" && self.facts.evaluates_annotations {
            return Some(Problem::new(
                "annotation",
                "`register` evaluates the annotations of what it is given",
                "write `@function.register(Class)` directly above the function",
            ));
        }
        self.attribute_problem(name, access)
    }

    fn private_problem(&self, name: &str) -> Option<Problem> {
        let own = tables::FOREIGN_PRIVATE.contains(name) || self.facts.defined.contains(name) || self.is_spelt_out(name);
        if own {
            return None;
        }
        let kind = if is_private_to_class(name) { "private to a class" } else { "private" };
        Some(Problem::new(
            "attribute.private",
            format!("`.{name}` is {kind} and the program does not define it"),
            "use the public way, or define the attribute in a class of your own",
        ))
    }

    /// `_Class__x` for a class and an `__x` of the program's own.
    fn is_spelt_out(&self, name: &str) -> bool {
        let Some((class, _)) = name.get(1..).and_then(|rest| rest.split_once("__")) else { return false };
        let Some(private) = name.get(1 + class.len()..) else { return false };
        self.facts.class_names.contains(class) && self.facts.defined.contains(private)
    }

    /// Classes and functions of the standard library are everybody's.
    fn foreign_store(&self, attribute: &AttributeUse<'a>) -> Option<Problem> {
        if attribute.access == Access::Load {
            return None;
        }
        let foreign = self
            .expr_origins(&attribute.node.value, attribute.scope)
            .iter()
            .any(|origin| matches!(origin, Origin::Export(module, _) if tables::is_standard_module(module)));
        foreign.then(|| {
            Problem::new(
                "module.store",
                format!("`.{}` of the standard library must not be changed: its own code would run with the change", attribute.node.attr),
                "derive a class of your own",
            )
        })
    }

    /// What is wrong with an allowed attribute in this place.
    fn context_problem(&self, attribute: &AttributeUse<'a>) -> Option<Problem> {
        let node = attribute.node;
        if self.rules.allows_attribute(&node.attr) {
            return None;
        }
        match node.attr.as_str() {
            "__new__" if !self.is_settled_owner(&node.value, attribute.scope) => Some(Problem::new(
                "attribute.dunder",
                "`.__new__` of a class that cannot be read builds objects past its checks",
                "call the class itself",
            )),
            "__call__" if !self.is_settled_owner(&node.value, attribute.scope) => Some(Problem::new(
                "attribute.dunder",
                "`.__call__` of a class that cannot be read may build a class",
                "call the object itself",
            )),
            "__get__" if self.facts.sensitive => {
                Some(Problem::new("attribute.dunder", "`.__get__` of a cached property reads any attribute", "call the function itself"))
            }
            "__setattr__" | "__delattr__" => self.store_by_name(attribute),
            "__dict__" if self.is_shown(&attribute.usage, attribute.scope) => None,
            "__dict__" => Some(dict_problem()),
            _ => None,
        }
    }

    /// `super()`, a class by name, or `cls`; not `type(x)` and `x.__class__`, which may be `type` itself.
    fn is_settled_owner(&self, owner: &'a Expr, scope: usize) -> bool {
        match owner {
            Expr::Call(call) => {
                !self.is_builtin(&call.func, scope, &["type"])
                    && !matches!(&*call.func, Expr::Attribute(node) if node.attr.as_str() == "__class__")
            }
            Expr::Attribute(node) => node.attr.as_str() != "__class__",
            _ => true,
        }
    }

    /// `object.__setattr__(self, "x", v)` and `super().__setattr__(name, value)` in an ordinary class.
    fn store_by_name(&self, attribute: &AttributeUse<'a>) -> Option<Problem> {
        let shown = attribute.node.attr.as_str();
        let problem = || {
            Some(Problem::new(
                "getattr",
                format!("`.{shown}` with a name that cannot be read can change any attribute"),
                "assign the attribute by its name: `self.x = value`",
            ))
        };
        let Use::Called(call) = &attribute.usage else { return problem() };
        match &*attribute.node.value {
            Expr::Name(_) if self.is_builtin(&attribute.node.value, attribute.scope, &["object"]) => {
                self.attribute_name_call(if shown == "__setattr__" { "setattr" } else { "delattr" }, call, attribute.scope)
            }
            Expr::Call(owner) if self.is_builtin(&owner.func, attribute.scope, &["super"]) && owner.arguments.args.is_empty() => {
                let expected = if shown == "__setattr__" { 2 } else { 1 };
                let plain = call.arguments.args.len() == expected
                    && call.arguments.keywords.is_empty()
                    && !call.arguments.args.iter().any(Expr::is_starred_expr);
                if plain && self.is_in_ordinary_class(attribute.scope) { None } else { problem() }
            }
            _ => problem(),
        }
    }

    /// Whether the scope lies in a class whose instances are no classes.
    fn is_in_ordinary_class(&self, mut scope: usize) -> bool {
        while scope != 0 {
            if let Some(index) = self.program.classes.iter().position(|class| class.body == scope) {
                return self
                    .facts
                    .classes
                    .get(index)
                    .is_some_and(|facts| !facts.metaclass && !facts.unknown_base && !facts.built_by_program);
            }
            let Some(here) = self.program.scopes.get(scope) else { return false };
            scope = here.parent;
        }
        false
    }

    /// `getattr(x, "name")`, `setattr`, `delattr`: a constant public name, or one that cannot become a refused one.
    pub(super) fn attribute_name_call(&self, function: &str, call: &'a ruff_python_ast::ExprCall, scope: usize) -> Option<Problem> {
        let access = if function.ends_with("setattr") {
            Access::Store
        } else if function.ends_with("delattr") {
            Access::Delete
        } else {
            Access::Load
        };
        let unreadable = || {
            Problem::new(
                "getattr",
                format!("`{function}` with a name that is worked out at run time can reach any attribute"),
                "write `object.name`, or keep the choices in a `dict`",
            )
        };
        let arguments = &call.arguments;
        if arguments.args.iter().take(2).any(Expr::is_starred_expr) || !arguments.keywords.is_empty() {
            return Some(unreadable());
        }
        match arguments.args.get(1) {
            None => None,
            Some(Expr::StringLiteral(text)) => {
                let name = text.value.to_str();
                if name == "__class__"
                    && access == Access::Load
                    && !self
                        .call_usage(call)
                        .is_some_and(|usage| matches!(usage, Use::Comparison | Use::Identity | Use::Shown | Use::Owner(_)))
                {
                    return Some(unreadable());
                }
                let name: std::borrow::Cow<'_, str> = if name.is_ascii() {
                    name.into()
                } else {
                    unicode_normalization::UnicodeNormalization::nfkc(name).collect::<String>().into()
                };
                self.spelt_problem(&name, access)
                    .or_else(|| (matches!(&*name, "__dict__" | "__new__" | "__setattr__" | "__delattr__")).then(dict_problem))
            }
            Some(name @ (Expr::BinOp(_) | Expr::FString(_) | Expr::Call(_))) if is_safe_prefix(name) && access == Access::Load => None,
            Some(Expr::Name(name)) if access == Access::Load && self.is_prefixed(name, scope) => None,
            Some(Expr::Name(name)) => match self.constants_of(name, scope) {
                Some(names) => {
                    names.into_iter().find_map(|name| self.spelt_problem(name, access).or_else(|| is_dunder(name).then(unreadable)))
                }
                None => Some(unreadable()),
            },
            Some(_) => Some(unreadable()),
        }
    }

    /// Whether a variable only ever holds names that begin alike, e.g. `method = "visit_" + kind`.
    fn is_prefixed(&self, name: &'a ruff_python_ast::ExprName, scope: usize) -> bool {
        let meaning = self.program.scopes.meaning(&name.id, scope, name.start().to_usize());
        let Some(names) = self.program.scopes.sites(meaning.scope, &name.id) else { return false };
        let read = meaning.star.is_none() && meaning.also.is_empty() && !names.sites.is_empty() && names.count == names.sites.len();
        read && names.sites.iter().all(
            |site| matches!(&site.what, What::Value(value @ (Expr::BinOp(_) | Expr::FString(_) | Expr::Call(_))) if is_safe_prefix(value)),
        )
    }

    /// The constants a variable goes through, where nothing else binds it.
    fn constants_of(&self, name: &'a ruff_python_ast::ExprName, scope: usize) -> Option<Vec<&'a str>> {
        let meaning = self.program.scopes.meaning(&name.id, scope, name.start().to_usize());
        let names = self.program.scopes.sites(meaning.scope, &name.id)?;
        if meaning.star.is_some() || !meaning.also.is_empty() || names.sites.is_empty() || names.count != names.sites.len() {
            return None;
        }
        let mut constants = Vec::new();
        for site in &names.sites {
            let elements = match &site.what {
                What::Value(value) => std::slice::from_ref(*value),
                What::Each(Expr::Tuple(tuple)) => tuple.elts.as_slice(),
                What::Each(Expr::List(list)) => list.elts.as_slice(),
                _ => return None,
            };
            for element in elements {
                let Expr::StringLiteral(text) = element else { return None };
                constants.push(text.value.to_str());
            }
        }
        Some(constants)
    }

    /// `attrgetter("a.b", "c")`: every part; `methodcaller("name", …)`: the first argument.
    pub(super) fn attribute_names_call(&self, function: &str, call: &'a ruff_python_ast::ExprCall) -> Option<Problem> {
        let unreadable = || {
            Problem::new(
                "getattr",
                format!("`{function}` with a name that is worked out at run time can reach any attribute"),
                "write a `lambda` with the attribute in it",
            )
        };
        let names: Vec<&Expr> = if function.ends_with("methodcaller") {
            call.arguments.args.iter().take(1).collect()
        } else {
            call.arguments.args.iter().collect()
        };
        if call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
            return Some(unreadable());
        }
        for name in names {
            let Expr::StringLiteral(text) = name else { return Some(unreadable()) };
            for part in text.value.to_str().split('.') {
                let problem = self.spelt_problem(part, Access::Load).or_else(|| (is_dunder(part)).then(unreadable));
                if problem.is_some() {
                    return problem;
                }
            }
        }
        None
    }

    /// Keyword patterns read attributes.
    pub(super) fn keyword_patterns(&mut self) {
        let program = self.program;
        for (keyword, _) in &program.keywords {
            let name = keyword.attr.as_str();
            let problem = self
                .attribute_problem(name, Access::Load)
                .or_else(|| matches!(name, "__dict__" | "__new__" | "__setattr__" | "__class__").then(dict_problem));
            if let Some(problem) = problem {
                self.deny(keyword.attr.start().to_usize(), keyword.attr.end().to_usize(), problem);
            }
        }
    }
}

fn dict_problem() -> Problem {
    Problem::new(
        "attribute.dunder",
        "`.__dict__` of a class or function holds its machinery, and nobody can tell here which objects will come",
        "name the attributes, or use a dataclass with `dataclasses.asdict`",
    )
}

fn dunder_problem(name: &str, access: Access) -> Option<Problem> {
    let load = tables::DUNDER_LOADS.contains(name) || matches!(name, "__dict__" | "__setattr__" | "__delattr__");
    let store = tables::DUNDER_STORES.contains(name);
    let fine = match access {
        Access::Load => load,
        Access::Store => store,
        Access::Update => load && store,
        Access::Delete => false,
    };
    if fine {
        return None;
    }
    let what =
        if access == Access::Load { "leads from any object to the interpreter" } else { "changes how the interpreter treats the object" };
    let hint = match name {
        "__subclasses__" | "__bases__" | "__base__" | "__mro__" => "keep your classes in a list of your own",
        "__annotations__" | "__dataclass_fields__" => "name the fields, or use `dataclasses.asdict`",
        "__globals__" | "__builtins__" | "__code__" | "__closure__" | "__self__" | "__func__" => "pass the values you need as arguments",
        _ => "use the operator or builtin that stands for it",
    };
    Some(Problem::new("attribute.dunder", format!("`.{name}` {what}"), hint))
}

/// A constant beginning that no refused name begins with.
fn is_safe_prefix(name: &Expr) -> bool {
    let prefix = match name {
        Expr::StringLiteral(text) => text.value.to_str(),
        Expr::FString(node) => match node.value.as_slice().first() {
            Some(ruff_python_ast::FStringPart::Literal(text)) => text.as_str(),
            Some(ruff_python_ast::FStringPart::FString(string)) => match string.elements.first() {
                Some(ruff_python_ast::InterpolatedStringElement::Literal(text)) => &text.value,
                _ => return false,
            },
            None => return false,
        },
        Expr::BinOp(node) if matches!(node.op, ruff_python_ast::Operator::Add) => return is_safe_prefix(&node.left),
        // `"visit_%s" % x` and `"visit_{}".format(x)` begin as far as the first field.
        Expr::BinOp(node) if matches!(node.op, ruff_python_ast::Operator::Mod) => match &*node.left {
            Expr::StringLiteral(text) => text.value.to_str().split('%').next().unwrap_or_default(),
            _ => return false,
        },
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(owner) if owner.attr.as_str() == "format" => match &*owner.value {
                Expr::StringLiteral(text) => text.value.to_str().split('{').next().unwrap_or_default(),
                _ => return false,
            },
            _ => return false,
        },
        _ => return false,
    };
    let refused =
        tables::ALWAYS_REFUSED.words.iter().chain(&tables::RISKY_PUBLIC.words).chain(&["evaluate", "format", "format_map", "register"]);
    prefix.is_ascii()
        && prefix.len() >= 3
        && !prefix.starts_with('_')
        && !refused.into_iter().any(|name| name.starts_with(prefix) || prefix.starts_with(name))
}
