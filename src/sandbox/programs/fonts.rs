//! The list of fonts that matplotlib makes when it is first imported, which takes longer than most programs: made once for an interpreter, in a jail
//! where no program of a call ever ran, and laid into the scratch space of each program. No program can change what another one gets.

use std::sync::Arc;
use std::time::Duration;

use rustix::fs::stat;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{Jail, JailSpec, Limits, Status};
use crate::audit::StateDir;

/// The list of the interpreter of a server.
#[derive(Debug, Default)]
pub(super) struct Fonts(OnceCell<Option<Arc<str>>>);

impl Fonts {
    /// The list for a program: its file name on the first line, then its content. `spec`: the order of the program. It is made where the program
    /// speaks of drawing and neither this server nor an earlier one has made it; that takes a few seconds, once for each interpreter. None where there
    /// is no matplotlib, where no wall keeps the scratch spaces of programs apart, and where it could not be made.
    pub(super) async fn of(
        &self,
        jail: &Jail,
        spec: &JailSpec,
        state: Option<&Arc<StateDir>>,
        cancel: &CancellationToken,
    ) -> Option<Arc<str>> {
        if let Some(known) = self.0.get() {
            return known.clone();
        }
        if !DRAWING.iter().any(|word| spec.program.contains(word))
            || jail.probe().layers.get("filesystem").is_none_or(|state| state != "on")
        {
            return None;
        }
        let looked = self.0.get_or_try_init(async || {
            let Some(name) = name(jail) else { return Ok(None) };
            let known = state.and_then(|state| state.recall(&name)).and_then(|text| String::from_utf8(text).ok());
            if let Some(list) = known.filter(|text| is_list(text)) {
                return Ok(Some(list.into()));
            }
            let list = make(jail, spec, cancel).await?;
            if let (Some(list), Some(state)) = (&list, state)
                && let Err(fault) = state.remember(&name, list.as_bytes())
            {
                tracing::debug!(%fault, "the list of fonts is not remembered");
            }
            Ok::<_, ()>(list)
        });
        looked.await.ok().cloned().flatten()
    }
}

/// Words of a program that draws. Another one finds the list where it is known already.
const DRAWING: [&str; 3] = ["matplotlib", "seaborn", ".plot"];
/// Bytes of the list; with some dozen fonts it has 30 KB.
const LONGEST: usize = 512 * 1024;

/// Prints the list and its name. In a jail there are no fonts but those of matplotlib.
const PROGRAM: &str = "import os, matplotlib, matplotlib.font_manager
folder = matplotlib.get_cachedir()
for name in os.listdir(folder):
    if name.startswith('fontlist-v'):
        print(name)
        print(open(os.path.join(folder, name)).read())
";

/// Makes the list, as the interpreter that `spec` is for makes it; an error where the call that waits for it was given up.
async fn make(jail: &Jail, spec: &JailSpec, cancel: &CancellationToken) -> Result<Option<Arc<str>>, ()> {
    let mut own = JailSpec::new(PROGRAM);
    own.limits = Limits { wall: spec.limits.wall.min(LONG), ..spec.limits };
    own.output = LONGEST as u64;
    own.env.clone_from(&spec.env);
    own.require.clone_from(&spec.require);
    own.fresh = true;
    let made = jail.run(&own, cancel, None).await;
    if cancel.is_cancelled() {
        return Err(());
    }
    let list = made.ok().filter(|outcome| outcome.status == Status::Ok && !outcome.truncated).map(|outcome| outcome.stdout);
    let list = list.map(|list| list.trim_end().to_owned()).filter(|list| is_list(list));
    if list.is_none() {
        tracing::info!("matplotlib's list of fonts could not be made; each program makes its own");
    }
    Ok(list.map(Arc::from))
}

/// How long it may take.
const LONG: Duration = Duration::from_secs(20);

/// Whether a text is a name of such a list and a JSON object.
fn is_list(text: &str) -> bool {
    let is_plain =
        |name: &str| name.starts_with("fontlist-v") && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-'));
    text.split_once('\n').is_some_and(|(name, list)| {
        is_plain(name)
            && name.strip_suffix(".json").is_some()
            && serde_json::from_str::<serde_json::Value>(list).is_ok_and(|list| list.is_object())
    })
}

/// Under which name the list is kept: it changes with the interpreter and with each change of what is installed in its folders. None without
/// matplotlib.
fn name(jail: &Jail) -> Option<String> {
    let interpreter = jail.interpreter();
    let folders = &interpreter.module_path;
    folders.iter().find(|folder| stat(format!("{folder}/matplotlib").as_str()).is_ok())?;
    let mut digest = Sha256::new();
    for text in [env!("CARGO_PKG_VERSION"), PROGRAM, &interpreter.program, &interpreter.argv0, &interpreter.version] {
        digest.update([text.as_bytes(), &[0]].concat());
    }
    for folder in folders {
        let seen = stat(folder.as_str()).map(|seen| format!("{} {} {} {}", seen.st_dev, seen.st_ino, seen.st_mtime, seen.st_mtime_nsec));
        digest.update(format!("{folder}\0{}\0", seen.unwrap_or_default()));
    }
    let short = digest.finalize().iter().take(8).fold(0_u64, |name, byte| name << 8 | u64::from(*byte));
    Some(format!("fonts-{short:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_plain_name_and_an_object() {
        assert!(is_list("fontlist-v3.11.0.json\n{\"ttflist\": []}"));
        for other in ["", "{}", "fontlist-v1.json", "fontlist-v1.json\n[]", "fontlist-v1.json\n{", "fontlist-v/../x.json\n{}", "x.json\n{}"]
        {
            assert!(!is_list(other), "{other}");
        }
    }
}
