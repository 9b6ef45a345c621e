//! Amounts of data as a type, so that no number travels without its unit.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// An amount of data in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` KiB (1024 bytes each), saturating.
    pub const fn kib(n: u64) -> Self {
        Self(n.saturating_mul(1024))
    }

    /// `n` MiB (1024 KiB each), saturating.
    pub const fn mib(n: u64) -> Self {
        Self(n.saturating_mul(1024 * 1024))
    }

    /// The amount as `usize`, saturating on 32-bit machines.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        for (unit, size) in UNITS {
            if self.0 >= size {
                let (whole, tenth) = (self.0 / size, self.0 % size * 10 / size);
                return if tenth == 0 { write!(f, "{whole} {unit}") } else { write!(f, "{whole}.{tenth} {unit}") };
            }
        }
        write!(f, "{} B", self.0)
    }
}

/// Why a text is no amount of data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no amount of data; write a whole number and a unit, e.g. `64 KiB`, `1 MiB`, `2 GiB`, or bytes alone: `4096`")]
pub struct BytesFault(String);

impl FromStr for Bytes {
    type Err = BytesFault;

    /// Reads a whole number with an optional unit: `B`, `KiB`, `MiB`, `GiB` (powers of 1024), `KB`, `MB`, `GB` (powers of 1000).
    fn from_str(text: &str) -> Result<Self, BytesFault> {
        let fault = || BytesFault(text.to_owned());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at_checked(digits).ok_or_else(fault)?;
        let factor: u64 = match unit.trim_start_matches(' ') {
            "" | "B" => 1,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "KB" => 1000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            _ => return Err(fault()),
        };
        let number: u64 = number.parse().map_err(|_| fault())?;
        number.checked_mul(factor).map(Bytes).ok_or_else(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024_when_written_with_an_i() {
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1MiB".parse(), Ok(Bytes::mib(1)));
        assert_eq!("100".parse(), Ok(Bytes(100)));
        assert_eq!("2 MB".parse(), Ok(Bytes(2_000_000)));
    }

    #[test]
    fn what_is_no_whole_number_with_a_known_unit_is_refused() {
        for text in ["", "MiB", "-1", "1.5 MiB", "1 mib", "1 TiBs", "99999999999999999999", "18446744073709551615 GiB", "1 KiB "] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_in_the_largest_unit_that_fits() {
        let shown: Vec<String> = [Bytes(0), Bytes(1023), Bytes(1536), Bytes::mib(200)].iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["0 B", "1023 B", "1.5 KiB", "200 MiB"]);
    }
}
