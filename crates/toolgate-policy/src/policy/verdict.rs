//! What the judge says.

use crate::model::{Code, Decision, Level, Refusal};

/// The judgement of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Yes, ask, or no.
    pub decision: Decision,
    /// The reason.
    pub code: Code,
    /// The level, where the call came that far.
    pub level: Option<Level>,
    /// The rule of the manifest that decided.
    pub rule: Option<String>,
    /// One sentence.
    pub message: String,
    /// One safe next step.
    pub hint: Option<String>,
    /// Whole seconds until a repeat can succeed.
    pub retry_after_s: Option<u64>,
    /// What a lasting yes would be for, as [`super::Grant::target`] has it; none where nothing is remembered.
    pub grant: Option<String>,
    /// The call is of a level that reviewers must see, and they were not asked yet: ask them and judge again.
    pub review_due: bool,
}

impl Verdict {
    /// The verdict of a refusal.
    pub fn deny(refusal: Refusal, level: Option<Level>) -> Self {
        let Refusal { code, message, hint, rule, retry_after_s, imports: _ } = refusal;
        Self { decision: Decision::Deny, code, level, rule, message, hint, retry_after_s, grant: None, review_due: false }
    }

    /// The refusal a model is shown, where the verdict is not a yes.
    pub fn refusal(&self) -> Option<Refusal> {
        (self.decision != Decision::Allow).then(|| Refusal {
            code: self.code,
            message: self.message.clone(),
            hint: self.hint.clone(),
            rule: self.rule.clone(),
            retry_after_s: self.retry_after_s,
            imports: Box::default(),
        })
    }
}
