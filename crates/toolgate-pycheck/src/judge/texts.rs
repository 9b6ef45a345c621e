//! String constants: templates whose fields read attributes, and annotations that are strings.

use ruff_python_ast::{Expr, Mod};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged;
use unicode_normalization::UnicodeNormalization;

use super::super::program::{Access, Text, Use, is_dunder};
use super::super::report::Problem;
use super::super::scope::What;
use super::super::{nesting, walk};
use super::attributes::register_problem;
use super::{Facts, Judge};

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
            return self.deny(text.range, Problem::new("annotation", "the annotation is too long to be read", "name a type"));
        }
        let parsed = parse_unchecked(source, ParseOptions::from(Mode::ParenthesizedExpression));
        if parsed.has_invalid_syntax() {
            return;
        }
        let Mod::Expression(expression) = parsed.syntax() else { return };
        let inner = walk::expression(&expression.body);
        if inner.texts.iter().any(|text| text.annotation) || !inner.calls.is_empty() {
            let problem = Problem::new("annotation", "the string annotation holds a call, and annotations may be evaluated", "name a type");
            return self.deny(text.range, problem);
        }
        let mut raw = Vec::new();
        let mut judge = Judge { rules: self.rules, program: &inner, facts: Facts::default(), raw: &mut raw };
        judge.names();
        judge.attributes();
        let first = raw.into_iter().next();
        let problem = first.map(|(_, first)| Problem::new("annotation", format!("in a string annotation: {}", first.message), first.hint));
        self.deny(text.range, problem);
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
                self.deny(annotation.range(), problem);
            }
        }
        for attribute in &program.attributes {
            if attribute.node.attr.as_str() != "register" {
                continue;
            }
            let fine = match attribute.usage {
                Use::Decorator(_) => self.program.innermost.contains(&attribute.node.range()),
                Use::Called(call) => {
                    call.arguments.args.first().is_some_and(|class| self.names_type(class, attribute.scope))
                        && call.arguments.keywords.is_empty()
                }
                _ => false,
            };
            self.deny(attribute.node.attr.range(), (!fine).then(register_problem));
        }
    }

    /// Whether an expression names classes and nothing that may be text.
    fn names_type(&self, expr: &'a Expr, scope: usize) -> bool {
        match expr {
            Expr::Name(name) => {
                self.meaning(name, scope).sites().all(|site| matches!(site.what, What::Class(_) | What::Export(..) | What::Function))
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
        if text.value.contains(['{', '.', '_']) {
            self.deny(text.range, self.fields_problem(text.value).or_else(|| fragment_problem(text.value)));
        }
    }

    /// Every attribute in `{name.attribute[key].attribute}`, however the braces are nested.
    fn fields_problem(&self, text: &str) -> Option<Problem> {
        text.split('{').skip(1).find_map(|field| {
            let field = field.split(['}', '!', ':']).next().filter(|field| field.len() <= 400)?;
            field.split('.').skip(1).find_map(|attribute| {
                let name: String = attribute.split('[').next().unwrap_or_default().nfkc().collect();
                let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
                let problem = || self.attribute_problem(&name, Access::Load).or_else(|| is_dunder(&name).then(|| field_problem(&name)));
                let message = format!("in a format string: {}", is_word.then(problem)??.message);
                Some(Problem::new("format.field", message, "format the value itself, or use an f-string"))
            })
        })
    }
}

/// Pieces from which a field could be put together: `{0.` at the end, or `.__name` without its brace.
fn fragment_problem(text: &str) -> Option<Problem> {
    let last = text.rsplit_once('{').map(|(_, field)| field);
    let open = last
        .and_then(|field| field.strip_suffix('.'))
        .is_some_and(|field| field.len() < 80 && field.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']')));
    let split = text.contains(".__");
    let middle = last.is_some_and(|field| !field.contains('}') && field.contains("._"));
    (open || split || middle).then(|| field_problem("_"))
}

fn field_problem(name: &str) -> Problem {
    Problem::new(
        "format.field",
        format!("the string is a piece of a format field that reads `{name}…`"),
        "write the attribute in an f-string",
    )
}
