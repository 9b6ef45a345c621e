//! From the written form to the typed one. Every rule of the manifest that its structs cannot state is here and in the files below.

mod access;
mod http;
mod sections;
mod walls;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fault::Ledger;
use super::tree::{Node, from_json, from_toml};
use super::{Fault, Manifest, raw, schema, shape};
use crate::model::{Bytes, ToolSpec, nearest};

/// Reads `tools.toml`. Pure: no file but the text is looked at.
///
/// Roots with an absolute path are placed; relative ones wait for [`Manifest::resolve_roots`].
///
/// # Errors
/// Every fault there is, in the order of the text.
pub fn parse(text: &str, specs: &[&ToolSpec]) -> Result<Manifest, Vec<Fault>> {
    let mut ledger = Ledger::new(text);
    // An editor on another system may begin the file with a byte order mark; TOML allows and ignores it.
    let tree = from_toml(text, &mut ledger);
    read(tree, text.as_bytes(), specs, ledger)
}

/// Reads a manifest that is written as JSON, as the cases of `simulate` have it.
///
/// # Errors
/// Every fault there is, without places.
pub fn parse_json(value: &Value, specs: &[&ToolSpec]) -> Result<Manifest, Vec<Fault>> {
    read(Some(from_json(value)), value.to_string().as_bytes(), specs, Ledger::new(""))
}

fn read(tree: Option<Node>, bytes: &[u8], specs: &[&ToolSpec], mut ledger: Ledger<'_>) -> Result<Manifest, Vec<Fault>> {
    let fitted = tree.and_then(|tree| shape::fit(&tree, schema(), "", &mut ledger));
    let written = match fitted.map(serde_json::from_value::<raw::Manifest>) {
        Some(Ok(written)) => written,
        // Unreachable while the schema is that of the structs; a fault all the same, never a manifest.
        Some(Err(fault)) => {
            ledger.fault("", format!("the manifest cannot be read: {fault}"));
            return Err(finish(ledger));
        }
        None => return Err(finish(ledger)),
    };
    let mut reader = Reader { ledger, specs };
    let mut manifest = reader.manifest(written);
    let Reader { ledger, .. } = reader;
    if !ledger.faults.is_empty() {
        return Err(finish(ledger));
    }
    manifest.spans = ledger.spans;
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

/// Reads sections and gathers their faults.
struct Reader<'t, 's> {
    ledger: Ledger<'t>,
    specs: &'s [&'s ToolSpec],
}

impl Reader<'_, '_> {
    fn manifest(&mut self, written: raw::Manifest) -> Manifest {
        match written.version {
            Some(1) => {}
            Some(other) => self.fault("version", format!("version {other} is not known; write `version = 1`")),
            None if self.ledger.spans.holds("version") => {}
            None => self.fault("version", "the version is missing; write `version = 1` at the top"),
        }
        let roots = self.roots(written.roots.unwrap_or_default());
        let files = self.files(written.files.unwrap_or_default());
        let profiles = self.profiles(written.profiles.unwrap_or_default(), &roots);
        let python = self.python(written.python.unwrap_or_default(), &roots, &files);
        let clients = self.clients(written.clients.unwrap_or_default(), &profiles);
        let tests = self.tests(written.test.unwrap_or_default(), &profiles, &roots);
        let manifest = Manifest {
            clients,
            http: self.http(written.http.unwrap_or_default()),
            roots,
            files,
            network: self.network(written.network.unwrap_or_default()),
            python,
            profiles,
            tools: self.tools(written.tools.unwrap_or_default()),
            approvals: self.approvals(written.approvals.unwrap_or_default()),
            limits: self.limits(written.limits.unwrap_or_default()),
            filters: self.filters(written.filters),
            review: self.review(written.review.unwrap_or_default()),
            audit: self.audit(written.audit.unwrap_or_default()),
            // An empty one stands for the environment's.
            state_dir: self.written("state.dir", written.state.and_then(|state| state.dir).filter(|dir| !dir.is_empty())),
            tests,
            ..Manifest::default()
        };
        if let Err(faults) = manifest.nested_roots(&self.ledger.spans) {
            self.ledger.faults.extend(faults);
        }
        manifest
    }

    fn fault(&mut self, at: &str, what: impl Into<String>) {
        self.ledger.fault(at, what);
    }

    /// A fault for a word that must be one of those known.
    fn unknown<'k>(&mut self, at: &str, kind: &str, word: &str, known: impl IntoIterator<Item = &'k str>) {
        let near = nearest(word, known);
        self.ledger.fault_near(at, format!("`{}` is no {kind}", word.escape_debug()), near);
    }

    /// Reads every entry of a list with a parser whose errors are sentences.
    fn list<T>(&mut self, at: &str, texts: &[String], parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let mut read = Vec::with_capacity(texts.len());
        for (index, text) in texts.iter().enumerate() {
            match parse(text) {
                Ok(value) => read.push(value),
                Err(what) => self.fault(&format!("{at}[{index}]"), what),
            }
        }
        read
    }

    /// Reads one text with a parser whose error is a sentence.
    fn one<T>(&mut self, at: &str, text: Option<&String>, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        match parse(text?) {
            Ok(value) => Some(value),
            Err(what) => {
                self.fault(at, what);
                None
            }
        }
    }

    fn bytes(&mut self, at: &str, text: Option<&String>) -> Option<Bytes> {
        self.one(at, text, |text| text.parse().map_err(|fault: crate::model::BytesFault| fault.to_string()))
    }

    fn time(&mut self, at: &str, text: Option<&String>) -> Option<std::time::Duration> {
        self.one(at, text, super::units::duration)
    }

    /// A text that, where it is written, is not blank and holds no control character.
    fn written(&mut self, at: &str, text: Option<String>) -> Option<String> {
        let text = text?;
        if text.trim().is_empty() {
            self.fault(at, "this is empty; write a value, or leave the key out");
            return None;
        }
        self.printable(at, &text).then_some(text)
    }

    /// Whether a text holds no control character. A NUL would end a path or a name early, a line end would begin another record.
    fn printable(&mut self, at: &str, text: &str) -> bool {
        let plain = !text.chars().any(char::is_control);
        if !plain {
            self.fault(at, format!("`{}` holds a control character", text.escape_debug()));
        }
        plain
    }

    /// A text that must be written, must not be empty, and holds no control character.
    fn required(&mut self, at: &str, text: Option<String>) -> String {
        let text = text.unwrap_or_default();
        self.printable(at, &text);
        if text.trim().is_empty() {
            let key = at.rsplit('.').next().unwrap_or(at);
            // What had the wrong type was told already.
            if !self.ledger.faults.iter().any(|fault| fault.at == at) {
                self.fault(at, format!("`{key}` is missing"));
            }
        }
        text
    }

    fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().copied().find(|spec| spec.name == name)
    }

    fn tool_names(&self) -> Vec<&'static str> {
        self.specs.iter().map(|spec| spec.name).collect()
    }
}
