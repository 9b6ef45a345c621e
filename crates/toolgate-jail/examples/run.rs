//! Runs a command in a jail that shows the system's programs, and says how it ended:
//! `cargo run -p toolgate-jail --example run -- native /bin/echo hello`. In an image: `run podman:IMAGE /bin/echo hello`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use toolgate_jail::{Backend, Bubblewrap, Client, Container, ContainerSettings, Io, Landlock, Layer, Limits, Native, Spec};

fn main() -> ExitCode {
    // The spawner is this program, started again.
    if let Some(code) = toolgate_jail::enter_if_asked() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((backend, command)) = arguments.split_first().filter(|(_, command)| !command.is_empty()) else {
        eprintln!("usage: run native|landlock|bubblewrap|docker:IMAGE|podman:IMAGE PROGRAM [ARGUMENT...]");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(|e| e.to_string()).and_then(|runtime| runtime.block_on(run(backend, command))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// A command that sees the system's programs and libraries.
fn spec(command: &[String]) -> Spec {
    let links = ["/bin", "/lib", "/lib64"].into_iter().filter_map(|path| Some((path.to_owned(), std::fs::read_link(path).ok()?)));
    Spec {
        program: command.first().cloned().unwrap_or_default(),
        arguments: command.to_vec(),
        environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        shown: vec!["/usr".to_owned()],
        links: links.filter_map(|(path, target)| Some((path, target.to_str()?.to_owned()))).collect(),
        folders: Vec::new(),
        start_dir: "/tmp".to_owned(),
        limits: Limits {
            wall: Duration::from_secs(10),
            cpu: Duration::from_secs(10),
            cpu_share: 100,
            memory: 256 << 20,
            processes: 16,
            open_files: 256,
            file_size: 64 << 20,
            scratch: 64 << 20,
        },
        require: vec![Layer::Syscalls],
        network: false,
        waits: false,
        label: String::new(),
    }
}

/// A command of an image, which brings its own system. It waits for its line, and reads what lies in the folder of its call.
fn spec_in_image(command: &[String]) -> Spec {
    let wait = ["sh", "-c", "read line; exec \"$@\" <\"$TOOLGATE_CALL/stdin\"", "sh"].map(str::to_owned);
    let arguments = wait.into_iter().chain(command.iter().cloned()).collect();
    Spec { program: "/bin/sh".to_owned(), arguments, shown: Vec::new(), links: Vec::new(), waits: true, ..spec(command) }
}

async fn run(backend: &str, command: &[String]) -> Result<(), String> {
    let client = Arc::new(Client::new("/proc/self/exe".into()));
    let image = backend.split_once(':');
    let spec = if image.is_some() { spec_in_image } else { spec };
    let trial = spec(&["/usr/bin/true".to_owned()]);
    let backend: Box<dyn Backend> = match image.map_or(backend, |_| "container") {
        "container" => {
            let (engine, image) = image.map(|(engine, image)| (engine.to_owned(), image.to_owned())).unwrap_or_default();
            Box::new(Container::new(ContainerSettings { engine, image, runtime: None, patience: Duration::from_secs(10) }, trial))
        }
        "native" => Box::new(Native::new(client, trial)),
        "landlock" => Box::new(Landlock::new(client, trial)),
        "bubblewrap" => Box::new(Bubblewrap::new(client, trial)),
        other => return Err(format!("`{other}` is no backend")),
    };
    println!("{:#?}", backend.probe().await);
    let text = |e: std::io::Error| e.to_string();
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned();
    let nothing = || std::fs::File::options().read(true).write(true).open("/dev/null").map(Into::into).map_err(text);
    let io = Io {
        stdin: own(std::io::stdin().as_fd()).map_err(text)?,
        stdout: own(std::io::stdout().as_fd()).map_err(text)?,
        stderr: own(std::io::stderr().as_fd()).map_err(text)?,
        task: if image.is_some() { Some((nothing()?, nothing()?)) } else { None },
    };
    let mut running = backend.start(&spec(command), io, true).await.map_err(|why| why.to_string())?;
    println!("{:?}", running.end().await);
    drop(running);
    backend.close().await;
    Ok(())
}
