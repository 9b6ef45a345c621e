//! The same attacks over every backend this machine can run, each beside the ordinary use it must not break, as the user who runs
//! the tests and, where that is root, as an ordinary user as well.

mod backends {
    pub(crate) mod calls;
    pub(crate) mod harness;
    pub(crate) mod table;
}

use backends::harness::{self, World};

#[test]
fn every_attack_fails_and_its_ordinary_counterpart_works() {
    let world = World::new();
    let mut failures = Vec::new();
    world.warm_up();
    let only = std::env::var("ATTACK").ok();
    let mut count = 0;
    for row in backends::table::rows() {
        if only.as_deref().is_some_and(|only| !row.name.contains(only)) {
            continue;
        }
        count += 1;
        failures.extend(world.check(&row));
    }
    println!("{count} attacks as user {}, backend {}", rustix::process::geteuid().as_raw(), world.backend());
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn an_ordinary_user_has_the_same_walls() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    harness::again_as_ordinary_user();
}
