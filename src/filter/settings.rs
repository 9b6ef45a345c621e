//! The `[filters]` table of the manifest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to do about secrets and personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Masking {
    /// Do not look.
    Off,
    /// Say what was found.
    Mark,
    /// Say what was found and put a mask in its place.
    Mask,
}

/// What to do about characters that nobody sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stripping {
    /// Do not look.
    Off,
    /// Say what was found.
    Mark,
    /// Say what was found and take it out.
    Strip,
}

/// What to do about text that tries to instruct the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Instructions {
    /// Do not look.
    Off,
    /// Wrap the text as untrusted and name what was found.
    Mark,
    /// Refuse the text.
    Deny,
}

/// What to do about links that are not what they seem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marking {
    /// Do not look.
    Off,
    /// Say what was found.
    Mark,
}

/// The filters on what goes back to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Credentials.
    pub secrets: Masking,
    /// Phone numbers, e-mail addresses, national ids, cards, bank accounts, postal addresses.
    pub personal_data: Masking,
    /// Zero-width, direction, tag and other invisible characters.
    pub hidden_unicode: Stripping,
    /// Text that tries to instruct the reader.
    pub injection: Instructions,
    /// Links whose text and target disagree, or that carry data out.
    pub links: Marking,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            secrets: Masking::Mask,
            personal_data: Masking::Off,
            hidden_unicode: Stripping::Strip,
            injection: Instructions::Mark,
            links: Marking::Mark,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_manifest() {
        let json = r#"{"secrets":"mark","personal_data":"mask","hidden_unicode":"off","injection":"deny","links":"off"}"#;
        let settings = Settings {
            secrets: Masking::Mark,
            personal_data: Masking::Mask,
            hidden_unicode: Stripping::Off,
            injection: Instructions::Deny,
            links: Marking::Off,
        };
        assert_eq!(serde_json::from_str::<Settings>(json).unwrap(), settings);
        assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
        assert!(serde_json::from_str::<Settings>(r#"{"secret":"mark"}"#).is_err());
    }
}
