//! Questions that wait for an operator: one file each, shared by every process on the state folder, so that any of them can take the answer and
//! any of them can act on it.
//!
//! A question is written once and never changed; each operator's answer is a file of its own beside it, made exclusively and carrying a keyed hash.

use std::io;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::secrets::Operator;
use super::{Kept, Millis, StateDir, Tick};

/// A question to an operator, as it waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The approval's unguessable id.
    pub id: String,
    /// Digest of everything it is bound to.
    pub binding: String,
    /// The call in the log.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Who calls.
    pub principal: String,
    /// In which session.
    pub session: String,
    /// Under which profile.
    pub profile: String,
    /// The level of the call.
    pub level: u8,
    /// Why it is asked: `needs_operator`, or what the client could not be asked.
    pub code: String,
    /// What the operator reads: the very text a client would show.
    pub text: String,
    /// When it was asked, in seconds since 1970.
    pub asked: u64,
    /// When it ends.
    pub expires: u64,
    /// When it was asked, by all clocks. One without is over.
    #[serde(default)]
    pub since: Tick,
    /// How many different operators must agree.
    pub needed: u8,
    /// The answers that are offered, the no first, each with its words.
    #[serde(default)]
    pub choices: Vec<(String, String)>,
    /// The whole difference of a change, where the text shows a part of it.
    #[serde(default)]
    pub diff: String,
}

impl Ask {
    /// Whether it has ended, by whichever clock says so first.
    pub fn is_over(&self, now: Tick) -> bool {
        now.is_past(self.since, self.span())
    }

    /// How long it is still open.
    pub fn left(&self, now: Tick) -> Millis {
        now.left(self.since, self.span())
    }

    const fn span(&self) -> Millis {
        self.expires.saturating_sub(self.asked).saturating_mul(1000)
    }
}

/// What an operator says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// No.
    Deny,
    /// Yes, for this one call.
    Once,
    /// Yes, for this tool on this target until the session ends.
    Session,
    /// Yes, for each file in the target's folder and below until the session ends.
    SessionFolder,
    /// Yes, for each file in the target's root until the session ends.
    SessionRoot,
}

/// One operator's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The approval's id.
    pub id: String,
    /// What the operator was shown.
    pub binding: String,
    /// Who answered.
    pub operator: String,
    /// What they said.
    pub say: Say,
    /// When, in seconds since 1970.
    pub at: u64,
    /// When, by all clocks.
    #[serde(default)]
    pub when: Tick,
    /// The one operator that enrolled this one alone. It is kept with the answer, so that removing an operator hides nothing.
    pub enrolled_by: Option<String>,
    /// The keyed hash over the rest.
    #[serde(default)]
    mac: String,
}

impl Answered {
    /// An answer, not yet sealed.
    pub fn new(ask: &Ask, Operator { name, enrolled_by }: Operator, say: Say, when: Tick) -> Self {
        let (id, binding) = (ask.id.clone(), ask.binding.clone());
        Self { id, binding, operator: name, say, at: when.seconds(), when, enrolled_by, mac: String::new() }
    }

    /// Whether the two are of different operators, of whom neither enrolled the other alone.
    fn seconds(&self, other: &Self) -> bool {
        self.operator != other.operator
            && self.enrolled_by.as_ref() != Some(&other.operator)
            && other.enrolled_by.as_ref() != Some(&self.operator)
    }

    fn sealed(&self, key: &[u8; 32]) -> io::Result<Self> {
        let unsealed = Self { mac: String::new(), ..self.clone() };
        let mut mac = Hmac::<Sha256>::new_from_slice(key).map_err(io::Error::other)?;
        mac.update(&serde_json::to_vec(&unsealed)?);
        Ok(Self { mac: HEXLOWER.encode(&mac.finalize().into_bytes()), ..unsealed })
    }
}

/// The answers that count: two of which one seconds the other, where there are two, else the first.
pub fn persons(answers: &[Answered]) -> Vec<&Answered> {
    let second = |one: &Answered| answers.iter().find(|other| one.seconds(other));
    match answers.iter().find_map(|one| Some([one, second(one)?])) {
        Some(pair) => pair.to_vec(),
        None => answers.first().into_iter().collect(),
    }
}

/// Whether a text has the form of an approval's id, and so is safe as a file name.
pub fn is_id(text: &str) -> bool {
    text.strip_prefix("ap_").is_some_and(|rest| (4..=64).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

const FOLDER: &str = "approvals";
const KEY: &str = "operator-answers";
const HOUR: Millis = 3_600_000;
/// What one sweep removes at most, so that it never keeps the disk for long.
const SWEPT: usize = 10_000;

impl StateDir {
    /// Puts a question into the queue.
    /// # Errors  When it cannot be written whole.
    pub fn put_ask(&self, ask: &Ask) -> io::Result<()> {
        self.subfolder(FOLDER)?.claim(&format!("{}.json", ask.id), &serde_json::to_vec(ask)?).map(drop)
    }

    /// The question of this id, if it waits.
    /// # Errors  When the queue cannot be read.
    pub fn ask(&self, id: &str) -> io::Result<Option<Ask>> {
        if !is_id(id) {
            return Ok(None);
        }
        let ask: Option<Ask> = self.subfolder(FOLDER)?.read_as(&format!("{id}.json"))?;
        Ok(ask.filter(|ask| ask.id == id))
    }

    /// Every question that waits, oldest first.
    /// # Errors  When the queue cannot be read.
    pub fn asks(&self) -> io::Result<Vec<Ask>> {
        let mut asks = Vec::new();
        for name in self.subfolder(FOLDER)?.names()? {
            if let Some(id) = name.strip_suffix(".json") {
                asks.extend(self.ask(id)?);
            }
        }
        asks.sort_by(|one, other| (one.asked, &one.id).cmp(&(other.asked, &other.id)));
        Ok(asks)
    }

    /// Questions that no operator has ended yet, of every server on the folder: neither refused nor agreed to by as many as it takes.
    /// # Errors  When the queue cannot be read.
    pub fn unsettled(&self, now: Tick) -> io::Result<usize> {
        let mut waiting = 0;
        for ask in self.asks()?.iter().filter(|ask| !ask.is_over(now)) {
            let answers = self.answers(&ask.id)?;
            let is_refused = answers.iter().any(|answered| answered.say == Say::Deny);
            waiting += usize::from(!is_refused && persons(&answers).len() < usize::from(ask.needed));
        }
        Ok(waiting)
    }

    /// Keeps one operator's answer. Whether it is their first to this question: nobody answers twice.
    /// # Errors  When it cannot be kept.
    pub fn put_answer(&self, answered: &Answered) -> io::Result<bool> {
        let sealed = answered.sealed(&self.key(KEY)?)?;
        self.subfolder(FOLDER)?.claim(&answer_name(&answered.id, &answered.operator), &serde_json::to_vec(&sealed)?)
    }

    /// The answers to a question that were given on this installation, in the order of time. What carries no right keyed hash is no answer.
    /// # Errors  When they cannot be read.
    pub fn answers(&self, id: &str) -> io::Result<Vec<Answered>> {
        let folder = self.subfolder(FOLDER)?;
        let prefix = format!("{id}.by.");
        let mut found = Vec::new();
        for name in folder.names()?.into_iter().filter(|name| name.starts_with(&prefix)) {
            let Some(answered) = folder.read_as::<Answered>(&name)? else { continue };
            let right = answered.sealed(&self.key(KEY)?)?;
            let is_own = constant_time_eq(right.mac.as_bytes(), answered.mac.as_bytes());
            if is_own && answered.id == id && name == answer_name(id, &answered.operator) {
                found.push(answered);
            }
        }
        found.sort_by_key(|answered| answered.when.wall);
        Ok(found)
    }

    /// Notes that the same was asked once more.
    pub fn ask_again(&self, id: &str) {
        let times = self.times_asked(id).saturating_add(1);
        // A count for a person to look at; nothing hangs on it.
        let _ = self.subfolder(FOLDER).and_then(|folder| folder.replace(&format!("{id}.again"), times.to_string().as_bytes()));
    }

    /// How often a question was asked.
    pub fn times_asked(&self, id: &str) -> u64 {
        self.subfolder(FOLDER).and_then(|folder| folder.read_as(&format!("{id}.again"))).ok().flatten().unwrap_or(1)
    }

    /// Takes a question and its answers out of the queue.
    /// # Errors  When something stays.
    pub fn drop_ask(&self, id: &str) -> io::Result<()> {
        let folder = self.subfolder(FOLDER)?;
        folder.names()?.iter().filter(|name| name.split('.').next() == Some(id)).try_for_each(|name| folder.remove(name))
    }

    /// Removes what nobody can use any more: questions that ended more than an hour ago, and marks of used approvals whose sealed states no
    /// longer open. At most [`SWEPT`] of either; the rest goes the next time.
    /// # Errors  When the folders cannot be listed.
    pub fn sweep(&self, now: Tick) -> io::Result<()> {
        let over = |ask: &Ask| now.is_long_past(ask.since, ask.span().saturating_add(HOUR));
        for ask in self.asks()?.into_iter().filter(over).take(SWEPT) {
            self.drop_ask(&ask.id)?;
        }
        self.sweep_seals(now.seconds())?;
        let used = self.subfolder("used")?;
        // A mark without its time is kept.
        let over = |name: &String| matches!(used.read_as::<Kept>(name), Ok(Some(kept)) if now.is_long_past(kept.since, kept.span));
        used.names()?.iter().filter(|name| over(name)).take(SWEPT).try_for_each(|name| used.remove(name))
    }
}

fn answer_name(id: &str, operator: &str) -> String {
    let digest = HEXLOWER.encode(&Sha256::digest(operator));
    format!("{id}.by.{}", digest.get(..16).unwrap_or_default())
}

/// Compares without telling by its time where two texts differ.
pub(super) fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(one, other).is_ok()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::state) fn state() -> (tempfile::TempDir, StateDir) {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(&folder.path().join("state")).unwrap();
        (folder, state)
    }

    const fn tick(seconds: u64) -> Tick {
        Tick { wall: seconds * 1000, up: seconds * 1000, boot: 1 }
    }

    fn ask(id: &str) -> Ask {
        let text = str::to_owned;
        Ask {
            id: text(id),
            binding: text("b"),
            call: text("c_1"),
            tool: text("delete_file"),
            principal: text("stdio"),
            session: text("s"),
            profile: text("p"),
            level: 4,
            code: text("needs_operator"),
            text: text("Delete work/a"),
            asked: 100,
            expires: 150,
            since: tick(100),
            needed: 1,
            choices: Vec::new(),
            diff: String::new(),
        }
    }

    fn operator(name: &str, enrolled_by: Option<&str>) -> Operator {
        Operator { name: name.to_owned(), enrolled_by: enrolled_by.map(str::to_owned) }
    }

    #[test]
    fn an_operator_enrolled_by_one_alone_does_not_second_that_one() {
        let answer = |(name, by)| Answered::new(&ask("ap_0001"), operator(name, by), Say::Once, tick(110));
        let (ann, ann2, bob, carl) = (("ann", None), ("ann2", Some("ann")), ("bob", None), ("carl", None));
        for (operators, expected) in [
            (&[][..], &[][..]),
            (&[ann], &["ann"]),
            (&[ann, ann], &["ann"]),
            (&[ann, ann2], &["ann"]),
            (&[ann2, ann], &["ann2"]),
            (&[ann, bob], &["ann", "bob"]),
            (&[ann2, bob], &["ann2", "bob"]),
            (&[ann, ann2, carl], &["ann", "carl"]),
        ] {
            let answers: Vec<_> = operators.iter().copied().map(answer).collect();
            let counted: Vec<_> = persons(&answers).into_iter().map(|answered| answered.operator.as_str()).collect();
            assert_eq!(counted, expected, "{operators:?}");
        }
    }

    #[test]
    fn a_question_waits_for_every_process_and_each_operator_answers_once() {
        let (_keep, state) = state();
        state.put_ask(&ask("ap_0001")).unwrap();
        let other = StateDir::open(state.path()).unwrap();
        assert_eq!(other.asks().unwrap(), [ask("ap_0001")]);
        let yes = |name: &str, at| Answered::new(&ask("ap_0001"), operator(name, None), Say::Once, tick(at));
        assert!(other.put_answer(&yes("bob", 120)).unwrap() && other.put_answer(&yes("ann", 110)).unwrap());
        assert!(!state.put_answer(&yes("bob", 130)).unwrap(), "nobody answers twice");
        let given: Vec<_> = state.answers("ap_0001").unwrap().into_iter().map(|answered| (answered.operator, answered.at)).collect();
        assert_eq!(given, [("ann".to_owned(), 110), ("bob".to_owned(), 120)]);
        state.ask_again("ap_0001");
        assert_eq!(state.times_asked("ap_0001"), 2);
        state.drop_ask("ap_0001").unwrap();
        assert_eq!((state.asks().unwrap(), state.answers("ap_0001").unwrap()), (vec![], vec![]));
    }

    #[test]
    fn an_answer_that_was_put_there_by_somebody_without_the_key_is_none() {
        let (_keep, state) = state();
        state.put_ask(&ask("ap_0001")).unwrap();
        let forged = Answered { mac: "0".repeat(64), ..Answered::new(&ask("ap_0001"), operator("eve", None), Say::Once, tick(110)) };
        std::fs::write(state.path().join("approvals").join(answer_name("ap_0001", "eve")), serde_json::to_vec(&forged).unwrap()).unwrap();
        assert_eq!(state.answers("ap_0001").unwrap(), []);
        // A real answer, put under another question or another name.
        state.put_answer(&Answered::new(&ask("ap_0001"), operator("ann", None), Say::Once, tick(110))).unwrap();
        let real = state.path().join("approvals").join(answer_name("ap_0001", "ann"));
        for place in [answer_name("ap_0002", "ann"), answer_name("ap_0001", "eve")] {
            std::fs::copy(&real, state.path().join("approvals").join(place)).unwrap();
        }
        assert_eq!((state.answers("ap_0001").unwrap().len(), state.answers("ap_0002").unwrap().len()), (1, 0));
    }

    #[test]
    fn what_is_over_is_swept_away_and_what_is_not_stays() {
        let (_keep, state) = state();
        state.put_ask(&ask("ap_0001")).unwrap();
        state.use_once("ap_gone", Kept { since: tick(100), span: 900_000 }).unwrap();
        state.use_once("ap_kept", Kept { since: tick(100), span: 8_900_000 }).unwrap();
        std::fs::write(state.path().join("used/ap_torn"), "").unwrap();
        state.sweep(tick(3700)).unwrap();
        assert_eq!(state.asks().unwrap().len(), 1);
        // A clock set forward frees no mark: set back again, its state would open a second time.
        state.use_once("ap_held", Kept { since: tick(100), span: 3_700_000 }).unwrap();
        state.sweep(Tick { wall: 9_999_000_000, ..tick(3700) }).unwrap();
        assert!(state.was_used("ap_held").unwrap() && state.was_used("ap_kept").unwrap());
        state.sweep(tick(5000)).unwrap();
        assert_eq!(state.asks().unwrap().len(), 0);
        assert!(!state.was_used("ap_gone").unwrap() && state.was_used("ap_kept").unwrap() && state.was_used("ap_torn").unwrap());
    }

    #[test]
    fn a_question_waits_until_it_is_refused_or_all_have_agreed_or_its_time_is_over() {
        let (_keep, state) = state();
        assert_eq!(state.unsettled(tick(0)).unwrap(), 0);
        let ask = |id: &str, needed| Ask { asked: 10, expires: 100, since: tick(10), needed, ..ask(id) };
        let operator = |name| operator(name, None);
        let (one, two) = (ask("ap_0001", 1), ask("ap_0002", 2));
        state.put_ask(&one).unwrap();
        state.put_ask(&two).unwrap();
        assert_eq!((state.unsettled(tick(50)).unwrap(), state.unsettled(tick(100)).unwrap()), (2, 0));
        assert!(state.put_answer(&Answered::new(&two, operator("ann"), Say::Once, tick(20))).unwrap());
        assert_eq!(state.unsettled(tick(50)).unwrap(), 2, "one of two is not enough");
        assert!(state.put_answer(&Answered::new(&two, operator("bob"), Say::Once, tick(21))).unwrap());
        assert_eq!(state.unsettled(tick(50)).unwrap(), 1);
        assert!(state.put_answer(&Answered::new(&one, operator("ann"), Say::Deny, tick(22))).unwrap());
        assert_eq!(state.unsettled(tick(50)).unwrap(), 0);
    }

    #[test]
    fn only_an_id_is_an_id() {
        assert!(is_id("ap_0123abcd"));
        for bad in ["", "ap_", "ap_../x", "ap_a/b", "x_0123", "ap_12.3", "ap_\u{430}bcd"] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
