//! Class bodies, decorators of classes, and class patterns.

use ruff_python_ast::{Expr, Pattern};
use ruff_text_size::Ranged;

use super::super::program::{DunderBinding, is_dunder};
use super::super::scope::What;
use super::super::tables;
use super::origin::Origin;
use super::{Judge, Problem};

impl<'a> Judge<'_, 'a> {
    pub(super) fn classes(&mut self) {
        self.interpreter_names();
        let program = self.program;
        for (index, class) in program.classes.iter().enumerate() {
            let Some(facts) = self.facts.classes.get(index).copied() else { continue };
            let (start, end) = (class.node.name.start().to_usize(), class.node.name.end().to_usize());
            if facts.dataclass && (facts.built_by_program || facts.metaclass || facts.replaced || facts.unknown_base) {
                let problem = Problem::new(
                    "dataclass.base",
                    format!(
                        "`@dataclass` executes text that it builds from field names, and those of `{}` cannot be read",
                        class.node.name
                    ),
                    "give it bases that are plain classes, and no other decorator or metaclass of your own",
                );
                self.deny(start, end, problem);
            }
            if let Some(names) = program.scopes.sites(class.body, "_stream").or_else(|| program.scopes.sites(class.body, "_old_targets"))
                && names.count > 0
                && class
                    .node
                    .bases()
                    .iter()
                    .any(|base| self.is_export(base, class.scope, "contextlib", &["redirect_stdout", "redirect_stderr"]))
            {
                self.deny(
                    start,
                    end,
                    Problem::new(
                        "class.body",
                        "a redirection with its own `_stream` replaces any attribute of `sys`",
                        "derive from nothing and set what you need",
                    ),
                );
            }
        }
    }

    /// Attributes of the interpreter become readable by position once a class names them.
    fn interpreter_names(&mut self) {
        let program = self.program;
        for class in &program.classes {
            let names: Vec<&str> =
                program.scopes.names(class.body).map(|(name, _)| name).filter(|name| tables::ALWAYS_REFUSED.contains(name)).collect();
            for name in names {
                if !self.rules.allows_attribute(name) {
                    let (start, end) = (class.node.name.start().to_usize(), class.node.name.end().to_usize());
                    let problem = Problem::new(
                        "class.body",
                        format!("the class names the attribute `{name}`, which reaches into the interpreter"),
                        "use another name",
                    );
                    self.deny(start, end, problem);
                }
            }
        }
    }

    /// What is wrong with a double-underscore name in a class body.
    pub(super) fn class_entry(binding: &DunderBinding<'_>) -> Option<Problem> {
        let name = binding.name;
        let known = tables::DUNDER_LOADS.contains(name) || tables::CLASS_BODY.contains(name);
        if !known || name == "__class__" {
            let message = format!("`{name}` in a class changes what other code believes of its objects");
            return Some(Problem::new("class.body", message, "leave it out, or use an ordinary name"));
        }
        match name {
            "__match_args__" | "__slots__" if binding.value.is_some_and(is_public_names) => return None,
            "__slots__" if binding.value.is_some_and(is_own_names) => return None,
            "__match_args__" | "__slots__" => {
                let message = format!("`{name}` names attributes, so it must be a tuple of constants without leading double underscores");
                return Some(Problem::new("class.body", message, format!("write `{name} = (\"x\", \"y\")`")));
            }
            _ => {}
        }
        if binding.annotated && !matches!(name, "__hash__" | "__doc__") {
            return Some(Problem::new(
                "class.body",
                format!("an annotated `{name}` becomes a field of a dataclass"),
                "leave out the annotation",
            ));
        }
        None
    }

    pub(super) fn patterns(&mut self) {
        self.keyword_patterns();
        let program = self.program;
        for (pattern, scope) in &program.patterns {
            let Pattern::MatchClass(node) = pattern else { continue };
            if node.arguments.patterns.is_empty() || self.is_matchable(&node.cls, *scope) {
                continue;
            }
            let problem = Problem::new(
                "match.class",
                "which attributes a positional pattern reads is up to a class that cannot be read",
                "name the attributes: `case Point(x=x, y=y)`",
            );
            self.deny(node.cls.start().to_usize(), node.cls.end().to_usize(), problem);
        }
    }

    /// Whether the attributes that positional patterns of this class read are known to be harmless.
    fn is_matchable(&self, class: &'a Expr, scope: usize) -> bool {
        if self.is_builtin(class, scope, &tables::VALUE_TYPES.words) || self.is_record(class, scope) {
            return true;
        }
        let origins = self.expr_origins(class, scope);
        let [origin] = origins.as_slice() else { return false };
        match origin {
            Origin::Export(module, _) => tables::is_standard_module(module),
            Origin::Class(index) => self.is_matchable_class(class, scope, *index),
            Origin::Builtin(_) | Origin::Module(_) => false,
        }
    }

    fn is_matchable_class(&self, class: &'a Expr, scope: usize, index: usize) -> bool {
        let Some(facts) = self.facts.classes.get(index) else { return false };
        // Virtual subclasses turn any object into a subject.
        let open_to_all = facts.abstract_base && self.facts.registers;
        let fixed = !(facts.unknown_base || facts.built_by_program || facts.metaclass || facts.replaced || facts.structural || open_to_all);
        let Expr::Name(name) = class else { return fixed };
        let meaning = self.program.scopes.meaning(&name.id, scope, name.start().to_usize());
        let once = self.program.scopes.sites(meaning.scope, &name.id).is_some_and(|names| names.count == 1 && !names.unbound);
        fixed && once && meaning.also.is_empty() && matches!(meaning.sites, [site] if matches!(site.what, What::Class(_)))
    }
}

/// A literal list of attribute names without leading underscores.
fn is_public_names(value: &Expr) -> bool {
    names(value).is_some_and(|mut names| {
        names.all(|name| name.is_some_and(|name| !name.starts_with('_') && !tables::ALWAYS_REFUSED.contains(name)))
    })
}

/// The same, with private names but none of the interpreter's.
fn is_own_names(value: &Expr) -> bool {
    if let Expr::StringLiteral(text) = value {
        return !is_dunder(text.value.to_str());
    }
    names(value).is_some_and(|mut names| names.all(|name| name.is_some_and(|name| !is_dunder(name) || name == "__weakref__")))
}

fn names(value: &Expr) -> Option<impl Iterator<Item = Option<&str>>> {
    let elements = match value {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        Expr::List(list) => list.elts.as_slice(),
        _ => return None,
    };
    Some(elements.iter().map(|element| if let Expr::StringLiteral(text) = element { Some(text.value.to_str()) } else { None }))
}
