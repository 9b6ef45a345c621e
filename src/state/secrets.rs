//! Who may answer: named operators, each with a passphrase (kept as Argon2id).
//!
//! A passphrase is what tells an operator from an agent with the same user id, whose other tools could reach the socket as well.

use std::io;

use argon2::{Algorithm, Argon2, Params, Version};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::queue::constant_time_eq;
use super::{StateDir, random};

/// An operator, without the passphrase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operator {
    /// The name answers are recorded under.
    pub name: String,
    /// The one operator that enrolled this one alone, and is not seconded by it.
    pub enrolled_by: Option<String>,
}

/// What a passphrase was worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It is the operator's.
    Right,
    /// It is not, or there is no such operator: the two are not told apart.
    Wrong,
    /// Too many wrong ones; looked at again after so many seconds.
    Closed(u64),
}

/// The file of an operator. Earlier versions wrote other keys, among them those of an authenticator: such a file is not read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: String,
    /// 16 random bytes in hex.
    salt: String,
    /// The Argon2id hash in hex.
    secret: String,
    enrolled_by: Option<String>,
}

const FOLDER: &str = "operators";
/// A passphrase with fewer characters is refused.
const SHORTEST: usize = 8;
/// Wrong passphrases after which an operator's name is closed for a while …
const MOST_WRONG: usize = 5;
/// … that is until the oldest of them is this many seconds old.
const SPAN: u64 = 60;

impl StateDir {
    /// The operators that have a passphrase here, by name.
    /// # Errors  When they cannot be read, or one was enrolled by an earlier version.
    pub fn operators(&self) -> io::Result<Vec<Operator>> {
        let stored = self.stored()?.into_iter();
        Ok(stored.map(|Stored { name, enrolled_by, .. }| Operator { name, enrolled_by }).collect())
    }

    fn stored(&self) -> io::Result<Vec<Stored>> {
        let folder = self.subfolder(FOLDER)?;
        let mut found = Vec::new();
        for name in folder.names()?.iter().filter(|name| name.strip_suffix(".json").is_some()) {
            found.extend(folder.read(name)?.map(|bytes| parse(&bytes)).transpose()?);
        }
        found.sort_by(|one: &Stored, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Gives operators a passphrase each: the first ones, without an enroller; one more, enrolled by two operators or by the only one; or one that
    /// is known, which names itself. The passphrases of the enrollers were checked.
    /// # Errors  A name or a passphrase that cannot be, too few enrollers, or a passphrase that cannot be kept.
    pub fn enrol(&self, new: &[(String, String)], by: &[String]) -> io::Result<()> {
        // All before the first is kept: of several, either all are the first or none is.
        for (name, passphrase) in new {
            enrollable(name, passphrase)?;
        }
        let folder = self.subfolder(FOLDER)?;
        // Two that enrol at once must not both be the first.
        let _alone = folder.lock()?;
        let known = self.operators()?;
        let is_known = |name: &String| known.iter().any(|operator| operator.name == *name);
        for (name, passphrase) in new {
            let enrolled_by = match (known.iter().find(|operator| operator.name == *name), by) {
                (None, []) if known.is_empty() => None,
                (None, [one]) if known.len() == 1 && is_known(one) => Some(one.clone()),
                (None, [one, other]) if one != other && is_known(one) && is_known(other) => None,
                (Some(own), [one]) if one == name => own.enrolled_by.clone(),
                _ => {
                    let why = "operators enrol another, two of them where there are two; a known one changes its own passphrase alone";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
                }
            };
            let mut salt = [0; 16];
            random(&mut salt)?;
            let secret = HEXLOWER.encode(&hash(passphrase, &salt)?);
            let stored = Stored { name: name.clone(), salt: HEXLOWER.encode(&salt), secret, enrolled_by };
            folder.replace(&file_of(name), &serde_json::to_vec(&stored)?)?;
        }
        folder.sync()
    }

    /// Takes an operator's passphrase away. Whether there was one.
    /// # Errors  When it stays. The last one does: without any, the next enrolment would need no enroller.
    pub fn remove_operator(&self, name: &str) -> io::Result<bool> {
        let folder = self.subfolder(FOLDER)?;
        let _alone = folder.lock()?;
        let there = folder.has(&file_of(name))?;
        if there && self.operators()?.iter().all(|operator| operator.name == name) {
            let why =
                format!("`{}` is the last operator, without whom anybody could enrol themselves; enrol another first", name.escape_debug());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        folder.remove(&file_of(name))?;
        Ok(there)
    }

    /// Whether this is the operator's passphrase, at `now` (seconds since 1970). Slow on purpose, and closed for a while after five wrong ones.
    /// # Errors  When it cannot be told, which is no yes.
    pub fn check_operator(&self, name: &str, passphrase: &str, now: u64) -> io::Result<Checked> {
        let folder = self.subfolder(FOLDER)?;
        let _alone = folder.lock()?;
        // Wrong passphrases are counted over all processes. One from the future counts: the clock was set back.
        let file = file_of(name).replace(".json", ".wrong");
        let mut wrong: Vec<u64> = folder.read_as(&file)?.unwrap_or_default();
        wrong.retain(|at| at.saturating_add(SPAN) > now);
        if let Some(oldest) = wrong.iter().min().filter(|_| wrong.len() >= MOST_WRONG) {
            return Ok(Checked::Closed(oldest.saturating_add(SPAN).saturating_sub(now).clamp(1, SPAN)));
        }
        if let Some(stored) = self.stored()?.into_iter().find(|stored| stored.name == name) {
            let [salt, kept] = [&stored.salt, &stored.secret].map(|text| HEXLOWER.decode(text.as_bytes()).unwrap_or_default());
            if constant_time_eq(&hash(passphrase, &salt)?, &kept) {
                return Ok(Checked::Right);
            }
        }
        wrong.push(now);
        folder.replace(&file, &serde_json::to_vec(&wrong)?)?;
        Ok(Checked::Wrong)
    }
}

fn parse(bytes: &[u8]) -> io::Result<Stored> {
    serde_json::from_slice(bytes).map_err(|_| {
        let name = serde_json::from_slice::<Value>(bytes).ok().and_then(|file| Some(file.get("name")?.as_str()?.to_owned()));
        let why = format!(
            "operator `{}` was enrolled by an earlier version, maybe with an authenticator, and cannot answer any more; remove the folder \
             `{FOLDER}` from the state folder and enrol all operators anew: toolgate approvals secret set --as NAME",
            name.unwrap_or_default().escape_debug()
        );
        io::Error::new(io::ErrorKind::InvalidData, why)
    })
}

/// Whether an operator may have this name and this passphrase; if not, why.
fn enrollable(name: &str, passphrase: &str) -> io::Result<()> {
    let fault = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !is_name(name) {
        return fault("a name has 1 to 64 letters, digits, `.`, `_`, `-` or `@`".to_owned());
    }
    if passphrase.chars().count() < SHORTEST {
        return fault(format!("a passphrase has at least {SHORTEST} characters"));
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte))
}

fn file_of(name: &str) -> String {
    format!("{}.json", HEXLOWER.encode(&Sha256::digest(name)).get(..32).unwrap_or_default())
}

/// Argon2id with 19 MiB and two passes: the least that OWASP's Password Storage Cheat Sheet names.
fn hash(passphrase: &str, salt: &[u8]) -> io::Result<[u8; 32]> {
    let fault = |fault: argon2::Error| io::Error::other(fault.to_string());
    let params = Params::new(19 * 1024, 2, 1, Some(32)).map_err(fault)?;
    let mut out = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(passphrase.as_bytes(), salt, &mut out).map_err(fault)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests::state;
    use super::*;

    fn set(state: &StateDir, name: &str, passphrase: &str, by: &[&str]) -> io::Result<()> {
        let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
        state.enrol(&[(name.to_owned(), passphrase.to_owned())], &by)
    }

    #[test]
    fn a_passphrase_is_its_operators_and_stands_nowhere() {
        let (_keep, state) = state();
        assert!(set(&state, "ann", "short", &[]).is_err() && set(&state, "../ann", "long enough", &[]).is_err());
        set(&state, "ann", "long enough", &[]).unwrap();
        set(&state, "bob", "another one", &["ann"]).unwrap();
        let check = |name: &str, secret: &str| state.check_operator(name, secret, 1000).unwrap();
        assert_eq!(check("ann", "long enough"), Checked::Right);
        assert_eq!(check("ann", "another one"), Checked::Wrong, "another operator's");
        assert_eq!(check("eve", "long enough"), Checked::Wrong, "nobody's");
        for entry in std::fs::read_dir(state.path().join("operators")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains("long enough") && !text.contains(&HEXLOWER.encode(b"long enough")));
        }
        assert!(state.remove_operator("ann").unwrap() && !state.remove_operator("ann").unwrap());
        let bob = Operator { name: "bob".to_owned(), enrolled_by: Some("ann".to_owned()) };
        assert_eq!(state.operators().unwrap(), [bob]);
        assert!(state.remove_operator("bob").is_err(), "the last one stays");
        assert_eq!(check("bob", "another one"), Checked::Right);
    }

    #[test]
    fn the_first_need_nobody_the_next_takes_the_only_one_and_every_other_two() {
        let (_keep, state) = state();
        let enrol = |name: &str, by: &[&str]| set(&state, name, "long enough", by);
        assert!(enrol("ann", &["ann"]).is_err(), "nobody enrols themselves");
        enrol("ann", &[]).unwrap();
        for (name, by) in [("ann", &[][..]), ("bob", &[]), ("bob", &["eve"]), ("bob", &["ann", "ann"])] {
            assert!(enrol(name, by).is_err(), "{name} by {by:?}");
        }
        enrol("bob", &["ann"]).unwrap();
        for by in [&["ann"][..], &["bob"], &["ann", "eve"], &["bob", "bob"], &["ann", "carl"]] {
            assert!(enrol("carl", by).is_err(), "{by:?}");
        }
        enrol("carl", &["ann", "bob"]).unwrap();
        // A new passphrase takes the old one alone, and changes nothing else.
        let before = state.operators().unwrap();
        assert!(enrol("bob", &["ann", "carl"]).is_err());
        enrol("bob", &["bob"]).unwrap();
        assert_eq!(state.operators().unwrap(), before);
        let by: Vec<_> = before.iter().map(|operator| operator.enrolled_by.as_deref()).collect();
        assert_eq!(by, [None, Some("ann"), None]);
    }

    #[test]
    fn an_operator_of_an_earlier_version_is_told_to_enrol_anew_and_accepted_nowhere() {
        let (_keep, state) = state();
        set(&state, "bob", "long enough", &[]).unwrap();
        let totp = r#"{"name":"ann","kind":"totp","salt":"","secret":"00","last_step":1,"lineage":{"vouched":[],"alone":["ann"]}}"#;
        std::fs::write(state.path().join("operators").join(file_of("ann")), totp).unwrap();
        let told = |fault: io::Error| {
            let text = fault.to_string();
            assert!(text.contains("`ann` was enrolled by an earlier version") && text.contains("enrol all operators anew"), "{text}");
        };
        told(state.operators().unwrap_err());
        told(state.check_operator("ann", "", 1000).unwrap_err());
        told(set(&state, "carl", "long enough", &["bob"]).unwrap_err());
        told(set(&state, "ann", "long enough", &[]).unwrap_err());
    }

    #[test]
    fn five_wrong_secrets_close_a_name_for_a_minute_in_every_process() {
        let (_keep, state) = state();
        set(&state, "ann", "long enough", &[]).unwrap();
        let other = StateDir::open(state.path()).unwrap();
        for wrong in 0..5 {
            assert_eq!(state.check_operator("ann", &format!("x{wrong}"), 3000 + wrong).unwrap(), Checked::Wrong);
        }
        assert_eq!(other.check_operator("ann", "long enough", 3010).unwrap(), Checked::Closed(50));
        assert_eq!(other.check_operator("bob", "x", 3010).unwrap(), Checked::Wrong, "another name is open");
        assert_eq!(other.check_operator("ann", "x", 3060).unwrap(), Checked::Wrong, "looked at again");
    }
}
