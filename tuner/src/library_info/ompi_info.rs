//! Open MPI's `ompi_info`: lines `mca:FRAMEWORK:COMPONENT:param:NAME:KEY:REST`. A legal value has the key `enumerator` and the rest
//! `value:NUMBER:NAME`; the texts of help name values, too, and not always all of them.

use std::collections::BTreeSet;

use super::{Legal, LibraryInfo, Program};

pub(super) const PROGRAM: Program = Program {
    name: "ompi_info",
    arguments: &["--all", "--level", "9", "--parsable"],
    parse,
    prints: |_, environment| !environment,
};

/// Before the version.
const VERSION: &str = "ompi:version:full:";

fn parse(text: &str) -> LibraryInfo {
    let mut info = LibraryInfo::default();
    // Parameters changed by a file of the site or by this user's environment.
    let mut changed = BTreeSet::new();
    for line in text.lines() {
        if let Some(version) = line.strip_prefix(VERSION) {
            info.version = Some(version.to_owned());
        }
        let fields: Vec<&str> = line.splitn(7, ':').collect();
        let ["mca", _, _, "param", name, key, rest] = fields[..] else {
            continue;
        };
        let reported = info.parameters.entry(name.to_owned()).or_default();
        match key {
            "value" => {
                reported.default = Some(rest.to_owned());
                reported.value = Some(rest.to_owned());
            }
            "source" if rest != "default" => {
                changed.insert(name);
            }
            "type" => {
                rest.clone_into(&mut reported.kind);
                if rest == "string" && reported.legal == Legal::Number {
                    reported.legal = Legal::Text;
                }
            }
            "enumerator" => {
                let value = rest.strip_prefix("value:").and_then(|rest| rest.split_once(':'));
                let Some((number, name)) = value else { continue };
                let value = (number.to_owned(), name.to_owned());
                match &mut reported.legal {
                    Legal::Named(all) => {
                        all.insert(value);
                    }
                    other => *other = Legal::Named([value].into()),
                }
            }
            _ => {}
        }
    }
    for name in changed {
        if let Some(reported) = info.parameters.get_mut(name) {
            reported.default = None;
        }
    }
    info
}
