//! Lines 7 to 9 for a mail: its recipients, its subject and its attachments.

use super::capability::{Capability, judge_flags};
use crate::model::{Address, Code, Flag, Flags, Refusal, SendEmail};

/// Longest subject in bytes: with its name it fits into one line of RFC 5322.
const LONGEST_SUBJECT: usize = 900;

impl Capability {
    /// Judges a mail by its text.
    ///
    /// # Errors
    /// `argument_invalid`, `recipient_not_allowed`, `permission_missing` (attachments without the flag to read files).
    pub(super) fn judge_mail(&self, mail: &SendEmail) -> Result<(), Refusal> {
        let rules = &self.manifest.mail;
        let count = mail.recipients().count() as u64;
        if count == 0 || count > rules.max_recipients {
            let what = format!("a mail has 1 to {} recipients; this one has {count}", rules.max_recipients);
            return Err(Refusal::new(Code::ArgumentInvalid, what).rule("mail.max_recipients"));
        }
        for recipient in mail.recipients() {
            let shown: String = recipient.chars().take(254).flat_map(char::escape_debug).collect();
            let Some(address) = Address::parse(recipient) else {
                let what = format!("`{shown}` is no mail address");
                return Err(
                    Refusal::new(Code::ArgumentInvalid, what).hint("write the address alone, e.g. `ada@example.com`, without a name")
                );
            };
            if !rules.allows(&address) {
                return Err(Refusal::new(Code::RecipientNotAllowed, format!("mail may not be sent to `{shown}`"))
                    .rule("mail.allowed_recipients")
                    .hint(format!("these are allowed: {}", rules.allowed_recipients.join(", "))));
            }
        }
        if mail.subject.chars().any(char::is_control) || mail.subject.len() > LONGEST_SUBJECT {
            let what = format!("`subject` must be one line of up to {LONGEST_SUBJECT} bytes without control characters");
            return Err(Refusal::new(Code::ArgumentInvalid, what));
        }
        if !mail.attachments.is_empty() {
            let held = self.rules().map_or(Flags::NONE, |rules| rules.permissions);
            judge_flags(&self.profile, held, self.spec, Flags::of(&[Flag::ReadFile]))?;
        }
        Ok(())
    }
}
