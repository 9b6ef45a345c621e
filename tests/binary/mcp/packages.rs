//! Packages from outside: `toolgate packages sync`, and what programs make of numpy, pandas, matplotlib and pillow.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::mcp::home::{Home, Policy, repository};
use crate::mcp::server::{Guarded, Server, any_runs, descendants, until, went_well};

/// A house whose programs may import anything, with more lines in `[python]`.
pub(crate) fn open_home(python: &str) -> Home {
    let home = Home::new(Policy { approvals: "level_2 = \"none\"", ..Policy::default() });
    let written = std::fs::read_to_string(home.manifest()).unwrap();
    let (before, rest) = written.split_once("check = \"imports\"").unwrap();
    let after = rest.split_once("roots = [\"work\"").unwrap().1;
    std::fs::write(home.manifest(), format!("{before}check = \"off\"\n{python}\nroots = [\"work\"{after}")).unwrap();
    home
}

/// A server over the environment that `./check` sets up.
fn with_packages() -> Option<(Home, Server)> {
    let python = repository().join("tests/clients/.venv-jail/bin/python");
    if !python.exists() {
        eprintln!("skipped: the packages of the tests are not installed; run `./check --setup`");
        return None;
    }
    // Each thread that starts reserves room for an allocator of its own: more than the usual bound where several start at once.
    let home = open_home(&format!("interpreter = {}\nmemory = \"1GiB\"", Value::from(python.to_str().unwrap())));
    let server = Server::greeted(&home, "2025-11-25");
    Some((home, server))
}

/// The answer of a program that ends well: what it printed, and the types of its pictures.
fn run(server: &mut Server, code: &str) -> (String, Vec<String>) {
    let answer = server.call("run_python", &json!({"code": code}));
    assert!(went_well(&answer), "{answer}");
    let content = answer["result"]["content"].as_array().unwrap();
    let images = content.iter().filter(|block| block["type"] == "image");
    let types = images.map(|image| {
        assert!(image["data"].as_str().is_some_and(|data| data.len() > 40), "{image}");
        image["mimeType"].as_str().unwrap().to_owned()
    });
    (answer["result"]["structuredContent"]["stdout"].as_str().unwrap().to_owned(), types.collect())
}

#[test]
fn numpy_and_pandas_calculate_and_a_frame_is_shown_as_in_a_notebook() {
    let Some((_home, mut server)) = with_packages() else { return };
    let sum = "import numpy as np\nprint(np.linalg.inv(np.eye(3) * 2)[0, 0], (np.arange(1000) ** 2).sum())";
    assert_eq!(run(&mut server, sum).0, "0.5 332833500\n");
    let frame = "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': [0.5, 1.5]}).sum()";
    assert_eq!(run(&mut server, frame).0, "a    3.0\nb    2.0\ndtype: float64\n");
    let files = "import pandas as pd\npd.DataFrame({'a': [1]}).to_csv('/roots/work/a.csv')\nprint(len(pd.read_csv('/roots/work/a.csv')))";
    assert_eq!(run(&mut server, files).0, "1\n");
}

#[test]
fn a_program_that_draws_finds_matplotlib_imported_and_nothing_of_the_one_before() {
    let Some((_home, mut server)) = with_packages() else { return };
    let spoil = "import os, matplotlib\nname, = [name for name in os.listdir('/tmp') if name.startswith('fontlist')]\n\
                 open('/tmp/' + name, 'w').write('{}')";
    let found = "import sys\nprint('matplotlib.pyplot' in sys.modules)\nimport os, matplotlib.font_manager\n\
                 name, = [name for name in os.listdir('/tmp') if name.startswith('fontlist')]\nprint(len(open('/tmp/' + name).read()) > 1000)\n\
                 print(os.path.basename(matplotlib.font_manager.findfont('DejaVu Sans')))";
    run(&mut server, spoil);
    for _ in 0..2 {
        assert_eq!(run(&mut server, found).0, "True\nTrue\nDejaVuSans.ttf\n");
    }
    // A program that speaks of no drawing pays nothing for it.
    let other = "import os, sys\nprint([name for name in sys.modules if name.startswith('mat' + 'plotlib')], os.listdir('/tmp'))";
    assert_eq!(run(&mut server, other).0, "[] []\n");
}

#[test]
fn numpys_random_numbers_differ_between_calls_of_one_waiting_interpreter() {
    let python = repository().join("tests/clients/.venv-jail/bin/python");
    if !python.exists() {
        eprintln!("skipped: the packages of the tests are not installed; run `./check --setup`");
        return;
    }
    let home = open_home(&format!("interpreter = {}\npreload = [\"numpy\", \"numpy.random\"]", Value::from(python.to_str().unwrap())));
    let mut server = Server::greeted(&home, "2025-11-25");
    let draw = "import numpy as np\nprint(np.random.random(), np.random.default_rng().random())";
    let lines: Vec<String> = (0..6).map(|_| run(&mut server, draw).0).collect();
    let drawn: std::collections::BTreeSet<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    assert_eq!(drawn.len(), 12, "{lines:?}");
}

#[test]
fn pictures_come_back_whether_they_are_drawn_shown_or_written() {
    let Some((_home, mut server)) = with_packages() else { return };
    let drawn = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nprint('drawn')";
    assert_eq!(run(&mut server, drawn), ("drawn\n".to_owned(), vec!["image/png".to_owned()]));
    let shown = "from PIL import Image\nImage.new('RGB', (30, 30), 'red')";
    assert_eq!(run(&mut server, shown).1, ["image/png"]);
    let written = "from PIL import Image\nimage = Image.new('RGB', (30, 30), 'blue')\nimage.save('a.png')\nimage.save('b.jpg')\n\
                   open('c.svg', 'w').write('<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"/>')\nNone";
    assert_eq!(run(&mut server, written).1, ["image/png", "image/jpeg"]);
    let both = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('d.png')\nplt.close()";
    assert_eq!(run(&mut server, both).1, ["image/png"]);
    // A figure that is written and left open comes back once; one that was changed since, or is another, is a picture of its own.
    let open = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('e.png')";
    assert_eq!(run(&mut server, open).1, ["image/png"]);
    assert_eq!(run(&mut server, &format!("{open}\nplt.title('later')")).1.len(), 2);
    assert_eq!(run(&mut server, &format!("{open}\nplt.figure()\nplt.plot([2])")).1.len(), 2);
    let kept = "import io, matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig(io.BytesIO())";
    assert_eq!(run(&mut server, kept).1, ["image/png"], "no file shows it");
}

#[test]
fn processes_threads_and_tasks_work_with_numpy_in_the_jail() {
    let Some((_home, mut server)) = with_packages() else { return };
    let pool = "import multiprocessing as mp, numpy as np\ndef f(n): return int(np.arange(n).sum())\n\
                with mp.get_context('fork').Pool(2) as pool: print(pool.map(f, [10, 100]))";
    assert_eq!(run(&mut server, pool).0, "[45, 4950]\n");
    let threads = "import numpy as np\nfrom concurrent.futures import ThreadPoolExecutor\n\
                   with ThreadPoolExecutor(4) as pool: print(sum(pool.map(lambda n: np.ones((60, 60)).dot(np.ones((60, 60))).sum(), range(8))))";
    assert_eq!(run(&mut server, threads).0, "1728000.0\n");
    let tasks = "import asyncio\nasync def main():\n    async def one(n):\n        await asyncio.sleep(0.01)\n        return n\n    \
                 return sum(await asyncio.gather(*map(one, range(10))))\nprint(asyncio.run(main()))";
    assert_eq!(run(&mut server, tasks).0, "45\n");
}

/// A registry that is a folder: three wheels, one of which needs another, and one package that would have to be built.
fn registry(home: &Home) -> Option<PathBuf> {
    const MAKE: &str = r#"
import sys, os, zipfile, tarfile, io, importlib.util
folder = sys.argv[1]
os.makedirs(folder)
for name, more in [("apples", ""), ("figs", ""), ("jam", "Requires-Dist: figs\n")]:
    with zipfile.ZipFile(folder + "/%s-1.0-py3-none-any.whl" % name, "w") as wheel:
        wheel.writestr(name + ".py", "def count(): return 29\n")
        wheel.writestr(name + "-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n%s" % (name, more))
        wheel.writestr(name + "-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        files = [name + ".py"] + [name + "-1.0.dist-info/" + file for file in ("METADATA", "WHEEL", "RECORD")]
        wheel.writestr(name + "-1.0.dist-info/RECORD", "".join(file + ",,\n" for file in files))
setup = b"open(%r, 'w').write('ran')\nfrom setuptools import setup\nsetup(name='pears', version='1.0')\n" % (folder + "/ran")
with tarfile.open(folder + "/pears-1.0.tar.gz", "w:gz") as archive:
    entry = tarfile.TarInfo("pears-1.0/setup.py")
    entry.size = len(setup)
    archive.addfile(entry, io.BytesIO(setup))
sys.exit(not (importlib.util.find_spec("pip") and importlib.util.find_spec("venv")))
"#;
    let folder = home.path("registry");
    let made = Command::new("python3").args(["-c", MAKE, folder.to_str().unwrap()]).status().unwrap();
    if !made.success() {
        eprintln!("skipped: python3 has no pip or no venv");
        return None;
    }
    Some(folder)
}

fn sync(home: &Home, registry: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let manifest = home.manifest();
    let mut command = home.toolgate(&["packages", "sync", "--manifest", manifest.to_str().unwrap()]);
    command.args(arguments).env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", registry).env("PIP_CONFIG_FILE", "/dev/null");
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

fn digest(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    toolgate::gate::hex(&sha2::Sha256::digest(bytes))
}

fn check(home: &Home) -> String {
    let manifest = home.manifest();
    String::from_utf8_lossy(&home.toolgate(&["check", manifest.to_str().unwrap()]).output().unwrap().stdout).into_owned()
}

#[test]
fn packages_are_installed_by_their_digests_and_a_lock_that_does_not_fit_is_told() {
    let home = open_home("packages = [\"apples==1.0\"]");
    let Some(registry) = registry(&home) else { return };
    assert!(check(&home).contains("toolgate packages sync"), "{}", check(&home));
    let mut early = Server::greeted(&home, "2025-11-25");
    let refused = early.call("run_python", &json!({"code": "import apples"}));
    assert_eq!(refused["result"]["structuredContent"]["code"], "sandbox_unavailable", "{refused}");
    drop(early);
    let (code, said) = sync(&home, &registry, &["--locked"]);
    assert_eq!(code, Some(1), "{said}");

    let (code, said) = sync(&home, &registry, &["--locked", "--json"]);
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &told["installed"], &told["why"]), (Some(1), &json!(false), &json!("there is none")), "{told}");

    let (code, said) = sync(&home, &registry, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("installing 1 package(s): apples …"), "each stage is told before it begins: {said}");
    assert!(said.contains("apples 1.0") && !check(&home).contains("sync"), "{said}{}", check(&home));
    let lock = home.read("tools.lock");
    assert!(lock.contains("apples==1.0 \\\n    --hash=sha256:") && !lock.contains("registry"), "{lock}");
    let mut server = Server::greeted(&home, "2025-11-25");
    assert_eq!(run(&mut server, "import apples\nprint(apples.count())").0, "29\n");
    let write = "import apples\ntry:\n    open(apples.__file__, 'w')\nexcept OSError as e:\n    print(e.errno)";
    assert_eq!(run(&mut server, write).0, "30\n");
    drop(server);
    // What the manifest names may be imported without a line of its own, whatever the check, and nothing else may.
    let text = std::fs::read_to_string(home.manifest()).unwrap();
    for check in ["check = \"imports\"\n", ""] {
        std::fs::write(home.manifest(), text.replacen("check = \"off\"\n", check, 1)).unwrap();
        let mut server = Server::greeted(&home, "2025-11-25");
        assert_eq!(run(&mut server, "import apples\nprint(apples.count())").0, "29\n", "{check}");
        let policy = server.request("resources/read", &json!({"uri": "toolgate://policy"}));
        assert!(policy.to_string().contains("`apples`"), "{policy}");
        let refused = server.call("run_python", &json!({"code": "import os, pears"}));
        assert_eq!(refused["result"]["structuredContent"]["code"], "import_not_allowed", "{check}: {refused}");
    }
    std::fs::write(home.manifest(), text).unwrap();
    let (code, said) = sync(&home, &registry, &["--locked"]);
    assert!(code == Some(0) && said.contains("already"), "{said}");
    let told = |(code, said): (Option<i32>, String)| (code, serde_json::from_str::<Value>(&said).unwrap());
    let (code, there) = told(sync(&home, &registry, &["--json"]));
    assert_eq!((code, &there["installed"], &there["packages"]), (Some(0), &json!(false), &json!([{"name": "apples", "version": "1.0"}])));
    assert_eq!(there["lock"], json!(home.manifest().with_extension("lock")));
    std::fs::remove_file(home.path("tools.lock")).unwrap();
    let (code, made) = told(sync(&home, &registry, &["--json"]));
    assert_eq!((code, &made["installed"], &made["lock_written"]), (Some(0), &json!(true), &json!(true)), "{made}");
    assert_eq!((&made["packages"], &made["installer"]), (&there["packages"], &json!("pip")), "{made}");

    // The same name and version with other bytes: what stands in the lock is not what would be installed.
    let (before, digest) = lock.split_once("sha256:").unwrap();
    std::fs::write(home.path("tools.lock"), format!("{before}sha256:{}\n", "0".repeat(digest.trim().len()))).unwrap();
    let (code, said) = sync(&home, &registry, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(check(&home).contains("not built"), "{}", check(&home));
    for line in ["--index-url=x", "-r other"] {
        std::fs::write(home.path("tools.lock"), format!("{lock}{line}\n")).unwrap();
        assert_eq!(sync(&home, &registry, &[]).0, Some(2), "{line}");
    }
}

#[test]
fn a_lock_installs_what_the_manifest_pulls_in_and_nothing_beside_it() {
    let home = open_home("packages = [\"jam==1.0\"]");
    let Some(registry) = registry(&home) else { return };
    let (code, said) = sync(&home, &registry, &[]);
    assert_eq!(code, Some(0), "{said}");
    let whole = home.read("tools.lock");
    assert!(whole.contains("figs==1.0") && whole.contains("jam==1.0"), "{whole}");
    // The lock of another folder, with one package more: all of them are in the registry, by their digests.
    let wheel = std::fs::read(registry.join("apples-1.0-py3-none-any.whl")).unwrap();
    let apples = format!("apples==1.0 \\\n    --hash=sha256:{}\n", digest(&wheel));
    let less: String = {
        let (head, rest) = whole.split_once("figs==1.0").unwrap();
        let (_, rest) = rest.split_once('\n').unwrap().1.split_once('\n').unwrap();
        format!("{head}{rest}")
    };
    for (text, named) in [(format!("{whole}{apples}"), "`apples==1.0`"), (less, "`figs`")] {
        std::fs::write(home.path("tools.lock"), &text).unwrap();
        for (arguments, expected) in [(&[][..], 2), (&["--locked"], 1)] {
            let (code, said) = sync(&home, &registry, arguments);
            assert!(code == Some(expected) && said.contains(named), "{code:?} {said}");
            assert!(expected == 1 || said.contains("--upgrade"), "{said}");
        }
        assert!(check(&home).contains("not built"), "nothing was installed: {}", check(&home));
        assert_eq!(home.read("tools.lock"), text, "the lock stays for a person to look at");
    }
    let (code, said) = sync(&home, &registry, &["--upgrade"]);
    assert!(code == Some(0) && home.read("tools.lock") == whole, "{said}");
    // On another machine: the lock fits, the environment is built from it.
    std::fs::remove_dir_all(home.state().join("python")).unwrap();
    let (code, said) = sync(&home, &registry, &["--locked"]);
    assert!(code == Some(0) && said.contains("2 package(s) installed"), "{said}");
}

#[test]
fn a_package_that_would_have_to_be_built_runs_no_code_here() {
    let home = open_home("packages = [\"pears==1.0\"]");
    let Some(registry) = registry(&home) else { return };
    let (code, said) = sync(&home, &registry, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(!registry.join("ran").exists() && home.read("tools.lock").starts_with('<'), "{said}");
    let left = std::fs::read_dir(home.state().join("python")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "nothing half built stays");
}

#[test]
fn no_agent_writes_the_lock_that_says_what_is_installed() {
    let home = open_home("packages = [\"apples==1.0\"]");
    let inside = home.path("project/tools.toml");
    std::fs::copy(home.manifest(), &inside).unwrap();
    let explained = |file: &str| {
        let arguments = json!({"path": file, "content": "x"}).to_string();
        let command = ["explain", "write_file", &arguments, "--manifest", inside.to_str().unwrap()];
        home.toolgate(&command).output().unwrap().status.code()
    };
    assert_eq!(explained("project/tools.lock"), Some(1));
    assert_eq!(explained("project/other.lock"), Some(0));
}

#[test]
fn the_emergency_stop_ends_an_installation_with_all_it_started() {
    // It answers like an interpreter that has pip and venv; everything else it does takes an hour, with a child of its own.
    const INSTALLER: &str = "#!/bin/sh\ncase \"$*\" in\n*sysconfig*) echo '{\"python\": \"x\", \"pip\": true, \"venv\": true}' ;;\n\
                             *) sleep 3600 & echo > begun; wait ;;\nesac\n";
    let home = open_home("interpreter = \"./installer\"\npackages = [\"apples\"]");
    std::fs::write(home.path("installer"), INSTALLER).unwrap();
    std::fs::set_permissions(home.path("installer"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let manifest = home.manifest();
    let sync = || home.toolgate(&["packages", "sync", "--manifest", manifest.to_str().unwrap()]);
    let child = sync().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut child = Guarded(child);
    until("the installation to begin", || home.path("begun").exists());
    let below = descendants(child.0.id());
    assert!(below.len() >= 2, "{below:?}");
    assert!(home.toolgate(&["kill", "--reason", "test"]).output().unwrap().status.success());
    let status = child.0.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.0.stderr.take().unwrap(), &mut said).unwrap();
    assert!(!status.success() && said.contains("emergency stop"), "{said}");
    until("everything it started to be dead", || !any_runs(&below));
    let later = sync().output().unwrap();
    assert!(!later.status.success() && String::from_utf8_lossy(&later.stderr).contains("emergency stop"), "and none begins meanwhile");
}
