//! Landlock around a program that has a root of its own: the second wall around its files, and the one around abstract sockets and signals.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope,
};

use crate::layers::Built;
use crate::message::Plan;
use crate::spec::GATEWAY_PORT;

/// Restricts files, TCP, abstract sockets and signals with Landlock, as far as the kernel has it.
pub(crate) fn restrict(plan: &Plan, built: &mut Built) {
    match put_on(plan) {
        Ok(RulesetStatus::FullyEnforced) => built.on("landlock"),
        Ok(RulesetStatus::PartiallyEnforced) => {
            built.missing("landlock", "partly: this kernel knows an older Landlock; the namespaces hold the rest");
        }
        Ok(RulesetStatus::NotEnforced) => built.missing("landlock", "off: the kernel has no Landlock; the own root holds alone"),
        Err(e) => built.missing("landlock", format!("off: {e}; the own root holds alone")),
    }
}

fn put_on(plan: &Plan) -> Result<RulesetStatus, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let abi = ABI::V6;
    let read = AccessFs::from_read(abi);
    let write = AccessFs::from_all(abi) & !AccessFs::MakeBlock & !AccessFs::MakeChar;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .map_err(|e| text(&e))?;
    if plan.network {
        (&mut rules).add_rule(NetPort::new(GATEWAY_PORT, AccessNet::ConnectTcp)).map(drop).map_err(|e| text(&e))?;
    }
    let mut allow = |path: &str, access| -> Result<(), String> {
        let fd = PathFd::new(path).map_err(|e| text(&e))?;
        (&mut rules).add_rule(PathBeneath::new(fd, access)).map(drop).map_err(|e| text(&e))
    };
    allow("/", read)?;
    for scratch in ["/tmp", "/dev/shm"] {
        allow(scratch, write)?;
    }
    // The mounts decide which of the folders can be written; a jail that waits does not have them yet.
    if plan.folders.iter().any(|folder| folder.writable) {
        allow("/roots", write)?;
    }
    for device in ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"] {
        allow(device, AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    rules.restrict_self().map(|status| status.ruleset).map_err(|e| text(&e))
}
