//! The text of a PDF page from the places of its characters.

use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};
use unicode_normalization::UnicodeNormalization;

/// Takes the characters of a page from the parser.
pub(super) struct Layout {
    /// The part of the page that viewers show (ISO 32000-2, section 14.11.2): what its boxes have in common.
    boxes: Vec<MediaBox>,
    /// The end of the last character, and its base line.
    last: Option<(f64, f64)>,
    begins_word: bool,
    pub(super) text: String,
}

impl Layout {
    pub(super) fn new(crop: Option<MediaBox>) -> Self {
        Self { boxes: crop.into_iter().collect(), last: None, begins_word: false, text: String::new() }
    }

    fn is_shown(&self, size: f64, (x, y): (f64, f64)) -> bool {
        self.boxes.iter().all(|area| {
            let is_within = |at: f64, one: f64, other: f64| (one.min(other)..=one.max(other)).contains(&at);
            let is_tiny = size < TINY && size * SHARE < (area.ury - area.lly).abs();
            !is_tiny && is_within(x, area.llx, area.urx) && is_within(y, area.lly, area.ury)
        })
    }
}

impl OutputDev for Layout {
    fn begin_page(&mut self, _: u32, media: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        self.boxes.push(*media);
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    /// Adds a character. A larger step than a gap between letters is a space, a step down a line, as in the parser's own output.
    fn output_character(&mut self, place: &Transform, width: f64, _: f64, font_size: f64, text: &str) -> Result<(), OutputError> {
        let Transform { m11, m12, m21, m22, m31: x, m32: y, .. } = *place;
        let size = (m11 * m22 - m12 * m21).abs().sqrt() * font_size.abs();
        // A letter stands on its place; its middle is above it.
        let (right, up) = (font_size * width * 0.5, font_size * 0.3);
        if !self.is_shown(size, (x + right * m11 + up * m21, y + right * m12 + up * m22)) {
            return Ok(());
        }
        if std::mem::take(&mut self.begins_word)
            && let Some((end, line)) = self.last
        {
            let step = (y - line).abs();
            let breaks = usize::from(step > size * 1.5) + usize::from(x < end && step > size * 0.5);
            self.text.extend(std::iter::repeat_n('\n', breaks));
            if x > end + size * 0.1 {
                self.text.push(' ');
            }
        }
        for c in text.chars() {
            // Unicode 17, Alphabetic Presentation Forms: the Latin and Armenian ligatures.
            match c {
                '\u{fb00}'..='\u{fb17}' => self.text.extend(c.nfkc()),
                _ => self.text.push(c),
            }
        }
        self.last = Some((x + width * size, y));
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.begins_word = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

/// Points below which letters are dots, and the share of the page's height below which they are that on pages of another scale.
const TINY: f64 = 1.5;
const SHARE: f64 = 400.0;
