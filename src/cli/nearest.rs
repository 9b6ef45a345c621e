//! The pattern that came nearest to allowing a call, and why it does not.

use super::change::refused_target;
use super::decide::Decided;
use crate::manifest::{AllowPattern, Manifest, fold};
use crate::model::{Code, Host, HttpUrl, RelPath};

/// The nearest pattern and why it failed, for a path or host that nothing allows.
pub(super) fn failed(manifest: &Manifest, decided: &Decided) -> Option<String> {
    match decided.verdict.code {
        Code::PathNotAllowed => {
            let target = refused_target(manifest, decided)?;
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
    let found = allowed.iter().enumerate().find_map(|(index, pattern)| Some((index, pattern, slip(pattern, path)?)));
    let (index, pattern, why) = found?;
    let at = manifest.spans.locate(&format!("{rule}[{index}]")).map(|place| format!(" (line {})", place.line)).unwrap_or_default();
    Some(format!("`{}`{at}: {why}", pattern.as_str()))
}

/// Why a pattern does not match, where the reason is a known slip.
fn slip(pattern: &AllowPattern, path: &RelPath) -> Option<String> {
    let text = pattern.as_str();
    let matches = |other: &str| AllowPattern::parse(other).is_ok_and(|other| other.matches(path));
    let deep = text.split('/').map(|part| if part == "*" { "**" } else { part }).collect::<Vec<_>>().join("/");
    if deep != text && matches(&deep) {
        let is_folder = pattern.run(path).leads && path.segments().len() < text.split('/').count();
        let folder = "`x/*` is what is in the folder, not the folder itself; `x/**` is both";
        return Some(if is_folder { folder } else { "`*` stops at a folder; `**` crosses folders" }.to_owned());
    }
    if matches(&format!("**/{text}")) {
        return Some(format!("patterns begin at the root; `**/{text}` matches anywhere"));
    }
    let folded = RelPath::parse(&fold(&path.to_string())).ok()?;
    if AllowPattern::parse(&fold(text)).is_ok_and(|pattern| pattern.matches(&folded)) {
        return Some("what is allowed must be written exactly; upper and lower case differ here".to_owned());
    }
    matches(&format!("{text}/**")).then(|| format!("it is the folder alone; `{text}/**` is all below it as well"))
}

fn host(manifest: &Manifest, name: &str) -> Option<String> {
    manifest.network.allowed_domains.iter().map(ToString::to_string).find_map(|pattern| {
        if pattern.strip_prefix("*.") == Some(name) {
            return Some(format!("`{pattern}`: it is any subdomain, not the bare name; list `{name}` as well"));
        }
        let is_below = name.strip_suffix(pattern.as_str()).is_some_and(|front| front.ends_with('.'));
        is_below.then(|| format!("`{pattern}`: it is this name alone; `*.{pattern}` is its subdomains"))
    })
}
