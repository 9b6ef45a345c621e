//! What of a page's text in a PDF file a person can see.
//!
//! The parser gives every character and its place, but neither its colour nor its render mode. So the instructions of a page are rewritten before:
//! behind each one that matters here stands a rectangle, the sides of which say what it was, and the parser passes that on in its turn.

use pdf_extract::content::{Content, Operation};
use pdf_extract::{ColorSpace, MediaBox, Object, OutputDev, OutputError, Path, PathOp, Transform};
use unicode_normalization::UnicodeNormalization;

/// A rectangle on a page, upright.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    left: f64,
    bottom: f64,
    right: f64,
    top: f64,
}

impl Area {
    /// The smallest that holds all of these points.
    pub(super) fn of(points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let start = Self { left: f64::INFINITY, bottom: f64::INFINITY, right: f64::NEG_INFINITY, top: f64::NEG_INFINITY };
        points.into_iter().fold(start, |area, (x, y)| Self {
            left: area.left.min(x),
            bottom: area.bottom.min(y),
            right: area.right.max(x),
            top: area.top.max(y),
        })
    }

    fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right).contains(&x) && (self.bottom..=self.top).contains(&y)
    }
}

/// Rewrites the instructions of a page or a form with a signal behind each that changes what can be seen. None where they cannot be read.
pub(super) fn signalling(content: &[u8], key: i64) -> Option<Vec<u8>> {
    let mut operations = Vec::new();
    for mut operation in Content::decode(content).ok()?.operations {
        let numbers: Vec<f64> = operation.operands.iter().filter_map(|operand| operand.as_float().ok().map(f64::from)).collect();
        let is_white = match operation.operator.as_str() {
            "g" | "rg" => Some(!numbers.is_empty() && numbers.iter().all(|part| *part >= WHITE)),
            "k" => Some(numbers.len() == 4 && numbers.iter().all(|part| *part <= 1.0 - WHITE)),
            "cs" => Some(false),
            _ => None,
        };
        // The parser does not know the two that begin a line and show a text at once (ISO 32000-2, section 9.4.3).
        if matches!(operation.operator.as_str(), "'" | "\"") {
            let text = operation.operands.pop();
            let spaces = ["Tw", "Tc"].into_iter().zip(operation.operands);
            operations.extend(spaces.map(|(name, space)| Operation::new(name, vec![space])));
            operations.push(Operation::new("T*", Vec::new()));
            operations.push(Operation::new("Tj", text.into_iter().collect()));
            continue;
        }
        let signal = match operation.operator.as_str() {
            "q" => Some((SAVE, 0)),
            "Q" => Some((RESTORE, 0)),
            "Tr" => numbers.first().map(|mode| (MODE, whole(*mode))),
            "sc" | "scn" => Some((COLOR, 0)),
            "Do" | "BI" => Some((PICTURE, 0)),
            "sh" => Some((SHADING, 0)),
            _ => is_white.map(|white| (FILL, i64::from(white))),
        };
        // The parser knows one way to fill a path only.
        if matches!(operation.operator.as_str(), "F" | "f*" | "B" | "B*" | "b" | "b*") {
            operation = Operation::new("f", Vec::new());
        }
        let is_form = operation.operator == "Do";
        let signal = signal.map(|(what, value)| {
            let sides = [key, what, value, 0].map(Object::Integer).to_vec();
            [Operation::new("re", sides), Operation::new("f", Vec::new())]
        });
        // A picture is painted before what follows it; a form begins where it is drawn, and what it changes ends with it.
        if is_form {
            let state = |what| [Operation::new("re", [key, what, 0, 0].map(Object::Integer).to_vec()), Operation::new("f", Vec::new())];
            operations.extend(signal.into_iter().flatten());
            operations.extend(state(SAVE));
            operations.push(operation);
            operations.extend(state(RESTORE));
        } else {
            operations.push(operation);
            operations.extend(signal.into_iter().flatten());
        }
    }
    Content { operations }.encode().ok()
}

/// What of the graphics state decides about sight.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    mode: i64,
    white: bool,
}

/// Why a character cannot be seen, or that it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Shown,
    /// Invisible ink above a picture: what a scanner has read in it, unless something else is written on the page.
    Scanned,
    Hidden,
}

/// A text with the white space that the places of its characters ask for.
#[derive(Debug)]
struct Flow {
    text: String,
    last: Option<(f64, f64)>,
}

/// Takes a page from the parser.
#[derive(Debug)]
pub(super) struct Sight {
    key: i64,
    /// The part of the page that is shown.
    area: Option<Area>,
    state: State,
    saved: Vec<State>,
    /// What was painted, in its order, and whether in white.
    painted: Vec<(Area, bool)>,
    pictures: Vec<Area>,
    begins: bool,
    shown: Flow,
    scanned: Flow,
    hidden: Flow,
}

impl Sight {
    pub(super) fn new(key: i64, area: Option<Area>) -> Self {
        let flow = || Flow { text: String::new(), last: None };
        Self {
            key,
            area,
            state: State::default(),
            saved: Vec::new(),
            painted: Vec::new(),
            pictures: Vec::new(),
            begins: false,
            shown: flow(),
            scanned: flow(),
            hidden: flow(),
        }
    }

    /// The text that is seen, and that which is not.
    pub(super) fn finished(self) -> (String, String) {
        let (mut shown, mut hidden) = (self.shown.text, self.hidden.text.trim().to_owned());
        // A stamp of a few words may stand beside what a scanner has read.
        if shown.trim().len() * 5 < self.scanned.text.len() {
            shown = format!("{shown}\n{}", self.scanned.text);
        } else if !self.scanned.text.is_empty() {
            hidden.push('\n');
            hidden.push_str(self.scanned.text.trim());
        }
        if hidden.len() > MOST_HIDDEN {
            let end = (0..=MOST_HIDDEN).rev().find(|end| hidden.is_char_boundary(*end)).unwrap_or(0);
            hidden.truncate(end);
        }
        (shown, hidden)
    }

    fn signal(&mut self, what: i64, value: i64, ctm: &Transform, space: &ColorSpace, color: &[f64]) {
        match what {
            SAVE => self.saved.push(self.state),
            RESTORE => self.state = self.saved.pop().unwrap_or(self.state),
            MODE => self.state.mode = value,
            FILL => self.state.white = value == 1,
            COLOR => self.state.white = is_white(space, color),
            PICTURE => {
                let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)];
                let area = Area::of(corners.map(|corner| moved(ctm, corner)));
                if self.pictures.len() < MOST_AREAS {
                    self.pictures.push(area);
                }
                self.paint(area, false);
            }
            SHADING => self.paint(Area { left: f64::MIN, bottom: f64::MIN, right: f64::MAX, top: f64::MAX }, false),
            _ => {}
        }
    }

    fn paint(&mut self, area: Area, white: bool) {
        // Where nothing has been painted all is white.
        if self.painted.len() < MOST_AREAS && !(white && self.painted.is_empty()) {
            self.painted.push((area, white));
        }
    }

    fn seen(&self, place: (f64, f64), size: f64) -> Seen {
        let height = self.area.map_or(0.0, |area| area.top - area.bottom);
        let is_tiny = size < TINY && size * SHARE < height;
        if is_tiny || self.area.is_some_and(|area| !area.holds(place)) {
            return Seen::Hidden;
        }
        if matches!(self.state.mode, 3 | 7) {
            return if self.pictures.iter().any(|picture| picture.holds(place)) { Seen::Scanned } else { Seen::Hidden };
        }
        // A letter stands on its place; its middle is above it.
        let middle = (place.0 + size * 0.2, place.1 + size * 0.3);
        let ground = || self.painted.iter().rev().find(|(area, _)| area.holds(middle)).is_none_or(|(_, white)| *white);
        if self.state.white && matches!(self.state.mode, 0 | 4) && ground() { Seen::Hidden } else { Seen::Shown }
    }
}

impl OutputDev for Sight {
    fn begin_page(&mut self, _: u32, media: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        let media = Area::of([(media.llx, media.lly), (media.urx, media.ury)]);
        // A crop box larger than the page shows no more than the page.
        self.area = Some(self.area.map_or(media, |crop| Area {
            left: crop.left.max(media.left),
            bottom: crop.bottom.max(media.bottom),
            right: crop.right.min(media.right),
            top: crop.top.min(media.top),
        }));
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(&mut self, trm: &Transform, width: f64, _: f64, font_size: f64, char: &str) -> Result<(), OutputError> {
        let place = (trm.m31, trm.m32);
        let size = (trm.m11 * trm.m22 - trm.m12 * trm.m21).abs().sqrt() * font_size.abs();
        let flow = match self.seen(place, size) {
            Seen::Shown => &mut self.shown,
            Seen::Scanned => &mut self.scanned,
            Seen::Hidden => &mut self.hidden,
        };
        flow.add(place, size, width, self.begins, char);
        self.begins = false;
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.begins = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn fill(&mut self, ctm: &Transform, space: &ColorSpace, color: &[f64], path: &Path) -> Result<(), OutputError> {
        if let Some(PathOp::Rect(key, what, value, _)) = path.ops.last()
            && whole(*key) == self.key
        {
            self.signal(whole(*what), whole(*value), ctm, space, color);
        } else if !path.ops.is_empty() {
            let points = path.ops.iter().flat_map(|op| match *op {
                PathOp::MoveTo(x, y) | PathOp::LineTo(x, y) | PathOp::CurveTo(.., x, y) => vec![(x, y)],
                PathOp::Rect(x, y, width, height) => vec![(x, y), (x + width, y), (x, y + height), (x + width, y + height)],
                PathOp::Close => Vec::new(),
            });
            let area = Area::of(points.map(|point| moved(ctm, point)));
            self.paint(area, self.state.white);
        }
        Ok(())
    }
}

impl Flow {
    /// Adds a character. A larger step than a gap between letters is a space, a step down a line, as the parser's own output has it.
    fn add(&mut self, (x, y): (f64, f64), size: f64, width: f64, begins: bool, char: &str) {
        if let Some((end, line)) = self.last.filter(|_| begins) {
            if (y - line).abs() > size * 1.5 {
                self.text.push('\n');
            }
            if x < end && (y - line).abs() > size * 0.5 {
                self.text.push('\n');
            }
            if x > end + size * 0.1 {
                self.text.push(' ');
            }
        }
        for c in char.chars() {
            // Unicode 17, Alphabetic Presentation Forms: the Latin and Armenian ligatures.
            if matches!(c, '\u{fb00}'..='\u{fb17}') {
                self.text.extend(c.nfkc());
            } else {
                self.text.push(c);
            }
        }
        self.last = Some((x + width * size, y));
    }
}

#[expect(clippy::cast_possible_truncation, reason = "what is no whole number is no signal either")]
fn whole(number: f64) -> i64 {
    number as i64
}

fn moved(ctm: &Transform, (x, y): (f64, f64)) -> (f64, f64) {
    (x * ctm.m11 + y * ctm.m21 + ctm.m31, x * ctm.m12 + y * ctm.m22 + ctm.m32)
}

/// What is no colour by itself (tints, patterns) is taken to be seen.
fn is_white(space: &ColorSpace, color: &[f64]) -> bool {
    let light = || color.iter().all(|part| *part >= WHITE);
    match (space, color.len()) {
        (ColorSpace::DeviceGray | ColorSpace::CalGray(_) | ColorSpace::ICCBased(_), 1)
        | (ColorSpace::DeviceRGB | ColorSpace::CalRGB(_) | ColorSpace::ICCBased(_), 3) => light(),
        (ColorSpace::DeviceCMYK | ColorSpace::ICCBased(_), 4) => color.iter().all(|part| *part <= 1.0 - WHITE),
        _ => false,
    }
}

// The second side of a signal.
const SAVE: i64 = 1;
const RESTORE: i64 = 2;
const MODE: i64 = 3;
const FILL: i64 = 4;
const COLOR: i64 = 5;
const PICTURE: i64 = 6;
const SHADING: i64 = 7;

/// Parts of a colour from which on it is white to an eye.
const WHITE: f64 = 0.95;
/// Points below which letters are dots, and the share of the page's height below which they are that on pages of another scale.
const TINY: f64 = 1.0;
const SHARE: f64 = 400.0;
/// Areas of one page that are remembered.
const MOST_AREAS: usize = 4096;
/// Bytes of hidden text that are kept of one page.
const MOST_HIDDEN: usize = 16 * 1024;
