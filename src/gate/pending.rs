//! An approval between question and answer: what it is bound to, and the state a 2026-07-28 client carries back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::model::{Kind, Opened};
use crate::policy::Review;

/// What a repeated call brings back, sealed. It is not secret (the code stands in the text as well), it is bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The approval's id; used once.
    pub id: String,
    /// Digest of everything that was shown or decided on.
    pub binding: String,
    /// Who was asked for.
    pub principal: String,
    /// When it ends, in seconds since 1970.
    pub expires: u64,
    /// The code that must be typed.
    pub code: Option<String>,
    /// It waits for an operator, and no answer of the client counts.
    #[serde(default)]
    pub operator: bool,
    /// What the reviewers said of it, where they were asked: they are not asked again about the same.
    #[serde(default)]
    pub reviews: Option<Vec<Review>>,
}

/// What an approval is bound to. A change in any of it makes another approval.
#[derive(Debug)]
pub struct Bound<'a> {
    /// Who calls.
    pub principal: &'a str,
    /// In which session.
    pub session: &'a str,
    /// Which tool.
    pub tool: &'a str,
    /// All arguments, as sent.
    pub arguments: &'a Map<String, Value>,
    /// The opened targets.
    pub opened: &'a [Opened],
    /// Digest of the present content, where the question shows it.
    pub content_sha256: Option<&'a str>,
    /// The level it was asked at.
    pub level: u8,
    /// The manifest in force.
    pub manifest_sha256: &'a str,
}

impl Bound<'_> {
    /// The digest: SHA-256 over the JSON form with sorted names (the map of `serde_json` keeps them so), as hex.
    pub fn digest(&self) -> String {
        let targets: Vec<Value> = self.opened.iter().map(target).collect();
        let bound = json!({
            "v": 1,
            "principal": self.principal,
            "session": self.session,
            "tool": self.tool,
            "arguments": self.arguments,
            "targets": targets,
            "content_sha256": self.content_sha256,
            "level": self.level,
            "manifest_sha256": self.manifest_sha256,
        });
        hex(&Sha256::digest(bound.to_string().as_bytes()))
    }
}

fn target(opened: &Opened) -> Value {
    let fact = &opened.fact;
    let identity = fact.identity.map(|id| json!([id.device, id.inode, id.mtime_ns.to_string()]));
    let below: Vec<String> = fact.below.iter().map(|entry| entry.path.to_string()).collect();
    json!({
        "target": opened.target.to_string(),
        "kind": match fact.kind {
            Kind::Absent => "absent",
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Symlink => "symlink",
            Kind::Other => "other",
        },
        "size": fact.size,
        "identity": identity,
        "below": below,
    })
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    crate::audit::hex::long(bytes)
}

/// A code a person can read and type: four letters and digits that cannot be taken for one another.
/// # Errors  When the kernel has no random bytes.
pub fn code() -> std::io::Result<String> {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut raw = [0; 4];
    crate::audit::random(&mut raw)?;
    Ok(raw.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32)).map(|letter| char::from(*letter))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(arguments: &Map<String, Value>, principal: &str, content: Option<&str>) -> String {
        let manifest_sha256 = "m";
        Bound { principal, session: "s", tool: "t", arguments, opened: &[], content_sha256: content, level: 2, manifest_sha256 }.digest()
    }

    #[test]
    fn a_change_in_anything_is_another_approval() {
        let arguments = |content: &str| Map::from_iter([("path".to_owned(), json!("w/a")), ("content".to_owned(), json!(content))]);
        let first = bound(&arguments("x"), "p", Some("d"));
        assert_eq!(first, bound(&arguments("x"), "p", Some("d")));
        for other in [bound(&arguments("y"), "p", Some("d")), bound(&arguments("x"), "q", Some("d")), bound(&arguments("x"), "p", None)] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_code_has_four_clear_characters() {
        for _ in 0..100 {
            let code = code().unwrap();
            assert!(code.len() == 4 && !code.contains(['0', 'O', '1', 'I']), "{code}");
        }
    }
}
