//! `[files] runs_later`: files that another program runs or obeys later, outside every sandbox of this server. Changing one is level 3.

use serde::de::{Deserialize, Deserializer, Error};

use super::DenyPattern;
use crate::model::nearest;

/// One pattern of files that run later, and what runs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterPattern {
    pattern: DenyPattern,
    by: String,
}

impl LaterPattern {
    /// The pattern, which is matched as one of `denied_paths` is.
    pub const fn pattern(&self) -> &DenyPattern {
        &self.pattern
    }

    /// What runs such a file, as it stands after "by", e.g. `your editor`.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The patterns of an entry of the key: those of the set of this name, else the one pattern that it is.
    /// # Errors  A sentence for the manifest's list of faults.
    pub(super) fn parse(text: &str) -> Result<Vec<Self>, String> {
        if SETS.contains(&text) {
            return Ok(of_set(text));
        }
        if let Some(near) = nearest(text, SETS.iter().copied()) {
            return Err(format!("`{text}` is no set of files; write `{near}`, or `{text}/**` for a folder of that name"));
        }
        Ok(vec![Self { pattern: DenyPattern::parse(text)?, by: "another program".to_owned() }])
    }

    /// Reads the whole key.
    pub(super) fn all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Self>, D::Error> {
        let patterns: Result<Vec<_>, _> = Vec::<String>::deserialize(deserializer)?.iter().map(|text| Self::parse(text)).collect();
        patterns.map(|patterns| patterns.concat()).map_err(D::Error::custom)
    }

    /// The set that holds where the key is missing.
    pub fn defaults() -> Vec<Self> {
        of_set(DEFAULTS)
    }
}

/// The name of the set that holds where the key is missing.
const DEFAULTS: &str = "defaults";
/// The names that stand for a set.
const SETS: [&str; 2] = [DEFAULTS, "builds"];
/// The sets. The file's head describes its lines.
const LINES: &str = include_str!("data/runs_later.txt");

/// The lines of the file that hold a pattern: set, program, pattern, example.
fn lines() -> impl Iterator<Item = [&'static str; 4]> {
    LINES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut parts = line.split(" | ");
        Some([parts.next()?, parts.next()?, parts.next()?, parts.next()?])
    })
}

fn of_set(name: &str) -> Vec<LaterPattern> {
    let own = lines().filter(|[set, ..]| *set == name);
    own.filter_map(|[_, by, pattern, _]| Some(LaterPattern { pattern: DenyPattern::parse(pattern).ok()?, by: by.to_owned() })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::FoldedPath;
    use crate::model::RelPath;

    #[test]
    fn every_line_of_the_sets_is_a_pattern_that_covers_its_example() {
        let written = LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!(lines().count(), written, "a line has four parts");
        for [set, by, pattern, example] in lines() {
            assert!(SETS.contains(&set) && !by.is_empty(), "{pattern}");
            let pattern = DenyPattern::parse(pattern).unwrap();
            for below in ["", "deep/er/"] {
                let path = RelPath::parse(&format!("{below}{example}")).unwrap();
                assert!(pattern.covers(&FoldedPath::of(&path)), "{} covers {path}", pattern.as_str());
            }
        }
        assert_eq!(of_set("defaults").len() + of_set("builds").len(), written);
    }

    #[test]
    fn daily_work_is_in_no_set_that_holds_by_itself() {
        let defaults = LaterPattern::defaults();
        for path in [
            "src/main.rs",
            "package.json",
            "Makefile",
            "build.rs",
            "README.md",
            "docs/agents/x.md",
            ".gitignore",
            "tests/test_a.py",
            "Cargo.toml",
        ] {
            let path = RelPath::parse(path).unwrap();
            let path = FoldedPath::of(&path);
            let found = defaults.iter().find(|later| later.pattern().covers(&path));
            assert_eq!(found.map(|later| later.pattern().as_str()), None);
        }
    }

    #[test]
    fn a_set_is_named_and_everything_else_is_a_pattern() {
        assert!(LaterPattern::parse("defaults").unwrap().len() > 50);
        assert_eq!(LaterPattern::parse("deploy/**").unwrap().len(), 1);
        let fault = LaterPattern::parse("default").unwrap_err();
        assert!(fault.contains("write `defaults`, or `default/**`"), "{fault}");
        assert!(LaterPattern::parse("/abs").is_err() && LaterPattern::parse("").is_err());
    }
}
