//! The same attacks over every backend this machine can run, each beside the ordinary use it must not break, as the user who runs
//! the tests and, where that is root, as an ordinary user as well; and over what is left on machines that withhold the kernel's means.

pub(crate) mod calls;
pub(crate) mod channels;
pub(crate) mod harness;
pub(crate) mod per_user_limits;
pub(crate) mod restricted_machines;
pub(crate) mod sessions;
pub(crate) mod table;
pub(crate) mod views;
pub(crate) mod warm_stacks;
pub(crate) mod writes;

use harness::World;
use toolgate::sandbox::programs::BACKENDS;

#[test]
fn every_attack_fails_and_its_ordinary_counterpart_works() {
    let only = std::env::var("ATTACK").ok();
    let named = std::env::var("TEST_BACKEND").ok();
    let rows: Vec<_> = table::rows().into_iter().filter(|row| only.as_deref().is_none_or(|only| row.name.contains(only))).collect();
    let mut failures = Vec::new();
    for listed in BACKENDS.iter().filter(|listed| named.as_deref().is_none_or(|named| named == listed.name)) {
        let world = match World::of(listed.name) {
            Ok(world) => world,
            Err(why) => {
                println!("not run here: {}: {why}", listed.name);
                continue;
            }
        };
        if listed.name == "native" {
            world.warm_up();
        }
        failures.extend(world.go_through(&rows).into_iter().map(|failure| format!("{}: {failure}", listed.name)));
        if listed.name == "native" {
            failures.extend(world.go_through_alone(&rows).into_iter().map(|failure| format!("native, alone: {failure}")));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), rows.len(), failures.join("\n"));
}

#[test]
fn an_ordinary_user_has_the_same_walls() {
    if rustix::process::geteuid().is_root() {
        harness::again(true, &["programs::backends::", "--skip", "an_ordinary_user_has_the_same_walls"], &[]);
    }
}

#[test]
fn a_manifest_may_name_every_backend_and_no_other() {
    let all: Vec<_> = std::iter::once("auto").chain(BACKENDS.iter().map(|listed| listed.name)).chain(["container"]).collect();
    assert_eq!(toolgate::manifest::BACKENDS, all);
    let read = |name: &str| {
        let container = "[python.container]\nengine = \"podman\"\nimage = \"image\"\n";
        toolgate::manifest::parse(&format!("version = 1\n[python]\nbackend = {name:?}\n{container}"), toolgate::tools::specs())
            .map_err(|faults| format!("{faults:?}"))
    };
    for name in all {
        assert!(read(name).is_ok(), "{name}");
    }
    let refused = read("bubblewarp").map(drop).unwrap_err();
    assert!(refused.contains("bubblewarp") && refused.contains("bubblewrap"), "{refused}");
}
