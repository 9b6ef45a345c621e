//! How deep a program nests, worked out from its tokens before anything recurses over it.
//!
//! The parser grows its own stack, but dropping and walking its tree recurse plainly: a program of 200 kB with 100 000 brackets
//! would abort the process. `CPython` refuses more than 200 open brackets, 100 indents and chains of some thousands itself.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

/// Open brackets. Fields of f-strings count, since parsing format specifications inside each other is quadratic.
const MAX_BRACKETS: usize = 200;
/// Indents (`CPython`: 100).
const MAX_INDENTS: usize = 100;
/// Levels of the tree that one statement may have.
const MAX_DEPTH: usize = 1000;

/// The bound on the depth of the tree, or what nests too deeply.
pub(super) fn measure(source: &str) -> Result<usize, &'static str> {
    let mut lexer = lexer::lex(source, Mode::Module);
    let mut open: Vec<Level> = Vec::new();
    let mut here = Level::default();
    // Sum over `open`.
    let (mut below, mut indents, mut deepest) = (0_usize, 0_usize, 0_usize);
    loop {
        let kind = lexer.next_token();
        match kind {
            TokenKind::EndOfFile => return Ok(deepest),
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace | TokenKind::FStringStart | TokenKind::TStringStart => {
                here.chain += 1;
                below += here.depth();
                open.push(here);
                here = Level::default();
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::FStringEnd | TokenKind::TStringEnd => {
                if let Some(outer) = open.pop() {
                    below -= outer.depth();
                    here = outer;
                }
            }
            TokenKind::Comma => here.chain = 0,
            TokenKind::Newline | TokenKind::Semi if open.is_empty() => here = Level::default(),
            TokenKind::Lambda | TokenKind::Yield => here.sticky += 1,
            TokenKind::Dot | TokenKind::Else | TokenKind::Await | TokenKind::ColonEqual | TokenKind::Unknown => here.chain += 1,
            _ if kind.as_binary_operator().is_some() || kind.as_unary_operator().is_some() => here.chain += 1,
            _ => continue,
        }
        if open.len() > MAX_BRACKETS {
            return Err("brackets");
        }
        if indents > MAX_INDENTS {
            return Err("blocks");
        }
        let depth = below + here.depth() + indents;
        if depth > MAX_DEPTH {
            return Err("an expression");
        }
        deepest = deepest.max(depth);
    }
}

/// What one bracket level adds to the depth.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// Operators, attributes and trailers since the last comma.
    chain: usize,
    /// What a comma does not end.
    sticky: usize,
}

impl Level {
    fn depth(self) -> usize {
        self.chain + self.sticky
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_exhaust_a_stack_is_refused_before_it_is_parsed() {
        let cases = [
            ("(".repeat(100_000), "brackets"),
            (format!("x{}", ".a".repeat(100_000)), "an expression"),
            ("-".repeat(100_000), "an expression"),
            ("not ".repeat(50_000), "an expression"),
            (format!("1{}", "+1".repeat(50_000)), "an expression"),
            ("lambda a, b: ".repeat(5_000), "an expression"),
            ("1 if 1 else ".repeat(5_000), "an expression"),
            (format!("f{}", "(x)".repeat(50_000)), "an expression"),
            (format!("f'{}", "{x:".repeat(10_000)), "brackets"),
            ((0..200).flat_map(|n| [" ".repeat(n), "if 1:\n".to_owned()]).collect(), "blocks"),
        ];
        for (source, what) in cases {
            assert_eq!(measure(&source), Err(what), "{}", source.chars().take(20).collect::<String>());
        }
    }

    #[test]
    fn ordinary_programs_are_shallow_however_long() {
        let table = format!("x = [{}]\n", "{'a': f'{1:>{2}}', 'b': [1, 2, -3]}, ".repeat(2_000));
        let calls = "a.b(c.d(e), f.g(h)).i[0]\n".repeat(2_000);
        for source in [table, calls] {
            assert!(measure(&source).is_ok_and(|depth| depth < 20));
        }
    }
}
