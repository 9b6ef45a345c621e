//! The instructions of a page or a form of a PDF file, rewritten so that the parser passes on what decides about sight.
//!
//! The parser gives every character and its place, but neither its colour nor its render mode, and it breaks on colour spaces that it does not
//! know. So everything about colour and state is read here and taken away; in its place stands a rectangle, the sides of which say what it was,
//! and the parser passes that on in its turn.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use pdf_extract::content::{Content, Operation};
use pdf_extract::{Dictionary, Document, Object, ObjectId};

use super::pdf_color::{DEPTH, Shade, Space, Tone, number, numbers, plain};

/// What a signal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i64)]
pub(super) enum Signal {
    Save = 1,
    Restore,
    /// The render mode of text.
    Mode,
    /// The tone of what is filled, and of what is stroked, with the number of its colour times `TONES`.
    Fill,
    Stroke,
    /// Whether what is filled, or stroked, is too transparent to be seen.
    ClearFill,
    ClearStroke,
    /// Whether what lies below what is painted shines through.
    Sheer,
    /// Whether a mask lets nothing through that is painted.
    Masked,
    /// A picture in the unit square; whether it hides what lies below.
    Picture,
    /// All that is not cut away; whether it hides what lies below.
    Shading,
    /// A form begins: its places are counted from here.
    Form,
    /// One more layer, or one less, that is switched off.
    Off,
    /// What becomes of the path before it, as a sum of `FILLED`, `STROKED`, `CLIPS` and `BROKEN`; the last side is the width of the stroke.
    Path,
}

pub(super) const FILLED: i64 = 1;
pub(super) const STROKED: i64 = 2;
pub(super) const CLIPS: i64 = 4;
/// A stroke that may have gaps.
pub(super) const BROKEN: i64 = 8;

/// How many tones there are at most.
pub(super) const TONES: i64 = 4;

impl Signal {
    pub(super) fn of(number: i64) -> Option<Self> {
        use Signal::{ClearFill, ClearStroke, Fill, Form, Masked, Mode, Off, Path, Picture, Restore, Save, Shading, Sheer, Stroke};
        let all = [Save, Restore, Mode, Fill, Stroke, ClearFill, ClearStroke, Sheer, Masked, Picture, Shading, Form, Off, Path];
        all.into_iter().find(|signal| *signal as i64 == number)
    }
}

/// What the instructions of one stream refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'d> {
    pub(super) document: &'d Document,
    pub(super) resources: &'d Dictionary,
    /// The layers that are switched off.
    pub(super) off: &'d HashSet<ObjectId>,
    /// No file knows it, so none can write signals of its own.
    pub(super) key: i64,
}

/// Instructions that were rewritten.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) content: Vec<u8>,
    /// The forms that are drawn.
    pub(super) forms: Vec<ObjectId>,
    /// Fonts that the content names and the resources do not.
    pub(super) fonts: Vec<(Vec<u8>, Object)>,
}

/// The layers that a viewer does not show before a person switches them on (ISO 32000-2, section 8.11.4).
pub(super) fn layers_off(document: &Document) -> HashSet<ObjectId> {
    let read = || {
        let layers = document.catalog().ok()?.get_deref(b"OCProperties", document).ok()?.as_dict().ok()?;
        let list = |dictionary: &Dictionary, key: &[u8]| -> Vec<ObjectId> {
            let list = dictionary.get_deref(key, document).and_then(Object::as_array);
            list.map(|list| list.iter().filter_map(|layer| layer.as_reference().ok()).collect()).unwrap_or_default()
        };
        let usual = layers.get_deref(b"D", document).ok()?.as_dict().ok()?;
        let mut off = HashSet::new();
        if usual.get_deref(b"BaseState", document).and_then(Object::as_name).is_ok_and(|state| state == b"OFF") {
            off.extend(list(layers, b"OCGs"));
        }
        for on in list(usual, b"ON") {
            off.remove(&on);
        }
        off.extend(list(usual, b"OFF"));
        Some(off)
    };
    read().unwrap_or_default()
}

/// Rewrites the instructions of a page. None where they cannot be read.
pub(super) fn page(scope: Scope<'_>, content: &[u8]) -> Option<Script> {
    rewritten(scope, content, Vec::new(), false)
}

/// Rewrites the instructions of a form, which begin by its matrix and the box that it is cut to.
pub(super) fn form(scope: Scope<'_>, content: &[u8], form: &Dictionary) -> Option<Script> {
    let list = |key: &[u8]| form.get_deref(key, scope.document).and_then(Object::as_array).map(|list| numbers(list)).unwrap_or_default();
    let reals = |list: &[f64]| list.iter().map(|number| real(*number)).collect::<Vec<_>>();
    let mut before = Vec::new();
    let matrix = list(b"Matrix");
    if matrix.len() == 6 {
        before.push(Operation::new("cm", reals(&matrix)));
    }
    if let [left, bottom, right, top] = list(b"BBox")[..] {
        before.push(Operation::new("re", reals(&[left, bottom, right - left, top - bottom])));
        before.extend(signal(scope.key, Signal::Path, CLIPS, 0.0));
    }
    rewritten(scope, content, before, true)
}

fn signal(key: i64, what: Signal, value: i64, more: f64) -> [Operation; 2] {
    let sides = vec![Object::Integer(key), Object::Integer(what as i64), Object::Integer(value), real(more)];
    [Operation::new("re", sides), Operation::new("f", Vec::new())]
}

#[expect(clippy::cast_possible_truncation, reason = "it was read from a number of this size")]
fn real(number: f64) -> Object {
    Object::Real(number as f32)
}

/// What of the graphics state must be known to read an instruction.
#[derive(Debug, Clone, Default)]
struct State {
    fill: Rc<Space>,
    stroke: Rc<Space>,
    width: f64,
    /// Whether opacity, blend mode or mask let shine through what lies below.
    sheer: [bool; 3],
    /// Whether lines may have gaps; what a form begins with is not known.
    broken: bool,
}

struct Writer<'d> {
    scope: Scope<'d>,
    out: Vec<Operation>,
    forms: Vec<ObjectId>,
    fonts: Vec<(Vec<u8>, Object)>,
    spaces: BTreeMap<Vec<u8>, Rc<Space>>,
    state: State,
    saved: Vec<State>,
    /// Of each piece of marked content that is open, whether it is of a layer that is switched off.
    marked: Vec<bool>,
    /// The path that is being made: a signal must not stand in it.
    path: Vec<Operation>,
    clips: bool,
}

fn rewritten(scope: Scope<'_>, content: &[u8], before: Vec<Operation>, is_form: bool) -> Option<Script> {
    let operations = Content::decode(content).ok()?.operations;
    let state = State { width: 1.0, broken: is_form, ..State::default() };
    let mut writer = Writer {
        scope,
        out: before,
        forms: Vec::new(),
        fonts: Vec::new(),
        spaces: BTreeMap::new(),
        state,
        saved: Vec::new(),
        marked: Vec::new(),
        path: Vec::new(),
        clips: false,
    };
    for operation in operations {
        writer.add(operation);
    }
    for _ in 0..writer.saved.len() {
        writer.tell(Signal::Restore, 0);
    }
    let open = writer.marked.iter().filter(|off| **off).count();
    for _ in 0..open {
        writer.tell(Signal::Off, -1);
    }
    let Writer { out, forms, fonts, .. } = writer;
    Some(Script { content: Content { operations: out }.encode().ok()?, forms, fonts })
}

impl<'d> Writer<'d> {
    fn tell(&mut self, what: Signal, value: i64) {
        self.out.extend(signal(self.scope.key, what, value, 0.0));
    }

    /// What the resources have of a kind under a name, and where it stands.
    fn named(&self, kind: &[u8], name: &[u8]) -> Option<(Option<ObjectId>, &'d Object)> {
        let Scope { document, resources, .. } = self.scope;
        document.dereference(resources.get_deref(kind, document).ok()?.as_dict().ok()?.get(name).ok()?).ok()
    }

    fn add(&mut self, mut operation: Operation) {
        let name = operation.operands.last().and_then(|name| name.as_name().ok()).map(<[u8]>::to_vec).unwrap_or_default();
        let values = numbers(&operation.operands);
        match operation.operator.as_str() {
            "q" => {
                self.saved.push(self.state.clone());
                self.out.push(operation);
                self.tell(Signal::Save, 0);
            }
            "Q" => {
                // A form cannot restore what was saved outside of it.
                if let Some(saved) = self.saved.pop() {
                    self.state = saved;
                    self.out.push(operation);
                    self.tell(Signal::Restore, 0);
                }
            }
            "Tr" => self.tell(Signal::Mode, values.first().map_or(0, |mode| whole(*mode))),
            "w" => self.state.width = values.first().copied().unwrap_or(1.0),
            "g" | "rg" | "k" | "sc" | "scn" => self.color(&operation, &name, &values, true),
            "G" | "RG" | "K" | "SC" | "SCN" => self.color(&operation, &name, &values, false),
            "cs" | "CS" => {
                let space = self.space(&name);
                let (tone, is_fill) = (space.first(), operation.operator == "cs");
                let shade = matches!(*space, Space::Device).then_some(Shade::BLACK);
                *(if is_fill { &mut self.state.fill } else { &mut self.state.stroke }) = space;
                self.ink(is_fill, tone, shade);
            }
            "gs" => self.graphics_state(&name),
            "Do" => self.draw(operation, &name),
            "BI" => self.tell(Signal::Picture, 0),
            "sh" => {
                let fills = self.named(b"Shading", &name).is_some_and(|(_, shading)| fills_all(self.scope.document, shading));
                self.tell(Signal::Shading, i64::from(fills));
            }
            "d" => {
                self.state.broken =
                    operation.operands.first().and_then(|dashes| dashes.as_array().ok()).is_none_or(|dashes| !dashes.is_empty());
            }
            "BDC" => {
                let properties = match operation.operands.as_slice() {
                    [Object::Name(tag), Object::Name(name)] if tag == b"OC" => self.named(b"Properties", name),
                    _ => None,
                };
                let is_off = properties.is_some_and(|(id, layer)| self.is_off(id, layer));
                self.marked.push(is_off);
                if is_off {
                    self.tell(Signal::Off, 1);
                }
            }
            "BMC" => self.marked.push(false),
            "EMC" => {
                if self.marked.pop() == Some(true) {
                    self.tell(Signal::Off, -1);
                }
            }
            "m" | "l" | "c" | "v" | "y" | "h" | "re" => self.path.push(operation),
            "W" | "W*" => self.clips = true,
            "f" | "F" | "f*" => self.end_path(FILLED),
            "B" | "B*" | "b" | "b*" => self.end_path(FILLED | STROKED),
            "S" | "s" => self.end_path(STROKED),
            "n" => self.end_path(0),
            // The parser does not know the two that begin a line and show a text at once (ISO 32000-2, section 9.4.3).
            "'" | "\"" => {
                let text = operation.operands.pop();
                let spaces = ["Tw", "Tc"].into_iter().zip(operation.operands);
                self.out.extend(spaces.map(|(name, space)| Operation::new(name, vec![space])));
                self.out.push(Operation::new("T*", Vec::new()));
                self.out.push(Operation::new("Tj", text.into_iter().collect()));
            }
            _ => self.out.push(operation),
        }
    }

    /// Ends a path, which is painted and may cut what follows.
    fn end_path(&mut self, painted: i64) {
        let path = std::mem::take(&mut self.path);
        let becomes = painted | if std::mem::take(&mut self.clips) { CLIPS } else { 0 };
        let becomes = becomes | if painted & STROKED != 0 && self.state.broken { BROKEN } else { 0 };
        if becomes != 0 {
            self.out.extend(path);
            self.out.extend(signal(self.scope.key, Signal::Path, becomes, self.state.width));
        }
    }

    fn color(&mut self, operation: &Operation, name: &[u8], values: &[f64], is_fill: bool) {
        let is_device = matches!(operation.operator.as_str(), "g" | "rg" | "k" | "G" | "RG" | "K");
        if is_device {
            *(if is_fill { &mut self.state.fill } else { &mut self.state.stroke }) = Rc::default();
        }
        let space = Rc::clone(if is_fill { &self.state.fill } else { &self.state.stroke });
        let (tone, shade) = match self.named(b"Pattern", name) {
            Some((_, pattern)) if !is_device && !name.is_empty() => {
                let named = |name: &[u8]| self.named(b"ColorSpace", name).map(|(_, space)| space);
                (space.pattern(self.scope.document, pattern, values, &named), None)
            }
            _ => (space.tone(values), space.shade(values)),
        };
        self.ink(is_fill, tone, shade);
    }

    fn ink(&mut self, is_fill: bool, tone: Tone, shade: Option<Shade>) {
        self.tell(if is_fill { Signal::Fill } else { Signal::Stroke }, tone as i64 + TONES * Shade::number(shade));
    }

    fn space(&mut self, name: &[u8]) -> Rc<Space> {
        if let Some(space) = self.spaces.get(name) {
            return Rc::clone(space);
        }
        let own = Object::Name(name.to_vec());
        let object = self.named(b"ColorSpace", name).map(|(_, space)| space);
        let found = match object {
            Some(object) => Space::of(self.scope.document, object, &|name| self.named(b"ColorSpace", name).map(|(_, space)| space), DEPTH),
            None => Space::of(self.scope.document, &own, &|_| None, DEPTH),
        };
        let space = Rc::new(found);
        self.spaces.insert(name.to_vec(), Rc::clone(&space));
        space
    }

    fn graphics_state(&mut self, name: &[u8]) {
        let document = self.scope.document;
        let Some((_, Object::Dictionary(state))) = self.named(b"ExtGState", name) else { return };
        if let Ok([font, size]) = state.get_deref(b"Font", document).and_then(Object::as_array).map(Vec::as_slice) {
            let name = format!("F{}.{}", self.scope.key, self.fonts.len()).into_bytes();
            self.out.push(Operation::new("Tf", vec![Object::Name(name.clone()), size.clone()]));
            self.fonts.push((name, font.clone()));
        }
        if let Some(width) = number(document, state, b"LW") {
            self.state.width = width;
        }
        let fill = number(document, state, b"ca");
        for (what, opacity) in [(Signal::ClearFill, fill), (Signal::ClearStroke, number(document, state, b"CA"))] {
            if let Some(opacity) = opacity {
                self.tell(what, i64::from(opacity < FAINT));
            }
        }
        let says = |key: &[u8], usual: &[&[u8]]| {
            let value = state.get_deref(key, document).ok()?;
            Some(!value.as_name().is_ok_and(|name| usual.contains(&name)))
        };
        let sheer = [fill.map(|opacity| opacity < 1.0), says(b"BM", &[b"Normal", b"Compatible"]), says(b"SMask", &[b"None"])];
        for (now, new) in self.state.sheer.iter_mut().zip(sheer) {
            *now = new.unwrap_or(*now);
        }
        self.tell(Signal::Sheer, i64::from(self.state.sheer.contains(&true)));
        if let Ok(mask) = state.get_deref(b"SMask", document) {
            self.tell(Signal::Masked, i64::from(masks_all(document, mask)));
        }
        if let Ok(dashes) = state.get_deref(b"D", document).and_then(Object::as_array) {
            self.state.broken = !matches!(dashes.as_slice(), [Object::Array(dashes), ..] if dashes.is_empty());
        }
    }

    fn draw(&mut self, operation: Operation, name: &[u8]) {
        // The parser breaks on a name that nothing has.
        let Some((id, Object::Stream(stream))) = self.named(b"XObject", name) else { return };
        let document = self.scope.document;
        let layer = stream.dict.get(b"OC").ok().and_then(|layer| document.dereference(layer).ok());
        let is_off = layer.is_some_and(|(id, layer)| self.is_off(id, layer));
        if is_off {
            self.tell(Signal::Off, 1);
        }
        if stream.dict.get_deref(b"Subtype", document).and_then(Object::as_name).is_ok_and(|kind| kind == b"Form") {
            self.forms.extend(id);
            // What a form changes ends with it.
            self.tell(Signal::Save, 0);
            self.tell(Signal::Form, 0);
            self.out.push(operation);
            self.tell(Signal::Restore, 0);
        } else {
            let is_solid = ![&b"SMask"[..], b"Mask", b"ImageMask"].iter().any(|mask| stream.dict.has(mask));
            self.tell(Signal::Picture, i64::from(is_solid));
        }
        if is_off {
            self.tell(Signal::Off, -1);
        }
    }

    /// Whether a layer, or a group of layers with a rule, is switched off.
    fn is_off(&self, id: Option<ObjectId>, layer: &Object) -> bool {
        let Scope { document, off, .. } = self.scope;
        let Ok(layer) = layer.as_dict() else { return false };
        let Ok(members) = layer.get(b"OCGs") else { return id.is_some_and(|id| off.contains(&id)) };
        let members = match document.dereference(members) {
            Ok((_, Object::Array(members))) => members.as_slice(),
            _ => std::slice::from_ref(members),
        };
        let mut are_off = members.iter().filter_map(|member| member.as_reference().ok()).map(|id| off.contains(&id)).peekable();
        if are_off.peek().is_none() {
            return false;
        }
        match layer.get_deref(b"P", document).and_then(Object::as_name).unwrap_or(b"AnyOn") {
            b"AllOn" => are_off.any(|off| off),
            b"AnyOff" => are_off.all(|off| !off),
            b"AllOff" => are_off.any(|off| !off),
            _ => are_off.all(|off| off),
        }
    }
}

/// Whether a shading paints all of the area that it is given: along a line that goes on at both ends (ISO 32000-2, section 8.7.4.5.3).
fn fills_all(document: &Document, shading: &Object) -> bool {
    let Ok(shading) = shading.as_dict().or_else(|_| shading.as_stream().map(|stream| &stream.dict)) else { return false };
    let extends = shading.get_deref(b"Extend", document).and_then(Object::as_array);
    number(document, shading, b"ShadingType") == Some(2.0)
        && !shading.has(b"BBox")
        && extends.is_ok_and(|ends| ends.len() == 2 && ends.iter().all(|end| end.as_bool().is_ok_and(|end| end)))
}

/// Whether a mask lets nothing through: its group paints nothing, and what stands behind is black or, of opacity, nothing.
fn masks_all(document: &Document, mask: &Object) -> bool {
    const PAINTS: &[&str] = &["f", "F", "f*", "B", "B*", "b", "b*", "S", "s", "Tj", "TJ", "'", "\"", "Do", "sh", "BI"];
    let Ok(mask) = mask.as_dict() else { return false };
    let is_black =
        |behind: &Object| behind.as_array().is_ok_and(|behind| behind.len() < 4 && numbers(behind).iter().all(|part| *part == 0.0));
    let is_dark = mask.get_deref(b"S", document).and_then(Object::as_name).is_ok_and(|kind| kind == b"Alpha")
        || mask.get_deref(b"BC", document).map_or(true, is_black);
    let group = mask.get_deref(b"G", document).and_then(Object::as_stream);
    let content = group.ok().and_then(|group| Content::decode(&plain(group)).ok());
    !mask.has(b"TR")
        && is_dark
        && content.is_some_and(|content| !content.operations.iter().any(|operation| PAINTS.contains(&operation.operator.as_str())))
}

#[expect(clippy::cast_possible_truncation, reason = "what is no whole number is no signal either")]
pub(super) fn whole(number: f64) -> i64 {
    number as i64
}

/// The share of opacity below which nothing is seen.
const FAINT: f64 = 0.05;
