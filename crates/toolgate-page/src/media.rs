//! Media queries and other conditions of style sheets: whether they hold on the screen of a computer.
//!
//! # Source
//! Media Queries Level 4; CSS Conditional Rules Level 3.

/// Whether the rules inside hold on the screen of a computer.
pub(super) fn holds(prelude: &str) -> bool {
    let prelude = prelude.to_ascii_lowercase();
    if let Some(queries) = prelude.strip_prefix("@media") {
        return is_for_screen(queries);
    }
    // What browsers in use do not support is not known here; that they support something is the rule.
    let condition = prelude.strip_prefix("@supports").map(str::trim_start);
    prelude.starts_with("@layer") || condition.is_some_and(|condition| !condition.starts_with("not"))
}

/// Whether one of a list of media queries holds on a screen, taken to be 1024 to 4095 pixels wide. An unknown query does not hold.
pub(super) fn is_for_screen(queries: &str) -> bool {
    let queries = queries.to_ascii_lowercase();
    queries.trim().is_empty() || queries.split(',').any(is_query_for_screen)
}

fn is_query_for_screen(query: &str) -> bool {
    let query = query.trim();
    let (is_denied, query) = query.strip_prefix("not ").map_or((false, query), |query| (true, query));
    let query = query.strip_prefix("only ").unwrap_or(query);
    let parts: Option<Vec<bool>> = query.split(" and ").map(|part| feature(part.trim())).collect();
    parts.is_some_and(|parts| parts.into_iter().all(|holds| holds) != is_denied)
}

/// Whether one part of a media query holds; `None`: it is not known.
fn feature(part: &str) -> Option<bool> {
    const LEAST: f32 = 1024.0;
    const MOST: f32 = 4096.0;
    match part {
        "all" | "screen" => return Some(true),
        "print" | "speech" | "tty" | "tv" | "projection" | "handheld" | "braille" | "embossed" | "aural" => return Some(false),
        _ => {}
    }
    let inside: String = part.strip_prefix('(')?.strip_suffix(')')?.chars().filter(|c| !c.is_whitespace()).collect();
    let after = |starts: &[&str]| starts.iter().find_map(|start| inside.strip_prefix(start)).and_then(pixels);
    let at_least = after(&["min-width:", "width>=", "width>", "min-height:", "height>=", "height>", "min-device-width:"]);
    let at_most = || after(&["max-width:", "width<=", "width<", "max-height:", "height<=", "height<", "max-device-width:"]);
    match inside.as_str() {
        "color"
        | "hover"
        | "hover:hover"
        | "any-hover:hover"
        | "pointer:fine"
        | "any-pointer:fine"
        | "orientation:landscape"
        | "scripting:enabled"
        | "prefers-reduced-motion:no-preference" => Some(true),
        _ => at_least.map(|least| least <= LEAST).or_else(|| at_most().map(|most| most >= MOST)),
    }
}

/// A length of a media query in pixels.
fn pixels(length: &str) -> Option<f32> {
    let (number, unit) = ["px", "rem", "em", ""].iter().find_map(|unit| Some((length.strip_suffix(unit)?, unit)))?;
    number.parse::<f32>().ok().map(|number| if unit.ends_with("em") { number * 16.0 } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_judged_for_the_screen_of_a_computer() {
        for queries in [
            "",
            " ",
            "all",
            "SCREEN, print",
            "only screen and (min-width: 40em)",
            "(min-width:0)",
            "(width>=600px)",
            "not print",
            "(max-width:9999px)",
        ] {
            assert!(is_for_screen(queries), "{queries}");
        }
        for queries in [
            "print",
            "not screen",
            "not all and (unknown)",
            "(max-width:600px)",
            "(min-width:3000px)",
            "(unknown)",
            "screen and (width<40em)",
        ] {
            assert!(!is_for_screen(queries), "{queries}");
        }
        assert!(holds("@supports (display:grid)") && !holds("@supports not (display:grid)") && holds("@layer a") && !holds("@font-face"));
    }
}
