//! What declarations of style do to a text: whether it can still be seen.

use super::css::{Declaration, declarations, plain};

/// The declarations for one element. Of those of one property the last one holds.
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
        Self::new(written(attribute).collect())
    }

    /// Whether the text has the colour of its ground. `origin`: a rule of a sheet is among it, and what only is white may stand on a dark ground.
    pub(super) fn is_camouflage(&self, origin: Origin) -> bool {
        let white = ["#fff", "#ffffff", "white", "rgb(255,255,255)", "transparent", "rgba(0,0,0,0)", "#ffff", "#fffffe", "#fefefe"];
        let ground = || self.property("background-color").or_else(|| self.property("background"));
        let bare = |color: &str| origin == Origin::Attribute && (white.contains(&color) || is_clear(color));
        self.property("color").is_some_and(|color| ground().map_or_else(|| bare(color), |ground| ground == color || is_near(ground, color)))
    }

    /// Whether it moves or fades something: transparent and moved at once is how an entrance begins, not how something is hidden.
    pub(super) fn enters(&self) -> bool {
        let is_planned = self.property("will-change").is_some_and(|value| MOVING.iter().any(|name| value.contains(name)));
        is_planned || self.0.iter().any(|declaration| MOVING.contains(&declaration.name))
    }

    fn property(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|declaration| declaration.name == name).map(|declaration| &*declaration.value)
    }

    /// Whether a property has one of these values.
    pub(super) fn is(&self, name: &str, values: &[&str]) -> bool {
        self.property(name).is_some_and(|value| values.contains(&value))
    }

    /// Whether it takes the element out of the page.
    pub(super) fn is_not_displayed(&self) -> bool {
        self.is("display", &["none"]) || self.is("content-visibility", &["hidden"])
    }

    /// Whether `visibility` hides the element. Elements below inherit that, and each can end it.
    pub(super) fn is_invisible(&self) -> bool {
        self.is("visibility", &["hidden", "collapse"])
    }

    /// Whether `visibility` shows the element, whatever it is above.
    pub(super) fn is_visible(&self) -> bool {
        self.is("visibility", &["visible", "initial"])
    }

    /// Whether it takes the text out of sight, whatever the colours around it, besides what [`Self::is_invisible`] tells.
    pub(super) fn is_out_of_sight(&self) -> bool {
        let part = |name: &str| self.property(name).and_then(share);
        self.is_not_displayed()
            || part("opacity").is_some_and(|value| value <= 0.05)
            || self.property("font-size").is_some_and(is_dot)
            || self.property("font").is_some_and(|font| leading(font) == Some(0.0))
            || AWAY.iter().filter_map(|name| self.property(name)).any(is_far)
            || self.is("overflow", &["hidden", "clip"]) && FLAT.iter().filter_map(|name| self.property(name)).any(is_flat)
            || self.property("clip").is_some_and(|value| value.starts_with("rect(0") || value.starts_with("rect(1px"))
            || self.property("clip-path").is_some_and(is_nothing)
            || MASKS.iter().filter_map(|name| self.property(name)).any(is_sheer)
            || part("scale").is_some_and(|value| value <= 0.05)
            || part("zoom").is_some_and(|value| value > 0.0 && value <= 0.05)
            || self.property("transform").is_some_and(|value| value.split_inclusive(')').any(is_gone))
            || self.property("filter").and_then(|value| value.strip_prefix("opacity(")).and_then(share).is_some_and(|value| value <= 0.05)
    }
}

/// Whether an element of this name is the page: hidden it would leave nothing, and pages hide it until a script has run.
pub(super) fn is_whole_page(name: &str) -> bool {
    matches!(name, "html" | "body" | "main")
}

/// The declarations of a `style` attribute.
pub(super) fn written(body: &str) -> impl Iterator<Item = Declaration> {
    declarations(&plain(body), PROPERTIES).collect::<Vec<_>>().into_iter()
}

/// The properties that are read.
pub(super) const PROPERTIES: &[&[&str]] = &[AWAY, FLAT, MASKS, MOVING, OTHERS];

/// Those that move an element or its text.
const AWAY: &[&str] =
    &["left", "top", "right", "bottom", "inset", "inset-inline-start", "text-indent", "margin-left", "margin-top", "translate"];

/// Those that leave an element no size.
const FLAT: &[&str] = &["height", "width", "max-height", "max-width", "block-size", "inline-size"];

/// Those of a mask.
const MASKS: &[&str] = &["mask", "mask-image"];

/// Those that move or fade an element by and by.
const MOVING: &[&str] = &["transform", "transition", "animation"];

const OTHERS: &[&str] = &[
    "display",
    "visibility",
    "content-visibility",
    "opacity",
    "font",
    "font-size",
    "overflow",
    "clip",
    "clip-path",
    "scale",
    "zoom",
    "filter",
    "will-change",
    "color",
    "background",
    "background-color",
    "white-space",
];

/// Whether a length is less than a letter needs to be seen: of letters of 10 to 20 pixels, or of windows of 1000, at most about one pixel.
fn is_dot(length: &str) -> bool {
    /// How units end, and the most of each that is no more than about a pixel.
    const UNITS: &[(&str, f32)] = &[
        ("%", 10.0),
        ("em", 0.1),
        ("ex", 0.1),
        ("cap", 0.1),
        ("ic", 0.1),
        ("w", 0.1),
        ("h", 0.1),
        ("vi", 0.1),
        ("vb", 0.1),
        ("min", 0.1),
        ("max", 0.1),
        ("pc", 0.1),
        ("in", 0.01),
        ("cm", 0.03),
        ("mm", 0.3),
    ];
    // A size that is computed from itself alone, or from nothing.
    let computed = length.strip_prefix("calc(").and_then(|inside| inside.strip_suffix(')'));
    let plain = |size: &&str| size.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'%'));
    let computed = computed.and_then(|inside| Some(inside.split_once('*').map_or(inside, |(size, _)| size)).filter(plain));
    let length = computed.filter(|size| leading(size) == Some(0.0)).unwrap_or(length);
    let most = UNITS.iter().find(|(unit, _)| length.ends_with(unit)).map_or(1.0, |(_, most)| *most);
    // A negative size is no size, and the declaration says nothing.
    leading(length).is_some_and(|value| (0.0..=most).contains(&value))
}

/// Whether a side is so short that nothing inside can be seen.
fn is_flat(length: &str) -> bool {
    if length.ends_with('%') { leading(length) == Some(0.0) } else { is_dot(length) }
}

/// Whether a mask lets nothing through.
fn is_sheer(mask: &str) -> bool {
    let mut rest = mask.to_owned();
    for clear in ["transparent", "rgba(0,0,0,0)", "rgb(000/0)", "#00000000", "#0000"] {
        rest = rest.replace(clear, "");
    }
    for way in ["toright", "toleft", "totop", "tobottom", "deg", "circle", "ellipse"] {
        rest = rest.replace(way, "");
    }
    let stops = rest.strip_prefix("linear-gradient(").or_else(|| rest.strip_prefix("radial-gradient("));
    stops.is_some_and(|stops| {
        rest.len() < mask.len() && stops.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | ')' | '%' | '.' | 'p' | 'x'))
    })
}

/// Where a style comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Attribute,
    Sheet,
}

/// Whether a colour lets everything through: `rgba(…,0)`, `hsl(…/0)`, `#fff0`, `#ffffff00`.
fn is_clear(color: &str) -> bool {
    let function = ["rgb(", "rgba(", "hsl(", "hsla(", "hwb(", "lab(", "oklch("].iter().any(|name| color.starts_with(name));
    let alpha = ["/0)", "/0%)", "/0.0)"].iter().any(|end| color.ends_with(end));
    let last = color.matches(',').count() == 3 && [",0)", ",0%)", ",0.0)"].iter().any(|end| color.ends_with(end));
    let digits = color.strip_prefix('#').unwrap_or_default();
    function && (alpha || last) || digits.len() == 4 && digits.ends_with('0') || digits.len() == 8 && digits.ends_with("00")
}

/// Whether two colours cannot be told apart: red, green and blue differ by less than a twentieth.
fn is_near(ground: &str, color: &str) -> bool {
    const LEAST: u8 = 12;
    let Some((ground, color)) = channels(ground).zip(channels(color)) else { return false };
    ground.iter().zip(color).all(|(one, other)| one.abs_diff(other) <= LEAST)
}

/// Red, green and blue of `#rgb`, `#rrggbb`, `rgb(r,g,b)`, `black` and `white`.
fn channels(color: &str) -> Option<[u8; 3]> {
    let named = match color {
        "black" => "#000",
        "white" => "#fff",
        _ => color,
    };
    if let Some(digits) = named.strip_prefix('#') {
        let value = |at: usize, length: usize| u8::from_str_radix(digits.get(at..at + length)?, 16).ok();
        return match digits.len() {
            3 => Some([value(0, 1)? * 17, value(1, 1)? * 17, value(2, 1)? * 17]),
            6 => Some([value(0, 2)?, value(2, 2)?, value(4, 2)?]),
            _ => None,
        };
    }
    let mut parts = named.strip_prefix("rgb(")?.strip_suffix(')')?.split(',').map(str::parse);
    let channels = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?];
    parts.next().is_none().then_some(channels)
}

/// Whether a length takes what it moves off every screen.
fn is_far(length: &str) -> bool {
    let least = ["vw", "vh", "vmin", "vmax"].iter().find(|unit| length.contains(*unit)).map_or(-500.0, |_| -100.0);
    leading(length).is_some_and(|value| value <= least)
}

/// Whether a shape to cut by leaves nothing.
fn is_nothing(shape: &str) -> bool {
    let whole = |name: &str| shape.strip_prefix(name).and_then(leading);
    whole("inset(").is_some_and(|value| value >= 50.0 && shape.contains('%'))
        || ["circle(", "ellipse("].into_iter().filter_map(whole).any(|value| value == 0.0)
        || shape.strip_prefix("polygon(").is_some_and(|points| points.chars().all(|c| matches!(c, '0' | ',' | ')' | 'p' | 'x' | '%')))
}

/// Whether one function of a transformation leaves nothing to see.
fn is_gone(function: &str) -> bool {
    let Some((name, values)) = function.trim_end_matches(')').split_once('(') else { return false };
    let mut values = values.split(',');
    match name {
        "scale" | "scalex" | "scaley" | "scale3d" => values.any(|value| leading(value).is_some_and(|value| value.abs() <= 0.05)),
        "translate" | "translatex" | "translatey" | "translate3d" => values.any(is_far),
        "matrix" => values.take(4).all(|value| leading(value).is_some_and(|value| value.abs() <= 0.05)),
        _ => false,
    }
}

/// The number that a value begins with.
fn leading(value: &str) -> Option<f32> {
    let end = value.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+')).unwrap_or(value.len());
    value.get(..end).and_then(|number| number.parse().ok())
}

/// As [`leading`], of 1: `5%` is 0.05.
fn share(value: &str) -> Option<f32> {
    leading(value).map(|number| if value.contains('%') { number / 100.0 } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_cannot_be_read_are_told_from_small_letters() {
        for size in [
            ".875em",
            ".9rem",
            "1.0em",
            "1em",
            "85%",
            "11%",
            "1.2px",
            "8pt",
            "1vw",
            ".5in",
            "3mm",
            "-1px",
            "smaller",
            "calc(1em)",
            "inherit",
        ] {
            assert!(!Style::of(&format!("font-size:{size}")).is_out_of_sight(), "{size}");
        }
        for size in ["0", "0.0", "1px", ".5px", ".05em", ".1rem", "5%", "1pt", ".05vw", ".2mm", "0%"] {
            assert!(Style::of(&format!("font-size:{size}")).is_out_of_sight(), "{size}");
        }
        for side in ["height:1em", "height:1.5rem", "width:10%", "max-width:1%", "width:1vw", "height:2px", "height:auto"] {
            assert!(!Style::of(&format!("{side};overflow:hidden")).is_out_of_sight(), "{side}");
        }
        for side in ["height:0", "width:1px", "max-height:0%", "block-size:.05em"] {
            assert!(Style::of(&format!("{side};overflow:hidden")).is_out_of_sight(), "{side}");
            assert!(!Style::of(side).is_out_of_sight(), "{side}");
        }
    }

    #[test]
    fn text_without_size_off_the_page_or_in_the_colour_of_its_ground_is_out_of_sight() {
        let hides = |style: &str| Style::of(style).is_out_of_sight() || Style::of(style).is_camouflage(Origin::Attribute);
        for style in [
            "font:0/0 a",
            "font: 0px serif",
            "position:fixed;inset:-9999px",
            "font-size:calc(0px)",
            "font-size:calc(0 * 1em)",
            "color:hsl(0 0% 0%/0)",
            "color:rgba(20,30,40,0)",
            "color:#12345600",
            "color:#010101;background:#000",
            "color:rgb(250,250,250);background-color:white",
        ] {
            assert!(hides(style), "{style}");
        }
        for style in [
            "font:0.9em/1 serif",
            "font:12px/0 a",
            "inset:0",
            "inset:10px auto",
            "font-size:calc(1rem + 2px)",
            "font-size:calc(100% * 1)",
            "color:hsl(0 0% 0%/1)",
            "color:rgb(20,30,0)",
            "color:#1230ff",
            "color:#000",
            "color:#777;background:#000",
            "color:white;background:black",
        ] {
            assert!(!hides(style), "{style}");
        }
    }

    #[test]
    fn the_important_declaration_holds_and_comments_are_none() {
        for style in [
            "display:none!important;display:block",
            "display:block;display:none",
            "display:/**/none",
            "dis\\70lay:none",
            "opacity:5%",
            "opacity:.05",
            "filter:opacity(3%)",
            "-webkit-clip-path:circle(0)",
            "background:url(a;b);display:none",
        ] {
            assert!(Style::of(style).is_out_of_sight(), "{style}");
        }
        for style in ["display:none;display:block!important", "content:';display:none;'", "/*display:none*/color:red", "opacity:50%"] {
            assert!(!Style::of(style).is_out_of_sight(), "{style}");
        }
    }
}
