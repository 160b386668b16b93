//! Devices of the kernel on the hosts of a job: some copy messages between processes, where the library was built with them.

use std::collections::BTreeSet;

use kilter_protocol::machine::Machine;

/// Directory with a link for each such device: `xpmem`, `knem`.
pub const DIRECTORY: &str = "/sys/class/misc";

/// Devices that every host has. A host that did not say has none.
#[must_use]
pub fn on_every_host(machine: &Machine) -> BTreeSet<String> {
    let of_host = |files: &std::collections::BTreeMap<String, String>| -> BTreeSet<String> {
        let names = files.get(DIRECTORY).into_iter().flat_map(|text| text.lines());
        names.map(str::to_owned).collect()
    };
    let hosts = machine.hosts.values().map(of_host);
    hosts.reduce(|one, other| &one & &other).unwrap_or_default()
}
