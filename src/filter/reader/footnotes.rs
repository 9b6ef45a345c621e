//! Links as footnotes: the text flows, and the targets stand at its end.

use std::fmt::Write;

/// Takes the targets of links (not of pictures) out of Markdown of this floor and lists them below it, each once: `[text](url)` becomes `text[1]`.
pub fn footnotes(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut targets: Vec<&str> = Vec::new();
    let mut in_code = false;
    for line in markdown.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code || line.trim_start().starts_with("```") {
            out.push_str(line);
        } else {
            unlink(line, &mut targets, &mut out);
        }
    }
    for (number, target) in targets.iter().enumerate() {
        let _ = writeln!(out, "{}[{}]: {target}", if number == 0 { "\n" } else { "" }, number + 1);
    }
    out
}

fn unlink<'a>(line: &'a str, targets: &mut Vec<&'a str>, out: &mut String) {
    let mut rest = line;
    // Where in `out` the texts of open brackets begin, and whether they belong to pictures.
    let mut open: Vec<(usize, bool)> = Vec::new();
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\\' => {
                out.push(c);
                let escaped = after.chars().next();
                out.extend(escaped);
                rest = after.get(escaped.map_or(0, char::len_utf8)..).unwrap_or_default();
                continue;
            }
            '`' => {
                let ticks = rest.len() - rest.trim_start_matches('`').len();
                let fence = rest.get(..ticks).unwrap_or_default();
                let body = rest.get(ticks..).unwrap_or_default();
                let end = body.find(fence).map_or(ticks, |at| at + ticks * 2);
                out.push_str(rest.get(..end).unwrap_or_default());
                rest = rest.get(end..).unwrap_or_default();
                continue;
            }
            '[' => {
                open.push((out.len(), out.ends_with('!')));
                out.push(c);
            }
            ']' => {
                let (at, picture) = open.pop().unwrap_or((0, true));
                match target_of(after) {
                    Some((target, beyond)) if !picture => {
                        out.remove(at);
                        let known = targets.iter().position(|known| *known == target);
                        let number = known.unwrap_or_else(|| {
                            targets.push(target);
                            targets.len() - 1
                        });
                        let _ = write!(out, "[{}]", number + 1);
                        rest = beyond;
                        continue;
                    }
                    Some((_, beyond)) => {
                        let whole = after.len() - beyond.len();
                        out.push(c);
                        out.push_str(after.get(..whole).unwrap_or_default());
                        rest = beyond;
                        continue;
                    }
                    None => out.push(c),
                }
            }
            _ => out.push(c),
        }
        rest = after;
    }
}

/// The target in `(target "title")` and what comes after it; brackets in targets are balanced or escaped.
fn target_of(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('(')?;
    let mut depth = 1;
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let target = inside.get(..at)?;
            let target = target.split_once(" \"").map_or(target, |(target, _)| target);
            let target = target.strip_prefix('<').and_then(|target| target.strip_suffix('>')).unwrap_or(target);
            return Some((target, inside.get(at + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stand_below_the_text_each_once() {
        let rows = [
            (
                "see [a](https://a/x) and [b](https://b/(1)) and [a](https://a/x)\n",
                "see a[1] and b[2] and a[1]\n\n[1]: https://a/x\n[2]: https://b/(1)\n",
            ),
            ("[![alt](https://p/i.png)](https://a/)\n", "![alt](https://p/i.png)[1]\n\n[1]: https://a/\n"),
            ("[a](https://a/ \"title\") \\[no\\](x) `[c](d)` [e]\n", "a[1] \\[no\\](x) `[c](d)` [e]\n\n[1]: https://a/\n"),
            ("```\n[a](b)\n```\n", "```\n[a](b)\n```\n"),
            ("plain ] [ text (x)\n", "plain ] [ text (x)\n"),
            ("`open [a](b)\n", "`open a[1]\n\n[1]: b\n"),
        ];
        for (markdown, expected) in rows {
            assert_eq!(footnotes(markdown), expected, "{markdown}");
        }
    }
}
