//! What is shipped beside the binary says what the binary says.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::http::home::{Home, Policy, repository};

fn shipped(path: &str) -> String {
    std::fs::read_to_string(repository().join("packaging").join(path)).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

#[test]
#[ignore = "of releases; `./check --all` runs it"]
fn the_registry_entry_and_the_bundle_say_what_the_binary_says() {
    let entry: Value = serde_json::from_str(&shipped("server.json")).unwrap();
    let bundle: Value = serde_json::from_str(&shipped("mcpb/manifest.json")).unwrap();
    for found in [&entry["version"], &bundle["version"]] {
        assert_eq!(found, env!("CARGO_PKG_VERSION"));
    }
    // Reverse DNS with one slash; the image names it as its label.
    let name = entry["name"].as_str().unwrap();
    assert_eq!(name.matches('/').count(), 1);
    assert!(shipped("Dockerfile").contains(name), "the image's label proves who owns {name}");
    assert!(entry["packages"][0]["identifier"].as_str().unwrap().ends_with(env!("CARGO_PKG_VERSION")));
    assert!(entry["description"].as_str().unwrap().len() <= 100, "the registry takes a hundred characters");
    // What the registry's schema of 2025-12-11 and the bundle's of 0.3 ask for.
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer}")).to_owned();
    let allowed = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    assert!(name.len() <= 200 && name.split('/').all(allowed) && text(&entry, "/title").len() <= 100);
    assert_eq!((text(&entry, "/repository/source"), text(&entry, "/packages/0/transport/type")), ("github".into(), "stdio".into()));
    assert!(text(&entry, "/repository/url").starts_with("https://") && text(&entry, "/packages/0/registryType") == "oci");
    for list in ["runtimeArguments", "packageArguments"] {
        for argument in entry["packages"][0][list].as_array().unwrap() {
            let needs = if argument["type"] == "named" { "name" } else { "value" };
            assert!(["named", "positional"].contains(&argument["type"].as_str().unwrap()) && argument[needs].is_string(), "{argument}");
        }
    }
    assert_eq!((text(&bundle, "/manifest_version"), text(&bundle, "/server/type")), ("0.3".into(), "binary".into()));
    let entry_point = text(&bundle, "/server/entry_point");
    assert!(text(&bundle, "/server/mcp_config/command").ends_with(&format!("/{entry_point}")) && !text(&bundle, "/author/name").is_empty());
    let listed: BTreeSet<&str> = bundle["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let own: BTreeSet<&str> = toolgate::tools::specs().iter().map(|spec| spec.name).collect();
    assert_eq!(listed, own);
}

#[test]
#[ignore = "of releases; `./check --all` runs it"]
fn the_kubernetes_manifest_holds_a_manifest_that_loads() {
    let text = shipped("kubernetes/toolgate.yaml");
    // The block below `tools.toml: |`, without its indent.
    let block = text.split("tools.toml: |\n").nth(1).unwrap();
    let lines = block.lines().take_while(|line| line.starts_with("    ")).map(|line| line.get(4..).unwrap());
    let manifest = lines.collect::<Vec<_>>().join("\n");
    let home = Home::new(Policy::default());
    std::fs::write(home.path("shipped.toml"), manifest).unwrap();
    let out = home.toolgate(&["check", "shipped.toml"]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    for piece in ["path: /healthz", "path: /readyz", "runAsNonRoot: true", "readOnlyRootFilesystem: true", "drop: [ALL]"] {
        assert!(text.contains(piece), "{piece}");
    }
}

#[test]
#[ignore = "of releases; `./check --all` runs it"]
fn the_unit_and_the_image_run_without_root_and_with_flags_that_exist() {
    let unit = shipped("toolgate.service");
    let image = shipped("Dockerfile");
    for piece in ["DynamicUser=yes", "NoNewPrivileges=yes", "CapabilityBoundingSet=\n", "ProtectSystem=strict"] {
        assert!(unit.contains(piece), "{piece}");
    }
    assert!(image.contains("USER 10001:10001"));
    let home = Home::new(Policy::default());
    let help = String::from_utf8(home.toolgate(&["serve", "--help"]).output().unwrap().stdout).unwrap();
    for text in [&unit, &image] {
        let flags = text
            .lines()
            .filter(|line| line.starts_with("ExecStart=") || line.starts_with("CMD [\"serve\""))
            .flat_map(|line| line.split([' ', '"', ',']).filter(|word| word.starts_with("--")));
        for flag in flags {
            assert!(help.contains(flag), "{flag}");
        }
    }
}

#[test]
#[ignore = "of releases; `./check --all` runs it"]
fn what_init_writes_is_what_the_image_and_the_unit_serve() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new(Policy::default());
    let project = home.path("fresh");
    let out = home.toolgate(&["init", project.to_str().unwrap(), "--yes"]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    // The user of the image and of the unit is another one than the user who wrote it.
    assert_eq!(project.join("tools.toml").metadata().unwrap().permissions().mode() & 0o777, 0o644);
    let image = shipped("Dockerfile");
    let at = "/srv/project";
    for piece in [
        format!("-v \"$PWD:{at}\""),
        format!("TOOLGATE_MANIFEST={at}/tools.toml"),
        format!("WORKDIR {at}"),
        format!("CMD [\"serve\", \"--manifest\", \"{at}/tools.toml\""),
    ] {
        assert!(image.contains(&piece), "{piece}");
    }
    assert!(shipped("compose.yaml").contains(&format!("${{PROJECT:-..}}:{at}")) && shipped("server.json").contains(&format!(":{at}\"")));
    assert!(shipped("toolgate.service").contains("ConfigurationDirectory=toolgate"));
}

#[test]
#[ignore = "of releases; `./check --all` runs it"]
fn systemd_takes_the_unit_where_it_is_installed() {
    let unit = repository().join("packaging/toolgate.service");
    let Ok(out) = std::process::Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
        eprintln!("skipped: systemd is not installed here");
        return;
    };
    let errors = String::from_utf8_lossy(&out.stderr);
    let others: Vec<&str> =
        errors.lines().filter(|line| line.contains("toolgate.service") && !line.contains("is not executable")).collect();
    assert!(others.is_empty(), "{others:?}");
}
