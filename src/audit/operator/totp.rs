//! Codes of an authenticator: TOTP, RFC 6238, with SHA-1, 30 seconds and six digits, which is what every such program speaks.

use std::fmt;
use std::io;

use aws_lc_rs::hmac;

use super::super::random;

/// An authenticator that no operator has yet: its key is drawn, and no code of it has been seen.
pub struct Authenticator {
    key: [u8; 20],
}

/// An authenticator that has shown a right code, so that it is known to hold the key and to have the time.
pub struct Proven {
    key: [u8; 20],
    step: u64,
}

impl Authenticator {
    /// Draws a key.
    /// # Errors  When the machine gives no random bytes.
    pub fn draw() -> io::Result<Self> {
        let mut key = [0; 20];
        random(&mut key)?;
        Ok(Self { key })
    }

    /// The address to show an authenticator, with the key in it (`otpauth://`, the Key Uri Format), for the operator `name`.
    pub fn address(&self, name: &str) -> String {
        format!("otpauth://totp/toolgate:{}?secret={}&issuer=toolgate", name.replace('@', "%40"), base32(&self.key))
    }

    #[cfg(test)]
    pub(super) fn code_at(&self, now: u64) -> String {
        code(&self.key, now / STEP)
    }

    /// What `given` proves at `now` (seconds since 1970); none where it is no code of this time.
    pub fn proven(&self, given: &str, now: u64) -> Option<Proven> {
        step_of(&self.key, given, now).map(|step| Proven { key: self.key, step })
    }
}

impl Proven {
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The step of the code that was shown: it is spent.
    pub(super) fn step(&self) -> u64 {
        self.step
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authenticator").finish_non_exhaustive()
    }
}

impl fmt::Debug for Proven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proven").field("step", &self.step).finish_non_exhaustive()
    }
}

/// Seconds of one step.
pub(super) const STEP: u64 = 30;

/// The code of a step (RFC 4226, section 5.3).
pub(super) fn code(secret: &[u8], step: u64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let digest = tag.as_ref();
    let offset = usize::from(digest.last().copied().unwrap_or_default() & 15);
    let four = digest.get(offset..offset + 4).unwrap_or_default();
    let number = four.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

/// The step a code belongs to, of the present one and its two neighbours: clocks differ by some seconds (RFC 6238, section 5.2).
pub(super) fn step_of(secret: &[u8], given: &str, now: u64) -> Option<u64> {
    let present = now / STEP;
    let steps = [present, present.wrapping_sub(1), present + 1];
    steps.into_iter().find(|step| super::queue::constant_time_eq(code(secret, *step).as_bytes(), given.as_bytes()))
}

/// Bytes as base32 (RFC 4648, section 6), without padding, as authenticators take them.
pub(super) fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let (mut text, mut buffer, mut bits) = (String::new(), 0_u32, 0_u32);
    let mut letter = |value: u32| text.extend(ALPHABET.get((value & 31) as usize).map(|letter| char::from(*letter)));
    for byte in bytes {
        buffer = buffer << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            letter(buffer >> bits);
        }
    }
    if bits > 0 {
        letter(buffer << (5 - bits));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_of_rfc_6238() {
        let secret = b"12345678901234567890";
        let table =
            [(59, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"), (2_000_000_000, "279037")];
        for (time, expected) in table {
            assert_eq!(code(secret, time / STEP), expected, "{time}");
        }
    }

    #[test]
    fn a_code_is_good_for_its_step_and_one_to_each_side() {
        let secret = b"12345678901234567890";
        let good = |at: u64, now: u64| step_of(secret, &code(secret, at / STEP), now) == Some(at / STEP);
        assert!(good(3000, 3000) && good(3000, 3030) && good(3000, 2999));
        assert!(!good(3000, 3060) && !good(3000, 2960));
        assert_eq!(step_of(secret, "", 3000), None);
    }

    #[test]
    fn base32_is_that_of_rfc_4648() {
        for (plain, encoded) in [("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foobar", "MZXW6YTBOI")] {
            assert_eq!(base32(plain.as_bytes()), encoded);
        }
    }
}
