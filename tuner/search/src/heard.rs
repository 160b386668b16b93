//! Words heard before anything is tried: transports in use, and the presence of what a setting needs, a part of the library that not every
//! build has or a device of the kernel.

use std::collections::{BTreeMap, BTreeSet};

use kilter_model::config::library::{Parameter, Value};

/// Words of a running job and of the library's own program before anything was tried.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heard {
    /// Transports that carry messages; empty where no job said it.
    pub transports: Vec<String>,
    /// Versions of transports that libraries share, by the library's name for them.
    pub versions: BTreeMap<String, String>,
    /// Devices of the kernel that every host has; empty where none was asked for them.
    pub devices: BTreeSet<String>,
    /// Parameters that the library's own program prints; empty where it was not asked.
    pub parameters: BTreeSet<String>,
}

impl Heard {
    /// True if the parameter is part of this build of the library. One that every build has always is.
    #[must_use]
    pub fn has(&self, row: &Parameter) -> bool {
        row.built_with
            .as_ref()
            .is_none_or(|name| self.parameters.contains(name))
    }

    /// True if a value can act on these hosts: one that needs a device only where each of them has it.
    #[must_use]
    pub fn allows(&self, row: &Parameter, value: &str) -> bool {
        row.devices
            .get(value)
            .is_none_or(|device| self.devices.contains(device))
    }

    /// True if the row and its value can act here.
    #[must_use]
    pub fn acts(&self, row: &Parameter, value: &Value) -> bool {
        self.has(row) && self.allows(row, &value.to_string())
    }
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;

    /// The row `smsc` of Open MPI 5.0, which needs nothing but devices.
    fn row() -> Parameter {
        let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
        library.parameters.into_iter().find(|row| row.name == "smsc").unwrap()
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_value_needs_its_device_on_every_host() {
        let row = row();
        let with = Heard {
            devices: set(&["fuse", "xpmem"]),
            ..Heard::default()
        };
        for (heard, value, acts) in [
            (&with, "xpmem", true),
            (&Heard::default(), "xpmem", false),
            (&Heard::default(), "^cma", true),
        ] {
            assert_eq!(
                heard.acts(&row, &Value::Word(value.to_owned())),
                acts,
                "{value} {heard:?}"
            );
        }
    }

    #[test]
    fn what_not_every_build_has_must_be_printed() {
        let printed = Heard {
            parameters: set(&["smsc", "coll_ucc_enable"]),
            ..Heard::default()
        };
        for (part, has, has_without) in [
            (Some("smsc"), true, false),
            (Some("coll_ucc_enable"), true, false),
            (Some("coll_hcoll_enable"), false, false),
            (None, true, true),
        ] {
            let row = Parameter {
                built_with: part.map(str::to_owned),
                ..row()
            };
            assert_eq!(
                (printed.has(&row), Heard::default().has(&row)),
                (has, has_without),
                "{part:?}"
            );
        }
    }
}
