//! `toolgate approvals watch`: questions as they come and go, answered in place by a letter.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use super::{Failed, Proof, Server, print, send, terminal, text};
use crate::audit::{StateDir, is_hidden, plain};

/// Between two looks for questions.
const LOOK: Duration = Duration::from_millis(300);
/// The letters of the answers, by what they say.
const LETTERS: [(&str, &str); 5] = [("y", "once"), ("s", "session"), ("f", "session_folder"), ("r", "session_root"), ("n", "deny")];

/// Prints each question when it is put and when it is over, and takes answers from standard input. Runs until its output is closed.
pub(super) fn run(folder: &StateDir, who: Option<&str>, out: &mut dyn Write) -> Result<bool, Failed> {
    let input = BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let mut watch = Watch { folder, who, input, open: Vec::new(), answered: Vec::new(), is_asked: false };
    loop {
        watch.look(out)?;
        watch.ask(out)?;
        out.flush()?;
        match watch.line(LOOK)? {
            Some(line) if line.is_empty() => std::thread::sleep(LOOK),
            Some(line) => watch.hear(line.trim(), out)?,
            None => {}
        }
    }
}

struct Watch<'a> {
    folder: &'a StateDir,
    who: Option<&'a str>,
    input: BufReader<File>,
    /// What waits, the oldest first; the first is the one that an answer is for.
    open: Vec<Value>,
    /// The ids of those that were answered here: they wait until their call has seen it, or for another operator.
    answered: Vec<String>,
    /// Whether the answers to the first were shown since something changed.
    is_asked: bool,
}

impl Watch<'_> {
    /// Shows what came, and what is over.
    fn look(&mut self, out: &mut dyn Write) -> Result<(), Failed> {
        let questions = waiting(self.folder)?;
        let is_in = |all: &[Value], one: &Value| all.iter().any(|other| text(other, "id") == text(one, "id"));
        for gone in self.open.iter().filter(|one| !is_in(&questions, one)) {
            writeln!(out, "{}  is over\n", plain(text(gone, "id")))?;
        }
        self.answered.retain(|id| questions.iter().any(|one| text(one, "id") == id));
        let first = self.open.first().map(|one| text(one, "id").to_owned());
        self.open.retain(|one| is_in(&questions, one));
        for new in questions {
            if is_in(&self.open, &new) || self.answered.iter().any(|id| id == text(&new, "id")) {
                continue;
            }
            print(&new, out)?;
            writeln!(out)?;
            self.open.push(new);
        }
        if self.open.first().map(|one| text(one, "id")) != first.as_deref() {
            self.is_asked = false;
            self.forget_lines()?;
        }
        Ok(())
    }

    /// The next line of the input with its end, where one comes in time; an empty one for ever once the input has ended. No thread reads ahead: it
    /// would take the passphrase from the terminal.
    fn line(&mut self, wait: Duration) -> io::Result<Option<String>> {
        let wait = wait.try_into().map_err(io::Error::other)?;
        if self.input.buffer().is_empty() && poll(&mut [PollFd::new(self.input.get_ref(), PollFlags::IN)], Some(&wait))? == 0 {
            return Ok(None);
        }
        let mut line = String::new();
        self.input.read_line(&mut line)?;
        Ok(Some(line))
    }

    /// Drops what was typed before the first question was shown: it was meant for another one.
    fn forget_lines(&mut self) -> io::Result<()> {
        while self.line(Duration::ZERO)?.is_some_and(|line| !line.is_empty()) {}
        Ok(())
    }

    /// Shows the answers to the first question, once.
    fn ask(&mut self, out: &mut dyn Write) -> Result<(), Failed> {
        let Some(first) = self.open.first().filter(|_| !self.is_asked) else { return Ok(()) };
        writeln!(out, "{}: {}", plain(text(first, "id")), plain(text(first, "text").lines().next().unwrap_or_default()))?;
        for (letter, title) in answers(first) {
            writeln!(out, "  {letter}  {}", plain(&title))?;
        }
        writeln!(out, "  d  show the whole difference")?;
        self.is_asked = true;
        Ok(())
    }

    /// Takes one line of input as the answer to the first question.
    fn hear(&mut self, line: &str, out: &mut dyn Write) -> Result<(), Failed> {
        let Some(first) = self.open.first().cloned() else { return Ok(()) };
        if line == "d" {
            let asked = json!({"do": "show", "id": text(&first, "id")});
            let whole = Server::reach(self.folder).and_then(|mut server| server.ask(&asked));
            let whole = whole.ok().and_then(|answer| answer.pointer("/question/diff")?.as_str().map(str::to_owned)).unwrap_or_default();
            let shown = if whole.is_empty() { text(&first, "text") } else { whole.as_str() };
            for line in shown.lines() {
                writeln!(out, "{}", line.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect::<String>())?;
            }
            self.is_asked = false;
            return Ok(());
        }
        let offered = answers(&first);
        let said = LETTERS.iter().find(|(letter, _)| *letter == line && offered.iter().any(|(other, _)| other == letter));
        let Some((_, say)) = said else {
            if !line.is_empty() {
                // What is longer than a letter may be a secret that was typed too late.
                let shown = if line.chars().count() == 1 { format!("`{}`", plain(line)) } else { "what you typed".to_owned() };
                writeln!(out, "{shown} is no answer to that")?;
            }
            self.is_asked = false;
            return Ok(());
        };
        let secret = if *say == "deny" { None } else { self.secret(text(&first, "id"), out)? };
        let proof = Proof { who: self.who, secret: secret.as_deref(), reason: None };
        let done = Server::reach(self.folder).and_then(|mut server| send(&mut server, &first, say, &proof, out));
        match done {
            Ok(true) => {
                self.answered.push(text(&first, "id").to_owned());
                self.open.remove(0);
                self.forget_lines()?;
            }
            Ok(false) => {}
            Err(Failed::Nobody(_)) => writeln!(out, "the server that asked is gone")?,
            Err(fault) => return Err(fault),
        }
        writeln!(out)?;
        self.is_asked = false;
        Ok(())
    }

    /// The passphrase for a yes to this question.
    fn secret(&mut self, id: &str, out: &mut dyn Write) -> Result<Option<String>, Failed> {
        write!(out, "passphrase for {}: ", plain(id))?;
        out.flush()?;
        let secret = terminal::secret("", &mut self.input)?;
        writeln!(out)?;
        Ok(secret)
    }
}

/// The answers that a question offers, each with its letter and its words, the yes first.
fn answers(question: &Value) -> Vec<(&'static str, String)> {
    let choices = question.get("choices").and_then(Value::as_array);
    let title = |say: &str| {
        let mut pairs = choices.into_iter().flatten().filter_map(Value::as_array);
        pairs.find(|pair| pair.first().and_then(Value::as_str) == Some(say)).and_then(|pair| pair.get(1)?.as_str().map(str::to_owned))
    };
    LETTERS.iter().filter_map(|(letter, say)| Some((*letter, title(say)?))).collect()
}

/// What waits on the servers of the folder. They come and go; the watch stays.
fn waiting(folder: &StateDir) -> Result<Vec<Value>, Failed> {
    match Server::reach(folder).and_then(|mut server| server.questions()) {
        Err(Failed::Nobody(_)) => Ok(Vec::new()),
        other => other,
    }
}
