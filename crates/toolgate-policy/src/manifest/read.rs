//! Reads `tools.toml`: its tree against the schema of its structs, each text by its form, then what one key says against another.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fault::Ledger;
use super::form::printable;
use super::tree::from_toml;
use super::{Fault, Manifest, schema, shape};
use crate::model::{ToolSpec, nearest};

/// Reads `tools.toml`. Pure: no file but the text is looked at.
///
/// Roots with an absolute path are placed; relative ones wait for [`Manifest::resolve_roots`].
///
/// # Errors
/// Every fault there is, in the order of the text.
pub fn parse(text: &str, specs: &[&ToolSpec]) -> Result<Manifest, Vec<Fault>> {
    let mut ledger = Ledger::new(text, specs);
    // An editor on another system may begin the file with a byte order mark; TOML allows and ignores it.
    let tree = from_toml(text, &mut ledger);
    read(tree, text.as_bytes(), ledger)
}

/// Reads a manifest that is written as JSON, as the cases of `simulate` have it.
///
/// # Errors
/// Every fault there is, without places.
pub fn parse_json(value: &Value, specs: &[&ToolSpec]) -> Result<Manifest, Vec<Fault>> {
    read(Some(value.clone()), value.to_string().as_bytes(), Ledger::new("", specs))
}

fn read(tree: Option<Value>, bytes: &[u8], mut ledger: Ledger<'_>) -> Result<Manifest, Vec<Fault>> {
    let fitted = tree.and_then(|tree| shape::fit(&tree, schema::forms(), "", &mut ledger));
    let manifest = fitted.and_then(|value| {
        // It can be read while the schema is that of the structs. If not, that is a fault and never a manifest.
        serde_json::from_value::<Manifest>(value).map_err(|fault| ledger.fault("", format!("the manifest cannot be read: {fault}"))).ok()
    });
    let Some(mut manifest) = manifest else { return Err(finish(ledger)) };
    ledger.manifest(&mut manifest);
    manifest.spans = std::mem::take(&mut ledger.spans);
    ledger.faults.extend(manifest.check_nesting().err().into_iter().flatten());
    if !ledger.faults.is_empty() {
        return Err(finish(ledger));
    }
    manifest.sha256 = Sha256::digest(bytes).into();
    Ok(manifest)
}

fn finish(ledger: Ledger<'_>) -> Vec<Fault> {
    let mut faults = ledger.faults;
    if faults.is_empty() {
        faults.push(ledger.spans.fault("", "the manifest must be a table", None));
    }
    faults.sort_by(|a, b| (a.location, &a.at).cmp(&(b.location, &b.at)));
    faults.dedup();
    faults
}

/// Checks what the schema cannot state, and gathers the faults. Each section's part stands beside its struct.
impl Ledger<'_> {
    fn manifest(&mut self, manifest: &mut Manifest) {
        match manifest.version {
            Some(1) => {}
            Some(other) => self.fault("version", format!("version {other} is not known; write `version = 1`")),
            None if self.holds("version") => {}
            None => self.fault("version", "the version is missing; write `version = 1` at the top"),
        }
        self.roots(&mut manifest.roots);
        manifest.files.names_runs_later = self.holds("files.runs_later");
        self.profiles(&manifest.profiles, &manifest.roots);
        self.python(&mut manifest.python, &manifest.roots, &manifest.files);
        self.clients(&mut manifest.clients, &manifest.profiles);
        self.tests(&manifest.tests, &manifest.profiles, &manifest.roots);
        self.http(&mut manifest.http);
        self.network(&manifest.network);
        self.databases(&manifest.databases, &manifest.roots, &manifest.network);
        self.mail(&manifest.mail, &manifest.network, &mut manifest.tools);
        self.tools(&manifest.tools);
        self.approvals(&manifest.approvals);
        self.review(&manifest.review);
        self.audit(&mut manifest.audit);
        // What the operator's own rules look for is built once, here, to know that it can be.
        for (key, fault) in manifest.filters.rules.faults() {
            self.fault(&if key.is_empty() { "filters.rules".to_owned() } else { format!("filters.rules.{key}") }, fault);
        }
        // An empty one stands for the environment's.
        manifest.state.dir.take_if(|dir| dir.is_empty());
    }

    /// A fault for a word that must be one of those known.
    pub(super) fn unknown<'k>(&mut self, at: &str, kind: &str, word: &str, known: impl IntoIterator<Item = &'k str>) {
        let near = nearest(word, known);
        self.fault_near(at, format!("`{}` is no {kind}", word.escape_debug()), near);
    }

    /// Whether a key is written, whatever became of it.
    pub(super) fn holds(&self, at: &str) -> bool {
        self.spans.holds(at)
    }

    /// Checks a text that must be written, must not be empty, and holds no control character.
    pub(super) fn required(&mut self, at: &str, text: &str) {
        if let Err(what) = printable(text) {
            self.fault(at, what);
        }
        // What had the wrong type was told already.
        if text.trim().is_empty() && !self.faults.iter().any(|fault| fault.at == at) {
            let key = at.rsplit('.').next().unwrap_or(at);
            self.fault(at, format!("`{key}` is missing"));
        }
    }

    pub(super) fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().copied().find(|spec| spec.name == name)
    }

    /// Checks that a tool of this name exists.
    pub(super) fn tool(&mut self, at: &str, name: &str) {
        if self.spec(name).is_none() {
            let known: Vec<&str> = self.specs.iter().map(|spec| spec.name).collect();
            self.unknown(at, "tool", name, known);
        }
    }
}
