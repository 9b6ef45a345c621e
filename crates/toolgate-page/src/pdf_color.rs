//! What a colour of a PDF file looks like on white paper (ISO 32000-2, section 8.6): white, no colour at all, or anything else.

use pdf_extract::content::Content;
use pdf_extract::{Dictionary, Document, Object, Stream};

/// How a colour looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tone {
    /// Anything that is seen on white; what is not understood as well.
    #[default]
    Seen,
    White,
    /// It leaves no mark on any ground.
    Clear,
}

/// A colour as red, green and blue, each from 0 to 127: so it passes for the side of a rectangle, which is a number of 24 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shade([u8; 3]);

impl Shade {
    pub(super) const BLACK: Self = Self([0; 3]);

    /// Grey, RGB or CMYK, by how many parts a colour has.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is between 0 and 127")]
    fn of(color: &[f64]) -> Option<Self> {
        let part = |value: f64| (value.clamp(0.0, 1.0) * 127.0).round() as u8;
        match *color {
            [grey] => Some(Self([part(grey); 3])),
            [red, green, blue] => Some(Self([red, green, blue].map(part))),
            [cyan, magenta, yellow, black] => Some(Self([cyan, magenta, yellow].map(|ink| part((1.0 - ink) * (1.0 - black))))),
            _ => None,
        }
    }

    /// The number of a colour, and of none.
    pub(super) fn number(shade: Option<Self>) -> i64 {
        shade.map_or(0, |Self([red, green, blue])| 1 + i64::from(red) + 128 * i64::from(green) + 128 * 128 * i64::from(blue))
    }

    /// The colour of a number.
    pub(super) fn numbered(number: i64) -> Option<Self> {
        let parts = number.checked_sub(1).filter(|parts| *parts >= 0)?;
        let part = |step: i64| u8::try_from(parts / step % 128).unwrap_or_default();
        Some(Self([part(1), part(128), part(128 * 128)]))
    }

    /// Whether an eye does not tell one on the other: they differ as little as what counts as white does from white.
    pub(super) fn is_lost_on(self, ground: Self) -> bool {
        self.0.iter().zip(ground.0).all(|(one, other)| f64::from(one.abs_diff(other)) <= (1.0 - WHITE) * 127.0)
    }
}

/// A colour space.
#[derive(Debug, Clone, Default)]
pub(super) enum Space {
    /// Grey, RGB or CMYK, by how many parts a colour has.
    #[default]
    Device,
    Lab,
    /// Inks and the way from them to the colour of another space.
    Inks {
        none: bool,
        other: Box<Space>,
        way: Function,
    },
    /// Colours by number, each of some bytes of a table.
    Indexed {
        base: Box<Space>,
        parts: usize,
        table: Vec<u8>,
    },
    /// Patterns, and the colours of those that have none themselves.
    Pattern(Box<Space>),
    Unknown,
}

/// A function of numbers (ISO 32000-2, section 7.10), as far as its values are needed.
#[derive(Debug, Clone)]
pub(super) enum Function {
    Exponential { from: Vec<f64>, to: Vec<f64>, power: f64 },
    Stitched { parts: Vec<Function>, bounds: Vec<f64>, encode: Vec<f64> },
    Sampled { size: Vec<f64>, results: usize, samples: Vec<u8>, decode: Vec<f64> },
    Unknown,
}

/// Finds a colour space by the name that a page has for it.
pub(super) type Named<'d, 'n> = &'n dyn Fn(&[u8]) -> Option<&'d Object>;

impl Space {
    /// The space that an object is or names.
    pub(super) fn of<'d>(document: &'d Document, object: &'d Object, named: Named<'d, '_>, depth: u8) -> Self {
        let Some(depth) = depth.checked_sub(1) else { return Self::Unknown };
        let Ok((_, object)) = document.dereference(object) else { return Self::Unknown };
        let below = |object: Option<&'d Object>| object.map_or(Self::Unknown, |object| Self::of(document, object, named, depth));
        let parts = match object {
            Object::Array(parts) => parts.as_slice(),
            _ => std::slice::from_ref(object),
        };
        let part = |at: usize| parts.get(at).and_then(|part| document.dereference(part).ok()).map(|(_, part)| part);
        let Some(name) = part(0).and_then(|name| name.as_name().ok()) else { return Self::Unknown };
        match name {
            b"DeviceGray" | b"DeviceRGB" | b"DeviceCMYK" | b"CalGray" | b"CalRGB" | b"ICCBased" | b"G" | b"RGB" | b"CMYK" => Self::Device,
            b"Lab" => Self::Lab,
            b"Pattern" => Self::Pattern(Box::new(part(1).map_or(Self::Device, |part| below(Some(part))))),
            b"Separation" | b"DeviceN" => {
                let inks = part(1).map_or(&[][..], |inks| inks.as_array().map_or(std::slice::from_ref(inks), Vec::as_slice));
                let none = !inks.is_empty() && inks.iter().all(|ink| ink.as_name().is_ok_and(|ink| ink == b"None"));
                Self::Inks {
                    none,
                    other: Box::new(below(part(2))),
                    way: part(3).map_or(Function::Unknown, |way| Function::of(document, way, depth)),
                }
            }
            b"Indexed" | b"I" => {
                let table = match part(3) {
                    Some(Object::String(bytes, _)) => bytes.clone(),
                    Some(Object::Stream(stream)) => plain(stream),
                    _ => Vec::new(),
                };
                let most = part(2).and_then(|most| most.as_i64().ok()).and_then(|most| usize::try_from(most).ok()).unwrap_or(0);
                Self::Indexed { base: Box::new(below(part(1))), parts: table.len() / most.saturating_add(1), table }
            }
            _ if parts.len() == 1 => below(named(name)),
            _ => Self::Unknown,
        }
    }

    /// How the colour looks that holds right after this space was chosen.
    pub(super) fn first(&self) -> Tone {
        if matches!(self, Self::Indexed { .. }) { self.tone(&[0.0]) } else { Tone::Seen }
    }

    /// How a colour of this space looks.
    pub(super) fn tone(&self, color: &[f64]) -> Tone {
        let light = match self {
            Self::Device => match color.len() {
                1 | 3 => color.iter().all(|part| *part >= WHITE),
                4 => color.iter().all(|part| *part <= 1.0 - WHITE),
                _ => false,
            },
            Self::Lab => matches!(color, [light, a, b] if *light >= WHITE * 100.0 && a.abs() <= NEUTRAL && b.abs() <= NEUTRAL),
            Self::Inks { none: true, .. } => return Tone::Clear,
            Self::Inks { other, way, .. } => match way.at(color) {
                Some(color) => return other.tone(&color),
                None => !color.is_empty() && color.iter().all(|part| *part <= 1.0 - WHITE),
            },
            Self::Indexed { base, parts, table } => {
                let at = color.first().map_or(0, |at| whole(*at)).saturating_mul(*parts);
                let bytes = table.get(at..at.saturating_add(*parts)).unwrap_or_default().iter().map(|byte| f64::from(*byte) / 255.0);
                // The parts of Lab run from 0 to 100 and, where nothing else is said, from -100 to 100.
                let color: Vec<f64> = match **base {
                    Self::Lab => bytes.enumerate().map(|(at, part)| if at == 0 { part * 100.0 } else { part * 200.0 - 100.0 }).collect(),
                    _ => bytes.collect(),
                };
                return base.tone(&color);
            }
            Self::Pattern(_) | Self::Unknown => false,
        };
        if light { Tone::White } else { Tone::Seen }
    }

    /// The colour that is seen, as red, green and blue, where it is known.
    pub(super) fn shade(&self, color: &[f64]) -> Option<Shade> {
        match self {
            Self::Device => Shade::of(color),
            Self::Inks { none: false, other, way } => other.shade(&way.at(color)?),
            _ => None,
        }
    }

    /// How a pattern looks, with the colour it is given where it has none itself.
    pub(super) fn pattern<'d>(&self, document: &'d Document, pattern: &'d Object, color: &[f64], named: Named<'d, '_>) -> Tone {
        let Self::Pattern(below) = self else { return Tone::Seen };
        let dictionary = match pattern {
            Object::Stream(stream) => &stream.dict,
            Object::Dictionary(dictionary) => dictionary,
            _ => return Tone::Seen,
        };
        match (pattern, number(document, dictionary, b"PaintType")) {
            (Object::Stream(_), Some(2.0)) => below.tone(color),
            (Object::Stream(stream), _) => painted(&plain(stream)),
            _ => shading(document, dictionary, named).unwrap_or_default(),
        }
    }
}

/// How a tiling pattern looks that brings its own colours.
fn painted(content: &[u8]) -> Tone {
    let Ok(content) = Content::decode(content) else { return Tone::Seen };
    let (mut paints, mut tones) = (false, Vec::new());
    for operation in &content.operations {
        match operation.operator.as_str() {
            "g" | "rg" | "k" | "G" | "RG" | "K" => tones.push(Space::Device.tone(&numbers(&operation.operands))),
            "cs" | "CS" | "sc" | "SC" | "scn" | "SCN" | "sh" | "Do" | "BI" => return Tone::Seen,
            "f" | "F" | "f*" | "B" | "B*" | "b" | "b*" | "S" | "s" | "Tj" | "TJ" | "'" | "\"" => paints = true,
            _ => {}
        }
    }
    match (paints, tones.is_empty()) {
        (false, _) => Tone::Clear,
        (true, false) if tones.iter().all(|tone| *tone == Tone::White) => Tone::White,
        _ => Tone::Seen,
    }
}

/// How a shading looks that is all of one tone.
fn shading<'d>(document: &'d Document, pattern: &'d Dictionary, named: Named<'d, '_>) -> Option<Tone> {
    let shading = pattern.get_deref(b"Shading", document).ok()?.as_dict().ok()?;
    let space = Space::of(document, shading.get_deref(b"ColorSpace", document).ok()?, named, DEPTH);
    let function = Function::of(document, shading.get_deref(b"Function", document).ok()?, DEPTH);
    let mut tones = (0..=4).map(|at| function.at(&[f64::from(at) / 4.0]).map_or(Tone::Seen, |color| space.tone(&color)));
    let first = tones.next()?;
    tones.all(|tone| tone == first).then_some(first)
}

impl Function {
    fn of(document: &Document, object: &Object, depth: u8) -> Self {
        Self::read(document, object, depth).unwrap_or(Self::Unknown)
    }

    fn read(document: &Document, object: &Object, depth: u8) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let (_, object) = document.dereference(object).ok()?;
        let dictionary = object.as_dict().or_else(|_| object.as_stream().map(|stream| &stream.dict)).ok()?;
        let list = |key: &[u8]| dictionary.get_deref(key, document).and_then(Object::as_array).map(|list| numbers(list)).ok();
        match number(document, dictionary, b"FunctionType") {
            Some(2.0) => Some(Self::Exponential {
                from: list(b"C0").unwrap_or_else(|| vec![0.0]),
                to: list(b"C1").unwrap_or_else(|| vec![1.0]),
                power: number(document, dictionary, b"N")?,
            }),
            Some(3.0) => {
                let parts = dictionary.get_deref(b"Functions", document).and_then(Object::as_array).ok()?;
                let parts = parts.iter().take(MOST_PARTS).map(|part| Self::of(document, part, depth)).collect();
                Some(Self::Stitched { parts, bounds: list(b"Bounds")?, encode: list(b"Encode")? })
            }
            Some(0.0) if number(document, dictionary, b"BitsPerSample") == Some(8.0) => {
                let range = list(b"Range")?;
                let samples = plain(object.as_stream().ok()?);
                Some(Self::Sampled { size: list(b"Size")?, results: range.len() / 2, samples, decode: list(b"Decode").unwrap_or(range) })
            }
            _ => None,
        }
    }

    /// The values for inputs from 0 to 1; of samples the nearest.
    fn at(&self, inputs: &[f64]) -> Option<Vec<f64>> {
        match self {
            Self::Exponential { from, to, power } => {
                let share = inputs.first()?.powf(*power);
                Some(from.iter().zip(to).map(|(from, to)| from + share * (to - from)).collect())
            }
            Self::Stitched { parts, bounds, encode } => {
                let input = *inputs.first()?;
                let part = bounds.iter().filter(|bound| **bound <= input).count().min(parts.len().checked_sub(1)?);
                let start = part.checked_sub(1).and_then(|before| bounds.get(before)).copied().unwrap_or(0.0);
                let end = bounds.get(part).copied().unwrap_or(1.0);
                let (low, high) = (*encode.get(part * 2)?, *encode.get(part * 2 + 1)?);
                let share = if end > start { (input - start) / (end - start) } else { 0.0 };
                parts.get(part)?.at(&[low + share * (high - low)])
            }
            Self::Sampled { size, results, samples, decode } => {
                let (mut at, mut step) = (0_usize, 1_usize);
                for (input, size) in inputs.iter().zip(size) {
                    at = at.checked_add(whole((input * (size - 1.0)).round()).checked_mul(step)?)?;
                    step = step.checked_mul(whole(*size))?;
                }
                let found = samples.get(at.checked_mul(*results)?..at.checked_add(1)?.checked_mul(*results)?)?;
                let value = |(byte, range): (&u8, &[f64])| match range {
                    [low, high] => low + f64::from(*byte) / 255.0 * (high - low),
                    _ => 0.0,
                };
                Some(found.iter().zip(decode.chunks(2)).map(value).collect())
            }
            Self::Unknown => None,
        }
    }
}

/// The bytes of a stream without its filters.
pub(super) fn plain(stream: &Stream) -> Vec<u8> {
    let read = if stream.filters().is_ok() { stream.decompressed_content().ok() } else { None };
    read.unwrap_or_else(|| stream.content.clone())
}

/// The numbers in a list.
pub(super) fn numbers(list: &[Object]) -> Vec<f64> {
    list.iter().filter_map(|number| number.as_float().ok().map(f64::from)).collect()
}

/// A number of a dictionary.
pub(super) fn number(document: &Document, dictionary: &Dictionary, key: &[u8]) -> Option<f64> {
    dictionary.get_deref(key, document).and_then(Object::as_float).ok().map(f64::from)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number below zero is the first of a table")]
fn whole(number: f64) -> usize {
    number as usize
}

/// Spaces in spaces, and functions in functions, that are followed.
pub(super) const DEPTH: u8 = 4;
/// Parts of a colour from which on it is white to an eye.
const WHITE: f64 = 0.95;
/// How far from grey a white of Lab may be.
const NEUTRAL: f64 = 8.0;
/// Functions that are stitched to one.
const MOST_PARTS: usize = 64;
