//! The pattern that came nearest to allowing a call, and why it does not.

use super::decide::Decided;
use crate::manifest::{AllowPattern, Manifest, fold};
use crate::model::{Code, Host, HttpUrl, RelPath};
use crate::policy::paths::place;

/// The nearest pattern and why it failed, for a path or host that nothing allows.
pub(super) fn failed(manifest: &Manifest, decided: &Decided) -> Option<String> {
    match decided.verdict.code {
        Code::PathNotAllowed => {
            let touches = decided.action.as_ref()?.touches();
            let target = touches.iter().filter_map(|touch| place(manifest, &touch.path).ok()).find(|target| {
                // The one the refusal speaks of.
                decided.verdict.message.contains(&format!("`{target}`"))
            })?;
            path(&manifest.roots.get(&target.root)?.allowed, &target.path, &format!("roots.{}.allowed_paths", target.root), manifest)
        }
        Code::DomainNotAllowed => {
            let crate::model::Action::Fetch(fetch) = decided.action.as_ref()? else { return None };
            let url = HttpUrl::parse(&fetch.url).ok()?;
            let Host::Name(name) = url.host() else { return None };
            host(manifest, name)
        }
        _ => None,
    }
}

fn path(allowed: &[AllowPattern], path: &RelPath, rule: &str, manifest: &Manifest) -> Option<String> {
    let (index, pattern) = allowed.iter().enumerate().max_by_key(|(index, pattern)| {
        let near = why(pattern, path).1;
        (near, pattern.run(path).depth, std::cmp::Reverse(*index))
    })?;
    let at = manifest.spans.locate(&format!("{rule}[{index}]")).map(|place| format!(" (line {})", place.line)).unwrap_or_default();
    Some(format!("`{}`{at}: {}", pattern.as_str(), why(pattern, path).0))
}

/// Why a pattern does not match, and whether the reason is a known slip.
fn why(pattern: &AllowPattern, path: &RelPath) -> (String, bool) {
    let text = pattern.as_str();
    let matches = |other: &str| AllowPattern::parse(other).is_ok_and(|other| other.matches(path));
    if text.split('/').any(|part| part == "*")
        && matches(&text.split('/').map(|part| if part == "*" { "**" } else { part }).collect::<Vec<_>>().join("/"))
    {
        if pattern.run(path).leads && path.segments().len() < text.split('/').count() {
            return ("`x/*` is what is in the folder, not the folder itself; `x/**` is both".to_owned(), true);
        }
        return ("`*` stops at a folder; `**` crosses folders".to_owned(), true);
    }
    if matches(&format!("**/{text}")) {
        return (format!("patterns begin at the root; `**/{text}` matches anywhere"), true);
    }
    let folded = RelPath::parse(&fold(&path.to_string()));
    if folded.is_ok_and(|folded| AllowPattern::parse(&fold(text)).is_ok_and(|pattern| pattern.matches(&folded))) {
        return ("what is allowed must be written exactly; upper and lower case differ here".to_owned(), true);
    }
    if matches(&format!("{text}/**")) {
        return (format!("it is the folder alone; `{text}/**` is all below it as well"), true);
    }
    let last = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
    let (part, name) = (last(text), path.segments().last().cloned().unwrap_or_default());
    if part != "**"
        && !name.is_empty()
        && RelPath::parse(&name).is_ok_and(|name| AllowPattern::parse(&part).is_ok_and(|part| !part.matches(&name)))
    {
        return (format!("its last part `{part}` does not match `{name}`"), false);
    }
    let depth = pattern.run(path).depth;
    match path.segments().get(depth) {
        Some(name) => (format!("it does not match from `{name}` on"), false),
        None => ("it is longer than the path".to_owned(), false),
    }
}

fn host(manifest: &Manifest, name: &str) -> Option<String> {
    let domains = &manifest.network.allowed_domains;
    let shown: Vec<String> = domains.iter().map(ToString::to_string).collect();
    for pattern in &shown {
        if pattern.strip_prefix("*.") == Some(name) {
            return Some(format!("`{pattern}`: it is any subdomain, not the bare name; list `{name}` as well"));
        }
        if name.strip_suffix(pattern.as_str()).is_some_and(|front| front.ends_with('.')) {
            return Some(format!("`{pattern}`: it is this name alone; `*.{pattern}` is its subdomains"));
        }
    }
    let (distance, pattern) =
        shown.iter().map(|pattern| (strsim::damerau_levenshtein(name, pattern.trim_start_matches("*.")), pattern)).min()?;
    (distance <= name.len() / 3).then(|| format!("`{pattern}`: it is another name"))
}
