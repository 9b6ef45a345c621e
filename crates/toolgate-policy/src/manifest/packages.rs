//! The packages of Python programs: what may be asked for, and the lock file that holds what that came to, each file by its digest.

use std::collections::BTreeSet;
use std::fmt::Write;

/// What `toolgate packages sync` wrote beside the manifest: the packages that were asked for, and every file they came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// `[python] packages` as they were.
    pub wanted: Vec<String>,
    /// For which interpreter and machine, e.g. `cpython-3.11 linux-x86_64`.
    pub python: String,
    /// The packages, by name.
    pub pinned: Vec<Pinned>,
}

/// One package of one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pinned {
    /// Its name, in lower case with `-` between words (PEP 503).
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of each file that may be taken, in hexadecimal.
    pub hashes: Vec<String>,
}

impl Pinned {
    /// One package, when each part has the form that an installer cannot take for anything else.
    ///
    /// # Errors
    /// The part that has not.
    pub fn new(name: &str, version: &str, hashes: Vec<String>) -> Result<Self, String> {
        let is_version = !version.is_empty() && version.chars().all(|c| c.is_ascii_alphanumeric() || "._+!-".contains(c));
        let is_digest = |text: &String| text.len() == 64 && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
        if !is_name(name) {
            return Err(format!("`{}` is no name of a package", name.escape_debug()));
        }
        if !is_version || version.starts_with('-') {
            return Err(format!("`{}` is no version of `{name}`", version.escape_debug()));
        }
        if hashes.is_empty() || !hashes.iter().all(is_digest) {
            return Err(format!("`{name}` has no SHA-256"));
        }
        Ok(Self { name: plain_name(name), version: version.to_owned(), hashes })
    }
}

impl Lock {
    /// Reads a lock file. Nothing but names, versions and digests may stand in it: an option in it would be obeyed by the installer.
    ///
    /// # Errors
    /// A sentence with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lock = Self { wanted: Vec::new(), python: String::new(), pinned: Vec::new() };
        let mut open: Option<(String, String, Vec<String>)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let fault = |what: &str| format!("line {number}: {what}");
            if let Some(wanted) = line.strip_prefix(WANTED) {
                lock.wanted.push(requirement(wanted).map_err(|what| fault(&what))?);
            } else if let Some(python) = line.strip_prefix(PYTHON) {
                python.clone_into(&mut lock.python);
            } else if let Some((_, _, hashes)) = open.as_mut()
                && let Some(hash) = line.trim().strip_prefix(HASH)
            {
                hashes.push(hash.trim_end_matches('\\').trim_end().to_owned());
            } else if let Some((name, version)) = line.trim_end_matches('\\').trim_end().split_once("==") {
                lock.take(open.replace((name.to_owned(), version.to_owned(), Vec::new()))).map_err(|what| fault(&what))?;
            } else if !(line.trim().is_empty() || line.starts_with('#')) {
                return Err(fault("only packages with their digests may stand here"));
            }
        }
        lock.take(open).map_err(|what| format!("at the end: {what}"))?;
        Ok(lock)
    }

    fn take(&mut self, open: Option<(String, String, Vec<String>)>) -> Result<(), String> {
        if let Some((name, version, hashes)) = open {
            self.pinned.push(Pinned::new(&name, &version, hashes)?);
        }
        Ok(())
    }

    /// The lock file, in the form that pip and uv read as requirements.
    pub fn text(&self) -> String {
        let mut text =
            "# Written by `toolgate packages sync`: every package by the digest of its file. Keep it with the manifest.\n".to_owned();
        for wanted in &self.wanted {
            let _ = writeln!(text, "{WANTED}{wanted}");
        }
        let _ = writeln!(text, "{PYTHON}{}", self.python);
        for Pinned { name, version, hashes } in &self.pinned {
            let _ = write!(text, "{name}=={version}");
            for hash in hashes {
                let _ = write!(text, " \\\n    {HASH}{hash}");
            }
            text.push('\n');
        }
        text
    }

    /// Whether it was made for these packages.
    ///
    /// # Errors
    /// A sentence that says what differs.
    pub fn fits(&self, packages: &[String]) -> Result<(), String> {
        let plain = |packages: &[String]| -> BTreeSet<String> {
            packages.iter().map(|text| requirement(text).unwrap_or_else(|_| text.clone())).collect()
        };
        let (wanted, now) = (plain(&self.wanted), plain(packages));
        if let Some(new) = now.difference(&wanted).next() {
            return Err(format!("`{new}` is in the manifest and not in the lock"));
        }
        let old = wanted.difference(&now).next();
        old.map_or(Ok(()), |old| Err(format!("`{old}` is in the lock and no longer in the manifest")))
    }
}

const WANTED: &str = "# wanted: ";
const PYTHON: &str = "# python: ";
const HASH: &str = "--hash=sha256:";

/// Reads one entry of `[python] packages`: a name, extras, versions and a marker (PEP 508), without blanks around its parts. An address,
/// a path or an option is none: what is installed comes from the registry that the installer is set to.
///
/// # Errors
/// A sentence for the manifest's list of faults.
pub fn requirement(text: &str) -> Result<String, String> {
    let fault = || {
        format!(
            "`{}` is no package; write a name and, best, a version, e.g. `numpy==2.3.5` (no address, no path, no option)",
            text.escape_debug()
        )
    };
    let (package, marker) = text.split_once(';').map_or((text, None), |(package, marker)| (package, Some(marker.trim())));
    let package: String = package.chars().filter(|c| *c != ' ').collect();
    let end = package.find(|c: char| "[=<>!~".contains(c)).unwrap_or(package.len());
    let (name, rest) = package.split_at_checked(end).ok_or_else(fault)?;
    let (extras, versions) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or_else(fault)?,
        None => ("", rest),
    };
    let is_extra = |extra: &str| extra.is_empty() || is_name(extra);
    let is_bound = |bound: &str| {
        let bare = bound.trim_start_matches(['=', '<', '>', '!', '~']);
        bare.len() < bound.len() && !bare.is_empty() && bare.chars().all(|c| c.is_ascii_alphanumeric() || "._+!*-".contains(c))
    };
    let is_marker = |marker: &str| !marker.is_empty() && marker.chars().all(|c| c.is_ascii_alphanumeric() || " ._-<>=!~'\"()".contains(c));
    let sound = is_name(name)
        && extras.split(',').all(is_extra)
        && (versions.is_empty() || versions.split(',').all(is_bound))
        && marker.is_none_or(is_marker);
    if !sound {
        return Err(fault());
    }
    Ok(marker.map_or_else(|| package.clone(), |marker| format!("{package}; {marker}")))
}

fn is_name(text: &str) -> bool {
    let inner = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    inner && edge(text.chars().next()) && edge(text.chars().next_back())
}

/// The one spelling of a name (PEP 503).
fn plain_name(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock() -> Lock {
        let pinned = vec![
            Pinned::new("Num_Py", "2.3.5", vec!["a".repeat(64)]).unwrap(),
            Pinned::new("python-dateutil", "2.9.0.post0", vec!["0".repeat(64), "1".repeat(64)]).unwrap(),
        ];
        Lock { wanted: vec!["numpy==2.3.5".to_owned(), "pandas".to_owned()], python: "cpython-3.11 linux-x86_64".to_owned(), pinned }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        assert_eq!(Lock::parse(&lock().text()), Ok(lock()));
        assert_eq!(lock().pinned[0].name, "num-py");
    }

    #[test]
    fn nothing_but_packages_with_digests_may_stand_in_a_lock() {
        for line in ["--index-url x", "-r other.txt", "numpy @ file:x", "./numpy.whl", "numpy", "numpy==1", "numpy==1 --no-binary", "-e==1"]
        {
            assert!(Lock::parse(&format!("{}{line}\n", lock().text())).is_err(), "{line}");
        }
    }

    #[test]
    fn a_lock_fits_the_packages_it_was_made_for_in_any_order_and_spacing() {
        let packages = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(lock().fits(&packages(&["pandas", "numpy == 2.3.5"])), Ok(()));
        assert!(lock().fits(&packages(&["pandas", "numpy==2.3.6"])).unwrap_err().contains("numpy==2.3.6"));
        assert!(lock().fits(&packages(&["pandas"])).unwrap_err().contains("no longer"));
    }

    #[test]
    fn a_package_is_a_name_with_versions_and_never_an_address_path_or_option() {
        for (text, plain) in [
            ("numpy", "numpy"),
            ("numpy == 2.3.5", "numpy==2.3.5"),
            ("pandas[excel,plot]>=2,<3", "pandas[excel,plot]>=2,<3"),
            ("tomli; python_version < '3.11'", "tomli; python_version < '3.11'"),
        ] {
            assert_eq!(requirement(text), Ok(plain.to_owned()));
        }
        for text in [
            "",
            "-r x",
            "--index-url=x",
            "numpy @ https://x/y.whl",
            "./numpy",
            "../x.whl",
            "git+https://x",
            "numpy==",
            "numpy=>",
            "a\nb==1",
            "numpy==1\n--pre",
            "numpy[",
            "numpy; ",
            "numpy==1 --hash=x",
            "x/y",
        ] {
            assert!(requirement(text).is_err(), "{text}");
        }
    }
}
