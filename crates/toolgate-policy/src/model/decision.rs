//! What becomes of a call.

use super::word_enum;

word_enum! {
    /// Yes, ask, or no.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Decision {
        /// It may be done.
        Allow = "allow",
        /// A person must agree first.
        Ask = "ask",
        /// It may not be done.
        #[default]
        Deny = "deny",
    }
}
