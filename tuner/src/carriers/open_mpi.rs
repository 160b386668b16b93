//! Open MPI's words under `pml_base_verbose`, `mtl_base_verbose` and `btl_base_verbose`:
//!
//! ```text
//! [host:123] select: component ucx selected
//! [host:123] mca:base:select:(  mtl) Selected component [ofi]
//! [host:123] selected cm best priority 25
//! [host:123] mca: bml: Using vader btl for send to [[7005,1],0] on node host
//! [host:123] mca_smsc_base_select: selected shared-memory single-copy component: cma
//! ```
//!
//! From 5.0 on the btl `sm` leaves large messages to a component of single copy, which is said under `smsc_base_verbose`. The component of messages (pml) either talks to a transport by itself (ucx), or by an mtl (cm), or by a btl for each peer (ob1).

use super::Names;

/// The btl of a rank's messages to itself.
const ITSELF: &str = "self";
/// The btl of shared memory that leaves large messages to another component.
const MEMORY: &str = "sm";
/// Before the name of that component.
const SINGLE_COPY: &str = "single-copy component: ";

pub(super) fn read(text: &str) -> Names {
    let between = |before: &'static str, after: &'static str| {
        text.lines()
            .filter_map(move |line| Some(line.split_once(before)?.1.split_once(after)?.0.to_owned()))
    };
    let Some(pml) = between("] selected ", " best priority").next() else {
        return Vec::new();
    };
    match pml.as_str() {
        "cm" => between("mtl) Selected component [", "]").collect(),
        // A component that counts messages hands them on to another one, which is not said.
        "ob1" | "monitoring" | "v" => {
            let mut names: Names = between("bml: Using ", " btl ").filter(|btl| btl != ITSELF).collect();
            if names.iter().any(|name| name == MEMORY) {
                let ends = text.lines().filter_map(|line| line.split_once(SINGLE_COPY));
                names.extend(ends.map(|(_, component)| format!("{MEMORY}/{}", component.trim())));
            }
            names
        }
        _ => vec![pml],
    }
}
