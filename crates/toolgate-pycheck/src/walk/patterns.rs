//! The walk over `match` patterns: captures bind, class patterns read attributes.

use ruff_python_ast::{Identifier, Pattern, PatternMatchOr, PatternMatchSequence};
use ruff_text_size::Ranged;

use super::super::program::Use;
use super::super::scope::What;
use super::Walker;

impl<'a> Walker<'a> {
    pub(super) fn pattern(&mut self, pattern: &'a Pattern) {
        match pattern {
            Pattern::MatchValue(node) => self.expr(&node.value, Use::Comparison),
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchSequence(PatternMatchSequence { patterns, .. }) | Pattern::MatchOr(PatternMatchOr { patterns, .. }) => {
                for pattern in patterns {
                    self.pattern(pattern);
                }
            }
            Pattern::MatchMapping(node) => {
                node.keys.iter().for_each(|key| self.expr(key, Use::Comparison));
                node.patterns.iter().for_each(|pattern| self.pattern(pattern));
                self.capture(node.rest.as_ref());
            }
            Pattern::MatchClass(node) => {
                self.program.patterns.push((node, self.scope));
                self.expr(&node.cls, Use::Pattern);
                node.arguments.patterns.iter().for_each(|pattern| self.pattern(pattern));
                node.arguments.keywords.iter().for_each(|keyword| self.pattern(&keyword.pattern));
            }
            Pattern::MatchStar(node) => self.capture(node.name.as_ref()),
            Pattern::MatchAs(node) => {
                if let Some(pattern) = &node.pattern {
                    self.pattern(pattern);
                }
                self.capture(node.name.as_ref());
            }
        }
    }

    fn capture(&mut self, name: Option<&'a Identifier>) {
        if let Some(name) = name {
            self.bind(name, name.range, What::Other, name.end());
        }
    }
}
