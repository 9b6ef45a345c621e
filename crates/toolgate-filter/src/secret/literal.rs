//! Where the value of a name stands when it is a literal that a language writes in a way of its own: with a prefix, in three quotes, in
//! brackets, as a default behind a look-up, as the next word of a command.

use crate::finding::floor;

/// Bytes after a name in which its value begins, and before it in which a command is looked for.
const NEAR: usize = 96;

/// Where the value of the name at `start..end` begins, and whether a quote opened it.
pub(super) fn value(text: &str, start: usize, end: usize) -> Option<(usize, bool)> {
    let rest = text.get(end..floor(text, end + NEAR))?;
    let before = text.get(floor(text, start.saturating_sub(NEAR))..start)?;
    crate::work::read(rest.len());
    let skip = prefixed(rest)
        .or_else(|| default(rest))
        .or_else(|| argument(before, text.get(start..end)?, rest))
        .or_else(|| property(before, rest))
        .or_else(|| output(rest))
        .or_else(|| word(before, rest))
        .or_else(|| marked(before, rest));
    skip.map(|(skip, quoted)| (end + skip, quoted))
}

/// How much shorter a rest is than the text it is of.
fn gone(whole: &str, rest: &str) -> usize {
    whole.len() - rest.len()
}

/// `= b'…'`, `: rb"…"`, `= """…"""`, `= ("…")`, `= [[…]]`, `:password => '…'`.
fn prefixed(rest: &str) -> Option<(usize, bool)> {
    let bare = rest.trim_start_matches(['"', '\'', ']', ' ']);
    let sign = bare.strip_prefix("=>").or_else(|| bare.strip_prefix(":=")).or_else(|| bare.strip_prefix(['=', ':']))?;
    let value = sign.trim_start_matches([' ', '\t']);
    if let Some(inside) = value.strip_prefix("[[") {
        return inside.contains("]]").then_some((gone(rest, inside.trim_start()), false)).filter(|_| bare.starts_with('='));
    }
    let value = value.strip_prefix('(').map_or(value, |inside| inside.trim_start_matches([' ', '\t', '\r', '\n']));
    let letters = value.bytes().take(2).take_while(|byte| b"bBrRfFuU@$".contains(byte)).count();
    let literal = value.get(letters..)?;
    let three = ["\"\"\"", "'''"].iter().find_map(|quotes| literal.strip_prefix(quotes));
    if let Some(inside) = three {
        // The value ends with its line or with its quotes.
        return Some((gone(rest, inside.trim_start_matches(['\\', '\r', '\n', ' '])), false));
    }
    let inside = literal.strip_prefix(['"', '\''])?;
    (gone(sign, literal) > gone(sign, sign.trim_start()) || bare.starts_with("=>")).then_some((gone(rest, inside), true))
}

/// What stands in for a look-up that finds nothing: `process.env.NAME || '…'`, `os.getenv('NAME') or '…'`, `ENV['NAME'] ?? "…"`.
fn default(rest: &str) -> Option<(usize, bool)> {
    let bare = rest.trim_start_matches(['"', '\'', ']', ')', ' ']);
    let after = ["||", "??", "or ", "?:"].iter().find_map(|sign| bare.strip_prefix(sign))?;
    let inside = after.trim_start_matches(' ').strip_prefix(['"', '\'', '`'])?;
    Some((gone(rest, inside), true))
}

/// The next argument: `define( 'NAME', '…' )`, `["--name", "…"]`.
fn argument(before: &str, name: &str, rest: &str) -> Option<(usize, bool)> {
    let quote = rest.chars().next().filter(|sign| matches!(sign, '"' | '\''))?;
    let value = rest.strip_prefix(quote)?.trim_start_matches(' ').strip_prefix(',')?;
    let inside = value.trim_start_matches([' ', '\r', '\n']).strip_prefix(quote)?;
    let open = before.strip_suffix(quote)?;
    let fits = name.starts_with("--") || open.trim_end_matches(' ').ends_with("define(");
    fits.then_some((gone(rest, inside), true))
}

/// `<key>name</key>` and `<string>…</string>` of a property list; `{:name "…"}`.
fn property(before: &str, rest: &str) -> Option<(usize, bool)> {
    if before.ends_with("<key>") {
        let inside = rest.strip_prefix("</key>")?.trim_start().strip_prefix("<string>")?;
        return Some((gone(rest, inside), false));
    }
    let symbol = before.strip_suffix(':')?;
    let inside = rest.strip_prefix(" \"")?;
    symbol.ends_with(['{', ' ', '\n', '(']).then_some((gone(rest, inside), true))
}

/// `"name": {"value": "…"`.
fn output(rest: &str) -> Option<(usize, bool)> {
    let object = rest.strip_prefix('"')?.trim_start().strip_prefix(':')?.trim_start().strip_prefix('{')?;
    let value = object.trim_start().strip_prefix("\"value\"")?.trim_start().strip_prefix(':')?;
    let inside = value.trim_start().strip_prefix('"')?;
    Some((gone(rest, inside), true))
}

/// `set -gx NAME …`, `setenv NAME …`, `SetEnv NAME …`, `set(NAME "…")`.
fn word(before: &str, rest: &str) -> Option<(usize, bool)> {
    const COMMANDS: &[&str] = &["setenv ", "SetEnv ", "set -x ", "set -gx ", "set -Ux ", "set -xg ", "set -g "];
    let called = before.ends_with("set(");
    if !called && !COMMANDS.iter().any(|command| before.ends_with(command)) {
        return None;
    }
    let value = rest.strip_prefix(' ')?.trim_start_matches(' ');
    let inside = value.strip_prefix(['"', '\'']);
    let quoted = inside.is_some();
    (quoted || !called).then_some((gone(rest, inside.unwrap_or(value)), quoted))
}

/// `**name:** …`, `**name**: …`, a description `name`, `: …`, and `name` with the value as code behind it: how Markdown lists them.
fn marked(before: &str, rest: &str) -> Option<(usize, bool)> {
    const MARKS: [char; 2] = ['*', '_'];
    let line = before.rsplit('\n').next()?;
    let opens = line.len() <= 32 && line.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '*' | '_' | '>' | '\t'));
    let after = rest.trim_start_matches(MARKS);
    let value = if let Some(below) = after.strip_prefix("\n: ").or_else(|| after.strip_prefix("\n\n: ")) {
        below
    } else if let Some(sign) = after.strip_prefix([':', '=']) {
        let value = sign.trim_start_matches(MARKS);
        (after.len() < rest.len() || value.len() < sign.len()).then_some(value)?
    } else {
        let code = after.strip_prefix(" `")?;
        return (opens && code.contains('`')).then_some((gone(rest, code), true));
    };
    let value = value.trim_start_matches(' ');
    let inside = value.strip_prefix('`');
    opens.then_some((gone(rest, inside.unwrap_or(value)), inside.is_some()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    const VALUE: &str = "q7WxTnc2V8bRy4HsJ5mm";

    #[test]
    fn literals_of_every_language_are_the_values_of_their_names() {
        for (before, after) in [
            ("app.secret_key = b\"", "\"\n"),
            ("PASSWORD = r'", "'\n"),
            ("password=f\"", "\")"),
            ("password = \"\"\"", "\"\"\"\n"),
            ("password = \"\"\"\n", "\"\"\"\n"),
            ("PASSWORD = (\n    \"", "\"\n)\n"),
            ("password = (\"", "\")"),
            ("local password = [[", "]]\n"),
            ("  :password => '", "',\n"),
            ("const key = process.env.API_KEY || '", "';"),
            ("const key = process.env.API_KEY ?? \"", "\";"),
            ("pw = os.getenv('DB_PASSWORD') or '", "'\n"),
            ("pw = ENV['DB_PASSWORD'] || '", "'\n"),
            ("define( 'DB_PASSWORD', '", "' );"),
            ("define( \"DB_PASSWORD\" , \"", "\" );"),
            ("command: [\"redis-server\", \"--requirepass\", \"", "\"]"),
            ("[\"--password\", \"", "\"]"),
            ("<key>apiToken</key>\n\t<string>", "</string>\n"),
            ("{:password \"", "\" :user \"bob\"}"),
            ("{:host \"db\" :api-key \"", "\"}"),
            ("{\"db_password\": {\"value\": \"", "\", \"type\": \"string\"}}"),
            ("\"db_password\": {\n  \"value\": \"", "\",\n"),
            ("set -gx GITHUB_TOKEN ", "\n"),
            ("setenv API_TOKEN ", "\n"),
            ("SetEnv DB_PASSWORD ", "\n"),
            ("set(API_TOKEN \"", "\")\n"),
            ("export GITHUB_PAT=", "\n"),
            ("export AZURE_DEVOPS_EXT_PAT=", "\n"),
            ("NEXTAUTH_SECRET=", "\n"),
            ("NEXT_AUTH_SECRET=", "\n"),
            ("fernet_key = ", "\n"),
            ("**Password:** ", "\n"),
            ("- **Password**: `", "`\n"),
            ("Password\n: ", "\n"),
            ("- Admin password `", "`\n"),
        ] {
            assert_eq!(found_in(&format!("{before}{VALUE}{after}")), [("credential", VALUE)], "{before}");
        }
    }

    #[test]
    fn what_only_stands_beside_a_name_is_no_value_of_it() {
        for text in [
            "password = (\n    \"Enter your password1\"\n)",
            "password = b\"\"",
            "password = f\"{user}{number1}\"",
            "token = f\"{prefix1}-{number2}\"",
            "assert token or \"none\"",
            "const key = process.env.API_KEY || ''",
            "const key = process.env.API_KEY || 'development'",
            "pw = os.getenv('DB_PASSWORD') or 'your_password1'",
            "if password or 'x1' in names:",
            "define( 'DB_PASSWORD', '' );",
            "define( 'DB_PASSWORD', 'password_here' );",
            "f(\"password\", \"user1name\")",
            "[\"--password\", \"$PASSWORD1\"]",
            "<key>token</key>\n<string>com.example.app1</string>",
            "<key>password</key>\n<string></string>",
            "{:password \"\"}",
            "{\"password\": {\"type\": \"string\", \"value\": \"a1b2c3d4e5\"}}",
            "{\"token\": {\"value\": \"\"}}",
            "set(API_TOKEN_FILE \"a1b2c3d4\")",
            "set(TOKEN ${API_TOKEN_2})",
            "SetEnv TOKEN ${HTTP_TOKEN1}",
            "const NEXT_TOKEN = \"q7WxTnc2V8bRy4HsJ5mm\"",
            "NEXT_PUBLIC_TOKEN=q7WxTnc2V8bRy4HsJ5mm",
            "nextPageToken: \"q7WxTnc2V8bRy4HsJ5mm\"",
            "the_path=q7WxTnc2V8bRy4HsJ5mm",
            "a_pattern = \"q7WxTnc2V8bRy4HsJ5mm\"",
            "local tokens = [[index1]]",
            "**Token:** a word such as `and2`",
            "The argument `a1` and the password `b2c3d4e5` of the parser are names",
            "**password** string2 required",
            "token\n: the next lexeme1",
            "tokens = ((\"a1b2c3d4e5f6g7h8\"))",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
