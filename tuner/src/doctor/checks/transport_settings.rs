//! Compares the files of shared transports (UCX, libfabric) with what their own programs print: names, defaults and legal values.

use super::super::facts::{Facts, Printed};
use super::super::{Check, Judgement};
use super::some;
use crate::library_info::Difference;

pub(super) const CHECK: Check = Check {
    id: "transport-settings",
    what: "the programs of transports in use (ucx_info, fi_info) print the names, defaults and legal values that Kilter tries",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    if facts.carriers.is_empty() && facts.transports_printed.is_empty() {
        return Judgement::unknown("the library does not say what carries its messages");
    }
    let (mut fit, mut unknown, mut notes, mut misleading) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for printed in &facts.transports_printed {
        match printed {
            Printed::NotAsked | Printed::NoProgram => {}
            Printed::NoAnswer(why) => unknown.push(format!("{why}: settings of the transport were not compared")),
            Printed::Compared {
                program, differences, ..
            } if differences.is_empty() => fit.push(format!("`{program}` prints what is described")),
            Printed::Compared {
                program,
                description,
                differences,
                ..
            } => {
                let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
                let text = format!(
                    "`{program}` prints otherwise than configs/transports/{description}.toml: {}",
                    some(&lines)
                );
                let misleads = differences.iter().any(Difference::misleads);
                if misleads {
                    misleading.push(text)
                } else {
                    notes.push(text)
                }
            }
        }
    }
    if !misleading.is_empty() {
        misleading.append(&mut notes);
        return Judgement::warning(
            misleading.join("; "),
            "values that this release refuses are tried for nothing: describe the settings in a file with --library-description, whose rows win",
        );
    }
    if !notes.is_empty() {
        return Judgement::note(notes.join("; "));
    }
    match (fit.is_empty(), unknown.is_empty()) {
        (_, false) => Judgement::unknown(unknown.join("; ")),
        (false, true) => Judgement::fit(fit.join(", ")),
        (true, true) => Judgement::fit("no transport is in use that has a program of its own"),
    }
}
