//! What policy says no with: a code from a closed list, a sentence, and one way on.

use serde::Serialize;

use super::word_enum;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal $line:literal,)*) => {
        word_enum! {
            /// The reason of a verdict or of a failed call, as scripts and models see it. Names are promises.
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
            #[serde(rename_all = "snake_case")]
            #[non_exhaustive]
            pub enum Code { $($(#[$doc])* $variant = $text,)* }
        }

        impl Code {
            /// The line of the decision at which it is given; 16 is the call itself.
            pub fn line(self) -> u8 {
                [$($line),*].get(self as usize).copied().unwrap_or(16)
            }
        }
    };
}

codes! {
    /// Allowed without asking.
    Ok = "ok" 12,
    /// Allowed by a live grant.
    Remembered = "remembered" 13,
    /// Allowed by an answer.
    Approved = "approved" 15,
    /// A person is asked once.
    NeedsFirst = "needs_first" 13,
    /// A person is asked every time.
    NeedsEvery = "needs_every" 14,
    /// An operator is asked.
    NeedsOperator = "needs_operator" 14,
    /// A further, different operator is needed.
    MoreApprovers = "more_approvers" 14,
    /// The manifest is not valid.
    PolicyInvalid = "policy_invalid" 1,
    /// The kill switch is on.
    Killed = "killed" 1,
    /// The audit log cannot be written.
    AuditUnavailable = "audit_unavailable" 1,
    /// The caller maps to no profile.
    NoProfile = "no_profile" 2,
    /// The session is suspended.
    Suspended = "suspended" 2,
    /// No such tool.
    UnknownTool = "unknown_tool" 3,
    /// Too many calls in 60 s.
    RateLimited = "rate_limited" 4,
    /// A budget is used up.
    Quota = "quota" 4,
    /// The profile denies the tool.
    ToolDenied = "tool_denied" 5,
    /// The profile does not list the tool.
    ToolNotAllowed = "tool_not_allowed" 5,
    /// A permission flag is missing.
    PermissionMissing = "permission_missing" 6,
    /// An argument name the tool does not have.
    UnknownArgument = "unknown_argument" 7,
    /// An argument of the wrong type or form.
    ArgumentInvalid = "argument_invalid" 7,
    /// An argument value the manifest does not list.
    ArgumentNotAllowed = "argument_not_allowed" 7,
    /// A path that is not well formed.
    PathMalformed = "path_malformed" 8,
    /// A path in no root.
    PathOutsideRoots = "path_outside_roots" 8,
    /// A root the profile does not have.
    RootNotInProfile = "root_not_in_profile" 8,
    /// A change in a read-only root.
    RootReadOnly = "root_read_only" 8,
    /// A change in a read-only database.
    DatabaseReadOnly = "database_read_only" 8,
    /// A symbolic link on the way.
    Symlink = "symlink" 8,
    /// A file with more than one name.
    Hardlink = "hardlink" 8,
    /// A device, pipe, socket, or a folder where a file is wanted.
    NotARegularFile = "not_a_regular_file" 8,
    /// A denied pattern matches.
    PathDenied = "path_denied" 8,
    /// No allowed pattern matches.
    PathNotAllowed = "path_not_allowed" 8,
    /// The root folder itself.
    RootItself = "root_itself" 8,
    /// Over `max_file_size`.
    FileTooLarge = "file_too_large" 8,
    /// A URL that is not well formed.
    UrlMalformed = "url_malformed" 9,
    /// Credentials in a URL.
    UrlUserinfo = "url_userinfo" 9,
    /// A scheme that is not listed, or a downgrade.
    SchemeNotAllowed = "scheme_not_allowed" 9,
    /// An address written as a number.
    IpLiteral = "ip_literal" 9,
    /// A denied domain.
    DomainDenied = "domain_denied" 9,
    /// A domain that is not listed.
    DomainNotAllowed = "domain_not_allowed" 9,
    /// A port that is not listed.
    PortNotAllowed = "port_not_allowed" 9,
    /// A name that leads to a private address.
    InternalAddress = "internal_address" 9,
    /// A recipient of a mail that is not listed.
    RecipientNotAllowed = "recipient_not_allowed" 9,
    /// An import that is not listed.
    ImportNotAllowed = "import_not_allowed" 10,
    /// A construct the static check refuses.
    CodeForbidden = "code_forbidden" 10,
    /// Source that does not parse.
    SyntaxError = "syntax_error" 10,
    /// A statement of a kind that is not allowed, or one that uses what is not.
    StatementNotAllowed = "statement_not_allowed" 10,
    /// A reviewer said no.
    ReviewDenied = "review_denied" 11,
    /// The level is closed.
    LevelDenied = "level_denied" 12,
    /// Nobody can be asked.
    NoApprovalChannel = "no_approval_channel" 14,
    /// The person said no.
    ApprovalRefused = "approval_refused" 15,
    /// A yes without the explicit content.
    ApprovalNotExplicit = "approval_not_explicit" 15,
    /// The answer came too late.
    ApprovalExpired = "approval_expired" 15,
    /// The answer is for something else.
    ApprovalMismatch = "approval_mismatch" 15,
    /// The answer was used before.
    ApprovalReplayed = "approval_replayed" 15,
    /// The answer belongs to somebody else.
    ApprovalWrongPrincipal = "approval_wrong_principal" 15,
    /// The answer came over a channel that does not count.
    ApprovalWrongChannel = "approval_wrong_channel" 15,
    /// A Python root whose denied entries cannot be walled off.
    RootNotEnforceable = "root_not_enforceable" 1,
    /// A write that would store a mask in place of a secret or show a masked one, or a form of a file in which no mask can stand.
    MaskedContent = "masked_content" 16,
    /// The path does not exist.
    NotFound = "not_found" 16,
    /// The target exists already.
    AlreadyExists = "already_exists" 16,
    /// A folder where a file is wanted.
    IsADirectory = "is_a_directory" 16,
    /// A file where a folder is wanted.
    NotADirectory = "not_a_directory" 16,
    /// A folder that still has entries.
    DirectoryNotEmpty = "directory_not_empty" 16,
    /// Text was wanted and the file is not UTF-8.
    NotText = "not_text" 16,
    /// The file changed since it was read (`expected_sha256`), or while it was being judged.
    Conflict = "conflict" 16,
    /// `old_text` is not in the file, or is in it more than once.
    EditMismatch = "edit_mismatch" 16,
    /// The call ran out of its time.
    Timeout = "timeout" 16,
    /// The client cancelled the call.
    Cancelled = "cancelled" 16,
    /// The remote host failed or answered with an error.
    FetchFailed = "fetch_failed" 16,
    /// The response is larger than `max_response`.
    ResponseTooLarge = "response_too_large" 16,
    /// What came cannot be turned into text: it is not what it claims to be, or it broke its reader.
    Unreadable = "unreadable" 16,
    /// `robots.txt` disallows it.
    RobotsDisallowed = "robots_disallowed" 16,
    /// More redirects than `max_redirects`.
    TooManyRedirects = "too_many_redirects" 16,
    /// The sandbox cannot hold what `require` asks for.
    SandboxUnavailable = "sandbox_unavailable" 16,
    /// A Python session that does not exist or is not the caller's.
    SessionUnknown = "session_unknown" 16,
    /// The disk or the root's quota is full.
    NoSpace = "no_space" 16,
    /// The disk failed while it was read or written (`EIO`).
    DiskFailed = "disk_failed" 16,
    /// The program failed, was stopped or hit a limit; the answer says how.
    ProgramFailed = "program_failed" 16,
    /// The database refused the statement, or failed.
    QueryFailed = "query_failed" 16,
    /// A statement would change more rows than `max_changes`; nothing was changed.
    TooManyChanges = "too_many_changes" 16,
    /// The mail server refused the mail, or cannot be reached.
    SendFailed = "send_failed" 16,
    /// Our own fault; the log knows more under the call id.
    Internal = "internal" 16,
}

impl Code {
    /// Whether only a call that tries a wall is refused with it: such refusals count towards a suspension, honest mistakes do not.
    pub fn meets_a_wall(self) -> bool {
        matches!(
            self,
            Self::PathDenied
                | Self::Symlink
                | Self::Hardlink
                | Self::ToolDenied
                | Self::DomainDenied
                | Self::InternalAddress
                | Self::CodeForbidden
        )
    }
}

/// A no that is safe to show the model: what was wrong, which rule, what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The reason.
    pub code: Code,
    /// What was wrong, in one sentence without a final stop. Holds no host path outside the roots and no secret.
    pub message: String,
    /// One safe next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The rule of the manifest that decided, e.g. `files.denied_paths[0]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Whole seconds until a repeat can succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
    /// Modules that a refused program imports and the manifest does not list, for the record: the program itself may stand there as a digest.
    #[serde(skip)]
    pub imports: Box<[String]>,
}

impl Refusal {
    /// A refusal with its sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, rule: None, retry_after_s: None, imports: Box::default() }
    }

    /// Adds one safe next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the rule of the manifest that decided.
    #[must_use]
    pub fn rule(mut self, rule: impl Into<String>) -> Self {
        self.rule = Some(rule.into());
        self
    }

    /// Says when a repeat can succeed, in whole seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }
}

impl std::fmt::Display for Refusal {
    /// One line for the model: `message (code, rule); hint`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}", self.message, self.code)?;
        if let Some(rule) = &self.rule {
            write!(f, ", rule `{rule}`")?;
        }
        f.write_str(")")?;
        if let Some(seconds) = self.retry_after_s {
            write!(f, "; try again in {seconds} s, not earlier")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_from_its_text() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(code));
            assert_eq!(serde_json::json!(code), code.as_str());
        }
        assert_eq!(Code::parse("no_such_code"), None);
    }

    #[test]
    fn a_refusal_reads_as_what_which_rule_what_to_do() {
        let refusal = Refusal::new(Code::PathDenied, "`work/.env` is denied").rule("files.denied_paths[0]").hint("leave it out");
        assert_eq!(refusal.to_string(), "`work/.env` is denied (path_denied, rule `files.denied_paths[0]`); leave it out");
    }
}
