//! Where: roots, files, network, Python.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::super::{
    AllowPattern, BACKENDS, Check, Container, DenyPattern, Files, LaterPattern, Place, Python, Quota, Root, RootMode, RootUse, Symlinks,
    raw, units,
};
use super::Reader;
use crate::manifest::roots::segments_of;
use crate::manifest::shape::removed;
use crate::model::Scheme;
use crate::policy::network::{DomainPattern, NetworkRules, Robots};
use crate::policy::proxy::UpstreamProxy;
use crate::policy::secret::{self, HeaderSecret, SecretSource};

impl Reader<'_, '_> {
    pub(super) fn roots(&mut self, written: BTreeMap<String, raw::Root>) -> BTreeMap<String, Root> {
        let mut roots = BTreeMap::new();
        for (name, root) in written {
            let at = format!("roots.{name}");
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.len() > 64 || !name.chars().all(plain) || name.starts_with(['.', '-']) {
                self.fault(&at, format!("`{}` is no name for a root; write 1 to 64 letters, digits, `_`, `-`, `.`", name.escape_debug()));
            }
            let path = self.required(&format!("{at}.path"), root.path);
            let place = if path == "session" { Place::Session } else { Place::Path(path) };
            let paths = self.root_path(&format!("{at}.path"), &place);
            if root.quota.is_some() && place != Place::Session {
                self.fault(&format!("{at}.quota"), "only a root with `path = \"session\"` has a quota");
            }
            let quota =
                root.quota.map(|quota| Quota { bytes: self.bytes(&format!("{at}.quota.bytes"), quota.bytes.as_ref()), files: quota.files });
            let mode = match root.mode {
                Some(raw::RootMode::ReadWrite) => RootMode::ReadWrite,
                Some(raw::RootMode::ReadOnly) | None => RootMode::ReadOnly,
            };
            let allowed = self.list(&format!("{at}.allowed_paths"), &root.allowed_paths.unwrap_or_default(), AllowPattern::parse);
            let denied = self.list(&format!("{at}.denied_paths"), &root.denied_paths.unwrap_or_default(), DenyPattern::parse);
            let untrusted = self.list(&format!("{at}.untrusted_paths"), &root.untrusted_paths.unwrap_or_default(), DenyPattern::parse);
            roots.insert(name, Root { place, mode, allowed, denied, untrusted, quota, paths });
        }
        roots
    }

    /// The absolute path a root states, segment by segment; none for a relative one, which is placed later.
    fn root_path(&mut self, at: &str, place: &Place) -> Vec<Vec<String>> {
        let Place::Path(path) = place else { return Vec::new() };
        if path.starts_with('~') || path.starts_with('$') {
            self.fault(at, format!("`{path}` is not expanded; write the folder out, or a path relative to this file"));
        } else if path.starts_with('/') {
            match segments_of(path) {
                Some(segments) if !segments.is_empty() => return vec![segments],
                Some(_) => self.fault(at, "`/` would open the whole machine; name a folder"),
                None => self.fault(at, format!("`{path}` climbs with `..`; write the folder as it is")),
            }
        }
        Vec::new()
    }

    pub(super) fn files(&mut self, written: raw::Files) -> Files {
        let defaults = Files::default();
        Files {
            denied: self.list("files.denied_paths", &written.denied_paths.unwrap_or_default(), DenyPattern::parse),
            untrusted: self.list("files.untrusted_paths", &written.untrusted_paths.unwrap_or_default(), DenyPattern::parse),
            runs_later: match &written.runs_later {
                Some(texts) => self.list("files.runs_later", texts, LaterPattern::parse).into_iter().flatten().collect(),
                None => defaults.runs_later,
            },
            names_runs_later: written.runs_later.is_some(),
            max_file_size: self.bytes("files.max_file_size", written.max_file_size.as_ref()).unwrap_or(defaults.max_file_size),
            max_answer: self.bytes("files.max_answer", written.max_answer.as_ref()).unwrap_or(defaults.max_answer),
            symlinks: match written.symlinks {
                Some(raw::Symlinks::Inside) => Symlinks::Inside,
                Some(raw::Symlinks::Deny) | None => Symlinks::Deny,
            },
        }
    }

    pub(super) fn network(&mut self, written: raw::Network) -> NetworkRules {
        let defaults = NetworkRules::default();
        let scheme =
            |text: &str| Scheme::parse(text).ok_or_else(|| format!("`{text}` is no scheme that is spoken here; write `https` or `http`"));
        let address = |text: &str| {
            text.parse::<SocketAddr>().ok().filter(|address| address.port() != 0).ok_or_else(|| {
                format!("`{text}` is no address with a port; write e.g. `10.1.2.3:8080` or `[fd00::5]:443`, each host by its number")
            })
        };
        for (key, ports) in [("allowed_ports", &written.allowed_ports), ("denied_ports", &written.denied_ports)] {
            for (index, _) in ports.iter().flatten().enumerate().filter(|(_, port)| **port == 0) {
                self.fault(&format!("network.{key}[{index}]"), "0 is no port; write 1 to 65535");
            }
        }
        NetworkRules {
            allowed_domains: self.list("network.allowed_domains", &written.allowed_domains.unwrap_or_default(), DomainPattern::parse),
            any_public: written.any_public.unwrap_or(defaults.any_public),
            denied_domains: self.list("network.denied_domains", &written.denied_domains.unwrap_or_default(), DomainPattern::parse_denied),
            allowed_ports: written.allowed_ports.unwrap_or(defaults.allowed_ports),
            denied_ports: written.denied_ports.unwrap_or(defaults.denied_ports),
            allowed_schemes: match written.allowed_schemes {
                Some(schemes) => self.list("network.allowed_schemes", &schemes, scheme),
                None => defaults.allowed_schemes,
            },
            internal: self.list("network.internal", &written.internal.unwrap_or_default(), address),
            max_response: self.bytes("network.max_response", written.max_response.as_ref()).unwrap_or(defaults.max_response),
            max_redirects: written.max_redirects.unwrap_or(defaults.max_redirects),
            max_connections: written.max_connections.unwrap_or(defaults.max_connections),
            rate_per_minute: written.rate_limit_per_minute,
            rate_per_hour: written.rate_limit_per_hour,
            proxy: self.one("network.proxy", written.proxy.as_ref(), UpstreamProxy::parse),
            robots: match written.robots {
                Some(raw::Robots::Respect) => Robots::Respect,
                Some(raw::Robots::Ignore) => Robots::Ignore,
                None => defaults.robots,
            },
            secrets: written.secrets.unwrap_or_default().into_iter().filter_map(|(name, secret)| self.secret(name, secret)).collect(),
        }
    }

    fn secret(&mut self, name: String, written: raw::Secret) -> Option<(String, HeaderSecret)> {
        let at = format!("network.secrets.{name}");
        if !secret::is_name(&name) {
            self.fault(&at, "a secret's name has letters, digits, `_` and `-` alone");
            return None;
        }
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let source = match (filled(written.env), filled(written.file)) {
            (Some(variable), None) if self.printable(&format!("{at}.env"), &variable) => SecretSource::Env(variable),
            (None, Some(file)) if self.printable(&format!("{at}.file"), &file) => SecretSource::File(file.into()),
            (Some(_), None) | (None, Some(_)) => return None,
            _ => {
                self.fault(&at, "write where its value is: `env` with the name of a variable, or `file` with a path, and not both");
                return None;
            }
        };
        let hosts = self.list(&format!("{at}.hosts"), &written.hosts.unwrap_or_default(), DomainPattern::parse_denied);
        if hosts.is_empty() {
            self.fault(&at, "write the `hosts` it may be sent to");
        }
        Some((name, HeaderSecret { source, hosts }))
    }

    pub(super) fn python(&mut self, written: raw::Python, roots: &BTreeMap<String, Root>, files: &Files) -> Python {
        let defaults = Python::default();
        let network = written.network.unwrap_or(false);
        let given = self.python_roots(written.roots.unwrap_or_default(), roots, files, network);
        let module = |text: &str| match text {
            "*" => Ok(text.to_owned()),
            _ if is_module(text) => Ok(text.to_owned()),
            _ => Err(format!("`{}` is no name of a module; write e.g. `json` or `os.path`, or `*` for any", text.escape_debug())),
        };
        let sessions = written.sessions.unwrap_or_default();
        let env = written.env.unwrap_or_default();
        for name in env.keys().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
            self.fault(&format!("python.env.{name}"), "the name of a variable is not empty and holds no `=`");
        }
        for (key, number) in [("processes", written.processes), ("open_files", written.open_files)] {
            if number == Some(0) {
                self.fault(&format!("python.{key}"), "with 0 no program could start");
            }
        }
        for (name, value) in &env {
            if value.contains('\0') {
                self.fault(&format!("python.env.{name}"), "the value of a variable holds no NUL");
            }
        }
        let backend = written.backend.unwrap_or(defaults.backend);
        if let Some(instead) = removed(&format!("python.backend.{backend}")) {
            self.fault("python.backend", format!("`{backend}` was removed; {instead}"));
        } else if !BACKENDS.contains(&backend.as_str()) {
            self.unknown("python.backend", "backend", &backend, BACKENDS.iter().copied());
        }
        let container = written.container.and_then(|written| self.container(written));
        if backend == "container" {
            if container.is_none() {
                self.fault("python.backend", "the backend `container` needs `[python.container]` with `engine` and `image`");
            }
            if network {
                self.fault("python.network", "a container has no way to the network; write `network = false`, or another `backend`");
            }
            if written.packages.as_ref().is_some_and(|packages| !packages.is_empty()) {
                self.fault("python.packages", "in a container the image brings the packages; install them there, and leave this out");
            }
        }
        Python {
            interpreter: self.written("python.interpreter", written.interpreter).unwrap_or(defaults.interpreter),
            packages: self.list("python.packages", &written.packages.unwrap_or_default(), crate::manifest::requirement),
            preload: match written.preload {
                Some(modules) => self.list("python.preload", &modules, module),
                None => defaults.preload,
            },
            check: match written.check {
                Some(raw::Check::Imports) => Check::Imports,
                Some(raw::Check::Off) => Check::Off,
                Some(raw::Check::Strict) | None => Check::Strict,
            },
            allowed_imports: self.list("python.allowed_imports", &written.allowed_imports.unwrap_or_default(), module),
            allowed_calls: written.allowed_calls.unwrap_or_default(),
            allowed_attributes: written.allowed_attributes.unwrap_or_default(),
            roots: given,
            installed: Vec::new(),
            network,
            timeout: self.time("python.timeout", written.timeout.as_ref()).unwrap_or(defaults.timeout),
            cpu: self.time("python.cpu", written.cpu.as_ref()).unwrap_or(defaults.cpu),
            cpu_share: self.one("python.cpu_share", written.cpu_share.as_ref(), units::percent).unwrap_or(defaults.cpu_share),
            memory: self.bytes("python.memory", written.memory.as_ref()).unwrap_or(defaults.memory),
            processes: written.processes.unwrap_or(defaults.processes),
            open_files: written.open_files.unwrap_or(defaults.open_files),
            file_size: self.bytes("python.file_size", written.file_size.as_ref()).unwrap_or(defaults.file_size),
            scratch: self.bytes("python.scratch", written.scratch.as_ref()).unwrap_or(defaults.scratch),
            output: self.bytes("python.output", written.output.as_ref()).unwrap_or(defaults.output),
            max_sessions: sessions.max.unwrap_or(defaults.max_sessions),
            idle: self.time("python.sessions.idle", sessions.idle.as_ref()).unwrap_or(defaults.idle),
            env,
            backend,
            container,
            require: match written.require {
                Some(layers) => layers.into_iter().map(|layer| layer.as_str().to_owned()).collect(),
                None => defaults.require,
            },
        }
    }

    fn container(&mut self, written: raw::Container) -> Option<Container> {
        let engine = written.engine.map(|engine| match engine {
            raw::Engine::Docker => "docker",
            raw::Engine::Podman => "podman",
        });
        let image = self.written("python.container.image", written.image);
        // An engine would take it for an option.
        let image = image.filter(|image| !image.starts_with('-'));
        let runtime = written.runtime.map(|runtime| match runtime {
            raw::Runtime::Runc => "runc",
            raw::Runtime::Crun => "crun",
            raw::Runtime::Runsc => "runsc",
        });
        let (Some(engine), Some(image)) = (engine, image) else {
            self.fault("python.container", "write the `engine`, `docker` or `podman`, and the `image`");
            return None;
        };
        Some(Container { engine, image, runtime })
    }

    /// A program inside a writable root is not asked file by file, so nothing in such a root may be denied. A session's own folder holds
    /// nothing but what the session made. A view cannot be written, whatever the root's own mode.
    fn python_roots(&mut self, written: Vec<raw::RootUse>, roots: &BTreeMap<String, Root>, files: &Files, network: bool) -> Vec<RootUse> {
        let mut given: Vec<RootUse> = Vec::new();
        for (index, one) in written.into_iter().enumerate() {
            let at = format!("python.roots[{index}]");
            let asks_to_write = matches!(&one, raw::RootUse::Said(said) if matches!(said.mode, Some(raw::RootMode::ReadWrite)));
            let one = self.root_use(&at, one);
            if one.name.is_empty() {
                continue;
            }
            let Some(root) = roots.get(&one.name) else {
                self.unknown(&at, "root of this manifest", &one.name, roots.keys().map(String::as_str));
                continue;
            };
            if let Some(twin) = given.iter().find(|twin| twin.name == one.name) {
                if *twin != one {
                    self.fault(&at, format!("`{}` stands here twice, with two modes; leave one of them out", one.name));
                }
                continue;
            }
            let name = one.name.clone();
            if asks_to_write && root.mode == RootMode::ReadOnly {
                self.fault(&at, format!("`roots.{name}.mode` is `ro`, so no program writes there; write `mode = \"ro\"` here as well"));
            } else if one.is_view {
                if network && !root.is_session() {
                    self.fault(
                        &at,
                        format!(
                            "a program that sees `{name}` and reaches the network could send what it reads there; write `network = false`, or leave the view out"
                        ),
                    );
                }
            } else if root.mode == RootMode::ReadWrite && !root.is_session() {
                self.enforceable(&at, &name, root, files);
            }
            given.push(one);
        }
        given
    }

    /// One root of a program, with what it may do there.
    fn root_use(&mut self, at: &str, written: raw::RootUse) -> RootUse {
        let said = match written {
            raw::RootUse::Named(name) => return RootUse::whole(name),
            raw::RootUse::Said(said) => said,
        };
        let is_view = !matches!(said.mode, Some(raw::RootMode::ReadWrite));
        let mode = if is_view { RootMode::ReadOnly } else { RootMode::ReadWrite };
        match said.writes {
            Some(raw::Writes::Staged) => self.fault(
                &format!("{at}.writes"),
                "staged writes of programs are not supported yet; leave `writes` out, or write `mode = \"ro\"`",
            ),
            Some(raw::Writes::Direct) if is_view => {
                self.fault(&format!("{at}.writes"), "nothing is written in a read-only view; leave `writes` out, or write `mode = \"rw\"`");
            }
            Some(raw::Writes::Direct) | None => {}
        }
        RootUse { name: self.required(&format!("{at}.name"), said.name), mode, is_view }
    }

    /// A program that writes in a root is asked for no single file, so all of the root must be open to it.
    fn enforceable(&mut self, at: &str, name: &str, root: &Root, files: &Files) {
        let why = if !root.denied.is_empty() {
            format!("`roots.{name}.denied_paths` denies something in it")
        } else if !files.denied.is_empty() {
            "`files.denied_paths` denies something in it".to_owned()
        } else if !root.allowed.iter().any(AllowPattern::is_everything) {
            format!("`roots.{name}.allowed_paths` does not open all of it")
        } else {
            return;
        };
        self.fault(
            at,
            format!(
                "root_not_enforceable: a program would write in `{name}` without being asked for each file, but {why}; \
                 write `{{ name = \"{name}\", mode = \"ro\" }}` for a view that cannot be written, or leave it out here"
            ),
        );
    }
}

fn is_module(text: &str) -> bool {
    let text = text.strip_suffix(".*").unwrap_or(text);
    text.split('.').all(|part| {
        part.chars().next().is_some_and(|c| c == '_' || c.is_alphabetic()) && part.chars().all(|c| c == '_' || c.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use crate::manifest::{Manifest, parse};
    use crate::policy::python_roots;

    fn read(python: &str) -> Result<Manifest, String> {
        let text = format!(
            "version = 1\n[roots.work]\npath = \"session\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\n\
             [roots.project]\npath = \"/p\"\nmode = \"rw\"\nallowed_paths = [\"**\"]\ndenied_paths = [\".git/**\"]\n\
             [roots.data]\npath = \"/d\"\nmode = \"ro\"\nallowed_paths = [\"**\"]\n\
             [profiles.all]\npermissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\n\
             [profiles.blind]\npermissions = [\"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\n\
             [profiles.narrow]\npermissions = [\"STANDARD\", \"EXECUTE_CODE\"]\nallowed_tools = [\"*\"]\nroots = [\"work\"]\n\
             [python]\n{python}\n"
        );
        parse(&text, crate::tools::specs())
            .map_err(|faults| faults.iter().map(|fault| format!("{}: {fault}", fault.at)).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn a_view_shows_any_root_and_is_never_written() {
        let manifest = read("roots = [\"work\", { name = \"project\", mode = \"ro\" }, { name = \"data\" }]").unwrap();
        assert_eq!(python_roots(&manifest, "all"), [("work", true), ("project", false), ("data", false)]);
        assert_eq!(python_roots(&manifest, "narrow"), [("work", true)]);
        assert_eq!(python_roots(&manifest, "blind"), [], "without READ_FILE a program sees no root");
        let manifest = read("roots = [{ name = \"work\", mode = \"rw\", writes = \"direct\" }]").unwrap();
        assert_eq!(python_roots(&manifest, "all"), [("work", true)]);
    }

    #[test]
    fn what_a_root_of_python_cannot_be_is_said_with_its_place() {
        for (python, said) in [
            ("roots = [\"project\"]", "python.roots[0]: root_not_enforceable: a program would write in `project`"),
            ("roots = [\"project\"]", "write `{ name = \"project\", mode = \"ro\" }` for a view that cannot be written"),
            ("roots = [{ name = \"project\", mode = \"rw\" }]", "root_not_enforceable"),
            ("roots = [{ name = \"work\", mode = \"rw\", writes = \"staged\" }]", "staged writes of programs are not supported yet"),
            ("roots = [{ name = \"project\", writes = \"direct\" }]", "nothing is written in a read-only view"),
            ("roots = [{ name = \"data\", mode = \"rw\" }]", "`roots.data.mode` is `ro`"),
            ("roots = [{ name = \"projekt\", mode = \"ro\" }]", "project"),
            ("roots = [{ mode = \"ro\" }]", "`name` is missing"),
            ("roots = [{ name = \"work\", mod = \"ro\" }]", "unknown key `mod`"),
            ("roots = [{ name = \"work\", mode = \"wo\" }]", "`wo` is not one of `ro`, `rw`"),
            ("roots = [3]", "a text in quotes or a table"),
            ("roots = [\"work\", { name = \"work\", mode = \"ro\" }]", "`work` stands here twice"),
            ("network = true\nroots = [{ name = \"project\", mode = \"ro\" }]", "could send what it reads there"),
            ("network = true\nroots = [{ name = \"data\", mode = \"ro\" }]", "could send what it reads there"),
        ] {
            let faults = read(python).map(drop).unwrap_err();
            assert!(faults.contains(said), "{python}: {faults}");
        }
        // A scratch folder holds nothing but what the session made; the root's own mode is as it was.
        for python in ["network = true\nroots = [{ name = \"work\", mode = \"ro\" }]", "network = true\nroots = [\"data\", \"work\"]"] {
            assert!(read(python).is_ok(), "{python}");
        }
    }
}
