//! Amounts of data as a type, so that no number travels without its unit.

use std::fmt;

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

    /// Reads a whole number with an optional unit: `B`, `KiB`, `MiB`, `GiB` (powers of 1024), `KB`, `MB`, `GB` (powers of 1000).
    /// # Errors
    /// A sentence for the manifest's list of faults.
    pub fn parse(text: &str) -> Result<Self, String> {
        let units = [
            ("", 1),
            ("B", 1),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("KB", 1000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
        ];
        let fault = || {
            format!(
                "`{text}` is no amount of data; write a whole number and a unit, e.g. `64 KiB`, `1 MiB`, `2 GiB`, or bytes alone: `4096`"
            )
        };
        amount(text, &units).map(Self).ok_or_else(fault)
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

/// Reads a whole number and one of these units, with or without blanks between.
pub(crate) fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.bytes().take_while(u8::is_ascii_digit).count())?;
    let (_, factor) = units.iter().find(|(known, _)| *known == unit.trim_start_matches(' '))?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_powers_of_1024_when_written_with_an_i() {
        assert_eq!(Bytes::parse("64 KiB"), Ok(Bytes(65_536)));
        assert_eq!(Bytes::parse("1MiB"), Ok(Bytes::mib(1)));
        assert_eq!(Bytes::parse("100"), Ok(Bytes(100)));
        assert_eq!(Bytes::parse("2 MB"), Ok(Bytes(2_000_000)));
    }

    #[test]
    fn what_is_no_whole_number_with_a_known_unit_is_refused() {
        for text in ["", "MiB", "-1", "1.5 MiB", "1 mib", "1 TiBs", "99999999999999999999", "18446744073709551615 GiB", "1 KiB "] {
            assert!(Bytes::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_in_the_largest_unit_that_fits() {
        let shown: Vec<String> = [Bytes(0), Bytes(1023), Bytes(1536), Bytes::mib(200)].iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["0 B", "1023 B", "1.5 KiB", "200 MiB"]);
    }
}
