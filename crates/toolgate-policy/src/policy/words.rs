//! The manifest in plain words: what a model may do under its profile. It names no host path and nothing the profile cannot use.

use std::fmt::Write;

use crate::manifest::{Check, DatabaseUrl, DenyPattern, DomainPattern, Manifest, Mode, Place, Root, RootMode};
use crate::model::{Flag, Level, ToolSpec};

/// What a caller of this profile may do, as Markdown.
pub fn in_words(manifest: &Manifest, profile: Option<&str>, tools: &[&ToolSpec]) -> String {
    let mut text = String::from(
        "# What you may do here\n\nWhat is not listed is denied. A refusal names its rule; repeating the call does not help.\n",
    );
    let Some((name, rules)) = profile.and_then(|name| manifest.profiles.get_key_value(name)) else {
        text.push_str("\nYou have no profile: every call is refused.\n");
        return text;
    };
    let _ = writeln!(text, "\nProfile `{name}`. Tools: {}.", list(tools.iter().map(|spec| format!("`{}`", spec.name))));
    folders(&mut text, manifest, name);
    let programs = super::python_network(manifest, name) && tools.iter().any(|spec| spec.name == "run_python");
    if programs || rules.permissions.contains(Flag::NetworkAccess) && tools.iter().any(|spec| spec.name == "fetch") {
        network(&mut text, manifest);
    }
    if rules.permissions.contains(Flag::ExecuteCode) && tools.iter().any(|spec| spec.name == "run_python") {
        python(&mut text, manifest, name, programs);
    }
    if tools.iter().any(|spec| spec.flags.contains(Flag::DatabaseRead)) {
        databases(&mut text, manifest);
    }
    if tools.iter().any(|spec| spec.flags.contains(Flag::SendEmail)) {
        let mail = &manifest.mail;
        let to = list(mail.allowed_recipients.iter().map(|to| format!("`{to}`")));
        let _ = writeln!(text, "\n## Mail\n- to: {to}; up to {} recipients a mail, {} mails an hour", mail.max_recipients, mail.per_hour);
    }
    approvals(&mut text, manifest);
    text
}

/// The roots of a profile in one line, e.g. "`project` (read only), `work` (read and write)"; `none` where it has none.
pub fn roots_in_line(manifest: &Manifest, profile: &str) -> String {
    list(manifest.roots_of(profile).map(|(name, root)| format!("`{name}` ({})", mode(root))))
}

/// The roots of a profile as a tool's description names them, e.g. "docs (read only), work"; `none` where it has none.
pub fn roots_in_short(manifest: &Manifest, profile: &str) -> String {
    list(manifest.roots_of(profile).map(|(name, root)| match root.mode {
        RootMode::ReadOnly => format!("{name} (read only)"),
        RootMode::ReadWrite => name.clone(),
    }))
}

/// The items with commas between; `none` where there is none.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// The first five of a list, and whether there are more.
pub(super) fn first_five(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = if items.len() > 5 { " and others" } else { "" };
    format!("{}{more}", list(items.take(5)))
}

/// A root as a program sees it, with what it may do there, e.g. "`/roots/project` (read only)".
pub fn seen_root((name, writes): (&str, bool)) -> String {
    format!("`/roots/{name}` ({})", access(writes))
}

/// What may be done in a root, in words.
pub fn mode(root: &Root) -> &'static str {
    access(root.mode == RootMode::ReadWrite)
}

const fn access(writes: bool) -> &'static str {
    if writes { "read and write" } else { "read only" }
}

fn folders(text: &mut String, manifest: &Manifest, profile: &str) {
    text.push_str("\n## Folders\n");
    for (name, root) in manifest.roots_of(profile) {
        let _ = writeln!(text, "- `{name}/…`: {}", folder(root));
    }
    if manifest.roots_of(profile).next().is_none() {
        text.push_str("- none\n");
    }
    if !manifest.files.denied.is_empty() {
        let _ = writeln!(text, "- denied in every folder: {}", patterns(&manifest.files.denied));
    }
    let _ = writeln!(
        text,
        "- a file up to {} is read whole or written; answers are cut at {} and say how to go on",
        manifest.files.max_file_size, manifest.files.max_answer
    );
}

fn folder(root: &Root) -> String {
    let mut words = vec![mode(root).to_owned()];
    if root.place == Place::Session {
        words.push("your own scratch folder, gone when the session ends".to_owned());
    }
    let allowed: Vec<String> = root.allowed.iter().map(|pattern| format!("`{}`", pattern.as_str())).collect();
    words.push(match allowed.as_slice() {
        [] => "nothing in it is open".to_owned(),
        [all] if all == "`**`" => "everything in it".to_owned(),
        some => format!("only {}", some.join(", ")),
    });
    if !root.denied.is_empty() {
        words.push(format!("denied: {}", patterns(&root.denied)));
    }
    words.join("; ")
}

fn patterns(denied: &[DenyPattern]) -> String {
    list(denied.iter().map(|pattern| format!("`{}`", pattern.as_str())))
}

fn network(text: &mut String, manifest: &Manifest) {
    let rules = &manifest.network;
    text.push_str("\n## Web\n");
    let domains = |domains: &[DomainPattern]| domains.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>();
    let open = if rules.any_public { vec!["any public host".to_owned()] } else { domains(&rules.allowed_domains) };
    // Internal addresses are listed one by one, whatever else is open.
    let _ = writeln!(text, "- hosts: {}", list(open.into_iter().chain(rules.internal.iter().map(|address| format!("`{address}`")))));
    if !rules.denied_domains.is_empty() {
        let _ = writeln!(text, "- never: {}", domains(&rules.denied_domains).join(", "));
    }
    for (name, secret) in &rules.secrets {
        let hosts = domains(&secret.hosts).join(", ");
        let _ = writeln!(text, "- a header may hold `${{secret:{name}}}` for {hosts}; you never see its value");
    }
    text.push_str("- private, loopback and metadata addresses are never reached unless listed; every redirect is judged again\n");
    let _ = writeln!(text, "- a response up to {}; GET and HEAD read, every other method sends and asks a person", rules.max_response);
}

fn databases(text: &mut String, manifest: &Manifest) {
    text.push_str("\n## Databases\n");
    for (name, database) in &manifest.databases {
        let mut words = match database.url {
            Some(DatabaseUrl::Sqlite(_)) => vec!["SQLite".to_owned()],
            Some(DatabaseUrl::Postgres { .. }) => vec!["PostgreSQL, with `$1` for the first parameter".to_owned()],
            None => Vec::new(),
        };
        words.push(access(database.mode == RootMode::ReadWrite).to_owned());
        words.push(format!("answers of up to {} rows", database.max_rows));
        if database.mode == RootMode::ReadWrite {
            words.push(format!("a statement may change up to {} rows", database.max_changes));
        }
        let denied: Vec<String> = database.denied_tables.iter().chain(&database.denied_columns).map(|name| format!("`{name}`")).collect();
        if !denied.is_empty() {
            words.push(format!("denied: {}", denied.join(", ")));
        }
        let _ = writeln!(text, "- `{name}`: {}", words.join("; "));
    }
}

fn python(text: &mut String, manifest: &Manifest, profile: &str, reaches: bool) {
    let rules = &manifest.python;
    text.push_str("\n## Python\n");
    let imports = match rules.check {
        Check::Off => "any (the jail alone decides)".to_owned(),
        _ if rules.allowed_imports.iter().any(|name| name == "*") => "any that is installed".to_owned(),
        _ if rules.allowed_imports.is_empty() && rules.installed.is_empty() => "none".to_owned(),
        _ => rules.allowed_imports.iter().chain(&rules.installed).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    };
    let _ = writeln!(text, "- imports: {imports}");
    let roots = super::python_roots(manifest, profile);
    let seen = list(roots.iter().copied().map(seen_root));
    let _ = writeln!(text, "- folders it sees: {seen} and a private `/tmp` of {}", rules.scratch);
    if rules.check == Check::Imports && !roots.is_empty() {
        text.push_str("- and modules of these folders, unless a refusal says that `imports` acts as `strict`: `NAME.py`, or a folder `NAME` with `.py` files, ");
        text.push_str("at the top or in `src`; they import what the program may import\n");
    }
    text.push_str(if reaches {
        "- network: the hosts above, through the HTTP proxy that `http_proxy` and `https_proxy` name; no other way, no DNS, no UDP\n"
    } else {
        "- network: none\n"
    });
    let _ = writeln!(
        text,
        "- limits: {} s of wall time, {} s of CPU, {} of memory, {} processes, {} of output a stream",
        rules.timeout.as_secs(),
        rules.cpu.as_secs(),
        rules.memory,
        rules.processes,
        rules.output
    );
}

fn approvals(text: &mut String, manifest: &Manifest) {
    const WHAT: [&str; 5] = [
        "reading, GET",
        "creating something new, Python that writes only its own scratch",
        "changing what exists, Python that sees a writable folder",
        "deleting, overwriting by a move, moving into a session's scratch, changing what runs later, sending",
        "system changes",
    ];
    text.push_str("\n## What asks a person\n");
    for (level, what) in Level::ALL.into_iter().zip(WHAT) {
        let mode = match manifest.approvals.mode(level) {
            Mode::None => "allowed",
            Mode::First => "asks once for each target and session",
            Mode::Every => "asks every time",
            Mode::Operator => "asks an operator, not you or your client",
            Mode::Deny => "refused",
        };
        let _ = writeln!(text, "- {what}: {mode}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Flags;

    #[test]
    fn the_words_say_what_is_open_and_nothing_of_the_machine() {
        let mut manifest = Manifest::builtin();
        manifest.python.allowed_imports = vec!["math".to_owned()];
        let spec = ToolSpec { name: "run_python", flags: Flags::of(&[Flag::ExecuteCode]), arguments: &[], inside: &[], alike: &[] };
        let text = in_words(&manifest, Some("standard"), &[&spec]);
        for part in ["`run_python`", "`work/…`: read and write", "imports: `math`", "asks every time", "network: none"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("## Web"), "a tool that is not listed is not described");
        assert!(in_words(&manifest, None, &[]).contains("every call is refused"));
    }
}
