//! Where a key may begin: after what ends a word, after a character that is written as a code, and, as its kind allows, inside a word.

use serde::Deserialize;

use super::strength::{entropy, is_program_text};

/// What may stand before a key besides the end of a word and a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Left {
    /// Nothing: its beginning is that of other values, or the end of names.
    Word,
    /// `-` or `_`: words end like its beginning, but no name goes on with it and a value drawn at random.
    #[default]
    Name,
    /// Any letter as well: nothing else holds its beginning.
    Any,
    /// Everything but a letter or a digit.
    Edge,
    /// Everything.
    Open,
}

/// Whether a key with this body may begin at `start`. `mixes_cases`: its alphabet has letters of both cases.
pub(super) fn begins(text: &str, start: usize, left: Left, body: &str, mixes_cases: bool) -> bool {
    let bytes = text.as_bytes();
    let is_random = || !mixes_cases || is_random(body);
    match start.checked_sub(1).and_then(|at| bytes.get(at)) {
        _ if left == Left::Open => true,
        Some(byte) if byte.is_ascii_alphanumeric() => is_after_code(bytes, start) || left == Left::Any && is_random(),
        Some(b'-' | b'_') if left != Left::Edge => opens_line(bytes, start) || left != Left::Word && is_random(),
        _ => left != Left::Word || !is_inside_base64(bytes, start),
    }
}

/// Whether a key begins inside a long run of base64: four letters of it are in every such run.
fn is_inside_base64(bytes: &[u8], start: usize) -> bool {
    /// No path of an address is as long without any other sign.
    const RUN: usize = 100;
    let before = bytes.get(start.saturating_sub(RUN)..start).unwrap_or_default();
    before.len() == RUN && before.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Whether only marks of changed lines, of lists and of quotes stand between the beginning of the line and `start`.
fn opens_line(bytes: &[u8], start: usize) -> bool {
    const MARKS: usize = 16;
    let mut before = bytes.get(start.saturating_sub(MARKS)..start).unwrap_or_default().iter().rev();
    let first = before.find(|byte| !matches!(byte, b'-' | b'+' | b'>' | b' ' | b'\t' | b'"' | b'\''));
    first.map_or(start <= MARKS, |byte| matches!(byte, b'\n' | b'\r'))
}

/// Whether a code ends at `at`: `%3D`, `=3D` (RFC 2045), `\n`, `\x0a`, `\012`, `\u000a`, `ESC [ 32 m` (ECMA-48) with an `ESC` of any spelling.
fn is_after_code(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(at.saturating_sub(12)..at).unwrap_or_default();
    let hex = |digits: usize| before.iter().rev().take(digits).filter(|byte| byte.is_ascii_hexdigit()).count() == digits;
    let after = |length: usize, sign: &[u8]| {
        before.len().checked_sub(length).and_then(|to| before.get(..to)).is_some_and(|before| before.ends_with(sign))
    };
    let octal = (1..=3).any(|digits| after(digits, b"\\") && before.iter().rev().take(digits).all(|byte| matches!(byte, b'0'..=b'7')));
    let letter = before.last().is_some_and(|byte| b"abefnrtv".contains(byte)) && after(1, b"\\");
    letter
        || octal
        || hex(2) && (after(2, b"%") || after(2, b"=") || after(2, b"\\x"))
        || hex(4) && after(4, b"\\u")
        || hex(8) && after(8, b"\\U")
        || is_after_control(bytes, at)
}

/// Whether a control sequence ends at `at`.
fn is_after_control(bytes: &[u8], at: usize) -> bool {
    const ESCAPES: &[&[u8]] = &[b"\x1b", b"\\e", b"\\E", b"\\x1b", b"\\x1B", b"\\033", b"\\u001b", b"\\u001B", b"\\u{1b}", b"^["];
    const PARAMETERS: usize = 24;
    let before = bytes.get(at.saturating_sub(PARAMETERS + 8)..at).unwrap_or_default();
    let Some((b'@'..=b'~', before)) = before.split_last() else { return false };
    let parameters = before.iter().rev().take(PARAMETERS).take_while(|byte| matches!(byte, b' '..=b'?')).count();
    let before = before.get(..before.len() - parameters).and_then(|before| before.strip_suffix(b"["));
    before.is_some_and(|before| ESCAPES.iter().any(|escape| before.ends_with(escape)))
}

/// Whether a body was drawn from letters of both cases and digits: names of functions, of files and of releases, and their digests, are not.
fn is_random(body: &str) -> bool {
    let count = |test: fn(&u8) -> bool| body.bytes().filter(test).count();
    let (lower, upper, digits) = (count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase), count(u8::is_ascii_digit));
    // A small letter follows each capital of a name in camel case, and hardly a digit stands in it; of characters drawn at random, it follows half.
    let pairs = body.bytes().zip(body.bytes().skip(1).chain([b'_']));
    let loose = pairs.filter(|(first, next)| first.is_ascii_uppercase() && !next.is_ascii_lowercase()).count();
    let drawn = lower.min(upper) * 8 > lower + upper && (digits * 10 >= body.len() || loose * 4 > upper);
    drawn && entropy(body) >= 3.3 && (digits == 0 || !is_program_text(body))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;

    /// One of each form of beginning.
    const KEYS: &[&str] = &[
        "ghp_Zk3Vq8Rw1Tn6Yb4Xc9Mf2Ld7Hs5Jg0Pa3EuQ",
        "AKIAQ7ZT3N5WXK2VPLMR",
        "glpat-q7WxTnc2V8bRy4HsJ5mm",
        "xoxb-214365870912-436587091234-Q7wXtNC2v8BrY4hSj5MMkq2z",
        "sk_live_q7WxTnc2V8bRy4HsJ5mmQ2zt",
        "sk-proj-q7WxTnc2V8bRy4HsJ5mm-q7WxTnc2V8b_Ry4HsJ5mmT3BlbkFJ",
        "sk-ant-api03-q7WxTnc2V8bRy4HsJ5mm-q7WxTnc2V8b_Ry4HsJ5mmAA",
        "AIzaSyq7WxTnc2V8bRy4HsJ5mm-q7WxTnc2V8b_",
        "npm_q7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bRy4Hs",
        "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",
        "pypi-AgEIcHlwaS5vcmcCJq7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8b",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.q7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bRy4HsJ5m",
        "dapi0f3c27e4a1d8f60b7e52c9a13d4f8e6b",
        "SK9f3c27e4a1d8f60b7e52c9a13d4f8e6b",
        "214365870:AAq7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bRy",
        "aB78Q~q7WxTnc2V8bRy4HsJ5mmq7WxTnc2V8bR",
    ];

    #[test]
    fn keys_begin_after_codes_and_marks_of_lines() {
        // A key that is a number at first goes on with the digits of a code before it.
        for key in KEYS {
            for before in [
                "",
                "-",
                "+",
                "a\n-",
                "a\n  - ",
                "a\n--",
                "\\n",
                "\\t",
                "\\r\\n",
                "\\\\n",
                "\\u000a",
                "\\x0a",
                "\\012",
                "\\0",
                "=3D",
                "=0A",
                "%3D",
                "\x1b[32m",
                "\x1b[1;31m",
                "\\x1b[0m",
                "\\033[0;32m",
                "\\u001b[38;5;10m",
                "\\e[1m",
                "^[[1m",
                "x=",
                "/",
                "é",
                "日",
            ] {
                if key.starts_with(|c: char| c.is_ascii_digit()) && before.ends_with(|c: char| c.is_ascii_digit()) {
                    continue;
                }
                let found = found_in(&format!("{before}{key} end")).into_iter().map(|(_, value)| value.to_owned()).collect::<Vec<_>>();
                assert_eq!(found, [*key], "{before:?}");
            }
        }
    }

    #[test]
    fn keys_with_a_beginning_of_their_own_stand_inside_names() {
        for key in KEYS.iter().take(12) {
            for before in ["f_", "sub_", "x-", "a token-", "my_"] {
                let found = found_in(&format!("{before}{key} end")).into_iter().map(|(_, value)| value.to_owned()).collect::<Vec<_>>();
                assert_eq!(found, [*key], "{before:?}");
            }
        }
        for key in [
            "ghp_Zk3Vq8Rw1Tn6Yb4Xc9Mf2Ld7Hs5Jg0Pa3EuQ",
            "glpat-q7WxTnc2V8bRy4HsJ5mm",
            "xoxb-214365870912-436587091234-Q7wXtNC2v8BrY4hSj5MMkq2z",
        ] {
            assert_eq!(found_in(&format!("token=N{key}")).len(), 1, "{key}");
        }
    }

    #[test]
    fn a_beginning_of_four_letters_inside_of_base64_is_none_of_a_key() {
        let key = "EAAAoBUAACMUAACJEgAAixQAAE0VAADUEQAAzxQAq7WxTnc2V8bRy4HsJ5mm";
        let code = "AGFzbQEAAAABJwdgAX8Bf2ADf39".repeat(4);
        assert_eq!(found_in(&format!("Buffer.from('{code}/{key}AA', 'base64')")), []);
        assert_eq!(found_in(&format!("https://a.example/{key}")).len(), 1);
    }

    #[test]
    fn words_names_and_digests_that_end_like_a_beginning_are_left_alone() {
        for text in [
            "task-0f3c27e4a1d8f60b7e52c9a13d4f8e6b",
            "disk-proj-7f3c27e4-a1d8-4f60-b7e5-2c9a13d4f8e6",
            "ask-admin-team-to-restart-the-service-of-2024-or-2025",
            "risk_live_q7wxtnc2v8bry4hsj5mm",
            "messages-sk-d41d8cd98f00b204e9800998ecf8427e.js",
            "web-api-0f3c27e4a1d8f60b7e52c9a13d4f8e6b0f3c27e4",
            "cache-key-0f3c27e4a1d8f60b7e52c9a13d4f8e6b",
            "git-fc-0f3c27e4a1d8f60b7e52c9a13d4f8e6b",
            "test_hf_tokenizerLoadsTheModelFromItsFolder1",
            "run_npm_installEverythingThatIsInThePackage2",
            "SLOVAKIA1234567890ABCDEF",
            "pnpm_configurationOfTheWorkspaceOfThisPackage3",
            "assert_secret_valuesAreNeverWrittenToTheLogOfTheServer12",
            "the highs_andTheLowsOfTheCurveAreDrawnInTheChart12",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
