//! Puts the answer of a call together from everything that was seen of it.

use std::time::Instant;

use super::collect::Kept;
use super::harvest::{Before, Harvest, Seen};
use super::mime::PICTURES;
use super::order::End;
use super::outcome::{Isolation, NoRun, Outcome};
use super::picture;
use super::report::Report;
use super::spec::{JailRoot, JailSpec, Layers};
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
    /// The answer to a call whose program never began.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn unbegun(began: Instant, stop: Stop, backend: &str) -> Result<Outcome, NoRun> {
        // What others did to its folders in the meantime is none of its own.
        let spec = JailSpec::new("");
        let nothing = || Kept::new(0);
        let isolation = Isolation { backend: backend.to_owned(), layers: Layers::new() };
        let (before, report) = (Before::default(), Report::default());
        Self { began, before, end: End::default(), stop: Some(stop), report, output: nothing(), error: nothing(), isolation }
            .outcome(&spec)
            .await
    }

    /// The answer, with the files that the program left.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn outcome(self, spec: &JailSpec) -> Result<Outcome, NoRun> {
        self.outcome_and_seen(spec).await.map(|(outcome, _)| outcome)
    }

    /// The same with what was seen of its roots at the end.
    ///
    /// # Errors
    /// [`NoRun::Fault`].
    pub(super) async fn outcome_and_seen(self, spec: &JailSpec) -> Result<(Outcome, Seen), NoRun> {
        let duration = self.began.elapsed();
        let mut found = Harvest::default();
        let roots: Vec<JailRoot> = spec.writable().cloned().collect();
        let roots_are_written = !roots.is_empty();
        if roots_are_written {
            let before = self.before;
            let gathered = tokio::task::spawn_blocking(move || gather(&before, &roots)).await;
            found = gathered.map_err(|e| NoRun::fault("looking at files", e))?;
            tick::touched();
        }
        let mut end = self.end;
        end.reached.file_size = end.reached.file_size.max(found.largest);
        let verdict = verdict::judge(&end, self.stop.as_ref(), &self.report, &spec.limits);
        let evidence = verdict.evidence.map(|evidence| match self.isolation.layers.get("processes").map(String::as_str) {
            Some(layer) if layer != "on" && evidence == verdict::UNTOLD => verdict::UNHELD.to_owned(),
            _ => evidence,
        });
        let ((stdout, cut_output), (stderr, cut_error)) = (self.output.text(), self.error.text());
        let (events, told) = (self.report.events, self.report.told);
        let mut pictures = self.report.pictures;
        let made = told + found.files.iter().filter(|file| PICTURES.contains(&file.mime_type.as_str())).count();
        pictures.extend(found.pictures);
        let pictures = picture::within_bounds(pictures);
        let unshown = made.saturating_sub(pictures.len());
        let outcome = Outcome {
            network: Vec::new(),
            arrears_ms: 0,
            status: verdict.status,
            limit: verdict.limit,
            evidence,
            exit_code: end.exit,
            signal: end.signal,
            stdout,
            stderr,
            truncated: cut_output || cut_error,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            usage: end.usage,
            files: found.files,
            files_cut: found.cut,
            bytes_written: if roots_are_written { found.written.max(end.written) } else { 0 },
            session: None,
            isolation: self.isolation,
            pictures,
            unshown,
            events,
        };
        Ok((outcome, found.seen))
    }
}

/// What a program left and wrote in all the roots that it may write to, the first of them first.
fn gather(before: &Before, roots: &[JailRoot]) -> Harvest {
    let mut all = Harvest::default();
    for (at, root) in roots.iter().enumerate() {
        let found = before.gather(&root.name, &root.dir);
        if at == 0 {
            all = found;
            continue;
        }
        all.list_more(found.files, found.cut);
        all.pictures.extend(found.pictures);
        all.written = all.written.saturating_add(found.written);
        all.largest = all.largest.max(found.largest);
        all.seen = all.seen.and(found.seen);
    }
    all
}
