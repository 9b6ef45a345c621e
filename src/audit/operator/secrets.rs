//! Who may answer: named operators, each with a passphrase (kept as Argon2id) or an authenticator.
//!
//! A secret is what tells an operator from an agent with the same user id, whose other tools could reach the socket as well.

use std::io;

use argon2::{Algorithm, Argon2, Params, Version};
use serde::{Deserialize, Serialize};

use super::super::{StateDir, hex, random};
use super::failures::{Failures, lock};
use super::lineage::Lineage;
use super::queue::{constant_time_eq, names, put, read, remove};
use super::totp::{self, Proven};

/// How an operator proves who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something they know.
    Passphrase,
    /// The code of an authenticator, new every 30 seconds and good once.
    Totp,
}

/// An operator, without the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operator {
    /// The name answers are recorded under.
    pub name: String,
    /// How they prove who they are.
    pub kind: Kind,
    /// The enrolment.
    pub lineage: Lineage,
}

/// How an operator gets a secret.
#[derive(Debug, Clone, Copy)]
pub enum Enrolment<'a> {
    /// Without a voucher: there are no operators but these, the first, which are enrolled together.
    Founding(&'a [String]),
    /// The names of the vouchers, each checked by its present secret: two, or the only one there is; for a new secret of a known name, that name.
    Vouched(&'a [String]),
}

/// What a secret was worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    /// It is the operator's.
    Right,
    /// It is not, or there is no such operator: the two are not told apart.
    Wrong,
    /// Too many wrong ones; looked at again after so many seconds.
    Closed(u64),
}

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    name: String,
    kind: Kind,
    /// Of a passphrase: 16 random bytes in hex.
    #[serde(default)]
    salt: String,
    /// The Argon2id hash, or the authenticator's key, in hex.
    secret: String,
    /// Of an authenticator: the last step a code was taken for.
    #[serde(default)]
    last_step: u64,
    /// The enrolment.
    #[serde(default)]
    lineage: Lineage,
}

/// What is kept beside a secret, by its kind.
#[derive(Debug, Default)]
struct Extra {
    salt: String,
    last_step: u64,
}

const FOLDER: &str = "operators";
/// A passphrase with fewer characters is refused.
const SHORTEST: usize = 8;

impl StateDir {
    /// The operators that have a secret here, by name.
    /// # Errors  When they cannot be read.
    pub fn operators(&self) -> io::Result<Vec<Operator>> {
        let folder = self.subfolder(FOLDER)?;
        let mut found = Vec::new();
        for name in names(&folder)?.iter().filter(|name| name.strip_suffix(".json").is_some()) {
            let stored = read(&folder, name)?.and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
            found.extend(stored.map(|Stored { name, kind, lineage, .. }| Operator { name, kind, lineage }));
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Gives an operator a passphrase, in place of whatever secret they had.
    /// # Errors  A passphrase that is too short, a word that is not enough, or a secret that cannot be kept.
    pub fn set_passphrase(&self, name: &str, passphrase: &str, enrolment: Enrolment<'_>) -> io::Result<()> {
        enrollable(name, Some(passphrase))?;
        let mut salt = [0; 16];
        random(&mut salt)?;
        let secret = hex::long(&hash(passphrase, &salt)?);
        self.enrol(name, Kind::Passphrase, secret, Extra { salt: hex::long(&salt), ..Extra::default() }, enrolment)
    }

    /// Gives an operator an authenticator that has proved itself, in place of whatever secret they had. The code it proved itself with is spent.
    /// # Errors  A word that is not enough, or a secret that cannot be kept.
    pub fn set_totp(&self, name: &str, authenticator: &Proven, enrolment: Enrolment<'_>) -> io::Result<()> {
        let secret = hex::long(authenticator.key());
        self.enrol(name, Kind::Totp, secret, Extra { last_step: authenticator.step(), ..Extra::default() }, enrolment)
    }

    fn enrol(&self, name: &str, kind: Kind, secret: String, Extra { salt, last_step }: Extra, enrolment: Enrolment<'_>) -> io::Result<()> {
        let folder = self.subfolder(FOLDER)?;
        // Two that enrol at once must not both be the first.
        let _alone = lock(&folder)?;
        let lineage = self.lineage(name, enrolment)?;
        self.keep(&Stored { name: name.to_owned(), kind, salt, secret, last_step, lineage })
    }

    /// What an enrolment makes of an operator.
    fn lineage(&self, name: &str, enrolment: Enrolment<'_>) -> io::Result<Lineage> {
        let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()));
        let known = self.operators()?;
        let own = known.iter().find(|operator| operator.name == name);
        match (enrolment, own) {
            (Enrolment::Founding(first), None) if known.iter().all(|operator| first.contains(&operator.name)) => Ok(Lineage::founder(name)),
            (Enrolment::Founding(_), _) => refused("there are operators already; one of them must vouch"),
            (Enrolment::Vouched(by), Some(own)) if by.contains(&own.name) => Ok(own.lineage.clone()),
            (Enrolment::Vouched(_), Some(_)) => refused("only an operator themselves gets a new secret"),
            (Enrolment::Vouched(by), None) => {
                let vouchers: Vec<_> = known.iter().filter(|operator| by.contains(&operator.name)).collect();
                if vouchers.is_empty() || vouchers.len() < known.len().min(2) {
                    return refused("where there are two operators or more, two of them vouch for another");
                }
                let lines: Vec<_> = vouchers.into_iter().map(|voucher| (voucher.name.clone(), voucher.lineage.clone())).collect();
                Ok(Lineage::enrolled(name, &lines))
            }
        }
    }

    /// Takes an operator's secret away. Whether there was one.
    /// # Errors  When it stays. The last secret does: without any, the next enrolment would need no voucher.
    pub fn remove_operator(&self, name: &str) -> io::Result<bool> {
        let folder = self.subfolder(FOLDER)?;
        let _alone = lock(&folder)?;
        let there = read(&folder, &file_of(name))?.is_some();
        if there && self.operators()?.iter().all(|operator| operator.name == name) {
            let why =
                format!("`{}` is the last operator, without whom anybody could enrol themselves; enrol another first", name.escape_debug());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        remove(&folder, &file_of(name))?;
        Ok(there)
    }

    /// Whether this is the operator's secret, at `now` (seconds since 1970). Slow on purpose, and closed for a while after five wrong ones.
    /// # Errors  When it cannot be told, which is no yes.
    pub fn check_operator(&self, name: &str, secret: &str, now: u64) -> io::Result<Checked> {
        let folder = self.subfolder(FOLDER)?;
        let file = file_of(name);
        let failures = Failures::open(&folder, file.trim_end_matches(".json"), now)?;
        if let Some(seconds) = failures.closed(now) {
            return Ok(Checked::Closed(seconds));
        }
        let stored = read(&folder, &file)?.and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        if let Some(stored) = stored.filter(|stored| stored.name == name)
            && self.proves(stored, secret, now)?
        {
            return Ok(Checked::Right);
        }
        failures.add(now)?;
        Ok(Checked::Wrong)
    }

    fn proves(&self, mut stored: Stored, given: &str, now: u64) -> io::Result<bool> {
        let kept = hex::decode(&stored.secret).unwrap_or_default();
        match stored.kind {
            Kind::Passphrase => {
                let salt = hex::decode(&stored.salt).unwrap_or_default();
                Ok(constant_time_eq(&hash(given, &salt)?, &kept))
            }
            Kind::Totp => match totp::step_of(&kept, given, now) {
                // A code that was read over a shoulder is of no use a second time (RFC 6238, section 5.2).
                Some(step) if step > stored.last_step => {
                    stored.last_step = step;
                    self.keep(&stored).map(|()| true)
                }
                _ => Ok(false),
            },
        }
    }

    fn keep(&self, stored: &Stored) -> io::Result<()> {
        enrollable(&stored.name, None)?;
        let folder = self.subfolder(FOLDER)?;
        let bytes = serde_json::to_vec(stored).map_err(io::Error::other)?;
        remove(&folder, ".next")?;
        put(&folder, ".next", &bytes)?;
        rustix::fs::renameat(&folder, ".next", &folder, file_of(&stored.name))?;
        Ok(rustix::fs::fsync(&folder)?)
    }
}

/// Whether an operator may have this name and this passphrase.
/// # Errors  Why not.
pub fn enrollable(name: &str, passphrase: Option<&str>) -> io::Result<()> {
    let fault = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !is_name(name) {
        return fault("a name has 1 to 64 letters, digits, `.`, `_`, `-` or `@`".to_owned());
    }
    if passphrase.is_some_and(|passphrase| passphrase.chars().count() < SHORTEST) {
        return fault(format!("a passphrase has at least {SHORTEST} characters"));
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte))
}

fn file_of(name: &str) -> String {
    format!("{}.json", hex::text(&hex::sha256(name.as_bytes())).get(..32).unwrap_or_default())
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

    #[test]
    fn a_passphrase_is_its_operators_and_stands_nowhere() {
        let (_keep, state) = state();
        let first = ["ann".to_owned(), "bob".to_owned()];
        let set = |name: &str, passphrase: &str| state.set_passphrase(name, passphrase, Enrolment::Founding(&first));
        assert!(set("ann", "short").is_err() && set("../ann", "long enough").is_err());
        set("ann", "long enough").unwrap();
        set("bob", "another one").unwrap();
        let check = |name: &str, secret: &str| state.check_operator(name, secret, 1000).unwrap();
        assert_eq!(check("ann", "long enough"), Checked::Right);
        assert_eq!(check("ann", "another one"), Checked::Wrong, "another operator's");
        assert_eq!(check("eve", "long enough"), Checked::Wrong, "nobody's");
        for entry in std::fs::read_dir(state.path().join("operators")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!text.contains("long enough") && !text.contains(&hex::long(b"long enough")));
        }
        assert!(state.remove_operator("ann").unwrap() && !state.remove_operator("ann").unwrap());
        let bob = Operator { name: "bob".to_owned(), kind: Kind::Passphrase, lineage: Lineage::founder("bob") };
        assert_eq!(state.operators().unwrap(), [bob]);
        assert!(state.remove_operator("bob").is_err(), "the last one stays");
        assert_eq!(check("bob", "another one"), Checked::Right);
    }

    #[test]
    fn the_first_are_founders_the_next_takes_the_only_one_and_every_other_two() {
        let (_keep, state) = state();
        let set = |name: &str, enrolment: Enrolment<'_>| state.set_passphrase(name, "long enough", enrolment);
        let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        assert!(set("ann", Enrolment::Vouched(&names(&["ann"]))).is_err(), "nobody vouches for themselves");
        set("ann", Enrolment::Founding(&names(&["ann"]))).unwrap();
        for late in ["ann", "bob"] {
            assert!(set(late, Enrolment::Founding(&names(&[late]))).is_err(), "{late}: there is one already");
        }
        for by in [&["eve"][..], &[]] {
            assert!(set("bob", Enrolment::Vouched(&names(by))).is_err(), "{by:?}");
        }
        set("bob", Enrolment::Vouched(&names(&["ann"]))).unwrap();
        for by in [&["ann"][..], &["bob"], &["ann", "eve"], &["bob", "bob"], &["ann", "carl"]] {
            assert!(set("carl", Enrolment::Vouched(&names(by))).is_err(), "{by:?}");
        }
        set("carl", Enrolment::Vouched(&names(&["ann", "bob"]))).unwrap();
        // A new secret keeps the lineage of the old one, and takes the old one as its voucher.
        let before = state.operators().unwrap();
        assert!(set("carl", Enrolment::Vouched(&names(&["ann", "bob"]))).is_err());
        set("carl", Enrolment::Vouched(&names(&["carl"]))).unwrap();
        assert_eq!(state.operators().unwrap(), before);
        assert_eq!(before[2].lineage.vouched().collect::<Vec<_>>(), ["ann", "bob"]);
    }

    #[test]
    fn five_wrong_secrets_close_a_name_for_a_minute_in_every_process() {
        let (_keep, state) = state();
        state.set_totp("ann", &proven(1000).1, Enrolment::Founding(&[])).unwrap();
        let other = StateDir::open(state.path()).unwrap();
        for wrong in 0..5 {
            assert_eq!(state.check_operator("ann", &format!("x{wrong}"), 3000 + wrong).unwrap(), Checked::Wrong);
        }
        assert_eq!(other.check_operator("ann", "000000", 3010).unwrap(), Checked::Closed(50));
        assert_eq!(other.check_operator("bob", "x", 3010).unwrap(), Checked::Wrong, "another name is open");
        assert_eq!(other.check_operator("ann", "x", 3060).unwrap(), Checked::Wrong, "looked at again");
    }

    /// An authenticator that showed its code at this time.
    fn proven(now: u64) -> (totp::Authenticator, Proven) {
        let authenticator = totp::Authenticator::draw().unwrap();
        let address = authenticator.address("ann@site");
        assert!(address.starts_with("otpauth://totp/toolgate:ann%40site?secret=") && address.ends_with("&issuer=toolgate"), "{address}");
        let code = authenticator.code_at(now);
        let proven = authenticator.proven(&code, now).unwrap();
        assert!(authenticator.proven(&code, now + 90).is_none() && authenticator.proven("", now).is_none());
        (authenticator, proven)
    }

    #[test]
    fn a_code_of_an_authenticator_is_good_once_and_so_is_the_one_it_was_enrolled_with() {
        let (_keep, state) = state();
        let (authenticator, proven) = proven(2970);
        state.set_totp("ann@site", &proven, Enrolment::Founding(&[])).unwrap();
        assert_eq!(state.check_operator("ann@site", &authenticator.code_at(2970), 2971).unwrap(), Checked::Wrong);
        let code = authenticator.code_at(3000);
        assert_eq!(state.check_operator("ann@site", &code, 3000).unwrap(), Checked::Right);
        assert_eq!(state.check_operator("ann@site", &code, 3001).unwrap(), Checked::Wrong);
    }
}
