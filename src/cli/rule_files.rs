//! The operator's rules in the files of the folder that `[filters] rules_dir` names.

#![expect(clippy::disallowed_methods, reason = "the folder is one that the manifest names")]

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::manifest::ContentRules;
use crate::manifest::{Fault, Manifest};

/// Adds the rules of the folder to those of the manifest, and the texts of its files to the digest: a manifest with other rules is another one.
/// `base`: the folder of the manifest.
/// # Errors  A fault for each file and each rule that cannot be used.
pub(super) fn add(manifest: &mut Manifest, base: &Path) -> Result<(), Vec<Fault>> {
    let Some(folder) = manifest.filters.rules_dir.clone() else { return Ok(()) };
    let fault = |manifest: &Manifest, what: String| manifest.fault("filters.rules_dir", what);
    let files = match files(&base.join(&folder)) {
        Ok(files) => files,
        Err(error) => return Err(vec![fault(manifest, format!("the folder `{folder}` cannot be read: {error}"))]),
    };
    let (mut faults, mut all) = (Vec::new(), ContentRules::default());
    let mut digest = Sha256::new_with_prefix(manifest.sha256);
    for file in files {
        let name = format!("{}/{}", folder.trim_end_matches('/'), file.file_name().unwrap_or_default().to_string_lossy());
        let text = super::text_file::read(&file).map_err(|error| error.to_string());
        let read = text.and_then(|text| {
            digest.update(&text);
            parse(&text)
        });
        match read {
            Ok(rules) => {
                faults.extend(rules.faults().iter().map(|(key, what)| fault(manifest, format!("`{name}`: rule `{key}`: {what}"))));
                let twice = rules.iter().filter(|(rule, _)| all.iter().any(|(known, _)| known == *rule));
                faults.extend(twice.map(|(rule, _)| fault(manifest, format!("`{name}`: an earlier file has a rule `{rule}` as well"))));
                all.extend(rules);
            }
            Err(what) => faults.push(fault(manifest, format!("`{name}`: {what}"))),
        }
    }
    manifest.filters.rules.extend(all);
    manifest.sha256 = digest.finalize().into();
    if faults.is_empty() {
        // Each rule is valid; together they may be too many.
        faults.extend(manifest.filters.rules.faults().into_iter().map(|(_, what)| fault(manifest, what)));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// The `.toml` files of a folder in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: Vec<PathBuf> = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let mut files: Vec<PathBuf> =
        entries.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    files.sort();
    Ok(files)
}

/// A file whose rules stand as they would in the manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    filters: Filters,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filters {
    rules: ContentRules,
}

/// The rules of a file: tables `[filters.rules.NAME]` as in the manifest, or `[NAME]` alone.
fn parse(text: &str) -> Result<ContentRules, String> {
    let is_nested = text.contains("[filters.rules.");
    let read = if is_nested { toml::from_str(text).map(|file: File| file.filters.rules) } else { toml::from_str(text) };
    read.map_err(|fault: toml::de::Error| {
        let before = fault.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("line {}: {}", before.matches('\n').count() + 1, fault.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    #[test]
    fn rules_of_files_add_to_those_of_the_manifest_and_the_same_name_replaces() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("rules")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join("rules").join(name), text).unwrap();
        let text = "version = 1\n[filters]\nrules_dir = \"rules\"\n[filters.rules.a]\nwords = [\"Aurora\"]\naction = \"mark\"\n";
        let read = || {
            let mut manifest = manifest::parse(text, crate::tools::specs()).unwrap();
            add(&mut manifest, folder.path()).map(|()| manifest)
        };
        write(
            "one.toml",
            "[filters.rules.a]\nwords = [\"Borealis\"]\naction = \"mask\"\nmatch = [\"the BOREALIS plan\"]\nnot = [\"Aurora\"]\n",
        );
        write("two.toml", "[b]\nregex = 'TCK-\\d+'\ninput = \"deny\"\nmatch = [\"TCK-12\"]\n");
        write("notes.txt", "no rules");
        let first = read().unwrap();
        let rules: Vec<_> = first.filters.rules.iter().map(|(name, rule)| (name, rule.words.clone().unwrap_or_default())).collect();
        assert_eq!(rules, [("a", vec!["Borealis".to_owned()]), ("b", vec![])]);
        write("two.toml", "[b]\nregex = 'TCK-\\d+'\ninput = \"mark\"\n");
        assert_ne!(read().unwrap().sha256, first.sha256);

        write("two.toml", "[b]\nregex = 'TCK-\\d+'\ninput = \"deny\"\nmatch = [\"TCK-12\", \"ticket 12\"]\nnot = [\"TCK-0\"]\n");
        write("three.toml", "[c]\nwrods = [\"x\"]\n");
        write("zero.toml", "[a]\nwords = [\"x\"]\naction = \"mark\"\n");
        let faults: Vec<String> = read().unwrap_err().iter().map(ToString::to_string).collect();
        for (fault, says) in faults.iter().zip([
            "3:13: filters.rules_dir: `rules/three.toml`: line 2: unknown field `wrods`",
            "3:13: filters.rules_dir: `rules/two.toml`: rule `b.match[1]`: the rule does not find its example `ticket 12`",
            "3:13: filters.rules_dir: `rules/two.toml`: rule `b.not[0]`: the rule finds something in its counterexample `TCK-0`",
            "3:13: filters.rules_dir: `rules/zero.toml`: an earlier file has a rule `a` as well",
        ]) {
            assert!(fault.starts_with(says), "{fault}");
        }
        assert_eq!(faults.len(), 4, "{faults:?}");
    }
}
