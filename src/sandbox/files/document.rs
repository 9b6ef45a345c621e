//! A text under edit as it is shown: masks stand in it for the secrets they hide, which an edit carries along and never sees.

use std::borrow::Cow;
use std::ops::Range;

use super::passages::Passages;
use crate::filter::holds_secret_mask;
use crate::filter::masked::{Secret, mentions, with_masks};

/// A text with masks, and what they hide.
#[derive(Debug, Clone)]
pub(super) struct Document {
    shown: String,
    masks: Vec<Mask>,
}

/// One mask in a document.
#[derive(Debug, Clone)]
pub(super) struct Mask {
    /// Which secret it hides.
    pub name: &'static str,
    /// Where it stands in what is shown.
    pub at: Range<usize>,
    /// What it hides.
    value: String,
}

/// Why an edit cannot be made around the masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    /// The passage begins or ends within a mask.
    Cut,
    /// The new text holds a mask of the file that the passage does not hold as often, so that nothing says which value is meant.
    Strange,
}

impl Document {
    /// The text with these secrets masked.
    pub(super) fn new(text: String, secrets: &[Secret]) -> Self {
        if secrets.is_empty() {
            return Self { shown: text, masks: Vec::new() };
        }
        let (shown, places) = with_masks(text.as_bytes(), secrets);
        let mask = |(secret, at): (&Secret, Range<usize>)| {
            let value = text.get(secret.at.clone()).unwrap_or_default().to_owned();
            Mask { name: secret.name, at, value }
        };
        let masks = secrets.iter().zip(places).map(mask).collect();
        // Masks are ASCII and stand between characters.
        Self { shown: String::from_utf8(shown).unwrap_or_default(), masks }
    }

    /// What is shown.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The masks in it, in order.
    pub(super) fn masks(&self) -> &[Mask] {
        &self.masks
    }

    /// The text with its secrets, and where each of them is.
    pub(super) fn into_text(self) -> (String, Vec<Range<usize>>) {
        if self.masks.is_empty() {
            return (self.shown, Vec::new());
        }
        let mut text = String::with_capacity(self.shown.len());
        let mut places = Vec::with_capacity(self.masks.len());
        let mut from = 0;
        for mask in &self.masks {
            text.push_str(self.shown.get(from..mask.at.start).unwrap_or_default());
            places.push(text.len()..text.len() + mask.value.len());
            text.push_str(&mask.value);
            from = mask.at.end;
        }
        text.push_str(self.shown.get(from..).unwrap_or_default());
        (text, places)
    }

    /// The document with each passage replaced. A mask in the new text stands for what the same mask in the passage hides: the first for the
    /// first, and each once.
    pub(super) fn replaced(&self, passages: &Passages<'_>, by: &str) -> Result<Self, Unfit> {
        let mut forms: Vec<&str> = self.masks.iter().filter_map(|mask| self.shown.get(mask.at.clone())).collect();
        // A mask of several lines begins like one of a single line.
        forms.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        forms.dedup();
        let mut names: Vec<&'static str> = self.masks.iter().map(|mask| mask.name).collect();
        names.sort_unstable();
        names.dedup();
        let mut out = Self { shown: String::with_capacity(self.shown.len()), masks: Vec::with_capacity(self.masks.len()) };
        let mut masks = self.masks.as_slice();
        let mut from = 0;
        for range in passages.ranges() {
            let before = split(&mut masks, range.start);
            out.copy(&self.shown, from..range.start, before)?;
            let inside = split(&mut masks, range.end);
            let old = Part { text: self.shown.get(range.clone()).unwrap_or_default(), from: range.start, masks: inside };
            out.restore(&old, &passages.written(range, by), &forms, &names)?;
            from = range.end;
        }
        out.copy(&self.shown, from..self.shown.len(), masks)?;
        Ok(out)
    }

    /// Adds a part that stays. A mask that is not whole in it lies over its end.
    fn copy(&mut self, shown: &str, part: Range<usize>, masks: &[Mask]) -> Result<(), Unfit> {
        for mask in masks {
            if mask.at.start < part.start || part.end < mask.at.end {
                return Err(Unfit::Cut);
            }
            let start = self.shown.len() + mask.at.start - part.start;
            self.masks.push(Mask { at: start..start + mask.at.len(), ..mask.clone() });
        }
        self.shown.push_str(shown.get(part).unwrap_or_default());
        Ok(())
    }

    /// Adds the new text in the place of a passage, with the masks of the passage that it names.
    fn restore(&mut self, old: &Part<'_>, new: &str, forms: &[&str], names: &[&'static str]) -> Result<(), Unfit> {
        if old.masks.iter().any(|mask| mask.at.start < old.from || old.from + old.text.len() < mask.at.end) {
            return Err(Unfit::Cut);
        }
        let (held, wanted) = (old.named(forms), named(new, forms));
        let mut taken = Vec::with_capacity(wanted.len());
        let mut lost = false;
        for form in forms {
            let hidden: Vec<Option<&Mask>> = held.iter().filter(|(held, _)| held == form).map(|(_, mask)| *mask).collect();
            let places: Vec<&Named<'_>> = wanted.iter().filter(|found| found.form == *form).collect();
            let hides = hidden.iter().any(Option::is_some);
            let fits = places.len() == hidden.len() || places.is_empty() || (!hides && places.len() < hidden.len());
            if !fits {
                return Err(Unfit::Strange);
            }
            lost |= hides && places.is_empty();
            taken.extend(places.into_iter().zip(hidden).filter_map(|(place, mask)| mask.map(|mask| (place.at.clone(), mask))));
        }
        let rest = without(new, &wanted);
        if holds_secret_mask(&rest) {
            // In the place of a secret the mask of none is a mistake, and so is one line of a mask that has several.
            let before = old.rest(forms);
            let more = |name: &&'static str| mentions(&rest, name) > mentions(&before, name);
            if lost || names.iter().any(more) {
                return Err(Unfit::Strange);
            }
        }
        taken.sort_unstable_by_key(|(at, _)| at.start);
        let mut from = 0;
        for (at, mask) in taken {
            self.shown.push_str(new.get(from..at.start).unwrap_or_default());
            let form = old.text.get(mask.at.start - old.from..mask.at.end - old.from).unwrap_or_default();
            let start = self.shown.len();
            self.shown.push_str(form);
            self.masks.push(Mask { at: start..self.shown.len(), ..mask.clone() });
            from = at.end;
        }
        self.shown.push_str(new.get(from..).unwrap_or_default());
        Ok(())
    }
}

/// A passage with the masks in it.
struct Part<'a> {
    text: &'a str,
    from: usize,
    masks: &'a [Mask],
}

impl<'a> Part<'a> {
    /// The forms of masks in it, in order, each with its mask; none where the text of the file only reads like one.
    fn named(&self, forms: &[&'a str]) -> Vec<(&'a str, Option<&'a Mask>)> {
        let mut all = Vec::new();
        let mut from = self.from;
        let part = |from: usize, to: usize| self.text.get(from - self.from..to - self.from).unwrap_or_default();
        for mask in self.masks {
            all.extend(named(part(from, mask.at.start), forms).into_iter().map(|found| (found.form, None)));
            all.push((part(mask.at.start, mask.at.end), Some(mask)));
            from = mask.at.end;
        }
        all.extend(named(part(from, self.from + self.text.len()), forms).into_iter().map(|found| (found.form, None)));
        all
    }

    /// Its text without masks and what reads like one of the forms.
    fn rest(&self, forms: &[&str]) -> String {
        let ends = [self.from].into_iter().chain(self.masks.iter().map(|mask| mask.at.end));
        let starts = self.masks.iter().map(|mask| mask.at.start).chain([self.from + self.text.len()]);
        let gaps = ends.zip(starts).filter_map(|(from, to)| self.text.get(from - self.from..to - self.from));
        gaps.map(|gap| without(gap, &named(gap, forms)).into_owned()).collect::<Vec<_>>().join("\n")
    }
}

/// A place in a text where the form of a mask stands.
struct Named<'a> {
    form: &'a str,
    at: Range<usize>,
}

/// Where one of the forms stands, the longest first; none over another.
fn named<'a>(text: &str, forms: &[&'a str]) -> Vec<Named<'a>> {
    let mut found: Vec<Named<'a>> = Vec::new();
    if forms.is_empty() {
        return found;
    }
    for (at, _) in text.match_indices('[') {
        if found.last().is_some_and(|last| at < last.at.end) {
            continue;
        }
        let rest = text.get(at..).unwrap_or_default();
        let fits = forms.iter().find_map(|form| Some((*form, prefix(rest, form)?)));
        found.extend(fits.map(|(form, length)| Named { form, at: at..at + length }));
    }
    found
}

/// The length of the form at the beginning of a text; line ends of both kinds are the same.
fn prefix(text: &str, form: &str) -> Option<usize> {
    let mut rest = text;
    for (index, line) in form.lines().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
        }
        rest = rest.strip_prefix(line)?;
    }
    Some(text.len() - rest.len())
}

/// The text without what was found in it.
fn without<'a>(text: &'a str, found: &[Named<'_>]) -> Cow<'a, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let ends = found.iter().map(|found| found.at.end);
    let starts = found.iter().map(|found| found.at.start).chain([text.len()]);
    let parts: Vec<&str> = [0].into_iter().chain(ends).zip(starts).filter_map(|(from, to)| text.get(from..to)).collect();
    Cow::Owned(parts.join("\n"))
}

/// Takes the masks that begin before `end` off the front.
fn split<'a>(masks: &mut &'a [Mask], end: usize) -> &'a [Mask] {
    let (before, after) = masks.split_at(masks.partition_point(|mask| mask.at.start < end));
    *masks = after;
    before
}
