//! An approval between question and answer: what it is bound to, and the state a 2026-07-28 client carries back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::rates::Millis;
use crate::audit::counts::Tick;
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
    /// When it was asked, by all clocks. One without is over.
    #[serde(default)]
    pub asked: Tick,
    /// The code that must be typed.
    pub code: Option<String>,
    /// It waits for an operator, and no answer of the client counts.
    #[serde(default)]
    pub operator: bool,
    /// What the reviewers said of it, where they were asked: they are not asked again about the same.
    #[serde(default)]
    pub reviews: Option<Vec<Review>>,
}

impl Pending {
    /// How long it is open.
    pub(super) const fn span(&self) -> Millis {
        self.expires.saturating_sub(self.asked.seconds()).saturating_mul(1000)
    }

    /// Whether it has ended, by whichever clock says so first: one that is set back prolongs nothing.
    pub fn is_over(&self, now: Tick) -> bool {
        now.is_past(self.asked, self.span())
    }

    /// How long it is still open, to the second.
    pub(super) fn left(&self, now: Tick) -> Duration {
        Duration::from_millis(now.left(self.asked, self.span()))
    }
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
    /// Digest of what the client was told of the tool: a yes to one definition is none to another.
    pub definition: &'a str,
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
            "definition": self.definition,
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
    use crate::model::{Identity, PathFact, RelPath, Target};

    fn plain<'a>(arguments: &'a Map<String, Value>, opened: &'a [Opened]) -> Bound<'a> {
        let content_sha256 = Some("d");
        Bound {
            principal: "p",
            session: "s",
            tool: "t",
            definition: "e",
            arguments,
            opened,
            content_sha256,
            level: 2,
            manifest_sha256: "m",
        }
    }

    fn opened(change: impl FnOnce(&mut PathFact)) -> [Opened; 1] {
        let mut fact = PathFact { size: 5, identity: Some(Identity { device: 1, inode: 2, mtime_ns: 3 }), ..PathFact::of(Kind::File) };
        change(&mut fact);
        let root = std::sync::Arc::new(rustix::fs::open("/", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap());
        let target = Target { root: "w".to_owned(), path: RelPath::parse("a").unwrap() };
        [Opened { target, fact, root, folder: None, object: None }]
    }

    #[test]
    fn a_change_in_anything_is_another_approval() {
        let arguments = |content: &str| Map::from_iter([("path".to_owned(), json!("w/a")), ("content".to_owned(), json!(content))]);
        let (args, other_args) = (arguments("x"), arguments("y"));
        let more_args = args.clone().into_iter().chain([("mode".to_owned(), json!("append"))]).collect();
        let same = opened(|_| ());
        let first = plain(&args, &same).digest();
        assert_eq!(first, plain(&args, &opened(|_| ())).digest(), "the same is the same");
        let identity = |device, inode, mtime_ns| Some(Identity { device, inode, mtime_ns });
        let targets = [
            opened(|fact| fact.size = 6),
            opened(|fact| fact.identity = identity(9, 2, 3)),
            opened(|fact| fact.identity = identity(1, 9, 3)),
            opened(|fact| fact.identity = identity(1, 2, 9)),
            opened(|fact| fact.identity = None),
            opened(|fact| fact.kind = Kind::Directory),
            opened(|fact| fact.below.push(crate::model::Entry { path: RelPath::ROOT.join("x"), kind: Kind::File, protected: false })),
        ];
        let with = |change: &dyn Fn(&mut Bound<'_>)| {
            let mut bound = plain(&args, &same);
            change(&mut bound);
            bound.digest()
        };
        let others = [
            plain(&other_args, &same).digest(),
            plain(&more_args, &same).digest(),
            plain(&args, &[]).digest(),
            with(&|bound| bound.principal = "q"),
            with(&|bound| bound.session = "r"),
            with(&|bound| bound.tool = "u"),
            with(&|bound| bound.definition = "f"),
            with(&|bound| bound.content_sha256 = None),
            with(&|bound| bound.content_sha256 = Some("c")),
            with(&|bound| bound.level = 3),
            with(&|bound| bound.manifest_sha256 = "n"),
        ];
        let all: std::collections::BTreeSet<String> =
            targets.iter().map(|opened| plain(&args, opened).digest()).chain(others).chain([first]).collect();
        assert_eq!(all.len(), 7 + 11 + 1, "each is another");
    }

    #[test]
    fn an_approval_ends_by_whichever_clock_says_so_first() {
        let asked = Tick { wall: 1_000_900, up: 400, boot: 1 };
        let pending = Pending { expires: 1050, asked, ..Pending::default() };
        let at = |wall, up, boot| pending.is_over(Tick { wall, up, boot });
        assert!(!at(1_050_899, 50_399, 1) && at(1_050_900, 50_400, 1));
        assert!(at(5_000, 50_400, 1) && at(1_000_900, 50_400, 1), "the clock was set back");
        assert!(at(9_000_000, 500, 1), "or forward");
        assert!(!at(1_020_000, 7, 2) && at(1_000_899, 7, 2), "after a restart only forwards");
        assert_eq!(pending.left(Tick { wall: 5_000, up: 20_400, boot: 1 }), Duration::from_secs(30));
        assert!(Pending { expires: u64::MAX, ..Pending::default() }.left(asked).as_secs() > 0, "no overflow");
    }

    #[test]
    fn a_code_has_four_clear_characters() {
        for _ in 0..100 {
            let code = code().unwrap();
            assert!(code.len() == 4 && !code.contains(['0', 'O', '1', 'I']), "{code}");
        }
    }
}
