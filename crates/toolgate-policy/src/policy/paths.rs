//! Which root a path is in, and what its text alone decides. A path that is refused here is never opened.

use super::words::first_five;
use crate::manifest::{AllowPattern, FoldedPath, Manifest, Root, RootMode};
use crate::model::{Access, CallPath, Code, Refusal, RelPath, Target, Touch, nearest};

/// What a listing may show of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visible {
    /// It is allowed.
    Yes,
    /// A folder that is not allowed itself, but leads to what is: it may be listed, not touched.
    OnTheWay,
    /// It is left out and counted.
    No,
}

/// Finds the one root a path is in: by name, `ROOT/rest`, or by the root's absolute path.
///
/// # Errors
/// `path_outside_roots`: the same words whatever lies there, and no root is named.
pub fn place(manifest: &Manifest, path: &CallPath) -> Result<Target, Refusal> {
    let found = if path.is_absolute() {
        manifest.roots.iter().find_map(|(name, root)| {
            let rest = root.paths.iter().find_map(|prefix| path.below(prefix))?;
            Some(Target { root: name.clone(), path: rest })
        })
    } else {
        path.segments().split_first().and_then(|(name, _)| {
            let (name, _) = manifest.roots.get_key_value(name)?;
            Some(Target { root: name.clone(), path: path.below(std::slice::from_ref(name))? })
        })
    };
    found.ok_or_else(|| outside(path))
}

/// The refusal of a path in no root.
pub fn outside(path: &impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::PathOutsideRoots, format!("`{path}` is in no folder that this caller may use"))
        .hint("begin the path with the name of a root, as in `ROOT/folder/file`; the resource `toolgate://policy` lists the roots")
}

/// The same refusal for a caller of this profile, with the path that was likely meant: the text alone decides, so that it tells nothing of
/// what lies where. The profile's roots are no secret: its policy names them.
pub(super) fn outside_for(manifest: &Manifest, profile: &str, touch: &Touch) -> Refusal {
    const NAMED: usize = 3;
    let names: Vec<&str> = manifest.roots_of(profile).map(|(name, _)| name.as_str()).collect();
    let roots = match names.as_slice() {
        [] => "no folder is open to this caller".to_owned(),
        [one] => format!("paths begin with the name of a root: `{one}/…`"),
        some => format!("paths begin with the name of a root: `{}/…`", some.join("/…`, `")),
    };
    let meant = meant(manifest, profile, touch, &names);
    let meant: Vec<String> = meant.iter().take(NAMED).map(|target| format!("`{target}`")).collect();
    let hint = if meant.is_empty() { roots } else { format!("did you mean {}? {roots}", meant.join(" or ")) };
    outside(&touch.path).hint(hint)
}

/// The targets that a path in no root may have meant and that the rules allow: in a root of nearly that name, else the path below each root.
fn meant(manifest: &Manifest, profile: &str, touch: &Touch, names: &[&str]) -> Vec<Target> {
    let path = &touch.path;
    let Some(first) = path.segments().first().filter(|_| !path.is_absolute()) else { return Vec::new() };
    let near = nearest(first, names.iter().copied());
    let all = if let Some((root, path)) = near.and_then(|root| Some((root, path.below(std::slice::from_ref(first))?))) {
        vec![Target { root, path }]
    } else {
        let Some(whole) = path.below(&[]) else { return Vec::new() };
        names.iter().map(|root| Target { root: (*root).to_owned(), path: whole.clone() }).collect()
    };
    all.into_iter().filter(|target| judge_text(manifest, profile, target, touch.access).is_ok()).collect()
}

/// The refusal of a spelling that is nobody's own and that nothing new may have.
pub fn unknown_spelling(path: &impl std::fmt::Display) -> Refusal {
    Refusal::new(
        Code::PathMalformed,
        format!("`{path}` is not in Unicode normal form C, or holds a joiner or selector, and no entry has that name"),
    )
    .hint("copy the name of an existing entry from a listing; write a new name in normal form C (NFC), with joiners only in emoji")
}

/// Judges a target by its text: given to the profile, mode, denied patterns, allowed patterns, the root itself.
///
/// # Errors
/// `root_not_in_profile`, `root_read_only`, `path_denied`, `path_not_allowed`, `root_itself`, in this order.
pub fn judge_text(manifest: &Manifest, profile: &str, target: &Target, access: Access) -> Result<(), Refusal> {
    let root = judge_root(manifest, profile, target, access)?;
    judge_patterns(manifest, root, target, access)?;
    if access.writes() && target.path.is_root() {
        return Err(Refusal::new(
            Code::RootItself,
            format!("`{target}` is a root, and a root itself cannot be created, replaced, moved or deleted"),
        )
        .rule(format!("roots.{}", target.root))
        .hint("name a file or folder in it"));
    }
    Ok(())
}

/// Judges the root of a target alone. The file of a database needs no more: the manifest names the very file.
///
/// # Errors
/// `root_not_in_profile`, `root_read_only`.
pub(super) fn judge_root<'m>(manifest: &'m Manifest, profile: &str, target: &Target, access: Access) -> Result<&'m Root, Refusal> {
    let root = given(manifest, profile, target)?;
    if access.writes() && root.mode == RootMode::ReadOnly {
        return Err(Refusal::new(Code::RootReadOnly, format!("`{}` is read only", target.root))
            .rule(format!("roots.{}.mode", target.root))
            .hint("write into another folder, or only read here"));
    }
    Ok(root)
}

/// The root of a target, where the profile has it.
fn given<'m>(manifest: &'m Manifest, profile: &str, target: &Target) -> Result<&'m Root, Refusal> {
    let root = manifest.roots.get(&target.root).ok_or_else(|| outside(target))?;
    if manifest.profiles.get(profile).is_some_and(|rules| rules.has_root(&target.root)) {
        return Ok(root);
    }
    Err(Refusal::new(Code::RootNotInProfile, format!("`{}` is not open to this caller", target.root))
        .rule(format!("profiles.{profile}.roots"))
        .hint("use a folder that `toolgate://policy` names"))
}

/// Judges a path by the denied and allowed patterns alone.
///
/// # Errors
/// `path_denied`, `path_not_allowed`.
pub fn judge_patterns(manifest: &Manifest, root: &Root, target: &Target, access: Access) -> Result<(), Refusal> {
    if let Some((rule, pattern)) = denied_by(manifest, root, target) {
        return Err(Refusal::new(Code::PathDenied, format!("`{target}` is denied by `{pattern}`"))
            .rule(rule)
            .hint("do without it; other ways to it are denied as well"));
    }
    let listed = matches!(access, Access::List);
    if root.allowed.iter().any(|pattern| {
        let run = pattern.run(&target.path);
        run.matches || (listed && run.leads)
    }) {
        return Ok(());
    }
    Err(Refusal::new(Code::PathNotAllowed, format!("`{target}` matches no allowed pattern of `{}`", target.root))
        .rule(format!("roots.{}.allowed_paths", target.root))
        .hint(allowed_hint(&target.root, &root.allowed)))
}

/// The rule and the pattern that deny a path, the root's own first.
pub(super) fn denied_by<'m>(manifest: &'m Manifest, root: &'m Root, target: &Target) -> Option<(String, &'m str)> {
    let path = FoldedPath::of(&target.path);
    let own = root.denied.iter().enumerate().find(|(_, pattern)| pattern.covers(&path));
    if let Some((index, pattern)) = own {
        return Some((format!("roots.{}.denied_paths[{index}]", target.root), pattern.as_str()));
    }
    let (index, pattern) = manifest.files.denied.iter().enumerate().find(|(_, pattern)| pattern.covers(&path))?;
    Some((format!("files.denied_paths[{index}]"), pattern.as_str()))
}

/// What a listing may show of an entry of a root.
pub fn visible(manifest: &Manifest, root: &str, path: &RelPath, is_directory: bool) -> Visible {
    let Some(root) = manifest.roots.get(root) else { return Visible::No };
    let folded = FoldedPath::of(path);
    if root.denied.iter().chain(&manifest.files.denied).any(|pattern| pattern.covers(&folded)) {
        return Visible::No;
    }
    let mut leads = false;
    for pattern in &root.allowed {
        let run = pattern.run(path);
        if run.matches {
            return Visible::Yes;
        }
        leads |= run.leads;
    }
    if leads && is_directory { Visible::OnTheWay } else { Visible::No }
}

/// Names what may be touched in the root, at most five patterns: the caller has the root, so this is no secret.
fn allowed_hint(root: &str, allowed: &[AllowPattern]) -> String {
    if allowed.is_empty() {
        return "nothing is open in this folder; use another one".to_owned();
    }
    format!("open are {}", first_five(allowed.iter().map(|pattern| format!("`{root}/{}`", pattern.as_str()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{DenyPattern, Place, Profile};
    use crate::model::{Bytes, Flags};

    fn root(paths: &str, mode: RootMode, allowed: &[&str], denied: &[&str]) -> Root {
        Root {
            place: Place::Path(paths.to_owned()),
            mode,
            allowed: allowed.iter().map(|text| AllowPattern::parse(text).unwrap()).collect(),
            denied: denied.iter().map(|text| DenyPattern::parse(text).unwrap()).collect(),
            untrusted: Vec::new(),
            quota: None,
            paths: vec![paths.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()],
        }
    }

    fn manifest() -> Manifest {
        let mut manifest = Manifest::default();
        manifest.roots.insert("data".to_owned(), root("/srv/data", RootMode::ReadWrite, &["**"], &["secrets/**"]));
        manifest.roots.insert("lib".to_owned(), root("/usr/lib", RootMode::ReadOnly, &["a/*.txt"], &[]));
        manifest.files.denied.push(DenyPattern::parse("**/.env*").unwrap());
        for (name, roots) in [("all", None), ("lib", Some(vec!["lib".to_owned()]))] {
            let profile = Profile { permissions: Flags::FULL, roots, ..Profile::default() };
            manifest.profiles.insert(name.to_owned(), profile);
        }
        manifest
    }

    fn judged(profile: &str, path: &str, access: Access) -> Result<(), (Code, Option<String>)> {
        let manifest = manifest();
        CallPath::parse(path)
            .and_then(|path| place(&manifest, &path))
            .and_then(|target| judge_text(&manifest, profile, &target, access))
            .map_err(|refusal| (refusal.code, refusal.rule))
    }

    #[test]
    fn a_path_is_in_one_root_by_name_or_by_absolute_path() {
        let manifest = manifest();
        let placed = |path: &str| place(&manifest, &CallPath::parse(path).unwrap()).map(|target| target.to_string()).map_err(|r| r.code);
        assert_eq!(placed("data/a"), Ok("data/a".to_owned()));
        assert_eq!(placed("/srv/data/a"), Ok("data/a".to_owned()));
        assert_eq!(placed("/srv/data/"), Ok("data".to_owned()));
        for path in ["/", "/srv", "/srv/database/a", "a.txt", "~/a", "$HOME/a", "Data/a", "/data/a"] {
            assert_eq!(placed(path), Err(Code::PathOutsideRoots), "{path}");
        }
    }

    #[test]
    fn no_refusal_outside_the_roots_names_a_root_or_a_host_path() {
        let refusal = place(&manifest(), &CallPath::parse("/etc/passwd").unwrap()).unwrap_err().to_string();
        assert!(!refusal.contains("data") && !refusal.contains("/srv") && !refusal.contains("lib"), "{refusal}");
    }

    #[test]
    fn the_text_of_a_path_decides_before_anything_is_opened() {
        let rule = |code, rule: &str| Err((code, Some(rule.to_owned())));
        assert_eq!(judged("all", "data/a", Access::Write(Bytes(1))), Ok(()));
        assert_eq!(judged("lib", "data/a", Access::Read), rule(Code::RootNotInProfile, "profiles.lib.roots"));
        assert_eq!(judged("all", "lib/a/x.txt", Access::Read), Ok(()));
        assert_eq!(judged("all", "lib/a/x.txt", Access::Write(Bytes(1))), rule(Code::RootReadOnly, "roots.lib.mode"));
        assert_eq!(judged("all", "data/SECRETS/k", Access::Read), rule(Code::PathDenied, "roots.data.denied_paths[0]"));
        assert_eq!(judged("all", "data/x/.ENVRC", Access::Stat), rule(Code::PathDenied, "files.denied_paths[0]"));
        assert_eq!(judged("all", "lib/b", Access::Read), rule(Code::PathNotAllowed, "roots.lib.allowed_paths"));
        assert_eq!(judged("all", "lib/a", Access::List), Ok(()));
        assert_eq!(judged("all", "lib", Access::List), Ok(()));
        assert_eq!(judged("all", "lib/a", Access::Stat), rule(Code::PathNotAllowed, "roots.lib.allowed_paths"));
        assert_eq!(judged("all", "data", Access::Delete { recursive: true }), rule(Code::RootItself, "roots.data"));
    }

    #[test]
    fn a_listing_shows_what_is_allowed_and_the_way_to_it() {
        let manifest = manifest();
        let seen = |root: &str, path: &str, is_directory| visible(&manifest, root, &RelPath::parse(path).unwrap(), is_directory);
        assert_eq!(seen("lib", "a", true), Visible::OnTheWay);
        assert_eq!(seen("lib", "a", false), Visible::No);
        assert_eq!(seen("lib", "a/x.txt", false), Visible::Yes);
        assert_eq!(seen("lib", "b", true), Visible::No);
        assert_eq!(seen("data", "secrets", true), Visible::No);
        assert_eq!(seen("data", "x/.env", false), Visible::No);
    }

    #[test]
    fn a_path_without_its_root_is_refused_with_the_ones_it_may_have_meant() {
        let hint = |profile: &str, path: &str, access| {
            let touch = Touch { path: CallPath::parse(path).unwrap(), access };
            outside_for(&manifest(), profile, &touch).hint.unwrap()
        };
        assert_eq!(
            hint("all", "src/a.js", Access::Read),
            "did you mean `data/src/a.js`? paths begin with the name of a root: `data/…`, `lib/…`"
        );
        assert!(hint("all", "a/b.txt", Access::Read).starts_with("did you mean `data/a/b.txt` or `lib/a/b.txt`? "));
        assert!(hint("all", "a/b.txt", Access::Edit).starts_with("did you mean `data/a/b.txt`? "), "lib is read only");
        assert!(hint("all", "dta/x", Access::Read).starts_with("did you mean `data/x`? "));
        // What is denied, or is another profile's, is not proposed; nor is anything for an absolute path.
        assert_eq!(
            hint("all", "secrets/key", Access::Read).split('?').next(),
            Some("paths begin with the name of a root: `data/…`, `lib/…`")
        );
        assert_eq!(hint("lib", "src/a.js", Access::Read), "paths begin with the name of a root: `lib/…`");
        assert_eq!(hint("all", "/etc/passwd", Access::Read), "paths begin with the name of a root: `data/…`, `lib/…`");
    }
}
