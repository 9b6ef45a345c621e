//! Calls that a name alone does not settle.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use super::super::program::Call;
use super::{Judge, Problem};

impl<'a> Judge<'_, 'a> {
    pub(super) fn calls(&mut self) {
        let program = self.program;
        if program.crowded {
            self.deny(
                0,
                0,
                Problem::new("name", "one name is bound by imports or classes too often to be followed", "use one name for one thing"),
            );
        }
        let copies = self.copying_is_refused();
        for call in &program.calls {
            let node = call.node;
            if self.builds_class(call) {
                let problem = Problem::new(
                    "type.call",
                    "a class that cannot be read is called with three arguments, which may build a class",
                    "call the class by its name",
                );
                self.deny(node.func.start().to_usize(), node.end().to_usize(), problem);
            }
            if copies && self.is_export(&node.func, call.scope, "copy", &["copy", "deepcopy", "replace"]) {
                let problem = Problem::new(
                    "copy",
                    "copying follows entries of classes that cannot be read, and this program may build such classes",
                    "build the copy by calling the class, or leave out the class of classes",
                );
                self.deny(node.func.start().to_usize(), node.func.end().to_usize(), problem);
            }
            self.open_path(call);
        }
        if copies {
            self.copies_as_values();
        }
    }

    /// Copying obeys entries of classes and sets attributes by name on whatever a class yields.
    fn copying_is_refused(&self) -> bool {
        let facts = &self.facts;
        facts.dynamic_classes || (facts.sensitive && (facts.leaks_types || facts.overrides_new))
    }

    /// `type(x)(…)` and `x.__class__(…)` with arguments that `type` would take for a new class.
    fn builds_class(&self, call: &Call<'a>) -> bool {
        let unreadable = match &*call.node.func {
            Expr::Call(inner) => self.is_builtin(&inner.func, call.scope, &["type"]),
            Expr::Attribute(node) => node.attr.as_str() == "__class__",
            _ => false,
        };
        // A class that `type(x)` or `x.__class__` yielded may have gone anywhere by now, under any name.
        let elsewhere = self.facts.dynamic_classes && matches!(&*call.node.func, Expr::Name(_) | Expr::Call(_)) && are_class(call.node);
        elsewhere || (unreadable && look_like_class(call.node) && may_be_class_arguments(call.node))
    }

    /// A copy function under another name escapes the rule above.
    fn copies_as_values(&mut self) {
        let program = self.program;
        for name in &program.names {
            let called = matches!(name.usage, super::super::program::Use::Called(_));
            let copies = !called
                && self.name_origins(name.name, name.scope, name.start).iter().any(
                    |origin| matches!(origin, super::origin::Origin::Export(module, name) if module == "copy" && matches!(*name, "copy" | "deepcopy" | "replace")),
                );
            if copies {
                self.deny(
                    name.start,
                    name.end,
                    Problem::new(
                        "copy",
                        format!("`{}` is used as a value in a program that may build classes", name.name),
                        "call it directly",
                    ),
                );
            }
        }
    }

    /// A constant path outside the program's own folders is worth a word; the jail decides.
    fn open_path(&mut self, call: &Call<'a>) {
        if !self.is_builtin(&call.node.func, call.scope, &["open"]) {
            return;
        }
        let Some(Expr::StringLiteral(text)) = call.node.arguments.args.first() else { return };
        let path = text.value.to_str();
        let inside = ["/roots/", "/tmp/"].iter().any(|root| path.starts_with(root)) && !path.split('/').any(|part| part == "..");
        if (path.starts_with('/') && !inside) || path.split('/').any(|part| part == "..") {
            let shown: String = path.chars().take(80).collect();
            let problem = Problem::new(
                "open.path",
                format!("`{}` lies outside the program's folders", shown.escape_default()),
                "use a path below the roots or in /tmp",
            );
            self.warn(text.start().to_usize(), text.end().to_usize(), problem);
        }
    }
}

/// Whether the arguments are a name, bases and entries, as they are written.
fn are_class(call: &ExprCall) -> bool {
    let [name, bases, entries] = call.arguments.args.as_ref() else { return false };
    let entries_like = match entries {
        Expr::Dict(_) | Expr::DictComp(_) => true,
        Expr::Call(call) => matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "dict"),
        _ => false,
    };
    (name.is_string_literal_expr() || name.is_f_string_expr()) && bases.is_tuple_expr() && entries_like
}

/// Whether the arguments look like a name, bases and entries. Other arguments may turn out to be such, which [`super::facts`] notes.
fn look_like_class(call: &ExprCall) -> bool {
    let text = |argument: &Expr| argument.is_string_literal_expr() || argument.is_f_string_expr();
    let entries = |argument: &Expr| match argument {
        Expr::Dict(_) | Expr::DictComp(_) => true,
        Expr::Call(call) => matches!(&*call.func, Expr::Name(name) if name.id.as_str() == "dict"),
        _ => false,
    };
    match call.arguments.args.as_ref() {
        [name, bases, last] => text(name) || bases.is_tuple_expr() || entries(last),
        arguments => arguments.iter().any(Expr::is_starred_expr) && arguments.len() == 1,
    }
}

/// Whether the arguments can be a name, bases and entries: three, or an unknown number, and none that is plainly something else.
pub(super) fn may_be_class_arguments(call: &ExprCall) -> bool {
    let arguments = &call.arguments;
    let starred = arguments.args.iter().any(Expr::is_starred_expr);
    (starred || arguments.args.len() == 3) && !arguments.args.iter().any(is_plain)
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
