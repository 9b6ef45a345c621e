//! The import allowlist, and modules reached through modules.

use ruff_python_ast::{Alias, ExprAttribute, ExprCall, StmtImportFrom};
use ruff_text_size::Ranged;

use super::super::program::{Use, constant, is_dunder};
use super::super::report::{Problem, Reason};
use super::super::rules::{Check, Imports};
use super::super::scope::{ScopeId, ScopeKind};
use super::super::tables;
use super::Judge;
use super::names::refusal;
use super::origin::Origin;
use super::policy::{Kind, export_policy};

impl<'a> Judge<'_, 'a> {
    pub(super) fn imports(&mut self) {
        let program = self.program;
        for import in &program.imports {
            match import.from {
                None => {
                    self.deny(import.alias.name.range(), self.module_problem(&import.alias.name));
                    self.binding(import.alias, import.scope, true);
                }
                Some(node) => self.import_from(node, import.alias, import.scope),
            }
        }
    }

    fn module_problem(&self, module: &str) -> Option<Problem> {
        if self.rules.allows_import(module) {
            return None;
        }
        let message = format!("`{module}` is not on the import allowlist");
        let problem = import_problem("import", message, format!("allowed modules: {}", self.rules.shown_imports(module)));
        Some(Problem { module: Some(module.to_owned()), ..problem })
    }

    fn import_from(&mut self, node: &'a StmtImportFrom, alias: &'a Alias, scope: ScopeId) {
        let module = node.module.as_ref().map_or("", |name| name.as_str());
        if node.level > 0 {
            let message = "a program has no package, so a relative import has nothing to start from";
            return self.deny(node.range(), import_problem("import.relative", message, "import by the module's full name"));
        }
        let range = alias.range();
        let name = alias.name.as_str();
        let refused = self.module_problem(module);
        if name == "*" {
            return self.deny(range, refused.or_else(|| self.star_problem(module)));
        }
        let submodule = matches!(self.member(module.into(), name), Origin::Module(path) if self.rules.allows_import(&path));
        if !submodule && refused.is_some() {
            return self.deny(range, refused);
        }
        if !submodule && let Some(problem) = self.member_problem(module, name) {
            self.deny(range, problem);
        } else if self.rules.check == Check::Strict
            && let Some(policy) = export_policy(module, name).filter(|policy| policy.kind == Kind::Refused)
            && !self.rules.allows_call(name)
            && !self.rules.allows_call(&format!("{module}.{name}"))
        {
            self.deny(range, refusal("import.name", &format!("{module}.{name}"), policy));
        }
        self.binding(alias, scope, submodule);
    }

    fn star_problem(&self, module: &str) -> Option<Problem> {
        let unknown = !tables::knows_module(module) && self.rules.imports != Imports::All && !self.rules.is_of_a_root(module);
        let message = format!("it is not known which names `{module}` exports");
        unknown.then(|| import_problem("import.star", message, "import the names you use, one by one"))
    }

    /// Why `module.name` must not be taken, for an allowed module.
    pub(super) fn member_problem(&self, module: &str, name: &str) -> Option<Problem> {
        let full = format!("{module}.{name}");
        // What a module of a root holds, it has imported under the same rules.
        if self.rules.imports == Imports::All
            || self.rules.is_of_a_root(module)
            || self.rules.allows_attribute(&full)
            || self.rules.allows_call(&full)
        {
            return None;
        }
        let message = if tables::knows_module(module) {
            if tables::is_export(module, name) || matches!(name, "__doc__" | "__name__" | "__version__") {
                return None;
            }
            format!("`{name}` is no public name of `{module}`")
        } else if name.starts_with('_') && !matches!(name, "__version__" | "__doc__" | "__name__") {
            format!("`{name}` is private to `{module}`")
        } else if tables::is_risky_module(name) || (tables::is_standard_module(module) && tables::is_standard_module(name)) {
            format!("`{name}` is another module that `{module}` merely imported")
        } else {
            return None;
        };
        let hint = if tables::is_standard_module(name) && !name.starts_with('_') && self.rules.allows_import(name) {
            format!("import `{name}` by itself")
        } else {
            format!(
                "use a name that `{module}` documents; a module needs its own `import`, and these are allowed: {}",
                self.rules.shown_imports(name)
            )
        };
        Some(import_problem("import.name", message, hint))
    }

    /// What an import binds must be an ordinary name, and no module may become an attribute of a class.
    fn binding(&mut self, alias: &'a Alias, scope: ScopeId, module: bool) {
        if self.rules.check != Check::Strict {
            return;
        }
        let name = alias.asname.as_ref().unwrap_or(&alias.name);
        if alias.asname.is_some() && is_dunder(name) {
            let message = format!("an import must not bind `{name}`");
            self.deny(name.range(), Problem::new("import.alias", message, "use an ordinary name"));
        }
        let in_class = self.program.scopes.get(scope).is_some_and(|scope| scope.kind == ScopeKind::Class);
        if module && in_class && self.rules.imports != Imports::All {
            let message = "an import in a class body makes a module an attribute";
            self.deny(name.range(), Problem::new("module.value", message, "import at the top of the program"));
        }
    }

    /// With `check = "imports"`: modules reached through modules, and imports by call.
    pub(super) fn modules_alone(&mut self) {
        let program = self.program;
        for attribute in &program.attributes {
            self.module_attribute(attribute.node, attribute.scope);
        }
        for name in &program.names {
            if name.name == "__import__"
                && let Use::Called(call) = name.usage
                && self.name_origins(name.name, name.scope, name.range.start().to_usize()).contains(&Origin::Builtin("__import__"))
            {
                self.import_call(call);
            }
        }
        for call in &program.calls {
            if self.is_export(&call.node.func, call.scope, "importlib", &["import_module", "__import__"]) {
                self.import_call(call.node);
            }
        }
    }

    /// An import by call: only of a constant name on the allowlist.
    fn import_call(&mut self, call: &'a ExprCall) {
        let problem = match call.arguments.args.first().and_then(constant) {
            Some(module) => self.module_problem(module),
            None if self.rules.imports == Imports::All => None,
            None => {
                let message = "a module is imported by a name that is worked out at run time";
                Some(import_problem("import", message, "use an `import` statement"))
            }
        };
        self.deny(call.range(), problem);
    }

    /// Judges `module.name`; whether the owner was a module at all.
    pub(super) fn module_attribute(&mut self, node: &'a ExprAttribute, scope: ScopeId) -> bool {
        let modules = self.modules(&node.value, scope);
        for module in &modules {
            let name = node.attr.as_str();
            let problem = if matches!(self.member(module.clone(), name), Origin::Module(_)) {
                None
            } else {
                self.module_problem(module).or_else(|| self.member_problem(module, name))
            };
            self.deny(node.attr.range(), problem);
        }
        !modules.is_empty()
    }
}

fn import_problem(rule: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Problem {
    Problem::new(rule, message, hint).reason(Reason::ImportNotAllowed)
}
