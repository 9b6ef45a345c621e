//! The walk over expressions.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{
    CmpOp, Comprehension, Expr, ExprBinOp, ExprCall, ExprGenerator, ExprLambda, ExprListComp, ExprNamed, ExprSetComp, ExprStringLiteral,
    FStringPart, InterpolatedStringElement, Operator, TypeParam, TypeParams, UnaryOp,
};
use ruff_text_size::{Ranged, TextRange};

use super::super::program::{Access, Call, NameUse, Text, Use};
use super::super::scope::{ScopeKind, Site, What};
use super::Walker;

impl<'a> Walker<'a> {
    pub(super) fn maybe(&mut self, expr: Option<&'a Expr>, usage: Use<'a>) {
        if let Some(expr) = expr {
            self.expr(expr, usage);
        }
    }

    pub(super) fn name(&mut self, name: &'a str, range: TextRange, usage: Use<'a>) {
        self.program.names.push(NameUse { name, range, scope: self.scope, usage });
    }

    pub(super) fn expr(&mut self, expr: &'a Expr, usage: Use<'a>) {
        match expr {
            Expr::Name(node) => self.name(&node.id, node.range, usage),
            Expr::Attribute(_) => self.attribute(expr, usage, Access::Load),
            Expr::Call(node) => self.call(node, usage),
            Expr::StringLiteral(node) => self.text(node, false),
            // Bytes become a template by one call.
            Expr::BytesLiteral(node) => {
                for part in node.value.as_slice() {
                    if let Ok(text) = std::str::from_utf8(&part.value) {
                        self.string_part(text, part.range);
                    }
                }
            }
            Expr::BoolOp(node) => {
                let each = if matches!(usage, Use::Test) { Use::Test } else { Use::Value };
                node.values.iter().for_each(|value| self.expr(value, each));
            }
            Expr::Named(node) => self.named(node),
            Expr::BinOp(node) => self.binary_operation(node, usage),
            Expr::UnaryOp(node) => self.expr(&node.operand, if matches!(node.op, UnaryOp::Not) { Use::Test } else { Use::Value }),
            Expr::Lambda(node) => self.lambda(node, Use::Value),
            Expr::If(node) => {
                self.expr(&node.test, Use::Test);
                self.expr(&node.body, Use::Value);
                self.expr(&node.orelse, Use::Value);
            }
            Expr::Dict(node) => {
                for item in &node.items {
                    self.maybe(item.key.as_ref(), Use::Index);
                    self.expr(&item.value, Use::Value);
                }
            }
            Expr::ListComp(ExprListComp { elt, generators, .. })
            | Expr::SetComp(ExprSetComp { elt, generators, .. })
            | Expr::Generator(ExprGenerator { elt, generators, .. }) => self.comprehension(generators, &[elt]),
            Expr::DictComp(node) => match &node.key {
                Some(key) => self.comprehension(&node.generators, &[key, &node.value]),
                None => self.comprehension(&node.generators, &[&node.value]),
            },
            Expr::Compare(node) => {
                let identity = node.ops.iter().all(|op| matches!(op, CmpOp::Is | CmpOp::IsNot));
                let usage = if identity { Use::Identity } else { Use::Comparison };
                self.expr(&node.left, usage);
                node.comparators.iter().for_each(|value| self.expr(value, usage));
            }
            Expr::FString(node) => {
                for part in &node.value {
                    match part {
                        FStringPart::Literal(literal) => self.string_part(literal, literal.range),
                        FStringPart::FString(string) => string.elements.iter().for_each(|element| self.element(element)),
                    }
                }
            }
            Expr::TString(node) => node.value.iter().flat_map(|string| string.elements.iter()).for_each(|element| self.element(element)),
            Expr::Subscript(node) => {
                self.expr(&node.value, if matches!(usage, Use::Base | Use::Annotation) { usage } else { Use::Subscripted });
                self.expr(&node.slice, if matches!(usage, Use::Annotation) { usage } else { Use::Index });
            }
            Expr::List(node) => {
                let each = if matches!(usage, Use::Annotation) { usage } else { Use::Value };
                node.elts.iter().for_each(|element| self.expr(element, each));
            }
            Expr::Tuple(node) => {
                // The tuple of types of `isinstance`, `except`, `"…" % (…)` or of a subscripted annotation.
                let each = match usage {
                    Use::Caught | Use::Annotation | Use::Shown | Use::Index => usage,
                    Use::Argument(call, 1, None) if is_type_test(call) => usage,
                    _ => Use::Value,
                };
                node.elts.iter().for_each(|element| self.expr(element, each));
            }
            // Numbers and the like, and what hands on the values of its parts.
            other => walk_expr(self, other),
        }
    }

    fn named(&mut self, node: &'a ExprNamed) {
        self.expr(&node.value, Use::Value);
        if let Expr::Name(name) = &*node.target {
            let scope = self.program.scopes.outside_comprehensions(self.scope);
            self.dunder(&name.id, name.range, Some(&node.value));
            // Evaluated or not: an expression may be cut short before it.
            let site = Site { what: What::Value(&node.value), from: node.end().to_usize(), straight: false };
            self.program.crowded |= !self.program.scopes.bind(scope, &name.id, site);
        }
    }

    fn binary_operation(&mut self, node: &'a ExprBinOp, usage: Use<'a>) {
        // `int | type` in a type position, and `"…" % value`.
        let union = matches!(node.op, Operator::BitOr) && matches!(usage, Use::Annotation | Use::Argument(..));
        let shown = matches!(node.op, Operator::Mod) && matches!(&*node.left, Expr::StringLiteral(_));
        let each = if union { usage } else { Use::Value };
        self.expr(&node.left, each);
        self.expr(&node.right, if shown { Use::Shown } else { each });
    }

    fn call(&mut self, node: &'a ExprCall, usage: Use<'a>) {
        self.program.calls.push(Call { node, scope: self.scope, usage });
        self.expr(&node.func, Use::Called(node));
        for (position, argument) in node.arguments.args.iter().enumerate() {
            self.expr(argument, Use::Argument(node, position, None));
        }
        for keyword in &node.arguments.keywords {
            let Some(name) = &keyword.arg else {
                self.expr(&keyword.value, Use::Value);
                continue;
            };
            match &keyword.value {
                // `json.dumps(…, default=lambda o: o.__dict__)`: the value goes to the encoder and nowhere else.
                Expr::Lambda(lambda) if name.as_str() == "default" && lambda.body.is_attribute_expr() => {
                    self.lambda(lambda, Use::Encoder(node));
                }
                value => self.expr(value, Use::Argument(node, usize::MAX, Some(name.as_str()))),
            }
        }
    }

    fn lambda(&mut self, node: &'a ExprLambda, result: Use<'a>) {
        if let Some(parameters) = &node.parameters {
            self.parameters_outside(parameters);
        }
        let scope = self.program.scopes.open(ScopeKind::Function, self.scope);
        self.within(scope, |walker| {
            if let Some(parameters) = &node.parameters {
                walker.parameters_inside(parameters);
            }
            walker.expr(&node.body, result);
        });
    }

    fn element(&mut self, element: &'a InterpolatedStringElement) {
        match element {
            InterpolatedStringElement::Literal(literal) => self.string_part(&literal.value, literal.range),
            InterpolatedStringElement::Interpolation(field) => {
                self.expr(&field.expression, Use::Shown);
                if let Some(spec) = &field.format_spec {
                    spec.elements.iter().for_each(|element| self.element(element));
                }
            }
        }
    }

    fn string_part(&mut self, value: &'a str, range: TextRange) {
        self.program.texts.push(Text { value, range, alone: false, annotation: false });
    }

    pub(super) fn text(&mut self, node: &'a ExprStringLiteral, alone: bool) {
        self.program.texts.push(Text { value: node.value.to_str(), range: node.range, alone, annotation: self.in_annotation });
    }

    /// The first iterable belongs to the scope outside; the rest to the comprehension's own.
    fn comprehension(&mut self, generators: &'a [Comprehension], results: &[&'a Expr]) {
        if let Some(first) = generators.first() {
            self.expr(&first.iter, Use::Value);
        }
        let scope = self.program.scopes.open(ScopeKind::Comprehension, self.scope);
        self.within(scope, |walker| {
            for (position, generator) in generators.iter().enumerate() {
                if position > 0 {
                    walker.expr(&generator.iter, Use::Value);
                }
                walker.loop_target(&generator.target, &generator.iter, generator.target.start());
                generator.ifs.iter().for_each(|test| walker.expr(test, Use::Test));
            }
            for result in results {
                walker.expr(result, Use::Value);
            }
        });
    }

    pub(super) fn type_params(&mut self, params: Option<&'a TypeParams>) {
        for param in params.into_iter().flat_map(|params| params.type_params.iter()) {
            if let TypeParam::TypeVar(variable) = param {
                self.maybe(variable.bound.as_deref(), Use::Annotation);
            }
            self.maybe(param.default(), Use::Annotation);
            let name = param.name();
            self.dunder(name, name.range, None);
        }
    }
}

impl<'a> Visitor<'a> for Walker<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        self.expr(expr, Use::Value);
    }
}

/// `isinstance(…)` or `issubclass(…)`, by name.
pub(super) fn is_type_test(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "isinstance" | "issubclass"))
}
