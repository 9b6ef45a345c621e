//! The run-time complement: an import hook for what reading cannot decide, and audit events.

use super::rules::{Check, Imports, Rules};
use super::tables;

/// Python source of a hook that enforces the same import allowlist, with the same message, where a name is worked out at run time.
///
/// Run it in the jail with a namespace of its own; it leaves there two functions. `guard(namespace, record=None)` is called with the globals
/// the program will run in, `watch(record)` where what is to be recorded is known only later. Then the program is run in those globals,
/// compiled from the text of [`super::Report::source`]:
///
/// ```text
/// hook = {}
/// exec(hook_source, hook)
/// program = sys.modules["__main__"].__dict__
/// hook["guard"](program, record)
/// exec(compile(source, "<program>", "exec"), program)
/// ```
///
/// The program gets builtins of its own: its imports pass the allowlist, and in strict mode `eval`, `exec` and their kin are absent.
/// Modules keep the real builtins, so that what an allowed module imports, also lazily, works as ever, and tracebacks print. Modules of roots have
/// the builtins of the program: what they import passes the allowlist as well.
/// `record(event, detail)` is called for at most [`EVENTS`] audit events that an ordinary program never causes; it runs inside the
/// event, so it should only append. An audit hook cannot be removed again: in a process that runs several programs, pass `record` once.
///
/// This is a tripwire and no wall: audit events do not fire for reading `__globals__` or `__builtins__`, and code that reaches the real
/// builtins passes by. The wall is the jail.
pub fn import_hook(rules: &Rules) -> String {
    let judged = rules.check != Check::Off;
    let (every, allowed): (bool, Vec<&str>) = match &rules.imports {
        Imports::Listed(listed) if judged => (false, listed.iter().map(String::as_str).collect()),
        Imports::Listed(_) | Imports::All => (true, Vec::new()),
    };
    let strict = rules.check == Check::Strict;
    let absent = tables::ABSENT_BUILTINS.words.iter().copied();
    let refused: Vec<&str> = absent.filter(|name| strict && !rules.allowed_calls.contains(*name)).collect();
    include_str!("hook.py")
        .replace("@ALLOWED@", &list(&allowed))
        .replace("@EVERY@", if every { "True" } else { "False" })
        .replace("@IMPLIED@", &list(&tables::IMPLIED_MODULES.words))
        .replace("@REFUSED@", &list(&refused))
        .replace("@SHOWN@", &quoted(&rules.shown_imports("")))
        .replace("@WATCHED@", &list(&tables::WATCHED_EVENTS.words))
        .replace("@ROOTS@", if !judged || rules.imports_from_roots() { "True" } else { "False" })
        .replace("@EVENTS@", &EVENTS.to_string())
}

/// How many audit events are recorded at most.
pub const EVENTS: usize = 100;

/// A string both languages read alike.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    format!("[{}]", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_template_is_left_and_names_cannot_break_out() {
        let rules = Rules::strict(["json", "a\"]); import os #", "b\\"]);
        let source = import_hook(&rules);
        assert!(!source.contains('@'));
        assert!(source.contains(r#"frozenset(["a\"]); import os #", "b\\", "json"])"#), "{source}");
    }

    #[test]
    fn without_a_check_every_import_and_builtin_stays() {
        let rules = Rules { check: Check::Off, ..Rules::default() };
        let source = import_hook(&rules);
        assert!(source.contains("every = True") && source.contains("refused = []"));
    }
}
