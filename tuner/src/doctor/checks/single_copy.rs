//! Single copy: large messages between ranks of one host cross by one copy where the kernel has a mechanism for it that the library uses.
//!
//! * CMA is part of the kernel. Yama may forbid it: at scope 1 a process has to allow it itself, as Open MPI and UCX do, at 2 only root may, at 3
//!   nobody.
//! * XPMEM and KNEM are modules, each with a device, and a library has to be built with them.

use super::super::facts::{Facts, Host};
use super::super::{Check, Judgement};
use crate::carriers::devices;

/// Yama's scope; absent where the kernel has no Yama, which forbids nothing.
pub(super) const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Mechanisms that are modules of the kernel, by the names of their devices.
const MODULES: [&str; 2] = ["xpmem", "knem"];

/// From this scope on only root may copy from another process.
const ROOT_ALONE: u8 = 2;

pub(super) const CHECK: Check = Check {
    id: "single-copy",
    what: "the kernel lets large messages between ranks of one host cross by one copy",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let shared = || facts.occupied().filter(|(_, _, ranks)| *ranks > 1);
    if facts.job.is_none() {
        return Judgement::unknown("no job was started");
    }
    if shared().next().is_none() {
        return Judgement::fit("no two ranks share a host");
    }
    let mut here = shared().map(|(_, host, _)| there(host));
    let first = here.next().unwrap_or_default();
    if let Some(other) = here.find(|other| *other != first) {
        return Judgement::note(format!(
            "hosts differ in how large messages can cross within them: {} here, {} there",
            words(&first),
            words(&other)
        ));
    }
    let in_use = match facts.single_copy() {
        used if used.is_empty() => "the library does not say what it uses".to_owned(),
        used => format!("the library uses {}", used.join(", ")),
    };
    let text = format!("large messages within a host can cross by {}; {in_use}", words(&first));
    if first.is_empty() {
        Judgement::note(text)
    } else {
        Judgement::fit(text)
    }
}

/// Mechanisms that a host's kernel has.
fn there(host: &Host) -> Vec<String> {
    let scope = host.text(SCOPE).and_then(|text| text.parse::<u8>().ok()).unwrap_or(0);
    let devices = host.text(devices::DIRECTORY).unwrap_or_default();
    let cma = match scope {
        0 => Some("cma".to_owned()),
        scope if scope < ROOT_ALONE => Some("cma where the library allows it (ptrace scope 1)".to_owned()),
        _ => None,
    };
    let modules = MODULES
        .iter()
        .filter(|module| devices.lines().any(|device| device == **module));
    cma.into_iter()
        .chain(modules.map(|module| (*module).to_owned()))
        .collect()
}

fn words(mechanisms: &[String]) -> String {
    match mechanisms {
        [] => "two copies alone (no xpmem, no knem, and the kernel forbids cma)".to_owned(),
        some => some.join(", "),
    }
}

impl Facts {
    /// Mechanisms in use: those that a transport names as its own, and those that the library's variables say, as far as the hosts have them.
    fn single_copy(&self) -> Vec<String> {
        let known = |name: &&str| *name == "cma" || MODULES.contains(name);
        let lanes = self
            .carriers
            .iter()
            .filter_map(|name| Some(name.split_once('/')?.1))
            .filter(known);
        let has = |name: &&str| {
            let has_device = |host: &Host| {
                host.text(devices::DIRECTORY)
                    .is_some_and(|all| all.lines().any(|one| one == *name))
            };
            !MODULES.contains(name) || self.occupied().all(|(_, host, _)| has_device(host))
        };
        let said = self.single_copy_said.iter().map(String::as_str).filter(has);
        let mut used: Vec<String> = lanes.chain(said).map(str::to_owned).collect();
        used.sort();
        used.dedup();
        used
    }
}
