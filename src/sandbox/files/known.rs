//! What was found out about contents, so that the same content is hashed and looked through once.
//!
//! A content is known by its bytes alone. Device, inode, size and times do not tell a content: a page of a file that a process has mapped and made
//! dirty takes further writes without a new time until the kernel writes it out (on tmpfs it never does), a clock can be set back, and a network
//! or user-space file system tells the times it likes. So every reading looks at all bytes, by a mark that costs a twentieth of SHA-256.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::content::{count_lines, digest};
use crate::filter::masked::{Secret, secrets_in, secrets_in_any_encoding};

/// What is known of contents. Bounded: 32768 contents without a secret and the facts of 4096, some 5 MB at most.
#[derive(Debug, Default)]
pub(super) struct Known {
    marker: Marker,
    clean: Mutex<HashSet<Clean>>,
    facts: Mutex<HashMap<Mark, Facts>>,
}

/// What is told of a whole content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    /// Its SHA-256 in lower-case hexadecimal.
    pub sha256: String,
    /// Its lines.
    pub lines: u64,
}

/// What was looked through and holds no secret.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Clean {
    /// A content, by its digest, read as the text it is.
    Text(String),
    /// A content, by its digest, read in every encoding.
    AnyEncoding(String),
    /// A piece of a content.
    Piece(Mark),
}

/// Entries that are remembered; about 150 bytes each.
const REMEMBERED: usize = 32 * 1024;
/// Facts that are remembered; about 130 bytes each.
const FACTS: usize = 4 * 1024;
/// Below this many bytes facts are made sooner than they are found.
const SMALL: usize = 16 * 1024;

impl Known {
    /// The facts of a content.
    pub(super) fn facts(&self, content: &[u8]) -> Facts {
        let of = || Facts { sha256: digest(content), lines: count_lines(content) };
        let mark = if content.len() < SMALL { None } else { self.marker.mark(content) };
        let Some(mark) = mark else { return of() };
        if let Some(facts) = lock(&self.facts).get(&mark) {
            return facts.clone();
        }
        let facts = of();
        let mut known = lock(&self.facts);
        if known.len() >= FACTS {
            known.clear();
        }
        known.insert(mark, facts.clone());
        facts
    }

    /// The secrets in a content with this digest.
    pub(super) fn secrets(&self, content: &[u8], sha256: &str) -> Vec<Secret> {
        self.look(Some(Clean::Text(sha256.to_owned())), || secrets_in(content))
    }

    /// The names of the secrets that a content with this digest shows to a reader that decodes it.
    pub(super) fn names(&self, content: &[u8], sha256: &str) -> Vec<&'static str> {
        self.look(Some(Clean::AnyEncoding(sha256.to_owned())), || secrets_in_any_encoding(content))
    }

    /// The secrets in a piece of a content.
    pub(super) fn secrets_of_piece(&self, piece: &[u8]) -> Vec<Secret> {
        self.look(self.marker.mark(piece).map(Clean::Piece), || secrets_in(piece))
    }

    fn look<T>(&self, key: Option<Clean>, find: impl FnOnce() -> Vec<T>) -> Vec<T> {
        let Some(key) = key else { return find() };
        if lock(&self.clean).contains(&key) {
            return Vec::new();
        }
        let found = find();
        if found.is_empty() {
            let mut clean = lock(&self.clean);
            if clean.len() >= REMEMBERED {
                clean.clear();
            }
            clean.insert(key);
        }
        found
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Nothing in here can panic half-way through a change.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which content it is: its length and a tag under a key of this process.
///
/// INVARIANT: no mark leaves the process. The tags of one nonce may be compared, but not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Mark {
    length: usize,
    tag: [u8; 16],
}

/// Makes marks. The tag is GHASH (NIST SP 800-38D, section 6.4) over the content as additional data, under a random key that is never told and one
/// nonce: two contents that are chosen without the key have the same one with a probability of at most 2^-108 for 16 MiB. This is what GMAC is built
/// on; its nonce must change only where tags are shown.
struct Marker(Option<LessSafeKey>);

impl Default for Marker {
    fn default() -> Self {
        let mut key = [0; 32];
        let random = getrandom::fill(&mut key).ok();
        Self(random.and_then(|()| UnboundKey::new(&AES_256_GCM, &key).ok()).map(LessSafeKey::new))
    }
}

impl std::fmt::Debug for Marker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Marker").finish_non_exhaustive()
    }
}

impl Marker {
    /// The mark of a content; none where the process has no key, so that nothing is remembered.
    fn mark(&self, content: &[u8]) -> Option<Mark> {
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let tag = self.0.as_ref()?.seal_in_place_separate_tag(nonce, Aad::from(content), &mut []).ok()?;
        Some(Mark { length: content.len(), tag: tag.as_ref().try_into().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn facts_are_those_of_their_content_however_often_they_are_asked_for() {
        let known = Known::default();
        let contents: Vec<Vec<u8>> =
            [0, 1, SMALL - 1, SMALL, SMALL + 1, 5 * SMALL].map(|length| b"7\n".repeat(length)[..length].to_vec()).to_vec();
        for content in contents.iter().chain(contents.iter().rev()) {
            let facts = Facts { sha256: digest(content), lines: content.len().div_ceil(2) as u64 };
            assert_eq!(known.facts(content), facts, "{} bytes", content.len());
        }
        assert_eq!(lock(&known.facts).len(), 3, "small ones are made sooner than found");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let known = Known::default();
        let mut content = vec![0; SMALL];
        for number in 0..=u32::try_from(FACTS).unwrap() {
            content[..4].copy_from_slice(&number.to_le_bytes());
            known.facts(&content);
        }
        assert_eq!(lock(&known.facts).len(), 1);
        for number in 0..=u32::try_from(REMEMBERED).unwrap() {
            known.look(Some(Clean::Text(number.to_string())), Vec::<()>::new);
        }
        assert_eq!(lock(&known.clean).len(), 1);
    }

    #[test]
    fn a_content_is_looked_through_once_while_it_holds_nothing() {
        let known = Known::default();
        let looked = std::cell::Cell::new(0);
        let look = |key: Option<Clean>, found: &[u8]| {
            known.look(key, || {
                looked.set(looked.get() + 1);
                found.to_vec()
            })
        };
        let key = || Some(Clean::Text("digest".to_owned()));
        assert_eq!((look(key(), b"x"), look(key(), b""), look(key(), b"x")), (b"x".to_vec(), Vec::new(), Vec::new()));
        assert_eq!(looked.get(), 2);
        assert_eq!((look(None, b""), look(None, b"x")), (Vec::new(), b"x".to_vec()), "nothing is known of what has no mark");
    }

    #[test]
    fn marks_are_of_one_process() {
        let (one, other) = (Marker::default(), Marker::default());
        assert_ne!(one.mark(b"x").unwrap(), other.mark(b"x").unwrap());
    }

    proptest! {
        #[test]
        fn a_mark_is_of_one_content(
            content in prop::collection::vec(any::<u8>(), 1..600),
            other in prop::collection::vec(any::<u8>(), 0..600),
            at in any::<prop::sample::Index>(),
            bit in 0..8_u32,
        ) {
            let marker = Marker::default();
            let mark = |content: &[u8]| marker.mark(content).unwrap();
            prop_assert_eq!(mark(&content), mark(&content));
            prop_assert_eq!(mark(&content) == mark(&other), content == other);
            let mut flipped = content.clone();
            flipped[at.index(content.len())] ^= 1_u8 << bit;
            prop_assert_ne!(mark(&content), mark(&flipped));
            // GHASH fills the last block with zeros; the length tells it from a longer content.
            prop_assert_ne!(mark(&content), mark(&[content.as_slice(), &[0]].concat()));
        }
    }
}
