//! The `[filters]` table of the manifest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::content_rules::ContentRules;

/// What to do about what a filter finds in a text on its way to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// Do not look.
    #[default]
    Off,
    /// Say what was found.
    Mark,
    /// Say what was found and put a mask in its place.
    Mask,
    /// Refuse the text.
    Deny,
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
    /// Refuse the text.
    Deny,
}

/// What to do about what a filter finds in a call's arguments. They are never altered: what runs is what was judged and approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// Do not look.
    #[default]
    Off,
    /// Say what was found, to the model and in the record.
    Mark,
    /// Refuse the call.
    Deny,
}

/// Whose words the output of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The caller's own: only secrets and content rules are looked for.
    #[default]
    Own,
    /// From outside: filtered and wrapped like a page.
    Untrusted,
}

/// The filters on what goes back to the model. The bytes of files, and the output of programs that is the caller's own, stay as they are but for
/// secrets: of the others `mask` alters only pages, untrusted output, names and titles.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(default, deny_unknown_fields)]
pub struct Filters {
    /// Passwords, keys and tokens.
    #[default(Treatment::Mask)]
    pub secrets: Treatment,
    /// Phone numbers, e-mail addresses, national ids, cards, bank accounts, postal addresses. They are looked for in untrusted texts.
    /// `mask` does not change the content of files.
    pub personal_data: Treatment,
    /// Zero-width, direction, tag and other invisible characters.
    #[default(Stripping::Strip)]
    pub hidden_unicode: Stripping,
    /// Text that gives the model instructions. `mark` encloses the text as untrusted and names what was found.
    #[default(Treatment::Mark)]
    pub injection: Treatment,
    /// Links that show another address than they lead to, or that carry data out.
    #[default(Treatment::Mark)]
    pub links: Treatment,
    /// `own`: the output of `run_python` counts as the caller's own text. `untrusted`: it is filtered like a web page.
    pub program_output: Trust,
    /// Your own rules, each with a name.
    pub rules: ContentRules,
    /// A folder of further rules, relative to this file: `.toml` files with tables `[filters.rules.NAME]` or `[NAME]`. They add to `rules`;
    /// one with the same name replaces it. The folder is read when this file is loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules_dir: Option<String>,
    /// The same filters for what a call carries: arguments, code, request bodies. Each is `off` by default; `mark` reports, `deny` refuses
    /// the call.
    pub input: Input,
}

/// The filters on what a call carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Input {
    /// Passwords, keys and tokens.
    pub secrets: Watch,
    /// Personal data.
    pub personal_data: Watch,
    /// Invisible characters.
    pub hidden_unicode: Watch,
    /// Text that gives a model instructions.
    pub injection: Watch,
    /// Links that show another address than they lead to, or that carry data out.
    pub links: Watch,
}

impl Filters {
    /// Whether the model may not see the secrets in a content: they are looked for in the whole of it, whatever part is shown.
    pub fn hides_secrets(&self) -> bool {
        matches!(self.secrets, Treatment::Mask | Treatment::Deny)
    }

    /// What is done to an answer, in one line for people: every filter that looks at it, and how.
    pub fn in_words(&self, is_untrusted: bool) -> String {
        let mut parts = vec![format!("secrets {}", word(self.secrets))];
        if is_untrusted {
            for (name, how) in [("personal_data", self.personal_data), ("injection", self.injection), ("links", self.links)] {
                parts.push(format!("{name} {}", word(how)));
            }
            parts.push(format!("hidden_unicode {}", word(self.hidden_unicode)));
        }
        parts.extend(self.rules.iter().map(|(name, rule)| format!("rules.{name} {}", word(rule.action))));
        parts.join(", ")
    }
}

impl From<Stripping> for Treatment {
    fn from(how: Stripping) -> Self {
        match how {
            Stripping::Off => Self::Off,
            Stripping::Mark => Self::Mark,
            Stripping::Strip => Self::Mask,
            Stripping::Deny => Self::Deny,
        }
    }
}

impl From<Watch> for Treatment {
    fn from(how: Watch) -> Self {
        match how {
            Watch::Off => Self::Off,
            Watch::Mark => Self::Mark,
            Watch::Deny => Self::Deny,
        }
    }
}

/// A treatment as the manifest writes it.
fn word(treatment: impl Serialize) -> String {
    serde_json::json!(treatment).as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_manifest() {
        let json = r#"{"secrets":"mark","personal_data":"mask","hidden_unicode":"off","injection":"deny","links":"off",
            "program_output":"untrusted","input":{"secrets":"deny"},"rules":{"names":{"words":["Aurora"],"action":"mask"}}}"#;
        let read: Filters = serde_json::from_str(json).unwrap();
        assert_eq!(read.rules.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["names"]);
        let settings = Filters {
            secrets: Treatment::Mark,
            personal_data: Treatment::Mask,
            hidden_unicode: Stripping::Off,
            injection: Treatment::Deny,
            links: Treatment::Off,
            program_output: Trust::Untrusted,
            rules: read.rules.clone(),
            rules_dir: None,
            input: Input { secrets: Watch::Deny, ..Input::default() },
        };
        let json = |settings: &Filters| serde_json::to_value(settings).unwrap();
        assert_eq!(json(&read), json(&settings));
        assert_eq!(json(&serde_json::from_str("{}").unwrap()), json(&Filters::default()));
        for wrong in [r#"{"secret":"mark"}"#, r#"{"input":{"secrets":"mask"}}"#, r#"{"rules":{"a":{"regexp":"x"}}}"#] {
            assert!(serde_json::from_str::<Filters>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            settings.in_words(true),
            "secrets mark, personal_data mask, injection deny, links off, hidden_unicode off, rules.names mask"
        );
        assert_eq!(settings.in_words(false), "secrets mark, rules.names mask");
    }
}
