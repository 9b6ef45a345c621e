//! Puts the answer of a call together from everything that was seen of it.

use std::time::Instant;

use super::collect::Kept;
use super::harvest::{Before, Harvest};
use super::order::End;
use super::outcome::{Isolation, NoRun, Outcome};
use super::picture;
use super::report::Report;
use super::spec::JailSpec;
use super::verdict::{self, Stop};
use crate::sandbox::tick;

/// Everything that was seen of a call.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) began: Instant,
    pub(super) before: Before,
    pub(super) end: End,
    pub(super) stop: Option<Stop>,
    pub(super) report: Report,
    pub(super) output: Kept,
    pub(super) error: Kept,
    pub(super) isolation: Isolation,
}

impl Ending {
    /// The answer, with the files that the program left.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn outcome(self, spec: &JailSpec) -> Result<Outcome, NoRun> {
        let duration = self.began.elapsed();
        let verdict = verdict::judge(&self.end, self.stop.as_ref(), &self.report, &spec.limits);
        let mut found = Harvest::default();
        if let Some(root) = spec.first_writable().cloned() {
            let before = self.before;
            let gathered = tokio::task::spawn_blocking(move || before.gather(&root.name, &root.dir)).await;
            found = gathered.map_err(|e| NoRun::fault("looking at files", e))?;
            tick::touched();
        }
        let ((stdout, cut_output), (stderr, cut_error)) = (self.output.text(), self.error.text());
        let events = self.report.events;
        let mut pictures = self.report.pictures;
        pictures.extend(found.pictures);
        pictures.truncate(picture::MOST);
        Ok(Outcome {
            network: Vec::new(),
            status: verdict.status,
            limit: verdict.limit,
            evidence: verdict.evidence,
            exit_code: self.end.exit,
            signal: self.end.signal,
            stdout,
            stderr,
            truncated: cut_output || cut_error,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            usage: self.end.usage,
            files: found.files,
            bytes_written: found.written,
            session: None,
            isolation: self.isolation,
            pictures,
            events,
        })
    }
}
