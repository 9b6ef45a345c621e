//! One block into the `extensions` of a YAML file, found by its indentation, so that all else stays to the byte.

use super::Server;

const KEY: &str = "extensions:";

/// The block of one server, each line behind `indent`.
pub(super) fn block(name: &str, server: &Server, patience_s: u32, indent: &str) -> String {
    // JSON texts and lists are YAML (YAML 1.2.2, section 1.3).
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let arguments: Vec<String> = server.arguments.iter().map(|argument| text(argument)).collect();
    let lines = [
        format!("name: {name}"),
        "type: stdio".to_owned(),
        format!("cmd: {}", text(&server.program)),
        format!("args: [{}]", arguments.join(", ")),
        "enabled: true".to_owned(),
        format!("timeout: {patience_s}"),
    ];
    let gap = format!("\n{indent}  ");
    format!("{indent}{name}:{gap}{}\n", lines.join(&gap))
}

/// `before` with that block as the first extension, an earlier one of the name taken out.
/// # Errors  Where the text is written in a way that cannot be followed line by line.
pub(super) fn with_block(before: &str, name: &str, server: &Server, patience_s: u32) -> Result<String, String> {
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let heads: Vec<usize> = lines.iter().enumerate().filter(|(_, line)| line.starts_with("extensions")).map(|(at, _)| at).collect();
    if lines.iter().any(|line| line.trim_start_matches(' ').starts_with('\t') || line.starts_with("---") || line.starts_with('{')) {
        return Err("it is not written as one document of indented lines".to_owned());
    }
    let head = match heads.as_slice() {
        [] => {
            let gap = if before.ends_with('\n') { "" } else { "\n" };
            return Ok(format!("{before}{gap}{KEY}\n{}", block(name, server, patience_s, "  ")));
        }
        [head] => *head,
        _ => return Err("`extensions` occurs twice in it".to_owned()),
    };
    let rest = lines.get(head).and_then(|line| line.strip_prefix(KEY)).map(without_comment);
    if !matches!(rest, Some("" | "{}")) {
        return Err("`extensions` in it is not written as indented lines".to_owned());
    }
    let below = lines.iter().skip(head + 1).map(|line| (indent(line), *line));
    let section: Vec<(Option<usize>, &str)> = below.take_while(|(indent, _)| *indent != Some(0)).collect();
    let children = section.iter().find_map(|(indent, _)| *indent).unwrap_or(2);
    let mut after: String = lines.iter().take(head).copied().collect();
    after.push_str(KEY);
    after.push('\n');
    after.push_str(&block(name, server, patience_s, &" ".repeat(children)));
    let mut own = false;
    for (indent, line) in &section {
        if indent.is_some_and(|indent| indent <= children) {
            own = [format!("{name}:"), format!("\"{name}\":"), format!("'{name}':")].contains(&without_comment(line).to_owned());
        }
        // A comment most likely speaks of what comes next.
        if !own || line.trim_start().starts_with('#') {
            after.push_str(line);
        }
    }
    after.extend(lines.iter().skip(head + 1 + section.len()).copied());
    Ok(after)
}

/// `before` without that block; none where it has no such extension.
/// # Errors  Where the text is written in a way that cannot be followed line by line.
pub(super) fn without_block(before: &str, name: &str) -> Result<Option<String>, String> {
    let server = Server { program: String::new(), arguments: Vec::new() };
    let with = with_block(before, name, &server, 0)?;
    // The new block is the first of the extensions, and an earlier one is gone: what is left after taking it out lacks both.
    let lines: Vec<&str> = with.split_inclusive('\n').collect();
    let Some(head) = lines.iter().position(|line| line.starts_with(KEY)) else { return Ok(None) };
    let at = head + 1;
    let depth = lines.get(at).and_then(|line| indent(line)).unwrap_or(0);
    let length = 1 + lines.iter().skip(at + 1).take_while(|line| indent(line).is_some_and(|indent| indent > depth)).count();
    let mut left: Vec<&str> = lines.iter().take(at).chain(lines.iter().skip(at + length)).copied().collect();
    // A key without a value is nothing to a reader, where an empty map is wanted.
    if left.iter().skip(at).find_map(|line| indent(line)).is_none_or(|indent| indent == 0) {
        left.remove(head);
    }
    let after = left.concat();
    let same = after.split_whitespace().eq(before.split_whitespace());
    Ok((!same).then_some(after))
}

/// How far a line is indented; none for an empty one and for a comment.
fn indent(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    (!text.trim().is_empty() && !text.starts_with('#')).then_some(line.len() - text.len())
}

fn without_comment(line: &str) -> &str {
    line.split_once(" #").map_or(line, |(text, _)| text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(before: &str) -> Result<String, String> {
        with_block(before, "gate", &Server { program: "g".into(), arguments: vec!["serve".into()] }, 9)
    }

    const NEW: &str =
        "  gate:\n    name: gate\n    type: stdio\n    cmd: \"g\"\n    args: [\"serve\"]\n    enabled: true\n    timeout: 9\n";

    #[test]
    fn a_block_is_added_or_replaced_and_the_rest_stays() {
        assert_eq!(set("GOOSE_MODEL: x").unwrap(), format!("GOOSE_MODEL: x\nextensions:\n{NEW}"));
        let before = "a: 1\nextensions:\n  b: # mine\n    cmd: b\n\n  gate:\n    cmd: old\n    envs:\n      X: 1\n  c:\n    cmd: c\nz: 2\n";
        assert_eq!(set(before).unwrap(), format!("a: 1\nextensions:\n{NEW}  b: # mine\n    cmd: b\n\n  c:\n    cmd: c\nz: 2\n"));
        assert_eq!(set("extensions: {}\nz: 2\n").unwrap(), format!("extensions:\n{NEW}z: 2\n"));
        let once = set("a: 1\n").unwrap();
        assert_eq!(set(&once).unwrap(), once);
    }

    #[test]
    fn only_the_extension_of_that_name_is_taken_out() {
        let without = |before: &str| without_block(before, "gate").unwrap();
        let other = "providers:\n  gate:\n    key: 1\nmy_extensions:\n  - a\n";
        assert_eq!(without(&format!("{other}extensions:\n  gate:\n    cmd: x\n")), Some(other.to_owned()));
        assert_eq!(
            without(&format!("{other}extensions:\n  b:\n    cmd: b\n  gate:\n    cmd: x\n")),
            Some(format!("{other}extensions:\n  b:\n    cmd: b\n"))
        );
        assert_eq!(without(&format!("{other}extensions:\n  b:\n    cmd: b\n")), None);
        assert_eq!(without(other), None);
    }

    #[test]
    fn a_text_that_cannot_be_followed_is_left_alone() {
        for before in [
            "extensions: {b: {cmd: b}}\n",
            "extensions:\n\tb: 1\n",
            "---\na: 1\n---\nb: 2\n",
            "{extensions: {}}\n",
            "extensions:\nextensions:\n",
        ] {
            assert!(set(before).is_err(), "{before}");
        }
    }
}
