//! Which contents hold no secret, so that the same content is looked through once.
//!
//! A content is known by its bytes alone. Device, inode, size and times do not tell a content: a page of a file that a process has mapped and made
//! dirty takes further writes without a new time until the kernel writes it out (on tmpfs it never does), a clock can be set back, and a network
//! or user-space file system tells the times it likes. So every reading looks at all bytes, by a mark that costs a twentieth of SHA-256.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use crate::filter::masked::{Secret, secrets_in, secrets_in_any_encoding};

/// The contents without a secret. Bounded: 32768 of them, 2 MB at most.
#[derive(Debug, Default)]
pub(super) struct Known {
    marker: Marker,
    clean: Mutex<HashSet<(Mark, Scope)>>,
}

/// What a content was looked through as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    /// The text it is.
    Text,
    /// Every encoding.
    AnyEncoding,
}

const REMEMBERED: usize = 32 * 1024;

impl Known {
    /// The secrets in a content.
    pub(super) fn secrets(&self, content: &[u8]) -> Vec<Secret> {
        self.look(self.marker.mark(content), Scope::Text, || secrets_in(content))
    }

    /// The names of the secrets that a content shows to a reader that decodes it.
    pub(super) fn names(&self, content: &[u8]) -> Vec<&'static str> {
        self.look(self.marker.mark(content), Scope::AnyEncoding, || secrets_in_any_encoding(content))
    }

    fn look<T>(&self, mark: Option<Mark>, scope: Scope, find: impl FnOnce() -> Vec<T>) -> Vec<T> {
        let Some(key) = mark.map(|mark| (mark, scope)) else { return find() };
        if self.clean().contains(&key) {
            return Vec::new();
        }
        let found = find();
        if found.is_empty() {
            let mut clean = self.clean();
            if clean.len() >= REMEMBERED {
                clean.clear();
            }
            clean.insert(key);
        }
        found
    }

    fn clean(&self) -> std::sync::MutexGuard<'_, HashSet<(Mark, Scope)>> {
        // Nothing in here can panic half-way through a change.
        self.clean.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    fn what_is_remembered_is_bounded() {
        let known = Known::default();
        for number in 0..=u32::try_from(REMEMBERED).unwrap() {
            assert_eq!(known.secrets(&number.to_le_bytes()), []);
        }
        assert_eq!(known.clean().len(), 1);
    }

    #[test]
    fn a_content_is_looked_through_once_while_it_holds_nothing() {
        let known = Known::default();
        let looked = std::cell::Cell::new(0);
        let look = |mark: Option<Mark>, found: &[u8]| {
            known.look(mark, Scope::Text, || {
                looked.set(looked.get() + 1);
                found.to_vec()
            })
        };
        let mark = || known.marker.mark(b"content");
        assert_eq!((look(mark(), b"x"), look(mark(), b""), look(mark(), b"x")), (b"x".to_vec(), Vec::new(), Vec::new()));
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
