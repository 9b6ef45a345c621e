//! What declarations of style do to a text: whether it can still be seen.

use std::rc::Rc;

/// One declaration of a known property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declaration {
    /// Without the prefix of a browser.
    name: &'static str,
    /// In lower case, without blanks and `!important`.
    value: Rc<str>,
    important: bool,
}

/// The declarations of a block or a `style` attribute, in their order, of the properties that are known.
pub(super) fn declarations(block: &str) -> impl Iterator<Item = Declaration> {
    block.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        let name = name.trim().to_ascii_lowercase();
        let name = name.trim_start_matches("-webkit-");
        // Of what moves an element only matters that it does.
        let moving = MOVING.iter().copied().find(|known| name.starts_with(known));
        let name = moving.or_else(|| PROPERTIES.split(' ').find(|known| *known == name))?;
        let value: String = value.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
        let (value, important) = value.strip_suffix("!important").map_or((&*value, false), |value| (value, true));
        Some(Declaration { name, value: value.into(), important })
    })
}

/// The declarations for one element.
#[derive(Debug)]
pub(super) struct Style(Vec<Declaration>);

impl Style {
    /// Of declarations, each of which gives way to those after it unless it alone is important.
    pub(super) fn new(mut declarations: Vec<Declaration>) -> Self {
        declarations.sort_by_key(|declaration| declaration.important);
        Self(declarations)
    }

    /// Of a `style` attribute.
    pub(super) fn of(attribute: &str) -> Self {
        Self::new(declarations(attribute).collect())
    }

    fn property(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|declaration| declaration.name == name).map(|declaration| &*declaration.value)
    }

    /// Whether a property has one of these values.
    pub(super) fn is(&self, name: &str, values: &[&str]) -> bool {
        self.property(name).is_some_and(|value| values.contains(&value))
    }

    /// Whether it hides the element, whatever the colours around it. What also moves or fades begins an entrance: only what is not displayed then is
    /// hidden.
    pub(super) fn hides(&self) -> bool {
        let any = |names: &[&str], is: fn(&str) -> bool| names.iter().filter_map(|name| self.property(name)).any(is);
        self.is("display", &["none"])
            || self.is("visibility", &["hidden", "collapse"])
            || !any(MOVING, |_| true)
                && (any(&["opacity"], |value| number(value).is_some_and(|value| value <= 0.05))
                    || any(&["font-size"], is_dot)
                    || any(&["font"], |font| number(font) == Some(0.0))
                    || any(AWAY, |length| number(length).is_some_and(|length| length <= -999.0))
                    || any(SIDES, is_dot) && self.is("overflow", &["hidden", "clip"])
                    || any(&["clip", "clip-path"], is_nothing))
    }

    /// Whether the text has the colour of the ground that is declared with it. `is_own`: of a `style` attribute, where white without a ground counts as
    /// well; a rule of a sheet may be for a dark ground.
    pub(super) fn is_camouflage(&self, is_own: bool) -> bool {
        let Some(color) = self.property("color").map(plain_color) else { return false };
        let ground = self.property("background-color").or_else(|| self.property("background")).map(plain_color);
        color == "transparent" && is_own || ground.map_or(is_own && color == "#ffffff", |ground| ground == color)
    }
}

const PROPERTIES: &str = "display visibility opacity font font-size overflow clip clip-path color background background-color \
    white-space left top right bottom text-indent margin-left margin-top height width max-height max-width";

/// Those that move an element or its text.
const AWAY: &[&str] = &["left", "top", "right", "bottom", "text-indent", "margin-left", "margin-top"];

/// Those that leave an element no size.
const SIDES: &[&str] = &["height", "width", "max-height", "max-width"];

/// Those that move or fade an element by and by.
const MOVING: &[&str] = &["transform", "transition", "animation"];

/// Whether a length is too small for a letter: at most a pixel, or about a tenth of a letter.
fn is_dot(length: &str) -> bool {
    let most = if length.ends_with("px") || length.ends_with("pt") { 1.0 } else { 0.1 };
    // A negative size is no size, and the declaration says nothing.
    number(length).is_some_and(|value| (0.0..=most).contains(&value))
}

/// Whether a shape to cut by leaves nothing.
fn is_nothing(shape: &str) -> bool {
    ["rect(0", "rect(1px", "inset(50%", "inset(100%", "circle(0"].iter().any(|start| shape.starts_with(start))
}

/// The number that a value begins with.
fn number(value: &str) -> Option<f32> {
    let end = value.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(value.len());
    value.get(..end).and_then(|number| number.parse().ok())
}

/// The usual spellings of white, black and nothing as one.
fn plain_color(color: &str) -> &str {
    match color {
        "white" | "#fff" | "rgb(255,255,255)" => "#ffffff",
        "black" | "#000" | "rgb(0,0,0)" => "#000000",
        "rgba(0,0,0,0)" | "rgba(255,255,255,0)" | "#0000" | "#fff0" => "transparent",
        _ => color,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_told_from_ordinary_styles() {
        for style in [
            " DISPLAY : None ! IMPORTANT",
            "display:none!important;display:block",
            "display:block;display:none",
            "background:url(a;b);display:none",
            "visibility:collapse",
            "opacity:.05",
            "opacity:0.0",
            "font-size:0",
            "font-size:1px",
            "font-size:.05em",
            "font:0/0 a",
            "position:absolute;left:-9999px",
            "text-indent:-1000px",
            "height:0;overflow:hidden",
            "width:1px;height:1px;overflow:hidden",
            "clip:rect(0, 0, 0, 0)",
            "-webkit-clip-path:circle(0)",
            "clip-path:inset(50%)",
        ] {
            assert!(Style::of(style).hides(), "{style}");
        }
        for style in [
            "display:none;display:block!important",
            "opacity:.5",
            "opacity:50%",
            "opacity:1",
            "opacity:0;transition:all 1s",
            "transform:scale(1);opacity:0",
            "font-size:.875em",
            "font-size:85%",
            "font-size:8pt",
            "font-size:-1px",
            "font:12px/0 a",
            "left:-20px",
            "text-indent:-2em",
            "height:0",
            "height:1em;overflow:hidden",
            "clip:auto",
            "clip-path:circle(50%)",
        ] {
            assert!(!Style::of(style).hides(), "{style}");
        }
    }

    #[test]
    fn text_in_the_colour_of_its_ground_is_camouflage() {
        for style in ["color:white;background:#fff", "color:#010101;background-color:#010101", "color:transparent", "color:#FFF"] {
            assert!(Style::of(style).is_camouflage(true), "{style}");
        }
        for style in ["color:white;background:black", "color:#000", "background:#fff"] {
            assert!(!Style::of(style).is_camouflage(true), "{style}");
        }
        assert!(Style::of("color:white;background:#fff").is_camouflage(false) && !Style::of("color:white").is_camouflage(false));
    }
}
