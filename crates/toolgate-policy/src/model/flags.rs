//! Permission flags of a profile and the flags a tool needs.

use std::fmt;

use super::word_enum;

word_enum! {
    /// One thing a profile may be trusted with.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Flag {
        /// `READ_FILE`
        ReadFile = "READ_FILE",
        /// `WRITE_FILE`
        WriteFile = "WRITE_FILE",
        /// `EXECUTE_CODE`
        ExecuteCode = "EXECUTE_CODE",
        /// `NETWORK_ACCESS`
        NetworkAccess = "NETWORK_ACCESS",
        /// `DATABASE_READ`
        DatabaseRead = "DATABASE_READ",
        /// `DATABASE_WRITE`
        DatabaseWrite = "DATABASE_WRITE",
        /// `SEND_EMAIL`
        SendEmail = "SEND_EMAIL",
    }
}

/// A set of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "Vec<String>")]
#[schemars(extend("items" = serde_json::json!({"type": "string", "enum": Flags::named().map(|(name, _)| name).collect::<Vec<_>>()})))]
pub struct Flags(u8);

impl TryFrom<Vec<String>> for Flags {
    type Error = String;

    /// Reads the list of a manifest.
    fn try_from(names: Vec<String>) -> Result<Self, String> {
        names.into_iter().try_fold(Self::NONE, |flags, name| Self::parse(&name).map(|more| flags.union(more)).ok_or(name))
    }
}

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// `READONLY`: `READ_FILE` and `DATABASE_READ`.
    pub const READONLY: Flags = Flags::of(&[Flag::ReadFile, Flag::DatabaseRead]);
    /// `STANDARD`: `READONLY`, `WRITE_FILE` and `NETWORK_ACCESS`.
    pub const STANDARD: Flags = Flags(Flags::READONLY.0 | Flags::of(&[Flag::WriteFile, Flag::NetworkAccess]).0);
    /// `FULL`: every flag.
    pub const FULL: Flags = Flags::of(&Flag::ALL);
    /// The names that a manifest may write for a set.
    const SETS: [(&str, Flags); 3] = [("READONLY", Flags::READONLY), ("STANDARD", Flags::STANDARD), ("FULL", Flags::FULL)];

    /// The set of these flags.
    pub const fn of(mut flags: &[Flag]) -> Self {
        let mut bits = 0;
        while let [first, rest @ ..] = flags {
            bits |= 1 << (*first as u8);
            flags = rest;
        }
        Self(bits)
    }

    /// The names that a manifest may write: each flag, then the sets.
    fn named() -> impl Iterator<Item = (&'static str, Self)> {
        Flag::ALL.into_iter().map(|flag| (flag.as_str(), Self::of(&[flag]))).chain(Self::SETS)
    }

    /// Reads one name of a manifest: a flag or a set.
    pub fn parse(name: &str) -> Option<Self> {
        Self::named().find(|(known, _)| *known == name).map(|(_, flags)| flags)
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the flag is in this set.
    pub const fn contains(self, flag: Flag) -> bool {
        self.0 & 1 << flag as u8 != 0
    }

    /// The flags of this set that `other` lacks, in order.
    pub fn missing_from(self, other: Self) -> impl Iterator<Item = Flag> {
        Flag::ALL.into_iter().filter(move |flag| self.contains(*flag) && !other.contains(*flag))
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.missing_from(Self::NONE).map(Flag::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_hold_what_the_contract_says() {
        assert_eq!(Flags::STANDARD.to_string(), "READ_FILE, WRITE_FILE, NETWORK_ACCESS, DATABASE_READ");
        assert_eq!(Flags::READONLY.to_string(), "READ_FILE, DATABASE_READ");
        assert_eq!(Flags::parse("STANDARD"), Some(Flags::STANDARD));
        assert_eq!(Flags::parse("READ_FILES"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let needed = Flags::of(&[Flag::ReadFile, Flag::WriteFile]);
        assert_eq!(needed.missing_from(Flags::READONLY).collect::<Vec<_>>(), [Flag::WriteFile]);
        assert!(!Flags::READONLY.contains(Flag::WriteFile) && Flags::FULL.contains(Flag::WriteFile));
    }
}
