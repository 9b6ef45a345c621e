//! The words of a paragraph, a heading or a cell, with their marks.

use std::fmt::Write as _;

use super::{Mark, Writer};
use crate::dom::{Element, Id};
use crate::escape::{destination, end_backslashes, flowing, literal};
use crate::{Format, code, embed};

impl Writer<'_> {
    pub(super) fn text(&mut self, text: &str, end: char) {
        if self.codes > 0 {
            self.code.push_str(text);
            return;
        }
        let text = flowing(text);
        let mut words = text.split(' ').peekable();
        let mut is_first = true;
        while let Some(word) = words.next() {
            if !std::mem::take(&mut is_first) {
                self.space();
            }
            if word.is_empty() {
                continue;
            }
            self.begin();
            if self.is_text() {
                self.line.push_str(word);
            } else {
                let in_link = self.is_in_link() && self.writing.format == Format::Markdown;
                literal(&mut self.line, word, if words.peek().is_some() { ' ' } else { end }, in_link);
            }
        }
    }

    /// Writes what needs no escape.
    pub(super) fn raw(&mut self, text: &str) {
        if self.codes > 0 {
            return self.code.push_str(text);
        }
        self.begin();
        self.line.push_str(text);
    }

    pub(super) fn space(&mut self) {
        self.end_code();
        if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
            self.line.push(' ');
        }
    }

    pub(super) fn line_break(&mut self) {
        self.end_code();
        if !self.is_flowing() {
            self.space();
        } else if self.line.ends_with('\n') {
            self.end_block();
        } else if !self.line.is_empty() {
            self.line.truncate(self.line.trim_end_matches(' ').len());
            self.line.push_str(if self.is_text() { "\n" } else { "  \n" });
        }
    }

    pub(super) fn picture(&mut self, id: Id, element: &Element) {
        let Some(source) = embed::picture(self.dom, id, element, self.writing.base).filter(|_| self.codes == 0) else { return };
        let alt = flowing(element.attribute("alt").unwrap_or_default());
        if self.is_text() {
            return self.text(&alt, ' ');
        }
        let mut picture = String::from("![");
        literal(&mut picture, alt.trim(), ' ', true);
        end_backslashes(&mut picture);
        picture.push(']');
        picture.push_str(&destination(&source, element.attribute("title")));
        self.raw(&picture);
    }

    /// Writes what stands before the next word: code, and the marks that are not open yet.
    pub(super) fn begin(&mut self) {
        self.end_code();
        self.open_marks();
    }

    pub(super) fn open_marks(&mut self) {
        if self.is_text() || self.marks.iter().all(|mark| mark.is_open) {
            return;
        }
        for mark in self.marks.iter_mut().filter(|mark| !mark.is_open) {
            let sign = if mark.link.is_some() && self.writing.format == Format::Markdown { "[" } else { mark.sign };
            mark.is_open = true;
            if !sign.is_empty() && self.closed == (self.line.len(), sign) {
                self.line.truncate(self.line.len() - sign.len());
                continue;
            }
            end_backslashes(&mut self.line);
            // A link behind an exclamation mark would be a picture.
            if sign == "[" && self.line.ends_with('!') {
                self.line.insert(self.line.len() - 1, '\\');
            }
            self.line.push_str(sign);
        }
    }

    /// Closes the innermost mark if it is of this element.
    pub(super) fn close_mark(&mut self, id: Id) {
        if self.marks.last().is_some_and(|mark| mark.id == id) {
            self.end_code();
            if let Some(mark) = self.marks.pop() {
                self.close(&mark);
            }
        }
    }

    pub(super) fn close(&mut self, mark: &Mark) {
        if !mark.is_open {
            return;
        }
        let tail = self.line.split_off(self.line.trim_end().len());
        end_backslashes(&mut self.line);
        match (&mark.link, self.writing.format) {
            (Some((target, _)), Format::Footnotes) => {
                let _ = write!(self.line, "[{}]", self.notes.number(target));
            }
            (Some((target, title)), _) => self.line.extend(["]", &destination(target, title.as_deref())]),
            (None, _) => {
                self.line.push_str(mark.sign);
                self.closed = (self.line.len(), mark.sign);
            }
        }
        self.line.push_str(&tail);
    }

    pub(super) fn end_code(&mut self) {
        if self.code.is_empty() {
            return;
        }
        let code = code::unbroken(&std::mem::take(&mut self.code));
        // White space of the source around the code stands outside of it.
        let bare = code.trim_matches('\n').replace('\n', " ");
        if code.starts_with('\n') {
            self.space();
        }
        if !bare.is_empty() {
            self.open_marks();
            if self.is_text() {
                self.line.push_str(&bare);
            } else {
                end_backslashes(&mut self.line);
                // Backticks side by side would be one delimiter.
                self.line.push_str(if self.line.ends_with('`') && !self.line.ends_with("\\`") { " " } else { "" });
                self.line.push_str(&code::span(&bare));
            }
        }
        if code.ends_with('\n') {
            self.space();
        }
    }

    /// Closes the open marks; they are opened again in the next paragraph.
    pub(super) fn end_line(&mut self) {
        self.end_code();
        let mut marks = std::mem::take(&mut self.marks);
        for mark in marks.iter_mut().rev() {
            self.close(mark);
            mark.is_open = false;
        }
        self.marks = marks;
        self.closed = (0, "");
    }
}
