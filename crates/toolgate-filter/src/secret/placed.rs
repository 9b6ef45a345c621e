//! Where the value of a name stands when no sign follows the name at once: behind a type (`key: &str = "…"`), in a field beside it
//! (`name: KEY`, `value: …`), on the next line, in the next column.

use crate::finding::floor;

/// Bytes after a name in which its value begins.
const NEAR: usize = 160;

/// Where the value of the name at `start..end` begins, and whether a quote opened it.
pub(super) fn value(text: &str, start: usize, end: usize) -> Option<(usize, bool)> {
    let rest = text.get(end..floor(text, end + NEAR))?;
    let before = text.get(floor(text, start.saturating_sub(NEAR))..start)?;
    let place = |(skip, quoted): (usize, bool)| (end + skip, quoted);
    crate::work::read(rest.len());
    typed(rest)
        .or_else(|| defined(before, rest))
        .or_else(|| beside(before, rest))
        .or_else(|| below(before, text.get(start..end)?, rest))
        .or_else(|| in_column(before, rest))
        .map(place)
}

/// `: Type = "…"`, ` string = "…"`, `[] = "…"`, also with a constructor around the literal: `String::from("…")`.
fn typed(rest: &str) -> Option<(usize, bool)> {
    /// Types that stand before their `=` without a colon.
    const BARE: &[&str] = &["string", "String", "*string", "[]byte", "[]", "wstring"];
    let (type_, value) = rest.split_once('=')?;
    let type_ = match type_.trim_start_matches(['?', '!', ' ']).strip_prefix(':') {
        Some(type_) => {
            Some(type_.trim()).filter(|type_| type_.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '&' | '*' | '[')))
        }
        None => Some(type_.trim()).filter(|type_| BARE.contains(type_) || is_length(type_)),
    }?;
    let is_type = is_type(type_);
    let literal = value.trim_start_matches(' ');
    let call = literal.split_once('(').filter(|(name, _)| is_constructor(name)).map_or("", |(name, _)| name);
    let inside = literal.get(call.len() + usize::from(!call.is_empty())..)?;
    let opened = inside.trim_start_matches(['r', 'b', '@', '#', 'u']);
    let skip = rest.len() - opened.len() + 1;
    // `token: string = 'abc'` in prose would have no type; `a: b == "c"` compares.
    (is_type && !value.starts_with(['=', '>']) && opened.starts_with(['"', '\'', '`'])).then_some((skip, true))
}

/// Whether this may be a type: `&'static str`, `Dict[str, int]`, `str | None`. What a comma or a blank ends is a value: `: VALUE, user="bob"`.
fn is_type(type_: &str) -> bool {
    const BEFORE: &[&str] = &["&mut", "*const", "*mut", "const", "unsigned", "dyn", "impl"];
    if type_.len() > 64 || !type_.chars().all(|c| c.is_ascii_alphanumeric() || "_&*<>[]|?!:,.' ".contains(c)) {
        return false;
    }
    let mut depth = 0_usize;
    type_.char_indices().all(|(at, character)| {
        let (before, after) = type_.split_at_checked(at).unwrap_or((type_, ""));
        match character {
            '<' | '[' => depth += 1,
            '>' | ']' => depth = depth.saturating_sub(1),
            ',' => return depth > 0,
            ' ' if depth == 0 => {
                let word = before.trim_end().rsplit(' ').next().unwrap_or_default();
                let joins = before.trim_end().ends_with('|') || after.trim_start().starts_with(['|', '*', '&']);
                return joins || BEFORE.contains(&word) || word.starts_with("&'");
            }
            _ => {}
        }
        true
    })
}

/// `[64]` of an array in C.
fn is_length(type_: &str) -> bool {
    type_
        .strip_prefix('[')
        .and_then(|inside| inside.strip_suffix(']'))
        .is_some_and(|inside| inside.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What makes a text of a literal: it is no call whose argument is looked up.
fn is_constructor(name: &str) -> bool {
    let name = name.trim_start_matches("new ");
    matches!(
        name,
        "String::from" | "String" | "[]byte" | "SecretStr" | "SecretString" | "SecretString::from" | "std::string" | "Some" | "Buffer.from"
    )
}

/// `#define NAME "…"`.
fn defined(before: &str, rest: &str) -> Option<(usize, bool)> {
    let marked = before.trim_end_matches([' ', '\t']).ends_with("#define") && rest.starts_with([' ', '\t']);
    let opened = rest.trim_start_matches([' ', '\t']);
    (marked && opened.starts_with('"')).then(|| (rest.len() - opened.len() + 1, true))
}

/// `name: NAME`, then `value: …`; `"name": "NAME", "value": "…"`; `key="NAME" value="…"`; `<name>NAME</name><value>…`; `name="NAME">…`.
fn beside(before: &str, rest: &str) -> Option<(usize, bool)> {
    const FIELDS: &[&str] = &["name", "key", "id", "variable", "field", "property"];
    let quote = |c: char| matches!(c, '"' | '\'' | '\\');
    // A name may have more before it that is joined by stops: `spring.datasource.`
    let joined = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':'));
    let joined = if before.ends_with('.') { joined } else { before };
    let tag = joined.ends_with('>');
    let field = joined.trim_end_matches(['>', ' ', '=', ':', '"', '\'', '\\']);
    let signed = field.len() < joined.len() && joined.get(field.len()..).is_some_and(|sign| sign.contains(['=', ':', '>']));
    let word = field.len() - field.bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
    let word = field.get(word..)?;
    if !signed || !FIELDS.contains(&word.to_ascii_lowercase().as_str()) {
        return None;
    }
    if tag {
        let (closing, after) = rest.strip_prefix("</")?.split_once('>')?;
        let value = after.trim_start().strip_prefix("<value>").filter(|_| closing.eq_ignore_ascii_case(word))?;
        return Some((rest.len() - value.len(), false));
    }
    let after = rest.trim_start_matches(quote);
    if let Some(value) = after.strip_prefix('>').filter(|_| after.len() < rest.len()) {
        return rest.contains("</").then_some((rest.len() - value.len(), false));
    }
    let next = after.trim_start_matches([' ', ',', '\n', '\r', '\t', '"', '\'', '\\']);
    let parted = after.get(..after.len() - next.len()).is_some_and(|gap| gap.contains([',', '\n', ' ']));
    let field = next.get(..5).filter(|field| parted && field.eq_ignore_ascii_case("value"))?;
    let sign = next.strip_prefix(field)?.trim_start_matches(quote).trim_start_matches(' ');
    let value = sign.strip_prefix([':', '='])?.trim_start_matches(' ');
    let bare = value.trim_start_matches('\\');
    let quoted = bare.starts_with(['"', '\'']);
    Some((rest.len() - bare.len() + usize::from(quoted), quoted))
}

/// `name:` with its value alone on the next line, deeper than the name; also as a block scalar of YAML.
fn below(before: &str, name: &str, rest: &str) -> Option<(usize, bool)> {
    let line = before.rsplit('\n').next()?;
    let bare = line.trim_start_matches([' ', '-', '"', '\'']);
    // The name is all that stands before the colon.
    if !bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')) || name.contains(' ') {
        return None;
    }
    let sign = rest.trim_start_matches(['"', '\'']).strip_prefix(':')?.trim_start_matches(' ');
    let scalar = sign.trim_start_matches(['|', '>', '-', '+']);
    let below = scalar.trim_start_matches(' ').strip_prefix("\r\n").or_else(|| scalar.trim_start_matches(' ').strip_prefix('\n'))?;
    let value = below.trim_start_matches([' ', '\t']);
    let content = value.split('\n').next()?.trim_end_matches(['\r', ',']);
    let opened = content.starts_with(['"', '\'']);
    let deeper = below.len() - value.len() > line.len() - line.trim_start().len();
    let alone = content.trim_matches(['"', '\'']);
    let plain = !alone.contains([' ', ';', '(', '{', '}', '[', '<', '\t'])
        && !alone.ends_with(':')
        && !alone.starts_with(['-', '#', '/', '*', '$', '&', '|', '!'])
        && (opened || alone.split_once(':').is_none());
    (deeper && plain).then(|| (rest.len() - value.len() + usize::from(opened), opened))
}

/// `| name | … |`.
fn in_column(before: &str, rest: &str) -> Option<(usize, bool)> {
    let opens = before.trim_end_matches([' ', '*', '`']).ends_with('|') && before.rsplit('\n').next()?.trim_start().starts_with('|');
    let value = rest.trim_start_matches([' ', '*', '`']).strip_prefix('|')?.trim_start_matches(' ');
    let code = value.starts_with('`');
    let content = value.get(usize::from(code)..)?;
    let cell = content.split_once('|').map(|(cell, _)| cell.trim_end_matches([' ', '`']))?;
    (opens && !cell.contains(' ')).then(|| (rest.len() - content.len(), code))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    #[test]
    fn values_are_found_behind_a_type() {
        let value = "q7WxTnc2V8bRy4HsJ5mm";
        for before in [
            "export const vendorKey: string = \"",
            "const VENDOR_KEY: &str = \"",
            "pub static VENDOR_KEY: &'static str = \"",
            "const vendorKey string = \"",
            "var vendorKey string = `",
            "val vendorKey: String = \"",
            "vendor_key: str = \"",
            "vendor_key: Optional[str] = '",
            "private vendorKey?: string = '",
            "let password: String = String::from(\"",
            "token: str | None = \"",
            "api_key: SecretStr = SecretStr(\"",
            "#define VENDOR_KEY \"",
            "#define API_TOKEN    \"",
            "char password[] = \"",
            "static char api_key[64] = \"",
            "val token: String? = \"",
        ] {
            let quote = before.chars().next_back().unwrap();
            assert_eq!(found_in(&format!("{before}{value}{quote}\n")), [("credential", value)], "{before}");
        }
    }

    #[test]
    fn a_value_before_another_field_is_no_type() {
        for (before, after) in [
            ("password: ", ", user=\"bob\""),
            ("password: ", " host=\"db\""),
            ("token: ", ", user=\"bob\""),
            ("api_key: ", " level=\"info\""),
            ("token: ", " | user=\"bob\""),
        ] {
            let value = "q7WxTnc2V8bRy4HsJ5mm";
            assert_eq!(found_in(&format!("{before}{value}{after}\n")), [("credential", value)], "{before}{after}");
        }
        assert_eq!(found_in("password: tG4xw8KdZq1nPy, user=\"bob\""), [("credential", "tG4xw8KdZq1nPy")]);
    }

    #[test]
    fn values_are_found_beside_below_and_in_the_next_column() {
        let value = "q7WxTnc2V8bRy4HsJ5mm";
        for (before, after) in [
            ("env:\n  - name: DB_PASSWORD\n    value: ", "\n"),
            ("  - name: API_TOKEN\n    value: \"", "\"\n"),
            ("{\"name\":\"DB_PASSWORD\",\"value\":\"", "\"}"),
            ("{\"name\": \"DB_PASSWORD\", \"value\": \"", "\"}"),
            ("{\"Key\": \"DB_PASSWORD\",\n \"Value\": \"", "\"}"),
            ("<add key=\"Password\" value=\"", "\"/>"),
            ("<property name=\"password\" value=\"", "\"/>"),
            ("<property name=\"hibernate.connection.password\">", "</property>"),
            ("<name>db.password</name>\n  <value>", "</value>"),
            ("password:\n  ", "\n"),
            ("a:\n  secret: |\n    ", "\n  b: 1\n"),
            ("db_password: >-\n  ", "\n"),
            ("\"password\":\n    \"", "\",\n"),
            ("| password | ", " |\n"),
            ("| **Password** | `", "` |\n"),
        ] {
            assert_eq!(found_in(&format!("{before}{value}{after}")), [("credential", value)], "{before}");
        }
    }

    #[test]
    fn short_passwords_are_found_in_addresses_of_databases() {
        for (text, value) in [
            ("jdbc:mysql://h/d?user=a&password=hunter2", "hunter2"),
            ("url=jdbc:postgresql://h:5432/d?user=a&password=pw12&ssl=true", "pw12"),
            ("\"jdbc:sqlserver://h;user=a;password=hunter2;encrypt=true\"", "hunter2"),
        ] {
            assert_eq!(found_in(text), [("credential", value)], "{text}");
        }
        for text in [
            "jdbc:mysql://h/d?user=a&password=pass",
            "jdbc:mysql://h/d?user=a&password=${db.password1}",
            "jdbc:mysql://h/d?user=a&password=",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }

    #[test]
    fn types_defaults_look_ups_and_tables_without_secrets_are_left_alone() {
        for text in [
            "input Login { password: String! }",
            "api_key: str = None",
            "token: Optional[str] = None",
            "password: str = \"\"",
            "password: string = process.env.DB_PASSWORD_2024_PRODUCTION",
            "password: String = get_password(\"service2_production4\")",
            "password: String = env::var(\"DB_PASSWORD2_X9\")",
            "const tokenType: string = \"Bearer\"",
            "const primaryKey: string = \"q7WxTnc2V8bRy4HsJ5mm\"",
            "let token: Token = tokens[index2];",
            "token: string === 'abc12345defGH67890'",
            "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db2\n",
            "- name: DB_PASSWORD\n  value: $(SECRET_NUMBER_2)\n",
            "- name: password\n  type: string2\n",
            "{\"name\": \"password\", \"type\": \"varchar2\"}",
            "<input name=\"password\" value=\"\"/>",
            "<property name=\"password\" value=\"${db.password1}\"/>",
            "password:\n  min_length: 12\n",
            "password:\n  type: string\n",
            "secret:\n  - a1b2c3d4\n",
            "    if not password:\n        raise Error1(2)\n",
            "case token:\n    return x1;\n",
            "secret:\n  secretName: tls-2024\n",
            "| password | string | yes |\n| token | text2 | no |\n",
            "(r\"system|base64|password|api.?key|the data|\")",
            "Key = Ed25519PrivateKey | Ed448PrivateKey | X25519PrivateKey | X448PrivateKey",
            "#define PASSWORD_MAX \"64\"",
            "#define TOKEN TOKEN_IDENTIFIER1",
            "The name is a token, value: 12 of them",
            "token: Foo = bar2(\"q7WxTnc2V8bRy4HsJ5mm\")",
            "token: Dict[str, Ed25519PrivateKey] = \"\"",
            "password: *const c_char2 = \"none\"",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
