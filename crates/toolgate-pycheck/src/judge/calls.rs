//! Calls that a name alone does not settle.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::{Ranged, TextRange};

use super::super::program::{Call, callee, constant, is_starred};
use super::super::report::{Problem, Severity};
use super::Judge;

impl<'a> Judge<'_, 'a> {
    pub(super) fn calls(&mut self) {
        let program = self.program;
        if program.crowded {
            let problem =
                Problem::new("name", "one name is bound by imports or classes too often to be followed", "use one name for one thing");
            self.deny(TextRange::default(), problem);
        }
        for call in &program.calls {
            let node = call.node;
            if self.builds_class(call) {
                let problem = Problem::new(
                    "type.call",
                    "a class that cannot be read is called with three arguments, which may build a class",
                    "call the class by its name",
                );
                self.deny(TextRange::new(node.func.start(), node.end()), problem);
            }
            self.open_path(call);
        }
    }

    /// `type(x)(…)` and `x.__class__(…)` with arguments that `type` would take for a new class.
    fn builds_class(&self, call: &Call<'a>) -> bool {
        let unreadable = self.yields_class(&call.node.func, call.scope);
        // A class that `type(x)` or `x.__class__` yielded may have gone anywhere by now, under any name.
        let elsewhere = self.facts.dynamic_classes && matches!(&*call.node.func, Expr::Name(_) | Expr::Call(_)) && are_class(call.node);
        elsewhere || (unreadable && look_like_class(call.node) && may_be_class_arguments(call.node))
    }

    /// A constant path outside the program's own folders is worth a word; the jail decides.
    fn open_path(&mut self, call: &Call<'a>) {
        if !self.is_builtin(&call.node.func, call.scope, &["open"]) {
            return;
        }
        let Some(argument) = call.node.arguments.args.first() else { return };
        let Some(path) = constant(argument) else { return };
        let inside = !path.starts_with('/') || path.starts_with("/roots/") || path.starts_with("/tmp/");
        if !inside || path.split('/').any(|part| part == "..") {
            let shown: String = path.chars().take(80).collect();
            let message = format!("`{}` lies outside the program's folders", shown.escape_default());
            let problem = Problem::new("open.path", message, "use a path below the roots or in /tmp");
            self.deny(argument.range(), Problem { severity: Severity::Warn, ..problem });
        }
    }
}

fn is_text(argument: &Expr) -> bool {
    argument.is_string_literal_expr() || argument.is_f_string_expr()
}

fn are_entries(argument: &Expr) -> bool {
    match argument {
        Expr::Dict(_) | Expr::DictComp(_) => true,
        Expr::Call(call) => call.func.is_name_expr() && callee(call) == Some("dict"),
        _ => false,
    }
}

/// Whether the arguments are a name, bases and entries, as they are written.
fn are_class(call: &ExprCall) -> bool {
    matches!(&*call.arguments.args, [name, bases, entries] if is_text(name) && bases.is_tuple_expr() && are_entries(entries))
}

/// Whether the arguments look like a name, bases and entries. Other arguments may turn out to be such, which [`super::facts`] notes.
fn look_like_class(call: &ExprCall) -> bool {
    match &*call.arguments.args {
        [name, bases, entries] => is_text(name) || bases.is_tuple_expr() || are_entries(entries),
        [argument] => argument.is_starred_expr(),
        _ => false,
    }
}

/// Whether the arguments can be a name, bases and entries: three, or an unknown number, and none that is plainly something else.
pub(super) fn may_be_class_arguments(call: &ExprCall) -> bool {
    (is_starred(call) || call.arguments.args.len() == 3) && !call.arguments.args.iter().any(is_plain)
}

/// A constant that is none of what `type` wants: a number, `None`, a truth value, bytes, a list, a lambda.
fn is_plain(argument: &Expr) -> bool {
    matches!(
        argument,
        Expr::NumberLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::List(_)
            | Expr::ListComp(_)
            | Expr::Lambda(_)
            | Expr::Set(_)
    )
}
