//! Where roots lie, by their text alone. The file system is looked at by the caller, who adds what it finds.

use super::{Fault, Manifest, Place};

impl Manifest {
    /// Places the roots with a relative path below `base`, the absolute folder of the manifest. `.` and `..` are resolved by the text.
    ///
    /// # Errors
    /// Roots that then lie inside one another, or are the whole file system.
    pub fn resolve_roots(&mut self, base: &str) -> Result<(), Vec<Fault>> {
        let mut faults = Vec::new();
        for (name, root) in &mut self.roots {
            let Place::Path(path) = &root.place else { continue };
            if path.starts_with('/') {
                continue;
            }
            match join(base, path) {
                Some(segments) if !segments.is_empty() => root.paths = vec![segments],
                _ => faults.push(self.spans.fault(&format!("roots.{name}.path"), "this is the whole machine; name a folder", None)),
            }
        }
        faults.extend(self.check_nesting().err().into_iter().flatten());
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Puts a root at another place, as `serve --root NAME=PATH` asks: an absolute path. Call before [`Manifest::resolve_roots`].
    ///
    /// # Errors
    /// There is no such root, it is a session's, or the path is not absolute.
    pub fn place_root(&mut self, name: &str, path: &str) -> Result<(), Box<Fault>> {
        let fault = |what: String, nearest| Err(Box::new(self.spans.fault(&format!("roots.{name}.path"), what, nearest)));
        let nearest = crate::model::nearest(name, self.roots.iter().filter(|(_, root)| !root.is_session()).map(|(name, _)| name.as_str()));
        let Some(root) = self.roots.get_mut(name) else {
            return fault(format!("`{name}` is no root of the manifest"), nearest);
        };
        if root.is_session() {
            return fault(format!("`{name}` is a scratch folder per session and has no other place"), None);
        }
        match segments_of(path) {
            Some(segments) if path.starts_with('/') && !segments.is_empty() => {
                root.place = Place::Path(path.to_owned());
                root.paths = vec![segments];
                Ok(())
            }
            _ => fault("the place of a root is an absolute path".to_owned(), None),
        }
    }

    /// Adds a further absolute path of a root, such as the one its links lead to, so that callers may use either.
    pub fn add_root_path(&mut self, name: &str, path: &str) {
        if let (Some(root), Some(segments)) = (self.roots.get_mut(name), segments_of(path))
            && !segments.is_empty()
            && !root.paths.contains(&segments)
        {
            root.paths.push(segments);
        }
    }

    /// Faults for every two roots of which one lies in the other, by their text; for the file system's own view call it again after
    /// [`Manifest::add_root_path`].
    ///
    /// # Errors
    /// One fault for each such pair.
    pub fn check_nesting(&self) -> Result<(), Vec<Fault>> {
        let mut faults = Vec::new();
        for (index, (name, root)) in self.roots.iter().enumerate() {
            for (other_name, other) in self.roots.iter().skip(index + 1) {
                let inside = |a: &[Vec<String>], b: &[Vec<String>]| a.iter().any(|a| b.iter().any(|b| a.starts_with(b)));
                let (inner, outer) = match (inside(&other.paths, &root.paths), inside(&root.paths, &other.paths)) {
                    (false, false) => continue,
                    (true, _) => (other_name, name),
                    (false, true) => (name, other_name),
                };
                let what =
                    format!("the root `{inner}` lies inside the root `{outer}`, so a file would be in two; give each its own folder");
                faults.push(self.spans.fault(&format!("roots.{inner}.path"), what, None));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// The segments of an absolute path, `.` and empty ones left out; none when it climbs.
pub(super) fn segments_of(path: &str) -> Option<Vec<String>> {
    names(path).map(|name| (name != "..").then(|| name.to_owned())).collect()
}

/// What stands between the slashes, less `.` and nothing.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !matches!(*name, "" | "."))
}

fn join(base: &str, path: &str) -> Option<Vec<String>> {
    let mut segments = segments_of(base)?;
    for name in names(path) {
        match name {
            ".." => drop(segments.pop()?),
            name => segments.push(name.to_owned()),
        }
    }
    Some(segments)
}
