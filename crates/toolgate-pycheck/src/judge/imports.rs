//! The import allowlist, and modules reached through modules.

use ruff_python_ast::{Alias, StmtImportFrom};
use ruff_text_size::Ranged;

use super::super::program::{Access, ImportStatement, Use, is_dunder};
use super::super::rules::{Check, Imports};
use super::super::scope::{ScopeId, ScopeKind};
use super::super::tables;
use super::origin::Origin;
use super::policy::{Policy, export_policy};
use super::{Judge, Problem};

impl<'a> Judge<'_, 'a> {
    pub(super) fn imports(&mut self) {
        let program = self.program;
        for (statement, scope) in &program.imports {
            match statement {
                ImportStatement::Import(node) => {
                    for alias in &node.names {
                        self.import(alias);
                        self.binding(alias, *scope, true);
                    }
                }
                ImportStatement::From(node) => self.import_from(node, *scope),
            }
        }
    }

    fn import(&mut self, alias: &'a Alias) {
        if let Some(problem) = self.module_problem(&alias.name) {
            self.deny_import(alias.name.start().to_usize(), alias.name.end().to_usize(), problem);
        }
    }

    fn module_problem(&self, module: &str) -> Option<Problem> {
        if self.rules.allows_import(module) {
            return None;
        }
        let (message, hint) =
            (format!("`{module}` is not on the import allowlist"), format!("allowed modules: {}", self.rules.shown_imports()));
        Some(Problem { module: Some(module.to_owned()), ..Problem::new("import", message, hint) })
    }

    fn import_from(&mut self, node: &'a StmtImportFrom, scope: ScopeId) {
        let module = node.module.as_ref().map_or("", |name| name.as_str());
        let (start, end) = (node.start().to_usize(), node.end().to_usize());
        if node.level > 0 {
            let problem = Problem::new(
                "import.relative",
                "a program has no package, so a relative import has nothing to start from",
                "import by the module's full name",
            );
            return self.deny_import(start, end, problem);
        }
        let open = self.rules.allows_import(module);
        for alias in &node.names {
            let (start, end) = (alias.start().to_usize(), alias.end().to_usize());
            let name = alias.name.as_str();
            if name == "*" {
                match self.module_problem(module) {
                    Some(problem) => self.deny_import(start, end, problem),
                    None => self.star(module, start, end),
                }
                continue;
            }
            let submodule = matches!(self.member(module.into(), name), Origin::Module(path) if self.rules.allows_import(&path));
            if !open && !submodule {
                if let Some(problem) = self.module_problem(module) {
                    self.deny_import(start, end, problem);
                }
                continue;
            }
            if !submodule && let Some(problem) = self.member_problem(module, name) {
                self.deny_import(start, end, problem);
            } else if self.rules.check == Check::Strict
                && let Some(Policy::Refused(why, hint)) = export_policy(module, name)
                && !self.rules.allows_call(name)
                && !self.rules.allows_call(&format!("{module}.{name}"))
            {
                self.deny(start, end, Problem::new("import.name", format!("`{module}.{name}` {why}"), hint));
            }
            self.binding(alias, scope, submodule);
        }
    }

    fn star(&mut self, module: &str, start: usize, end: usize) {
        if !tables::knows_module(module) && self.rules.imports != Imports::All && !self.rules.is_of_a_root(module) {
            let problem = Problem::new(
                "import.star",
                format!("it is not known which names `{module}` exports"),
                "import the names you use, one by one",
            );
            self.deny_import(start, end, problem);
        }
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
            format!("use what `{module}` documents; modules come in through `import` alone, from: {}", self.rules.shown_imports())
        };
        Some(Problem::new("import.name", message, hint))
    }

    /// What an import binds must be an ordinary name, and no module may become an attribute of a class.
    fn binding(&mut self, alias: &'a Alias, scope: ScopeId, module: bool) {
        if self.rules.check != Check::Strict {
            return;
        }
        let name = alias.asname.as_ref().unwrap_or(&alias.name);
        let (start, end) = (name.start().to_usize(), name.end().to_usize());
        if alias.asname.as_ref().is_some_and(|name| is_dunder(name)) {
            self.deny(start, end, Problem::new("import.alias", format!("an import must not bind `{name}`"), "use an ordinary name"));
        }
        let in_class = self.program.scopes.get(scope).is_some_and(|scope| scope.kind == ScopeKind::Class);
        if module && in_class && self.rules.imports != Imports::All {
            self.deny(
                start,
                end,
                Problem::new("module.value", "an import in a class body makes a module an attribute", "import at the top of the program"),
            );
        }
    }

    /// With `check = "imports"`: modules reached through modules, and imports by call.
    pub(super) fn modules_alone(&mut self) {
        let program = self.program;
        for attribute in &program.attributes {
            self.module_attribute(attribute.node, attribute.scope, attribute.access);
        }
        for name in &program.names {
            if name.name == "__import__"
                && let Use::Called(call) = name.usage
                && self.name_origins(name.name, name.scope, name.start).contains(&Origin::Builtin("__import__"))
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
    pub(super) fn import_call(&mut self, call: &'a ruff_python_ast::ExprCall) {
        let module = match call.arguments.args.first() {
            Some(ruff_python_ast::Expr::StringLiteral(text)) => Some(text.value.to_str()),
            _ => None,
        };
        let problem = match module {
            Some(module) => self.module_problem(module),
            None if self.rules.imports == Imports::All => None,
            None => {
                Some(Problem::new("import", "a module is imported by a name that is worked out at run time", "use an `import` statement"))
            }
        };
        if let Some(problem) = problem {
            self.deny_import(call.start().to_usize(), call.end().to_usize(), problem);
        }
    }

    /// Judges `module.name`; whether the owner was a module at all.
    pub(super) fn module_attribute(&mut self, node: &'a ruff_python_ast::ExprAttribute, scope: ScopeId, access: Access) -> bool {
        let mut was_module = false;
        for module in self.modules(&node.value, scope) {
            was_module = true;
            let (start, end) = (node.attr.start().to_usize(), node.attr.end().to_usize());
            let name = node.attr.as_str();
            let submodule = matches!(self.member(module.clone(), name), Origin::Module(_));
            let problem = if submodule {
                None
            } else if !self.rules.allows_import(&module) {
                self.module_problem(&module)
            } else {
                self.member_problem(&module, name)
            };
            if let Some(problem) = problem {
                self.deny_import(start, end, problem);
            } else if access != Access::Load && self.rules.check == Check::Strict {
                let problem = Problem::new(
                    "module.store",
                    format!("`{module}.{name}` must not be changed: every other user of the module would see it"),
                    "keep the value in a variable of your own",
                );
                self.deny(start, end, problem);
            }
        }
        was_module
    }
}
