//! An approval between question and answer: what it is bound to, and the state a 2026-07-28 client carries back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::opened::Opened;
use super::rates::Millis;
use crate::model::{Entry, Kind, Level, ToolCall};
use crate::policy::Review;
use crate::state::Tick;

/// What a repeated call brings back, sealed. It is not secret (the code stands in the text as well), it is bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// The approval's id; used once.
    pub id: String,
    /// Digest of everything that was shown or decided on.
    pub binding: String,
    /// Who was asked for.
    pub principal: String,
    /// The level it was asked at.
    #[serde(default)]
    pub level: Level,
    /// Digest of the call it was asked about, as [`call_digest`] has it.
    #[serde(default)]
    pub call: String,
    /// How often the call has come back and waited; each time it may come back uncounted once more.
    #[serde(default)]
    pub turn: u32,
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
    /// Whether it was asked about this very call: the same caller, tool and arguments.
    pub(super) fn is_for(&self, call: &ToolCall) -> bool {
        self.principal == call.caller.principal && self.call == call_digest(call)
    }

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
    /// Under which profile.
    pub profile: &'a str,
    /// Which tool.
    pub tool: &'a str,
    /// Digest of what the client was told of the tool: a yes to one definition is none to another.
    pub definition: &'a str,
    /// All arguments, as sent.
    pub arguments: &'a Map<String, Value>,
    /// The opened targets.
    pub opened: &'a [Opened],
    /// Digest of the present content of each target that is a file.
    pub contents: &'a [Option<String>],
    /// The level it was asked at.
    pub level: u8,
    /// The manifest in force.
    pub manifest_sha256: &'a str,
}

impl Bound<'_> {
    /// The digest: SHA-256 over the JSON form with sorted names (the map of `serde_json` keeps them so), as hex.
    pub fn digest(&self) -> String {
        let contents = self.contents.iter().map(Option::as_deref).chain(std::iter::repeat(None));
        let targets: Vec<Value> = self.opened.iter().zip(contents).map(|(opened, content)| target(opened, content)).collect();
        let bound = json!({
            "v": 3,
            "principal": self.principal,
            "session": self.session,
            "profile": self.profile,
            "tool": self.tool,
            "definition": self.definition,
            "arguments": self.arguments,
            "targets": targets,
            "level": self.level,
            "manifest_sha256": self.manifest_sha256,
        });
        hex(&Sha256::digest(bound.to_string().as_bytes()))
    }
}

/// Digest of a call: who calls which tool with which arguments.
pub(super) fn call_digest(call: &ToolCall) -> String {
    let whole = json!([call.caller.principal, call.tool, call.arguments]);
    hex(&Sha256::digest(whole.to_string().as_bytes()))
}

fn target(opened: &Opened, content: Option<&str>) -> Value {
    let fact = &opened.fact;
    let identity = fact.identity.map(|id| json!([id.device, id.inode, id.mtime_ns.to_string()]));
    // Where nothing tells the content, the time that only the kernel sets tells of a change. A folder's entries are compared one by one.
    let unread = content.is_none() && fact.kind != Kind::Directory;
    let changed = fact.identity.filter(|_| unread).map(|id| id.ctime_ns.to_string());
    json!({
        "target": opened.target.to_string(),
        "leads_to": opened.led_to().map(|led| led.to_string()),
        "kind": match fact.kind {
            Kind::Absent => "absent",
            Kind::File => "file",
            Kind::Directory => "directory",
            Kind::Symlink => "symlink",
            Kind::Other => "other",
        },
        "size": fact.size,
        "folders": fact.missing_folders,
        // The folder that holds it is the one that was there when the question was put.
        "folder": opened.folder.as_ref().and_then(|folder| rustix::fs::fstat(folder).ok()).map(|seen| (seen.st_dev, seen.st_ino)),
        "identity": identity,
        "changed": changed,
        "sha256": content,
        "below": below(&fact.below),
    })
}

/// Digest of all below a folder: path, kind, object, size and times of each entry, whatever the order in which they were found.
fn below(entries: &[Entry]) -> String {
    let mut lines: Vec<String> = entries
        .iter()
        .map(|entry| {
            let identity = entry.identity.map(|id| (id.device, id.inode, id.mtime_ns.to_string(), id.ctime_ns.to_string()));
            json!([entry.path.to_string(), format!("{:?}", entry.kind), entry.size, identity]).to_string()
        })
        .collect();
    lines.sort_unstable();
    hex(&Sha256::digest(lines.join("\n").as_bytes()))
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// A code a person can read and type: four letters and digits that cannot be taken for one another.
/// # Errors  When the kernel has no random bytes.
pub fn code() -> std::io::Result<String> {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut raw = [0; 4];
    crate::state::random(&mut raw)?;
    Ok(raw.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32)).map(|letter| char::from(*letter))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Identity, Link, PathFact, RelPath, Target};

    fn plain<'a>(arguments: &'a Map<String, Value>, opened: &'a [Opened], contents: &'a [Option<String>]) -> Bound<'a> {
        Bound {
            principal: "p",
            session: "s",
            profile: "f",
            tool: "t",
            definition: "e",
            arguments,
            opened,
            contents,
            level: 2,
            manifest_sha256: "m",
        }
    }

    const IDENTITY: Identity = Identity { device: 1, inode: 2, mtime_ns: 3, ctime_ns: 4 };

    fn opened(change: impl FnOnce(&mut PathFact)) -> [Opened; 1] {
        let mut fact = PathFact { size: 5, identity: Some(IDENTITY), ..PathFact::of(Kind::File) };
        change(&mut fact);
        let root = std::sync::Arc::new(rustix::fs::open("/", rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap());
        let target = Target { root: "w".to_owned(), path: RelPath::parse("a").unwrap() };
        [Opened { target, fact, root, folder: None, object: None }]
    }

    fn entry(change: impl FnOnce(&mut Entry)) -> [Opened; 1] {
        let mut entry = Entry { path: RelPath::ROOT.join("x"), kind: Kind::File, size: 1, identity: Some(IDENTITY), protected: false };
        change(&mut entry);
        opened(|fact| (fact.kind, fact.below) = (Kind::Directory, vec![entry]))
    }

    #[test]
    fn a_change_in_anything_is_another_approval() {
        let arguments = |content: &str| Map::from_iter([("path".to_owned(), json!("w/a")), ("content".to_owned(), json!(content))]);
        let (args, other_args) = (arguments("x"), arguments("y"));
        let more_args = args.clone().into_iter().chain([("mode".to_owned(), json!("append"))]).collect();
        let same = opened(|_| ());
        let content = [Some("d".to_owned())];
        let first = plain(&args, &same, &content).digest();
        assert_eq!(first, plain(&args, &opened(|_| ()), &content).digest(), "the same is the same");
        let touched = opened(|fact| fact.identity = Some(Identity { ctime_ns: 9, ..IDENTITY }));
        assert_eq!(first, plain(&args, &touched, &content).digest(), "a file whose content was read is that content");
        let targets = [
            opened(|fact| fact.size = 6),
            opened(|fact| fact.missing_folders = 1),
            opened(|fact| fact.identity = Some(Identity { device: 9, ..IDENTITY })),
            opened(|fact| fact.identity = Some(Identity { inode: 9, ..IDENTITY })),
            opened(|fact| fact.identity = Some(Identity { mtime_ns: 9, ..IDENTITY })),
            opened(|fact| fact.identity = None),
            opened(|fact| fact.kind = Kind::Directory),
            opened(|fact| fact.link = Link::Leads(RelPath::ROOT.join("b"))),
            opened(|fact| fact.link = Link::Leads(RelPath::ROOT.join("c"))),
            entry(|_| ()),
            entry(|entry| entry.path = RelPath::ROOT.join("y")),
            entry(|entry| entry.kind = Kind::Directory),
            entry(|entry| entry.size = 2),
            entry(|entry| entry.identity = Some(Identity { inode: 9, ..IDENTITY })),
            entry(|entry| entry.identity = Some(Identity { mtime_ns: 9, ..IDENTITY })),
            entry(|entry| entry.identity = Some(Identity { ctime_ns: 9, ..IDENTITY })),
        ];
        let with = |change: &dyn Fn(&mut Bound<'_>)| {
            let mut bound = plain(&args, &same, &content);
            change(&mut bound);
            bound.digest()
        };
        let others = [
            plain(&other_args, &same, &content).digest(),
            plain(&more_args, &same, &content).digest(),
            plain(&args, &[], &content).digest(),
            plain(&args, &same, &[]).digest(),
            plain(&args, &same, &[Some("c".to_owned())]).digest(),
            plain(&args, &touched, &[]).digest(),
            with(&|bound| bound.principal = "q"),
            with(&|bound| bound.session = "r"),
            with(&|bound| bound.profile = "g"),
            with(&|bound| bound.tool = "u"),
            with(&|bound| bound.definition = "f"),
            with(&|bound| bound.level = 3),
            with(&|bound| bound.manifest_sha256 = "n"),
        ];
        let all: std::collections::BTreeSet<String> =
            targets.iter().map(|opened| plain(&args, opened, &content).digest()).chain(others).chain([first]).collect();
        assert_eq!(all.len(), 16 + 13 + 1, "each is another");
        let both = [same, opened(|_| ())].concat();
        let second = |content: &str| plain(&args, &both, &[Some("d".to_owned()), Some(content.to_owned())]).digest();
        assert_ne!(second("d"), second("e"), "the second target counts as the first does");
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
