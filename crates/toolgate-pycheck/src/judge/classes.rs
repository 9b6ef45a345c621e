//! Class bodies, decorators of classes, and class patterns.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::program::{DunderBinding, constant, elements, is_dunder};
use super::super::report::Problem;
use super::super::scope::What;
use super::super::tables;
use super::Judge;
use super::origin::Origin;

impl<'a> Judge<'_, 'a> {
    pub(super) fn classes(&mut self) {
        let program = self.program;
        for class in &program.classes {
            let range = class.node.name.range();
            // Attributes of the interpreter become readable by position once a class names them.
            for (name, _) in program.scopes.names(class.body) {
                if tables::ALWAYS_REFUSED.contains(name) && !self.rules.allows_attribute(name) {
                    let message = format!("the class names the attribute `{name}`, which reaches into the interpreter");
                    self.deny(range, Problem::new("class.body", message, "use another name"));
                }
            }
            let binds = |name: &str| program.scopes.sites(class.body, name).is_some_and(|names| names.count > 0);
            let redirects = |base| self.is_export(base, class.scope, "contextlib", &["redirect_stdout", "redirect_stderr"]);
            if (binds("_stream") || binds("_old_targets")) && class.node.bases().iter().any(redirects) {
                let message = "a redirection with its own `_stream` replaces any attribute of `sys`";
                self.deny(range, Problem::new("class.body", message, "derive from nothing and set what you need"));
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
        if matches!(name, "__match_args__" | "__slots__") {
            let fine = binding.value.is_some_and(|value| is_public_names(value) || (name == "__slots__" && is_own_names(value)));
            let message = format!("`{name}` names attributes, so it must be a tuple of constants without leading double underscores");
            return (!fine).then(|| Problem::new("class.body", message, format!("write `{name} = (\"x\", \"y\")`")));
        }
        None
    }

    pub(super) fn patterns(&mut self) {
        self.keyword_patterns();
        let program = self.program;
        for (node, scope) in &program.patterns {
            if node.arguments.patterns.is_empty() || self.is_matchable(&node.cls, *scope) {
                continue;
            }
            let problem = Problem::new(
                "match.class",
                "which attributes a positional pattern reads is up to a class that cannot be read",
                "name the attributes: `case Point(x=x, y=y)`",
            );
            self.deny(node.cls.range(), problem);
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
        let fixed = !(facts.unreadable || facts.metaclass || facts.replaced || facts.structural || open_to_all);
        let Expr::Name(name) = class else { return fixed };
        let meaning = self.meaning(name, scope);
        let once = self.program.scopes.sites(meaning.scope, &name.id).is_some_and(|names| names.count == 1 && !names.unbound);
        fixed && once && meaning.also.is_empty() && matches!(meaning.sites, [site] if matches!(site.what, What::Class(_)))
    }
}

/// A literal list of attribute names without leading underscores.
fn is_public_names(value: &Expr) -> bool {
    are_names(value, |name| !name.starts_with('_') && !tables::ALWAYS_REFUSED.contains(name))
}

/// The same, with private names but none of the interpreter's.
fn is_own_names(value: &Expr) -> bool {
    let own = |name: &str| !is_dunder(name) || name == "__weakref__";
    constant(value).is_some_and(|name| !is_dunder(name)) || are_names(value, own)
}

fn are_names(value: &Expr, hold: impl Fn(&str) -> bool) -> bool {
    elements(value).is_some_and(|names| names.iter().all(|name| constant(name).is_some_and(&hold)))
}
