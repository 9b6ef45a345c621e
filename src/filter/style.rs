//! What declarations of style do to a text: whether it can still be seen.

/// Declarations in lower case and without blanks.
#[derive(Debug)]
pub(super) struct Style(String);

impl Style {
    /// Whether it keeps a person from seeing the text. `sheet`: a rule of a sheet is among it, and what only is white may stand on a dark ground.
    pub(super) fn is_hiding(&self, sheet: Origin) -> bool {
        let white = ["#fff", "#ffffff", "white", "rgb(255,255,255)", "transparent", "rgba(0,0,0,0)", "#ffff", "#fffffe", "#fefefe"];
        let ground = || self.property("background-color").or_else(|| self.property("background"));
        let bare = |color: &str| sheet == Origin::Attribute && white.contains(&color);
        let camouflaged = self.property("color").is_some_and(|color| ground().map_or_else(|| bare(color), |ground| ground == color));
        camouflaged || self.is_out_of_sight()
    }

    /// Whether it moves or fades something: transparent and moved at once is how an entrance begins, not how something is hidden.
    pub(super) fn enters(&self) -> bool {
        ["transform", "transition", "animation"].iter().any(|word| self.0.contains(word))
    }

    pub(super) fn of(style: &str) -> Self {
        Self(style.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect())
    }

    /// The value of a property: the last one holds.
    fn property(&self, name: &str) -> Option<&str> {
        let rules = self.0.split(';').filter_map(|rule| rule.split_once(':')).filter(|(key, _)| *key == name);
        rules.map(|(_, value)| value.trim_end_matches("!important")).next_back()
    }

    fn number(&self, name: &str) -> Option<f32> {
        self.property(name).and_then(|value| value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').parse().ok())
    }

    /// Whether a property has one of these values.
    pub(super) fn is(&self, name: &str, values: &[&str]) -> bool {
        self.property(name).is_some_and(|value| values.contains(&value))
    }

    /// Whether it takes the element out of the page.
    pub(super) fn is_not_displayed(&self) -> bool {
        self.is("display", &["none"]) || self.is("visibility", &["hidden", "collapse"]) || self.is("content-visibility", &["hidden"])
    }

    /// Whether it takes the text out of sight, whatever the colours around it.
    pub(super) fn is_out_of_sight(&self) -> bool {
        let away = ["left", "top", "right", "bottom", "inset-inline-start", "text-indent", "margin-left", "margin-top", "translate"];
        let flat = ["height", "width", "max-height", "max-width", "block-size", "inline-size"];
        self.is_not_displayed()
            || self.number("opacity").is_some_and(|value| value <= 0.05)
            || self.number("font-size").is_some_and(|value| value <= 1.0) && !self.is("font-size", &["1em", "1rem"])
            || away.iter().filter_map(|name| self.property(name)).any(is_far)
            || flat.iter().any(|name| self.number(name).is_some_and(|value| value <= 1.0)) && self.is("overflow", &["hidden", "clip"])
            || self.property("clip").is_some_and(|value| value.starts_with("rect(0") || value.starts_with("rect(1px"))
            || self.property("clip-path").is_some_and(is_nothing)
            || MASKS.iter().filter_map(|name| self.property(name)).any(is_sheer)
            || self.number("scale").is_some_and(|value| value <= 0.05)
            || self.number("zoom").is_some_and(|value| value > 0.0 && value <= 0.05)
            || self.property("transform").is_some_and(|value| value.split_inclusive(')').any(is_gone))
            || self.property("filter").and_then(|value| value.strip_prefix("opacity(")).and_then(leading).is_some_and(|value| value <= 0.05)
    }
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

/// The names of a mask.
const MASKS: &[&str] = &["mask", "mask-image", "-webkit-mask", "-webkit-mask-image"];

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
