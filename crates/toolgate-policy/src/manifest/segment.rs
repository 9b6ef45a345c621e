//! One segment of a pattern against one name.

use super::text::{fold, fold_char};

/// One segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// `**`: any number of names.
    Any,
    /// A name as it stands.
    Name(String),
    /// Characters and wild cards.
    Wild(Vec<Token>),
}

/// One part of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// This character.
    Char(char),
    /// `?`: one character.
    One,
    /// `*`: any characters.
    Star,
    /// `[…]`: one character in, or with `!` or `^` not in, these ranges.
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl Segment {
    /// Reads one segment, which is not empty.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text == "**" {
            return Ok(Self::Any);
        }
        if text.contains("**") {
            return Err(format!("`**` in `{text}` must be a whole segment; write `**/{}`, or a single `*`", text.replace("**", "*")));
        }
        if !text.contains(['*', '?', '[']) {
            return Ok(Self::Name(text.to_owned()));
        }
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' => Token::Star,
                '?' => Token::One,
                '[' => {
                    let (class, rest) = class(chars.as_str()).ok_or_else(|| {
                        format!("`[` in `{text}` is not closed, is empty or holds a backward range; write e.g. `[0-9]`, or `[[]` for the character")
                    })?;
                    chars = rest.chars();
                    class
                }
                other => Token::Char(other),
            });
        }
        Ok(Self::Wild(tokens))
    }

    /// The same segment for folded names. Wild cards are read before folding, for a full-width `＊` is a character and no wild card;
    /// a class takes the folded form of its ranges as well.
    pub(super) fn folded(&self) -> Self {
        let tokens = match self {
            Self::Any => return Self::Any,
            Self::Name(name) => return Self::Name(fold(name)),
            Self::Wild(tokens) => tokens,
        };
        let (mut out, mut run) = (Vec::new(), String::new());
        for token in tokens {
            if let Token::Char(c) = token {
                run.push(*c);
                continue;
            }
            out.extend(fold(&std::mem::take(&mut run)).chars().map(Token::Char));
            out.push(match token {
                Token::Class { negated, ranges } => {
                    let folded = ranges.iter().map(|(low, high)| (fold_char(*low), fold_char(*high))).filter(|(low, high)| low <= high);
                    Token::Class { negated: *negated, ranges: ranges.iter().copied().chain(folded).collect() }
                }
                other => other.clone(),
            });
        }
        out.extend(fold(&run).chars().map(Token::Char));
        Self::Wild(out)
    }

    /// Whether it asks for a number of characters, which folding can change.
    pub(super) fn counts_characters(&self) -> bool {
        matches!(self, Self::Wild(tokens) if tokens.iter().any(|token| matches!(token, Token::One | Token::Class { .. })))
    }

    /// Whether it matches the name. `**` is not asked here.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Name(own) => own == name,
            Self::Wild(tokens) => wild(tokens, name),
        }
    }
}

/// Goes along both; at a dead end the last `*` takes one character more. Time is at most tokens × characters.
pub(super) fn wild(tokens: &[Token], name: &str) -> bool {
    let (mut pattern, mut rest) = (tokens, name);
    let mut retry: Option<(&[Token], &str)> = None;
    loop {
        match pattern.split_first() {
            Some((Token::Star, after)) => {
                pattern = after;
                retry = Some((after, rest));
                continue;
            }
            Some((token, after)) => {
                let mut chars = rest.chars();
                if chars.next().is_some_and(|c| token.takes(c)) {
                    (pattern, rest) = (after, chars.as_str());
                    continue;
                }
            }
            None if rest.is_empty() => return true,
            None => {}
        }
        let Some((after, from)) = retry else { return false };
        let mut chars = from.chars();
        if chars.next().is_none() {
            return false;
        }
        (pattern, rest) = (after, chars.as_str());
        retry = Some((after, rest));
    }
}

impl Token {
    fn takes(&self, c: char) -> bool {
        match self {
            Token::Char(own) => *own == c,
            Token::One | Token::Star => true,
            Token::Class { negated, ranges } => ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated,
        }
    }
}

/// Reads a class after its `[`; gives it and what follows its `]`. A `]` in first place is an ordinary character.
fn class(text: &str) -> Option<(Token, &str)> {
    let (negated, body) = match text.strip_prefix(['!', '^']) {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut ranges = Vec::new();
    let mut chars = body.chars();
    let mut first = true;
    loop {
        let low = chars.next()?;
        if low == ']' && !first {
            break;
        }
        first = false;
        let mut ahead = chars.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                chars = ahead;
                high
            }
            _ => low,
        };
        if low > high {
            return None;
        }
        ranges.push((low, high));
    }
    Some((Token::Class { negated, ranges }, chars.as_str()))
}
