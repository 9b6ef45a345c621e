//! What is true of the whole program, for rules that depend on more than one place.

use std::collections::HashSet;

use ruff_python_ast::{Expr, ExprCall};

use super::super::program::{Access, AttributeUse, Call, Class, Use, callee, constant, elements};
use super::super::scope::What;
use super::super::tables;
use super::Judge;
use super::origin::Origin;
use super::policy::Kind;

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact that a rule asks for by name")]
pub(super) struct Facts<'a> {
    /// Address of each call's node and its index, sorted: from a node to where its value goes.
    pub(super) calls: Vec<(usize, usize)>,
    /// Attributes the program defines itself.
    pub(super) defined: HashSet<&'a str>,
    /// Names of its classes.
    pub(super) class_names: HashSet<&'a str>,
    /// Per class statement.
    pub(super) classes: Vec<ClassFacts>,
    /// Some string may be used as a template with attribute fields.
    pub(super) templates: bool,
    /// Classes may come to be with entries that nobody can read in the program.
    pub(super) dynamic_classes: bool,
    /// `functools.singledispatch` evaluates annotations.
    pub(super) evaluates_annotations: bool,
    /// `.register(…)` is called somewhere.
    pub(super) registers: bool,
    /// `typing.get_args` or `__args__` may hand out forward references.
    pub(super) forward_references: bool,
    /// `redirect_stdout` or `redirect_stderr`, which set attributes of `sys` by name.
    pub(super) redirects: bool,
    cached_properties: bool,
    /// Something of the program acts on attributes whose names lie in changeable objects.
    pub(super) sensitive: bool,
    /// Callbacks may be handed the exceptions that pass.
    pub(super) handles_errors: bool,
}

/// What the bases, keywords and decorators of a class make of it.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact that a rule asks for by name")]
pub(super) struct ClassFacts {
    /// Some base cannot be read, or it is built by a class of classes that the program defines or that cannot be read.
    pub(super) unreadable: bool,
    /// It is a class of classes.
    pub(super) metaclass: bool,
    /// Others can be made virtual subclasses of it.
    pub(super) abstract_base: bool,
    /// Its instances are told by their attributes.
    pub(super) structural: bool,
    pub(super) enumeration: bool,
    /// An enumeration without members, which a call turns into a new class.
    pub(super) open_enumeration: bool,
    /// A decorator of the program's own may put anything in its place.
    pub(super) replaced: bool,
}

impl<'a> Facts<'a> {
    pub(super) fn gather(judge: &Judge<'_, 'a>) -> Self {
        let mut calls: Vec<(usize, usize)> =
            judge.program.calls.iter().enumerate().map(|(index, call)| (std::ptr::from_ref(call.node).addr(), index)).collect();
        calls.sort_unstable();
        let mut facts = Self { calls, ..Self::default() };
        facts.definitions(judge);
        for class in &judge.program.classes {
            let class_facts = facts.class(judge, class);
            facts.dynamic_classes |= class_facts.metaclass || class_facts.unreadable;
            facts.classes.push(class_facts);
            facts.class_names.insert(class.node.name.as_str());
        }
        for attribute in &judge.program.attributes {
            match attribute.node.attr.as_str() {
                "format" | "format_map" | "vformat" => facts.templates = true,
                "register" => facts.registers = true,
                "__args__" | "__bound__" | "__constraints__" | "__forward_arg__" => facts.forward_references = true,
                "__class__" => facts.type_value(judge, &attribute.usage, attribute.scope),
                _ => {}
            }
            if tables::TELLING_EXPORTS.contains(&attribute.node.attr) {
                for origin in judge.attribute_origins(attribute) {
                    if let Origin::Export(module, name) = origin {
                        facts.export(&module, name);
                    }
                }
            }
        }
        // What is imported counts as used, whatever name it gets.
        for import in &judge.program.imports {
            let Some(node) = import.from else { continue };
            let module = node.module.as_ref().map_or("", |module| module.as_str());
            match import.alias.name.as_str() {
                "*" => tables::TELLING_EXPORTS
                    .words
                    .iter()
                    .filter(|name| tables::is_export(module, name))
                    .for_each(|name| facts.export(module, name)),
                name => facts.export(module, name),
            }
        }
        for call in &judge.program.calls {
            let takes_type = judge.is_builtin(&call.node.func, call.scope, &["map", "filter", "sorted", "min", "max"])
                && call.node.arguments.args.iter().any(|argument| judge.is_builtin(argument, call.scope, &["type"]));
            if takes_type || judge.is_builtin(&call.node.func, call.scope, &["type"]) || is_call_of_type(judge, call) {
                facts.type_value(judge, &call.usage, call.scope);
            }
            facts.constant_names(call.node);
        }
        facts.handles_errors |= judge.program.spared.iter().any(|name| judge.program.scopes.is_bound(name));
        let mut keywords = judge.program.patterns.iter().flat_map(|(pattern, _)| &pattern.arguments.keywords);
        facts.templates |= keywords.any(|keyword| matches!(keyword.attr.as_str(), "format" | "format_map"));
        facts.sensitive = facts.redirects || facts.cached_properties;
        facts
    }

    /// Notes where a class that `type(x)` or `x.__class__` yields goes.
    fn type_value(&mut self, judge: &Judge<'_, 'a>, usage: &Use<'a>, scope: usize) {
        const ASK: &[&str] = &["isinstance", "issubclass"];
        const SHOW: &[&str] = &["print", "str", "repr", "len", "hash", "id", "bool", "isinstance", "issubclass", "super"];
        self.dynamic_classes |= match usage {
            Use::Comparison
            | Use::Index
            | Use::Owner(_)
            | Use::Identity
            | Use::Shown
            | Use::Called(_)
            | Use::Dropped
            | Use::Test
            | Use::Pattern
            | Use::Annotation => false,
            Use::Argument(call, position, None) if *position < 2 => {
                !judge.is_builtin(&call.func, scope, if *position == 0 { SHOW } else { ASK })
            }
            _ => true,
        };
    }

    fn definitions(&mut self, judge: &Judge<'_, 'a>) {
        for class in &judge.program.classes {
            self.defined.extend(judge.program.scopes.names(class.body).filter(|(_, names)| !names.sites.is_empty()).map(|(name, _)| name));
        }
        for attribute in &judge.program.attributes {
            if matches!(attribute.access, Access::Store) {
                self.defined.insert(attribute.node.attr.as_str());
            }
        }
    }

    /// Names that constants spell: `setattr(x, "name", …)`, the fields of `namedtuple`, `methodcaller("format")`.
    fn constant_names(&mut self, call: &'a ExprCall) {
        let Some(name) = callee(call) else { return };
        let values = call.arguments.args.iter().flat_map(|argument| elements(argument).unwrap_or(std::slice::from_ref(argument)));
        let mut constants = values.filter_map(constant);
        match name {
            "setattr" => self.defined.extend(constants),
            "namedtuple" => self.defined.extend(constants.flat_map(|text| text.split([' ', ',']))),
            "getattr" | "attrgetter" | "methodcaller" => {
                self.templates |= constants.any(|text| text.ends_with("format") || text.ends_with("format_map"));
            }
            _ => {}
        }
    }

    fn export(&mut self, module: &str, name: &str) {
        match (module, name) {
            ("functools", "singledispatch" | "singledispatchmethod") => self.evaluates_annotations = true,
            ("typing", "get_args") => self.forward_references = true,
            ("string", "Formatter") => self.templates = true,
            ("contextlib", "redirect_stdout" | "redirect_stderr") => self.redirects = true,
            ("contextlib", "ExitStack" | "AsyncExitStack") => self.handles_errors = true,
            ("functools", "cached_property") | ("enum", "property") => self.cached_properties = true,
            _ => {}
        }
    }

    fn class(&self, judge: &Judge<'_, 'a>, class: &Class<'a>) -> ClassFacts {
        let (node, scope) = (class.node, class.scope);
        let mut facts = ClassFacts::default();
        for base in node.bases() {
            self.base(judge, base, scope, &mut facts);
        }
        for keyword in node.keywords() {
            match keyword.arg.as_deref() {
                Some("metaclass") => match judge.expr_origins(&keyword.value, scope).as_slice() {
                    [Origin::Export(module, "ABCMeta")] if module == "abc" => facts.abstract_base = true,
                    [origin] if origin.kind() == Some(Kind::Metaclass) => facts.enumeration = true,
                    [Origin::Builtin("type")] => {}
                    _ => facts.unreadable = true,
                },
                Some(_) => {}
                None => facts.unreadable = true,
            }
        }
        for decorator in &node.decorator_list {
            let callee = match &decorator.expression {
                Expr::Call(call) => &call.func,
                other => other,
            };
            match judge.expr_origins(callee, scope).as_slice() {
                [Origin::Export(module, name)] if tables::knows_module(module) && tables::LEAVES_CLASSES.contains(name) => {}
                _ => facts.replaced = true,
            }
        }
        let has_members = judge.program.scopes.names(class.body).any(|(name, names)| {
            !name.starts_with('_') && names.sites.iter().any(|site| matches!(site.what, What::Value(_) | What::Each(_) | What::Other))
        });
        facts.open_enumeration = facts.enumeration && !has_members;
        facts
    }

    fn base(&self, judge: &Judge<'_, 'a>, base: &'a Expr, scope: usize, facts: &mut ClassFacts) {
        let base = match base {
            Expr::Subscript(node) => &node.value,
            other => other,
        };
        let origins = judge.expr_origins(base, scope);
        if origins.is_empty() && !judge.makes_record(base, scope) && !judge.is_record(base, scope) {
            facts.unreadable = true;
        }
        for origin in origins {
            match origin {
                _ if matches!(origin.kind(), Some(Kind::Type | Kind::Metaclass)) => facts.metaclass = true,
                _ if origin.kind() == Some(Kind::Enumeration) => facts.enumeration = true,
                Origin::Builtin(name) if tables::FIELD_BASES.contains(name) => {}
                Origin::Export(module, "Protocol") if module == "typing" => (facts.abstract_base, facts.structural) = (true, true),
                Origin::Export(module, _) if tables::is_standard_module(&module) => {
                    facts.abstract_base |= matches!(&*module, "abc" | "collections.abc" | "typing" | "numbers" | "contextlib" | "io");
                }
                Origin::Class(index) => {
                    let unknown = ClassFacts { unreadable: true, ..ClassFacts::default() };
                    let other = self.classes.get(index).unwrap_or(&unknown);
                    facts.unreadable |= other.unreadable || other.replaced;
                    facts.metaclass |= other.metaclass;
                    facts.abstract_base |= other.abstract_base;
                    facts.structural |= other.structural;
                    facts.enumeration |= other.enumeration;
                }
                // A package from outside, which the manifest trusts.
                Origin::Export(..) => {}
                Origin::Module(_) | Origin::Builtin(_) => facts.unreadable = true,
            }
        }
    }
}

/// `type(x)(y)` and `x.__class__(y)`: again the type of something, or with three arguments a new class, where `x` is a class.
fn is_call_of_type<'a>(judge: &Judge<'_, 'a>, call: &Call<'a>) -> bool {
    let one = matches!(call.node.arguments.args.as_ref(), [argument] if !argument.is_literal_expr());
    (one || super::calls::may_be_class_arguments(call.node)) && judge.yields_class(&call.node.func, call.scope)
}

impl<'a> Judge<'_, 'a> {
    /// What an attribute of a module stands for.
    pub(super) fn attribute_origins(&self, attribute: &AttributeUse<'a>) -> Vec<Origin<'a>> {
        self.modules(&attribute.node.value, attribute.scope).into_iter().map(|owner| self.member(owner, &attribute.node.attr)).collect()
    }

    /// A call of `namedtuple` or `NamedTuple`.
    fn makes_record(&self, expr: &'a Expr, scope: usize) -> bool {
        let Expr::Call(call) = expr else { return false };
        self.is_export(&call.func, scope, "collections", &["namedtuple"]) || self.is_export(&call.func, scope, "typing", &["NamedTuple"])
    }

    /// Whether the name is bound once, to a class that `namedtuple` or `NamedTuple` made.
    pub(super) fn is_record(&self, expr: &'a Expr, scope: usize) -> bool {
        let Expr::Name(name) = expr else { return false };
        let meaning = self.meaning(name, scope);
        let once = self.program.scopes.sites(meaning.scope, &name.id).is_some_and(|names| names.count == 1) && meaning.also.is_empty();
        let [site] = meaning.sites else { return false };
        once && matches!(site.what, What::Value(value) if self.makes_record(value, meaning.scope))
    }
}
