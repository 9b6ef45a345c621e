//! What of a page's text in a PDF file a person can see.
//!
//! The parser gives every character and its place; signals among the paths (`pdf_script`) say the rest.

use pdf_extract::{ColorSpace, MediaBox, OutputDev, OutputError, Path, PathOp, Transform};
use unicode_normalization::UnicodeNormalization;

use super::pdf_color::{Shade, Tone};
use super::pdf_script::{BROKEN, CLIPS, FILLED, STROKED, Signal, TONES, whole};

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

    /// What it has in common with another.
    fn within(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            bottom: self.bottom.max(other.bottom),
            right: self.right.min(other.right),
            top: self.top.min(other.top),
        }
    }

    fn is_empty(self) -> bool {
        self.left >= self.right || self.bottom >= self.top
    }

    fn wider(self, by: f64) -> Self {
        self.wider_by(by, by)
    }

    fn wider_by(self, across: f64, along: f64) -> Self {
        Self { left: self.left - across, bottom: self.bottom - along, right: self.right + across, top: self.top + along }
    }

    fn holds(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right).contains(&x) && (self.bottom..=self.top).contains(&y)
    }
}

/// What is painted with.
#[derive(Debug, Clone, Copy)]
struct Ink {
    tone: Tone,
    shade: Option<Shade>,
    /// Too transparent to be seen.
    is_clear: bool,
}

impl Ink {
    /// What a page begins with.
    const BLACK: Self = Self { tone: Tone::Seen, shade: Some(Shade::BLACK), is_clear: false };

    fn tone(self) -> Tone {
        if self.is_clear { Tone::Clear } else { self.tone }
    }
}

/// What of the graphics state decides about sight.
#[derive(Debug, Clone, Copy)]
struct State {
    mode: i64,
    fill: Ink,
    stroke: Ink,
    sheer: bool,
    is_masked: bool,
    /// What is painted is cut to this area, and whether that is all of the cut.
    clip: Option<Area>,
    is_exact: bool,
    /// What is painted is cut to the characters from this one on.
    letters: Option<usize>,
    /// From places of the form to places of the page.
    base: Transform,
}

/// Why a character cannot be seen, or that it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Shown,
    /// Under a picture or, in invisible ink, where one is: what a scanner has read in it, unless something else is written on the page.
    Scanned,
    /// Seen where something is painted through it.
    Cut,
    /// In no ink.
    Inkless,
    Hidden,
}

/// A character on the page.
#[derive(Debug)]
struct Glyph {
    place: (f64, f64),
    middle: (f64, f64),
    size: f64,
    width: f64,
    begins: bool,
    seen: Seen,
    text: std::ops::Range<usize>,
}

/// What was painted.
#[derive(Debug, Clone, Copy)]
struct Painted {
    area: Area,
    tone: Tone,
    /// Its colour, where that is known and all of one.
    shade: Option<Shade>,
    is_picture: bool,
    /// Nothing below is seen.
    is_solid: bool,
    /// Through these characters only.
    letters: Option<usize>,
    /// How many characters there were before.
    after: usize,
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
    /// Layers around that are switched off.
    off: i64,
    painted: Vec<Painted>,
    begins: bool,
    glyphs: Vec<Glyph>,
    text: String,
}

impl Sight {
    pub(super) fn new(key: i64, area: Option<Area>) -> Self {
        let state = State {
            mode: 0,
            fill: Ink::BLACK,
            stroke: Ink::BLACK,
            sheer: false,
            is_masked: false,
            clip: None,
            is_exact: true,
            letters: None,
            base: Transform::identity(),
        };
        Self { key, area, state, saved: Vec::new(), off: 0, painted: Vec::new(), begins: false, glyphs: Vec::new(), text: String::new() }
    }

    /// The text that is seen, and that which is not.
    pub(super) fn finished(self) -> (String, String) {
        let flow = || Flow { text: String::new(), last: None };
        let (mut shown, mut scanned, mut hidden) = (flow(), flow(), flow());
        let covers: Vec<&Painted> = self.painted.iter().filter(|painted| painted.is_solid).collect();
        let pictures: Vec<&Painted> = self.painted.iter().filter(|painted| painted.is_picture).collect();
        for (at, glyph) in self.glyphs.iter().enumerate() {
            let flow = match self.in_the_end(at, glyph, &covers, &pictures) {
                Seen::Shown => &mut shown,
                Seen::Scanned => &mut scanned,
                Seen::Cut | Seen::Inkless | Seen::Hidden => &mut hidden,
            };
            flow.add(glyph, self.text.get(glyph.text.clone()).unwrap_or_default());
        }
        let (mut shown, scanned, mut hidden) = (shown.text, scanned.text, hidden.text.trim().to_owned());
        // A stamp of a few words may stand beside what a scanner has read.
        if shown.trim().len() * 5 < scanned.len() {
            shown = format!("{shown}\n{scanned}");
        } else if !scanned.is_empty() {
            hidden.push('\n');
            hidden.push_str(scanned.trim());
        }
        if hidden.len() > MOST_HIDDEN {
            let end = (0..=MOST_HIDDEN).rev().find(|end| hidden.is_char_boundary(*end)).unwrap_or(0);
            hidden.truncate(end);
        }
        (shown, hidden)
    }

    /// Whether a character is seen when the page is done: what is painted later covers it, or shows it.
    fn in_the_end(&self, at: usize, glyph: &Glyph, covers: &[&Painted], pictures: &[&Painted]) -> Seen {
        let is_in_picture = || pictures.iter().any(|picture| picture.area.holds(glyph.middle));
        match glyph.seen {
            Seen::Shown => {
                let start = covers.partition_point(|cover| cover.after <= at);
                match covers.get(start..).unwrap_or_default().iter().find(|cover| cover.area.holds(glyph.middle)) {
                    Some(cover) if cover.is_picture => Seen::Scanned,
                    Some(_) => Seen::Hidden,
                    None => Seen::Shown,
                }
            }
            Seen::Cut => {
                let shows = |painted: &Painted| {
                    let is_through = painted.after > at && painted.letters.is_some_and(|first| first <= at);
                    is_through && painted.tone == Tone::Seen && painted.area.holds(glyph.middle)
                };
                match self.painted.iter().any(shows) {
                    true => Seen::Shown,
                    false if is_in_picture() => Seen::Scanned,
                    false => Seen::Hidden,
                }
            }
            Seen::Inkless if is_in_picture() => Seen::Scanned,
            seen => seen,
        }
    }

    fn signal(&mut self, what: Signal, value: i64, width: f64, ctm: &Transform, path: &[PathOp]) {
        let place = ctm.post_transform(&self.state.base);
        let tone = [Tone::White, Tone::Clear].into_iter().find(|tone| *tone as i64 == value % TONES).unwrap_or_default();
        let shade = Shade::numbered(value / TONES);
        match what {
            Signal::Save => self.saved.push(self.state),
            Signal::Restore => self.state = self.saved.pop().unwrap_or(self.state),
            Signal::Mode => self.state.mode = value,
            Signal::Fill => self.state.fill = Ink { tone, shade, ..self.state.fill },
            Signal::Stroke => self.state.stroke = Ink { tone, shade, ..self.state.stroke },
            Signal::ClearFill => self.state.fill.is_clear = value == 1,
            Signal::ClearStroke => self.state.stroke.is_clear = value == 1,
            Signal::Sheer => self.state.sheer = value == 1,
            Signal::Masked => self.state.is_masked = value == 1,
            Signal::Form => self.state.base = place,
            Signal::Off => self.off += value,
            Signal::Picture => {
                let corners = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)].map(|corner| moved(&place, corner));
                self.paint(Area::of(corners), PAINT, true, value == 1 && is_upright(&place));
            }
            Signal::Shading => self.paint(EVERYWHERE, PAINT, false, value == 1),
            Signal::Path => self.path(value, width, &place, path),
        }
    }

    /// What becomes of a path: `value` is a sum of the four.
    fn path(&mut self, value: i64, width: f64, place: &Transform, path: &[PathOp]) {
        let Some((area, is_rectangle)) = area_of(path, place) else { return };
        let is_exact = is_rectangle && is_upright(place);
        if value & FILLED != 0 {
            self.paint(area, self.state.fill, false, is_exact);
        }
        let width = width * squeeze(place).1;
        if value & STROKED != 0 && width >= BROAD {
            // An upright line without gaps is a rectangle; its ends may be cut straight.
            let is_line = matches!(path, [PathOp::MoveTo(..), PathOp::LineTo(..)]) && is_upright(place) && value & BROKEN == 0;
            let (across, along) = (area.right - area.left, area.top - area.bottom);
            match (is_line, same(along, 0.0), same(across, 0.0)) {
                (true, true, false) => self.paint(area.wider_by(0.0, width / 2.0), self.state.stroke, false, true),
                (true, false, true) => self.paint(area.wider_by(width / 2.0, 0.0), self.state.stroke, false, true),
                _ => self.paint(area.wider(width / 2.0), self.state.stroke, false, false),
            }
        }
        if value & CLIPS != 0 {
            self.state.clip = Some(self.state.clip.map_or(area, |clip| clip.within(area)));
            self.state.is_exact &= is_exact;
        }
    }

    fn paint(&mut self, area: Area, ink: Ink, is_picture: bool, is_exact: bool) {
        let tone = ink.tone();
        // Where nothing has been painted all is white.
        let is_mark = tone == Tone::Seen || tone == Tone::White && !(self.painted.is_empty() && self.glyphs.is_empty());
        if !is_mark || self.off > 0 || self.state.is_masked || self.painted.len() >= MOST_AREAS {
            return;
        }
        let State { clip, sheer, letters, .. } = self.state;
        let area = clip.map_or(area, |clip| clip.within(area));
        let is_solid = is_exact && self.state.is_exact && !sheer && letters.is_none();
        self.painted.push(Painted { area, tone, shade: ink.shade, is_picture, is_solid, letters, after: self.glyphs.len() });
    }

    /// Whether a character is seen where nothing is painted later. `scale`: its smaller and its larger side.
    fn seen(&self, middle: (f64, f64), scale: (f64, f64)) -> Seen {
        let height = self.area.map_or(0.0, |area| area.top - area.bottom);
        let is_tiny = scale.0 < TINY && scale.0 * SHARE < height;
        let is_squeezed = scale.0 < scale.1 * SQUEEZED;
        let is_cut = self.state.clip.is_some_and(|clip| clip.is_empty() || !clip.wider(scale.0 / 4.0).holds(middle));
        if is_tiny || is_squeezed || is_cut || self.off > 0 || self.state.is_masked || self.area.is_some_and(|area| !area.holds(middle)) {
            return Seen::Hidden;
        }
        let State { fill, stroke, mode, .. } = self.state;
        let inks = match mode {
            3 => return Seen::Inkless,
            7 => return Seen::Cut,
            1 | 5 => vec![stroke],
            2 | 6 => vec![fill, stroke],
            _ => vec![fill],
        };
        let ground = || self.painted.iter().rev().find(|painted| painted.letters.is_none() && painted.area.holds(middle));
        // Of what is known of the ground, all must lie under the letter: a rule through it does not hide it.
        let is_under = |painted: &&Painted| painted.is_solid && painted.area.wider(-scale.1 / 4.0).holds(middle);
        let is_seen = |ink: &Ink| match ink.tone() {
            Tone::Seen => {
                let below = ground().filter(is_under).and_then(|painted| painted.shade);
                !ink.shade.zip(below).is_some_and(|(ink, below)| ink.is_lost_on(below))
            }
            Tone::White => ground().is_some_and(|painted| painted.tone != Tone::White),
            Tone::Clear => false,
        };
        if inks.iter().any(is_seen) { Seen::Shown } else { Seen::Hidden }
    }
}

impl OutputDev for Sight {
    fn begin_page(&mut self, _: u32, media: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        let media = Area::of([(media.llx, media.lly), (media.urx, media.ury)]);
        // A crop box larger than the page shows no more than the page.
        self.area = Some(self.area.map_or(media, |crop| crop.within(media)));
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(&mut self, trm: &Transform, width: f64, _: f64, font_size: f64, char: &str) -> Result<(), OutputError> {
        let place = trm.post_transform(&self.state.base);
        let (least, most) = squeeze(&place);
        let (least, most) = (least * font_size.abs(), most * font_size.abs());
        // A letter stands on its place; its middle is above it.
        let middle = moved(&place, (font_size * width * 0.5, font_size * 0.3));
        let seen = self.seen(middle, (least, most));
        if self.state.mode >= 4 && self.state.letters.is_none() {
            self.state.letters = Some(self.glyphs.len());
        }
        let start = self.text.len();
        self.text.push_str(char);
        let begins = std::mem::take(&mut self.begins);
        let text = start..self.text.len();
        self.glyphs.push(Glyph { place: (place.m31, place.m32), middle, size: (least * most).sqrt(), width, begins, seen, text });
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

    fn fill(&mut self, ctm: &Transform, _: &ColorSpace, _: &[f64], path: &Path) -> Result<(), OutputError> {
        if let Some((PathOp::Rect(key, what, value, width), path)) = path.ops.split_last()
            && whole(*key) == self.key
            && let Some(what) = Signal::of(whole(*what))
        {
            self.signal(what, whole(*value), *width, ctm, path);
        }
        Ok(())
    }
}

impl Flow {
    /// Adds a character. A larger step than a gap between letters is a space, a step down a line, as the parser's own output has it.
    fn add(&mut self, glyph: &Glyph, text: &str) {
        let Glyph { place: (x, y), size, width, begins, .. } = *glyph;
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
        for c in text.chars() {
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

fn moved(ctm: &Transform, (x, y): (f64, f64)) -> (f64, f64) {
    (x * ctm.m11 + y * ctm.m21 + ctm.m31, x * ctm.m12 + y * ctm.m22 + ctm.m32)
}

/// By how much a square is stretched at least, and at most.
fn squeeze(place: &Transform) -> (f64, f64) {
    let Transform { m11, m12, m21, m22, .. } = *place;
    let (sum, area) = (m11 * m11 + m12 * m12 + m21 * m21 + m22 * m22, (m11 * m22 - m12 * m21).abs());
    let most = f64::midpoint(sum, (sum * sum - 4.0 * area * area).max(0.0).sqrt()).sqrt();
    (if most > 0.0 { area / most } else { 0.0 }, most)
}

/// Whether sides that were upright still are.
fn is_upright(place: &Transform) -> bool {
    let Transform { m11, m12, m21, m22, .. } = *place;
    let is_small = |part: f64, other: f64| part.abs() <= other.abs() * 0.001;
    is_small(m12, m11) && is_small(m21, m22) || is_small(m11, m12) && is_small(m22, m21)
}

/// The area that a path lies in, and whether it is all of it. None where there is no path.
fn area_of(path: &[PathOp], place: &Transform) -> Option<(Area, bool)> {
    if path.is_empty() {
        return None;
    }
    let points: Vec<(f64, f64)> = path
        .iter()
        .flat_map(|op| match *op {
            PathOp::MoveTo(x, y) | PathOp::LineTo(x, y) | PathOp::CurveTo(.., x, y) => vec![(x, y)],
            PathOp::Rect(x, y, width, height) => vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height)],
            PathOp::Close => Vec::new(),
        })
        .collect();
    let own = Area::of(points.iter().copied());
    let starts = path.iter().filter(|op| matches!(op, PathOp::MoveTo(..) | PathOp::Rect(..))).count();
    let is_straight = !path.iter().any(|op| matches!(op, PathOp::CurveTo(..)));
    let is_corner = |(x, y): &(f64, f64)| (same(*x, own.left) || same(*x, own.right)) && (same(*y, own.bottom) || same(*y, own.top));
    let is_rectangle = starts == 1 && is_straight && matches!(points.len(), 4 | 5) && points.iter().all(is_corner);
    Some((Area::of(points.into_iter().map(|point| moved(place, point))), is_rectangle))
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() < 0.01
}

const EVERYWHERE: Area = Area { left: f64::MIN, bottom: f64::MIN, right: f64::MAX, top: f64::MAX };

/// What is seen, of no colour that is known.
const PAINT: Ink = Ink { tone: Tone::Seen, shade: None, is_clear: false };

/// Points below which letters are dots, and the share of the page's height below which they are that on pages of another scale.
const TINY: f64 = 1.5;
const SHARE: f64 = 400.0;
/// The share of one side in the other below which letters are lines.
const SQUEEZED: f64 = 0.15;
/// Points from which on a line is a ground for letters.
const BROAD: f64 = 4.0;
/// Areas of one page that are remembered.
const MOST_AREAS: usize = 4096;
/// Bytes of hidden text that are kept of one page.
const MOST_HIDDEN: usize = 16 * 1024;
