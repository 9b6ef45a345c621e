//! String constants: templates whose fields read attributes, and annotations that are strings.

use ruff_python_ast::{Expr, Mod};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged;

use super::super::program::{Access, Text, Use, is_dunder};
use super::super::report::Raw;
use super::super::scope::What;
use super::super::{nesting, walk};
use super::{Facts, Judge, Problem};

impl<'a> Judge<'_, 'a> {
    pub(super) fn texts(&mut self) {
        let program = self.program;
        for text in &program.texts {
            if text.annotation && text.value.contains(['(', '.', '_']) {
                self.string_annotation(text);
            }
            if self.facts.templates && !text.alone {
                self.template(text);
            }
        }
        if self.facts.evaluates_annotations {
            self.evaluated_annotations();
        }
    }

    /// `singledispatch` evaluates string annotations, so they are code.
    fn string_annotation(&mut self, text: &Text<'a>) {
        // What does not parse cannot be evaluated either. The first line is enough: an annotation is one expression.
        let source = text.value.trim();
        if source.len() > 4096 || !nesting::measure(source).is_ok_and(|depth| depth < 40) {
            return self.deny(text.start, text.end, Problem::new("annotation", "the annotation is too long to be read", "name a type"));
        }
        let parsed = parse_unchecked(source, ParseOptions::from(Mode::ParenthesizedExpression));
        if parsed.has_invalid_syntax() {
            return;
        }
        let Mod::Expression(expression) = parsed.syntax() else { return };
        let inner = walk::expression(&expression.body);
        if inner.texts.iter().any(|text| text.annotation) || !inner.calls.is_empty() {
            let problem = Problem::new("annotation", "the string annotation holds a call, and annotations may be evaluated", "name a type");
            return self.deny(text.start, text.end, problem);
        }
        let mut raw: Vec<Raw> = Vec::new();
        let mut judge = Judge { rules: self.rules, program: &inner, facts: Facts::default(), raw: &mut raw };
        judge.names();
        judge.attributes();
        if let Some(first) = raw.into_iter().next() {
            self.deny(
                text.start,
                text.end,
                Problem {
                    rule: "annotation",
                    message: format!("in a string annotation: {}", first.message),
                    hint: first.hint,
                    module: None,
                },
            );
        }
    }

    /// With `singledispatch` annotations that are text are evaluated, of whatever `register` is given.
    fn evaluated_annotations(&mut self) {
        let program = self.program;
        for (annotation, scope) in &program.annotations {
            if !self.names_type(annotation, *scope) {
                let problem = Problem::new(
                    "annotation",
                    "`singledispatch` evaluates annotations that are text, and what this one is cannot be read",
                    "annotate with a class, or write `@function.register(Class)`",
                );
                self.deny(annotation.start().to_usize(), annotation.end().to_usize(), problem);
            }
        }
        for attribute in &program.attributes {
            if attribute.node.attr.as_str() != "register" {
                continue;
            }
            let fine = match attribute.usage {
                Use::Decorator(_) => self.is_innermost(attribute.node.range()),
                Use::Called(call) => {
                    call.arguments.args.first().is_some_and(|class| self.names_type(class, attribute.scope))
                        && call.arguments.keywords.is_empty()
                }
                _ => false,
            };
            if !fine {
                let problem = Problem::new(
                    "annotation",
                    "`register` evaluates the annotations of what it is given",
                    "write `@function.register(Class)` directly above the function",
                );
                self.deny(attribute.node.attr.start().to_usize(), attribute.node.attr.end().to_usize(), problem);
            }
        }
    }

    /// Whether this decorator stands directly above its function.
    fn is_innermost(&self, decorator: ruff_text_size::TextRange) -> bool {
        self.program
            .decorated
            .iter()
            .any(|(function, _)| function.decorator_list.last().is_some_and(|last| last.expression.range() == decorator))
    }

    /// Whether an expression names classes and nothing that may be text.
    fn names_type(&self, expr: &'a Expr, scope: usize) -> bool {
        match expr {
            Expr::Name(name) => {
                let meaning = self.program.scopes.meaning(&name.id, scope, name.start().to_usize());
                let mut sites = meaning.sites.iter().chain(meaning.also);
                sites.all(|site| matches!(site.what, What::Class(_) | What::Export(..) | What::Function))
            }
            Expr::Attribute(_) => !self.expr_origins(expr, scope).is_empty(),
            Expr::Subscript(node) => self.names_type(&node.value, scope),
            Expr::BinOp(node) => self.names_type(&node.left, scope) && self.names_type(&node.right, scope),
            // Strings of annotations are read as code already.
            Expr::StringLiteral(_) | Expr::NoneLiteral(_) => true,
            _ => false,
        }
    }

    fn template(&mut self, text: &Text<'a>) {
        if !text.value.contains(['{', '.', '_']) {
            return;
        }
        let problem = self.fields_problem(text.value).or_else(|| fragment_problem(text.value));
        if let Some(problem) = problem {
            self.deny(text.start, text.end, problem);
        }
    }

    /// Every attribute in `{name.attribute[key].attribute}`, however the braces are nested.
    fn fields_problem(&self, text: &str) -> Option<Problem> {
        for (_, field) in text.match_indices('{').filter_map(|(at, _)| text.get(at + 1..).map(|rest| (at, rest))) {
            let end = field.find(['}', '{', '!', ':']).unwrap_or(field.len());
            let field = field.get(..end).unwrap_or_default();
            if field.len() > 400 || !field.contains('.') {
                continue;
            }
            for attribute in field.split('.').skip(1) {
                let name = attribute.split('[').next().unwrap_or_default();
                let name: String = unicode_normalization::UnicodeNormalization::nfkc(name).collect();
                let word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
                let problem = if word {
                    self.attribute_problem(&name, Access::Load).or_else(|| is_dunder(&name).then(|| field_problem(&name)))
                } else {
                    None
                };
                if let Some(problem) = problem {
                    let message = format!("in a format string: {}", problem.message);
                    return Some(Problem::new("format.field", message, "format the value itself, or use an f-string"));
                }
            }
        }
        None
    }
}

/// Pieces from which a field could be put together: `{0.` at the end, or `.__name` without its brace.
fn fragment_problem(text: &str) -> Option<Problem> {
    let open = text.rsplit('{').next().filter(|_| text.contains('{')).is_some_and(|field| {
        let mut words = field.strip_suffix('.').unwrap_or_default().chars();
        field.ends_with('.') && field.len() <= 80 && words.all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'))
    });
    let split = text.split("._").skip(1).any(|rest| rest.starts_with('_'));
    let middle = text.rsplit('{').next().filter(|_| text.contains('{')).is_some_and(|field| !field.contains('}') && field.contains("._"));
    if open || split || middle {
        return Some(field_problem("_"));
    }
    None
}

fn field_problem(name: &str) -> Problem {
    Problem::new(
        "format.field",
        format!("the string is a piece of a format field that reads `{name}…`"),
        "write the attribute in an f-string",
    )
}
