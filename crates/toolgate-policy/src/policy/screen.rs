//! Lines 8 to 10 as far as text decides them: what is refused here is never opened, resolved or run.

use std::time::Duration;

use super::capability::{Capability, over_writes};
use super::network::judge_url;
use super::paths::{judge_root, judge_text, outside_for, place};
use super::program::{self, Program};
use super::request::judge_header;
use super::secret::judge_secrets;
use crate::manifest::Python;
use crate::model::{Access, Action, Bytes, Code, Facts, HttpUrl, Link, PathFact, QueryDatabase, Refusal, Target};

/// What an action means once its text was judged.
#[derive(Debug, Clone, Default)]
pub struct Screened {
    /// Where each of the action's touches is, in order.
    pub targets: Vec<Target>,
    /// The URL of a fetch.
    pub url: Option<HttpUrl>,
    /// What the static check made of a program.
    pub program: Option<Program>,
    /// The query of a database, with what its statement is and which file the database is.
    pub query: Option<QueryDatabase>,
}

impl Screened {
    /// Takes the spelling of each target as it was seen: from here on the call speaks of the entries by their own bytes.
    pub fn take_spelling(&mut self, facts: &Facts) {
        for (target, fact) in self.targets.iter_mut().zip(&facts.paths) {
            target.path = fact.spelling.of(&target.path).clone();
        }
    }

    /// Where each target is once links were followed.
    pub fn led(&self, facts: &Facts) -> Vec<Target> {
        let led = |(target, fact): (&Target, &PathFact)| {
            let path = if let Link::Leads(path) = &fact.link { path } else { &target.path };
            Target { root: target.root.clone(), path: path.clone() }
        };
        self.targets.iter().zip(&facts.paths).map(led).collect()
    }

    /// The action with exactly the program or query that was judged: what runs is what was read.
    #[must_use]
    pub fn as_judged(&self, mut action: Action) -> Action {
        if let (Action::RunPython(run), Some(program)) = (&mut action, &self.program) {
            run.code.clone_from(&program.source);
        }
        if let (Action::QueryDatabase(query), Some(judged)) = (&mut action, &self.query) {
            query.clone_from(judged);
        }
        action
    }
}

impl Capability {
    /// Judges the text of paths, URL, headers and program.
    ///
    /// # Errors
    /// The codes of lines 8 to 10, `argument_not_allowed` or `argument_invalid` for a header, `argument_invalid` for a run time.
    pub fn screen(&self, action: &Action) -> Result<Screened, Refusal> {
        let mut screened = Screened::default();
        let query;
        let action = if let Action::QueryDatabase(asked) = action {
            query = Action::QueryDatabase(self.judge_query(asked)?);
            &query
        } else {
            action
        };
        for touch in action.touches() {
            let target = place(&self.manifest, &touch.path).map_err(|_| outside_for(&self.manifest, &self.profile, &touch))?;
            match touch.access {
                Access::Database { .. } => judge_root(&self.manifest, &self.profile, &target, touch.access).map(drop)?,
                access => judge_text(&self.manifest, &self.profile, &target, access)?,
            }
            if let Access::Write(size) = touch.access {
                self.judge_size(&target, size)?;
            }
            screened.targets.push(target);
        }
        match action {
            Action::Fetch(fetch) => {
                let url = HttpUrl::parse(&fetch.url)?;
                judge_url(&self.manifest.network, &url)?;
                for (name, value) in &fetch.headers {
                    judge_header(name, value)?;
                }
                judge_secrets(&self.manifest.network.secrets, &url, fetch.headers.values())?;
                screened.url = Some(url);
            }
            Action::RunPython(run) => {
                judge_time(&self.manifest.python, run.timeout_s)?;
                let has_input = !run.stdin.is_empty();
                let checked = program::check(&self.manifest.python, self.lacking.as_deref(), &run.code, has_input, &self.modules);
                screened.program = Some(checked?);
            }
            Action::SendEmail(mail) => self.judge_mail(mail)?,
            Action::QueryDatabase(query) => screened.query = Some(query.clone()),
            Action::ReadFile(_)
            | Action::WriteFile(_)
            | Action::EditFiles(_)
            | Action::ListDirectory(_)
            | Action::SearchFiles(_)
            | Action::FileInfo(_)
            | Action::CreateDirectory(_)
            | Action::MoveFile(_)
            | Action::CopyFile(_)
            | Action::DeleteFile(_) => {}
        }
        Ok(screened)
    }

    /// Judges the size of what is read whole or written.
    ///
    /// # Errors
    /// `file_too_large`, with the rule that holds the least limit; `quota` where it is more than the call may still write.
    pub fn judge_size(&self, target: &Target, size: Bytes) -> Result<(), Refusal> {
        if size <= self.max_file_size {
            let left = self.write_left.filter(|left| size > *left);
            return left.map_or(Ok(()), |left| Err(over_writes(&self.manifest, &self.profile, target, size, left)));
        }
        let of_tool = self.tool_rules().and_then(|rules| rules.bounds.max_file_size);
        let of_profile = self.rules().and_then(|rules| rules.bounds.max_file_size);
        let rule = if of_tool == Some(self.max_file_size) {
            format!("tools.{}.max_file_size", self.spec.name)
        } else if of_profile == Some(self.max_file_size) {
            format!("profiles.{}.max_file_size", self.profile)
        } else {
            "files.max_file_size".to_owned()
        };
        Err(Refusal::new(
            Code::FileTooLarge,
            format!("`{target}` has {}; {} are the most", told(size, self.max_file_size), self.max_file_size),
        )
        .rule(rule)
        .hint("use a smaller file, or split it"))
    }
}

/// Judges the run time that a call asks for: a program that is ended before it would know no reason for it.
fn judge_time(python: &Python, asked: Option<u64>) -> Result<(), Refusal> {
    let most = python.timeout;
    match asked.filter(|asked| Duration::from_secs(*asked) > most) {
        None => Ok(()),
        Some(asked) => {
            let whole = most.as_secs();
            let way_on = if whole == 0 { "leave it out".to_owned() } else { format!("give at most {whole}, or leave it out") };
            let message = format!("`timeout_s` is {asked}, and no program runs longer than {} s", most.as_secs_f64());
            Err(Refusal::new(Code::ArgumentInvalid, message).rule("python.timeout").hint(way_on))
        }
    }
}

/// A size beside its limit: to the byte where both would read the same.
fn told(size: Bytes, most: Bytes) -> String {
    if size.to_string() == most.to_string() { format!("{} bytes", size.0) } else { size.to_string() }
}
