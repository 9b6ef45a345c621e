//! Attributes: of modules, with underscores, of frames, and those that name modules.

use ruff_python_ast::{Expr, ExprCall, ExprName, FStringPart, InterpolatedStringElement, Operator};
use ruff_text_size::Ranged;
use unicode_normalization::UnicodeNormalization;

use super::super::program::{Access, AttributeUse, Use, constant, elements, is_dunder, is_starred};
use super::super::report::Problem;
use super::super::scope::{Names, What};
use super::super::tables;
use super::Judge;

impl<'a> Judge<'_, 'a> {
    pub(super) fn attributes(&mut self) {
        let program = self.program;
        for attribute in &program.attributes {
            let node = attribute.node;
            let range = node.attr.range();
            if self.module_attribute(node, attribute.scope) {
                let origins = self.attribute_origins(attribute);
                let name = node.attr.as_str();
                let problem = origins.iter().find_map(|origin| self.origin_problem(origin, name, &attribute.usage, attribute.scope));
                self.deny(range, problem);
                // A dunder of a module is no export; the rest of the rules would only say it again.
                if !is_dunder(name) {
                    continue;
                }
            }
            let problem = self.attribute_problem(&node.attr, attribute.access).or_else(|| self.context_problem(attribute));
            self.deny(range, problem);
        }
    }

    /// What is wrong with reading or changing an attribute of this name on any object.
    pub(super) fn attribute_problem(&self, name: &str, access: Access) -> Option<Problem> {
        if self.rules.allows_attribute(name) {
            return None;
        }
        let is_own = || self.facts.defined.contains(name);
        let holds_errors = self.program.holds_errors || self.facts.handles_errors;
        let (rule, message, hint) = if is_dunder(name) {
            let (message, hint) = dunder_problem(name, access)?;
            ("attribute.dunder", message, hint)
        } else if tables::ALWAYS_REFUSED.contains(name) {
            ("attribute.interpreter", "reaches into the interpreter", "pass the values you need as arguments")
        } else if name == "_stream" && self.facts.redirects {
            ("attribute.private", "belongs to `contextlib`", "give it another name")
        } else if name.starts_with('_') && !tables::FOREIGN_PRIVATE.contains(name) && !is_own() && !self.is_spelt_out(name) {
            let hint = "use the public way, or define the attribute in a class of your own";
            ("attribute.private", "is private and the program does not define it", hint)
        } else if name == "obj" && access != Access::Store && holds_errors {
            let message = "of a caught exception holds the object whose attribute was missing";
            ("attribute.module", message, "give the attribute another name, e.g. `.item`")
        } else if access == Access::Load && tables::RISKY_PUBLIC.contains(name) && !is_own() {
            let message = "is no attribute the program defines; on objects of other modules it leads out of the sandboxed part";
            ("attribute.module", message, "import what you need by name, from an allowed module")
        } else if name == "evaluate" && self.facts.forward_references {
            ("attribute.module", "of a forward reference evaluates text as code", "give the method another name")
        } else {
            return None;
        };
        Some(Problem::new(rule, format!("`.{name}` {message}"), hint))
    }

    /// The same for a name that a constant spells, as in `getattr` and in keyword patterns: rules that look at the place cannot see it.
    fn spelt_problem(&self, name: &str, access: Access) -> Option<Problem> {
        if name == "register" && self.facts.evaluates_annotations {
            return Some(register_problem());
        }
        self.attribute_problem(name, access)
    }

    /// `_Class__x` for a class and an `__x` of the program's own.
    fn is_spelt_out(&self, name: &str) -> bool {
        let Some((class, _)) = name.get(1..).and_then(|rest| rest.split_once("__")) else { return false };
        let Some(private) = name.get(1 + class.len()..) else { return false };
        self.facts.class_names.contains(class) && self.facts.defined.contains(private)
    }

    /// What is wrong with an allowed attribute in this place.
    fn context_problem(&self, attribute: &AttributeUse<'a>) -> Option<Problem> {
        let node = attribute.node;
        if self.rules.allows_attribute(&node.attr) {
            return None;
        }
        let (message, hint) = match node.attr.as_str() {
            "__new__" if !self.is_settled_owner(&node.value, attribute.scope) => {
                ("`.__new__` of a class that cannot be read builds objects past its checks", "call the class itself")
            }
            "__call__" if !self.is_settled_owner(&node.value, attribute.scope) => {
                ("`.__call__` of a class that cannot be read may build a class", "call the object itself")
            }
            "__get__" if self.facts.sensitive => ("`.__get__` of a cached property reads any attribute", "call the function itself"),
            "__setattr__" | "__delattr__" => return self.store_by_name(attribute),
            "__dict__" if !self.is_shown(&attribute.usage, attribute.scope) => return Some(dict_problem()),
            _ => return None,
        };
        Some(Problem::new("attribute.dunder", message, hint))
    }

    /// `super()`, a class by name, or `cls`; not `type(x)` and `x.__class__`, which may be `type` itself.
    fn is_settled_owner(&self, owner: &'a Expr, scope: usize) -> bool {
        match owner {
            Expr::Call(call) => !self.yields_class(owner, scope) && !is_class_attribute(&call.func),
            other => !is_class_attribute(other),
        }
    }

    /// `type(x)` and `x.__class__`.
    pub(super) fn yields_class(&self, expr: &'a Expr, scope: usize) -> bool {
        is_class_attribute(expr) || matches!(expr, Expr::Call(call) if self.is_builtin(&call.func, scope, &["type"]))
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
                self.attribute_name_call(shown.trim_matches('_'), call, attribute.scope)
            }
            Expr::Call(owner) if self.is_builtin(&owner.func, attribute.scope, &["super"]) && owner.arguments.args.is_empty() => {
                let expected = if shown == "__setattr__" { 2 } else { 1 };
                let plain = call.arguments.args.len() == expected && call.arguments.keywords.is_empty() && !is_starred(call);
                if plain && self.is_in_ordinary_class(attribute.scope) { None } else { problem() }
            }
            _ => problem(),
        }
    }

    /// Whether the scope lies in a class whose instances are no classes.
    fn is_in_ordinary_class(&self, mut scope: usize) -> bool {
        while scope != 0 {
            if let Some(index) = self.program.classes.iter().position(|class| class.body == scope) {
                let facts = self.facts.classes.get(index);
                return facts.is_some_and(|facts| !facts.metaclass && !facts.unreadable);
            }
            let Some(here) = self.program.scopes.get(scope) else { return false };
            scope = here.parent;
        }
        false
    }

    /// `getattr(x, "name")`, `setattr`, `delattr`: a constant public name, or one that cannot become a refused one.
    pub(super) fn attribute_name_call(&self, function: &str, call: &'a ExprCall, scope: usize) -> Option<Problem> {
        let access = match function {
            "setattr" => Access::Store,
            "delattr" => Access::Delete,
            _ => Access::Load,
        };
        let unreadable = || unreadable_name(function, "write `object.name`, or keep the choices in a `dict`");
        let arguments = &call.arguments;
        if arguments.args.iter().take(2).any(Expr::is_starred_expr) || !arguments.keywords.is_empty() {
            return Some(unreadable());
        }
        match arguments.args.get(1)? {
            Expr::StringLiteral(text) => {
                let name: String = text.value.to_str().nfkc().collect();
                let compared = || matches!(self.call_usage(call), Some(Use::Comparison | Use::Identity | Use::Shown | Use::Owner(_)));
                if name == "__class__" && access == Access::Load && !compared() {
                    return Some(unreadable());
                }
                let of_machinery = matches!(&*name, "__dict__" | "__new__" | "__setattr__" | "__delattr__");
                self.spelt_problem(&name, access).or_else(|| of_machinery.then(dict_problem))
            }
            name if access == Access::Load && is_safe_prefix(name) => None,
            Expr::Name(name) if access == Access::Load && self.is_prefixed(name, scope) => None,
            Expr::Name(name) => match self.constants_of(name, scope) {
                Some(names) => {
                    names.into_iter().find_map(|name| self.spelt_problem(name, access).or_else(|| is_dunder(name).then(unreadable)))
                }
                None => Some(unreadable()),
            },
            _ => Some(unreadable()),
        }
    }

    /// Everything that binds a variable, where all of it can be read.
    fn bindings(&self, name: &'a ExprName, scope: usize) -> Option<&Names<'a>> {
        let meaning = self.meaning(name, scope);
        let names = self.program.scopes.sites(meaning.scope, &name.id)?;
        let read = meaning.star.is_none() && meaning.also.is_empty() && !names.sites.is_empty() && names.count == names.sites.len();
        read.then_some(names)
    }

    /// Whether a variable only ever holds names that begin alike, e.g. `method = "visit_" + kind`.
    fn is_prefixed(&self, name: &'a ExprName, scope: usize) -> bool {
        let is_prefix = |what: &What<'a>| matches!(what, What::Value(value) if is_safe_prefix(value));
        self.bindings(name, scope).is_some_and(|names| names.sites.iter().all(|site| is_prefix(&site.what)))
    }

    /// The constants a variable goes through, where nothing else binds it.
    fn constants_of(&self, name: &'a ExprName, scope: usize) -> Option<Vec<&'a str>> {
        let mut constants = Vec::new();
        for site in &self.bindings(name, scope)?.sites {
            let values = match site.what {
                What::Value(value) => std::slice::from_ref(value),
                What::Each(list) => elements(list)?,
                _ => return None,
            };
            for value in values {
                constants.push(constant(value)?);
            }
        }
        Some(constants)
    }

    /// `attrgetter("a.b", "c")`: every part; `methodcaller("name", …)`: the first argument.
    pub(super) fn attribute_names_call(&self, function: &str, call: &'a ExprCall) -> Option<Problem> {
        let unreadable = || unreadable_name(function, "write a `lambda` with the attribute in it");
        let most = if function.ends_with("methodcaller") { 1 } else { usize::MAX };
        if call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
            return Some(unreadable());
        }
        call.arguments.args.iter().take(most).find_map(|name| {
            let Some(text) = constant(name) else { return Some(unreadable()) };
            text.split('.').find_map(|part| self.spelt_problem(part, Access::Load).or_else(|| is_dunder(part).then(unreadable)))
        })
    }

    /// Keyword patterns read attributes.
    pub(super) fn keyword_patterns(&mut self) {
        for (pattern, _) in &self.program.patterns {
            for keyword in &pattern.arguments.keywords {
                let name = keyword.attr.as_str();
                let of_machinery = matches!(name, "__dict__" | "__new__" | "__setattr__" | "__class__");
                let problem = self.attribute_problem(name, Access::Load).or_else(|| of_machinery.then(dict_problem));
                self.deny(keyword.attr.range(), problem);
            }
        }
    }
}

fn is_class_attribute(expr: &Expr) -> bool {
    matches!(expr, Expr::Attribute(node) if node.attr.as_str() == "__class__")
}

fn unreadable_name(function: &str, hint: &str) -> Problem {
    Problem::new("getattr", format!("`{function}` with a name that is worked out at run time can reach any attribute"), hint)
}

pub(super) fn register_problem() -> Problem {
    Problem::new(
        "annotation",
        "`register` evaluates the annotations of what it is given",
        "write `@function.register(Class)` directly above the function",
    )
}

fn dict_problem() -> Problem {
    Problem::new(
        "attribute.dunder",
        "`.__dict__` of a class or function holds its machinery, and nobody can tell here which objects will come",
        "name the attributes, or use a dataclass with `dataclasses.asdict`",
    )
}

/// What reading or changing a double-underscore attribute does, and what to write instead; none where it is harmless.
fn dunder_problem(name: &str, access: Access) -> Option<(&'static str, &'static str)> {
    let load = tables::DUNDER_LOADS.contains(name) || matches!(name, "__dict__" | "__setattr__" | "__delattr__");
    let store = tables::DUNDER_STORES.contains(name);
    let fine = match access {
        Access::Load => load,
        Access::Store => store,
        Access::Update => load && store,
        Access::Delete => false,
    };
    let message =
        if access == Access::Load { "leads from any object to the interpreter" } else { "changes how the interpreter treats the object" };
    let hint = match name {
        "__subclasses__" | "__bases__" | "__base__" | "__mro__" => "keep your classes in a list of your own",
        "__annotations__" | "__dataclass_fields__" => "name the fields, or use `dataclasses.asdict`",
        "__globals__" | "__builtins__" | "__code__" | "__closure__" | "__self__" | "__func__" => "pass the values you need as arguments",
        _ => "use the operator or builtin that stands for it",
    };
    (!fine).then_some((message, hint))
}

/// A constant beginning that no refused name begins with.
fn is_safe_prefix(name: &Expr) -> bool {
    beginning(name).is_some_and(|prefix| {
        let refused = tables::ALWAYS_REFUSED.words.iter().chain(&tables::RISKY_PUBLIC.words);
        prefix.is_ascii()
            && prefix.len() >= 3
            && !prefix.starts_with('_')
            && !refused
                .chain(&["evaluate", "format", "format_map", "register"])
                .any(|name| name.starts_with(prefix) || prefix.starts_with(name))
    })
}

/// What a text that is put together at run time begins with.
fn beginning(name: &Expr) -> Option<&str> {
    match name {
        Expr::FString(node) => match node.value.as_slice().first()? {
            FStringPart::Literal(text) => Some(text.as_str()),
            FStringPart::FString(string) => match string.elements.first()? {
                InterpolatedStringElement::Literal(text) => Some(&text.value),
                InterpolatedStringElement::Interpolation(_) => None,
            },
        },
        Expr::BinOp(node) if matches!(node.op, Operator::Add) => constant(&node.left).or_else(|| beginning(&node.left)),
        // `"visit_%s" % x` and `"visit_{}".format(x)` begin as far as the first field.
        Expr::BinOp(node) if matches!(node.op, Operator::Mod) => constant(&node.left)?.split('%').next(),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(owner) if owner.attr.as_str() == "format" => constant(&owner.value)?.split('{').next(),
            _ => None,
        },
        _ => None,
    }
}
