//! Contents as they are shown: with a mask in the place of each secret, where the manifest masks them.

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use super::content::line_ends;
use crate::filter::masked::{Secret, mentions, with_masks};
use crate::model::{Bytes, Code, Failure, Target};

/// Files above this size are looked through neither for secrets nor for what a search asks for.
pub(super) const LOOKED_THROUGH: Bytes = Bytes::mib(64);

/// A content with its masks. A mask fills every line of its secret, so lines keep their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Masked {
    pub bytes: Vec<u8>,
    /// In the order of their places.
    pub masks: Vec<Mask>,
}

/// One mask.
#[derive(Debug, Clone)]
pub(super) struct Mask {
    /// Which secret it hides.
    pub name: &'static str,
    /// Where it stands in what is shown.
    pub at: Range<usize>,
    /// The bytes that it hides.
    pub hidden: Vec<u8>,
}

impl Masked {
    /// The content with these secrets masked.
    pub(super) fn new(content: Vec<u8>, secrets: &[Secret]) -> Self {
        if secrets.is_empty() {
            return Self { bytes: content, masks: Vec::new() };
        }
        let (bytes, places) = with_masks(&content, secrets);
        let mask = |(secret, at): (&Secret, Range<usize>)| {
            let hidden = content.get(secret.at.clone()).unwrap_or_default().to_vec();
            Mask { name: secret.name, at, hidden }
        };
        Self { bytes, masks: secrets.iter().zip(places).map(mask).collect() }
    }

    /// What is shown of a text; masks are ASCII and stand between characters.
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// Each mask's name and the lines it is on, from 0.
    pub(super) fn lines(&self) -> impl Iterator<Item = (&'static str, RangeInclusive<usize>)> {
        let (mut at, mut line) = (0, 0);
        self.masks.iter().map(move |mask| {
            let ends = |part: Range<usize>| usize::try_from(line_ends(self.bytes.get(part).unwrap_or_default())).unwrap_or(usize::MAX);
            let first = line + ends(at..mask.at.start);
            (at, line) = (mask.at.end, first + ends(mask.at.clone()));
            (mask.name, first..=line)
        })
    }

    /// The lines that masks stand on: their numbers, from 1, and where they are.
    pub(super) fn masked_lines(&self) -> Vec<(usize, Range<usize>)> {
        let mut at = 0;
        let lines = self.bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
            at += line.len();
            at - line.len()..at
        });
        let is_masked = |line: &Range<usize>| {
            let first = self.masks.partition_point(|mask| mask.at.end <= line.start);
            self.masks.get(first).is_some_and(|mask| mask.at.start < line.end)
        };
        (1..).zip(lines).filter(|(_, line)| is_masked(line)).collect()
    }

    /// Adds a part of another content, with the masks that are whole in it.
    pub(super) fn push(&mut self, other: &Self, part: Range<usize>) {
        let first = other.masks.partition_point(|mask| mask.at.start < part.start);
        for mask in other.masks.iter().skip(first).take_while(|mask| mask.at.end <= part.end) {
            let start = self.bytes.len() + mask.at.start - part.start;
            self.masks.push(Mask { at: start..start + mask.at.len(), ..mask.clone() });
        }
        self.bytes.extend_from_slice(other.bytes.get(part).unwrap_or_default());
    }

    /// The content with its secrets, and where each of them is.
    pub(super) fn unmasked(&self) -> (Vec<u8>, Vec<Range<usize>>) {
        let (mut content, mut places, mut from) = (Vec::with_capacity(self.bytes.len()), Vec::new(), 0);
        for mask in &self.masks {
            content.extend_from_slice(self.bytes.get(from..mask.at.start).unwrap_or_default());
            places.push(content.len()..content.len() + mask.hidden.len());
            content.extend_from_slice(&mask.hidden);
            from = mask.at.end;
        }
        content.extend_from_slice(self.bytes.get(from..).unwrap_or_default());
        (content, places)
    }
}

/// The name of a secret whose mask a new text holds more often than the one in whose place it is put: the mask would be written as it stands.
pub(super) fn written_mask(secrets: &[Secret], before: &str, after: &str) -> Option<&'static str> {
    let names: BTreeSet<&'static str> = secrets.iter().map(|secret| secret.name).collect();
    names.into_iter().find(|name| mentions(after, name) > mentions(before, name))
}

/// What is refused because a secret is masked.
pub(super) fn masked_content(why: String, hint: &str) -> Failure {
    Failure(Failure::new(Code::MaskedContent, why).hint(hint).0.rule("filters.secrets"))
}

/// The answer where a form was asked for that no mask can stand in.
pub(super) fn no_form(target: &Target, names: &[&'static str]) -> Failure {
    let why = format!("`{target}` holds secrets ({}), which are masked in text and cannot be masked in this form", listed(names));
    masked_content(why, "where the file is UTF-8, read it as text, with any `offset` and `limit`")
}

/// The names of secrets, each once.
pub(super) fn listed(names: &[&'static str]) -> String {
    let mut names: Vec<&str> = names.to_vec();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}
