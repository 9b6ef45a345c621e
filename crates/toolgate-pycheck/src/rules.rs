//! What a manifest says about Python programs.

use std::collections::BTreeSet;
use std::fmt;

use super::tables;

/// How much the check judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Check {
    /// Imports, names, attributes and tricks.
    #[default]
    Strict,
    /// The import allowlist alone.
    Imports,
    /// Nothing: the jail stands alone. The source is still brought into its one form.
    Off,
}

/// Which modules a program may import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Imports {
    /// Every module: the import rule is off.
    All,
    /// These modules, by their dotted names. A package from outside the standard library covers its public submodules.
    Listed(BTreeSet<String>),
}

impl Default for Imports {
    fn default() -> Self {
        Self::Listed(BTreeSet::new())
    }
}

/// Version of the Python language that will run the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Always 3 today.
    pub major: u8,
    /// E.g. 11.
    pub minor: u8,
}

impl Default for Version {
    fn default() -> Self {
        Self { major: 3, minor: 13 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Everything the check depends on. The default is the strictest: strict, no imports, nothing loosened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// How much is judged.
    pub check: Check,
    /// The import allowlist.
    pub imports: Imports,
    /// The top-level modules of the roots that a program sees, as far as they were looked for; they may be imported with all that is below them.
    /// None: modules of roots may not be imported at all. A module of the standard library is never one of these.
    pub modules: Option<BTreeSet<String>>,
    /// Names of calls the manifest opens, e.g. `input`, `getattr`, `typing.get_type_hints`.
    pub allowed_calls: BTreeSet<String>,
    /// Names of attributes the manifest opens, e.g. `__dict__`.
    pub allowed_attributes: BTreeSet<String>,
    /// The language version of the interpreter that will run the program.
    pub target: Version,
}

impl Rules {
    /// Strict rules with these imports; the single import `*` turns the import rule off.
    pub fn strict<I: IntoIterator<Item = S>, S: Into<String>>(imports: I) -> Self {
        Self { imports: Imports::listed(imports), ..Self::default() }
    }

    /// Whether `module`, a dotted name, may be imported.
    pub fn allows_import(&self, module: &str) -> bool {
        let listed = match &self.imports {
            Imports::All => return true,
            Imports::Listed(listed) => listed,
        };
        if listed.contains(module) || self.is_of_a_root(module) {
            return true;
        }
        if tables::implied_parent(module).is_some_and(|parent| listed.contains(parent)) {
            return true;
        }
        // A package of the standard library opens nothing below itself; one from outside opens its public modules.
        let mut name = module;
        while let Some((parent, child)) = name.rsplit_once('.') {
            if child.starts_with('_') || tables::is_risky_module(child) {
                return false;
            }
            if listed.contains(parent) {
                return !tables::is_standard_module(module);
            }
            name = parent;
        }
        false
    }

    /// Whether `module`, a dotted name, is a module of a root or below one. Under `strict` none is.
    pub fn is_of_a_root(&self, module: &str) -> bool {
        let top = module.split('.').next().unwrap_or(module);
        self.imports_from_roots() && !tables::is_standard_module(top) && self.modules.as_ref().is_some_and(|modules| modules.contains(top))
    }

    /// Whether modules of roots may be imported.
    pub(super) fn imports_from_roots(&self) -> bool {
        self.check != Check::Strict && self.modules.is_some()
    }

    /// Whether some allowed module lies below `module`, so that it may be named on the way there.
    pub(super) fn leads_to_import(&self, module: &str) -> bool {
        match &self.imports {
            Imports::All => true,
            Imports::Listed(listed) => listed.iter().any(|name| name.strip_prefix(module).is_some_and(|rest| rest.starts_with('.'))),
        }
    }

    /// The allowlist as a message shows it to a program that imports `module`: at most eight modules, first those of a similar name, then those from
    /// outside the standard library. Where there are none of both, the first of the list.
    pub(super) fn shown_imports(&self, module: &str) -> String {
        const SHOWN: usize = 8;
        const COMPARED: usize = 64;
        let Imports::Listed(listed) = &self.imports else { return "all".to_owned() };
        let of_roots = if self.imports_from_roots() { OF_ROOTS } else { "" };
        if listed.is_empty() {
            return format!("none{of_roots}");
        }
        // A comparison takes time by the product of both lengths. Up to a third of the letters may differ.
        let difference = |name: &str| {
            let longest = name.len().max(module.len());
            let letters = if longest > COMPARED { longest } else { strsim::damerau_levenshtein(module, name) };
            if letters * 3 <= longest { letters } else { usize::MAX }
        };
        let all = || listed.iter().map(String::as_str);
        let mut names: Vec<&str> = all().filter(|name| difference(name) < usize::MAX || !tables::is_standard_module(name)).collect();
        names.sort_by_cached_key(|name| difference(name));
        if names.is_empty() {
            names = all().collect();
        }
        names.truncate(SHOWN);
        let more = listed.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}{of_roots}", names.join(", "))
    }

    pub(super) fn allows_call(&self, name: &str) -> bool {
        !self.allowed_calls.is_empty() && self.allowed_calls.contains(name)
    }

    pub(super) fn allows_attribute(&self, name: &str) -> bool {
        !self.allowed_attributes.is_empty() && self.allowed_attributes.contains(name)
    }
}

/// What stands behind the allowlist where modules of roots may be imported.
const OF_ROOTS: &str = "; also modules of your roots: `.py` files, and folders of them, at the top of a root or in its `src`";

impl Imports {
    /// The modules as a list; `*` anywhere in it stands for all.
    pub fn listed<I: IntoIterator<Item = S>, S: Into<String>>(names: I) -> Self {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        if names.contains("*") { Self::All } else { Self::Listed(names) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standard_package_opens_only_what_is_listed_or_harmless_below_it() {
        let rules = Rules::strict(["json", "collections", "xml"]);
        assert!(rules.allows_import("json.decoder"));
        assert!(rules.allows_import("collections.abc"));
        for refused in ["json.scanner", "collections.os", "xml.sax", "re", "", "."] {
            assert!(!rules.allows_import(refused), "{refused}");
        }
    }

    #[test]
    fn a_module_of_a_root_opens_all_below_it_but_never_under_strict_and_never_in_place_of_the_standard_library() {
        let modules = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let rules = Rules { check: Check::Imports, modules: modules(&["harvest", "json", "ctypes"]), ..Rules::default() };
        for allowed in ["harvest", "harvest.trees", "harvest._private.os"] {
            assert!(rules.allows_import(allowed), "{allowed}");
        }
        for refused in ["harvester", "json", "ctypes", "ctypes.util", "", "."] {
            assert!(!rules.allows_import(refused), "{refused}");
        }
        assert!(rules.shown_imports("").contains("modules of your roots"));
        let strict = Rules { check: Check::Strict, ..rules.clone() };
        assert!(!strict.allows_import("harvest") && strict.shown_imports("") == "none");
        assert!(!Rules { modules: None, ..rules }.allows_import("harvest"));
    }

    #[test]
    fn a_message_names_eight_modules_similar_names_and_packages_first() {
        let rules = Rules::strict(["abc", "array", "ast", "bisect", "collections", "csv", "datetime", "numpy", "statistics", "time"]);
        assert_eq!(rules.shown_imports("datetme"), "datetime, numpy and 8 more");
        let standard = Rules::strict(["abc", "array", "ast", "bisect", "collections", "csv", "datetime", "json", "statistics", "time"]);
        assert_eq!(standard.shown_imports(&"x".repeat(10_000)), "abc, array, ast, bisect, collections, csv, datetime, json and 2 more");
    }

    #[test]
    fn a_package_from_outside_opens_its_public_modules() {
        let rules = Rules::strict(["numpy", "matplotlib.pyplot"]);
        assert!(rules.allows_import("numpy.linalg"));
        assert!(rules.allows_import("matplotlib.pyplot"));
        assert!(!rules.allows_import("matplotlib"));
        assert!(rules.leads_to_import("matplotlib"));
        for refused in ["numpy._core", "numpy.ctypeslib.os", "numpy.sys"] {
            assert!(!rules.allows_import(refused), "{refused}");
        }
    }
}
