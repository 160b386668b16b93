//! Components of libraries, read off the names of their functions and files.

/// Beginnings of names of functions and files, each with the component; an asterisk in the component stands for the rest up to `_` or `.`.
const NAMES: &[(&str, &str)] = &[
    // Open MPI: `mca_coll_han_reduce_intra`, `ompi_coll_tuned_reduce_intra_dec_fixed`, `mca_coll_sm.so`.
    ("mca_coll_", "*"),
    ("ompi_coll_", "*"),
    // MPICH and Intel MPI: the device's code for the memory of a node, that for the network, and that for any device.
    ("MPIDI_POSIX_", "posix (memory of a node)"),
    ("MPIDI_SHM_", "shm (memory of a node)"),
    ("MPIDI_OFI_", "ofi (network)"),
    ("MPIDI_UCX_", "ucx (network)"),
    // Kilter's.
    ("libkilter", "kilter (drop-in)"),
];

/// Beginnings and ends of names of functions that only ask which component is to carry a call out.
const ASKS: &[(&str, &str)] = &[("mca_coll_han_", "_intra_dynamic")];

/// Components that only have code for others.
const HELPERS: &[&str] = &["base", "monitoring", "sync"];

/// Names of functions by which a library decides by itself.
const OWN_DECISION: &[&str] = &["_dec_fixed"];

/// Names of functions by which a library heeds parameters and rules.
const HEEDS: &[&str] = &["_dec_dynamic", "_intra_dynamic"];

/// Beginnings of names of functions in which a rank waits for messages, whatever the collective: which of them a wait is seen in is chance.
const WAITING: &[&str] = &[
    // Open MPI.
    "ompi_request_",
    "ompi_sync_",
    "mca_pml_",
    "mca_btl_",
    "opal_",
    // MPICH and Intel MPI.
    "MPIC_",
    "MPIR_Wait",
    "MPIR_Progress",
    "MPID_Progress",
    "MPIDI_Progress",
    "MPIDI_progress",
    "MPID_Recv",
    "MPID_Send",
];

/// Beginnings of files without code of collectives: the system's, and those of transports.
const SYSTEM: &[&str] = &[
    "libc.so",
    "libpthread",
    "ld-linux",
    "linux-vdso",
    "libgcc_s",
    "libucp",
    "libuct",
    "libucs",
    "libucm",
    "libfabric",
    "libpsm",
    "libibverbs",
];

/// True for a function in which ranks wait for messages, of any collective.
#[must_use]
pub fn is_waiting(function: &str) -> bool {
    WAITING.iter().any(|beginning| function.starts_with(beginning))
}

/// True for a file of the system or of a transport, by its path.
#[must_use]
pub fn is_of_system(file: &str) -> bool {
    let base = file.rsplit('/').next().unwrap_or(file);
    SYSTEM.iter().any(|beginning| base.starts_with(beginning))
}

/// The component of a path, outermost function first: the first that carries collectives out, and the one that asks for another where that is all
/// that is seen.
#[must_use]
pub fn of(path: &[String]) -> Option<String> {
    let carries = path.iter().filter(|function| !asks(function));
    let carrier = carries.into_iter().find_map(|function| of_function(function));
    carrier.or_else(|| path.iter().find_map(|function| of_function(function)))
}

/// True for a function that asks which component is to carry a call out.
fn asks(function: &str) -> bool {
    let mut forms = ASKS.iter();
    forms.any(|(beginning, end)| function.starts_with(beginning) && function.ends_with(end))
}

fn of_function(function: &str) -> Option<String> {
    let (rest, component) = NAMES
        .iter()
        .find_map(|(beginning, component)| Some((function.strip_prefix(beginning)?, *component)))?;
    if component != "*" {
        return Some(component.to_owned());
    }
    let name = rest.split(['_', '.']).next().filter(|name| !name.is_empty())?;
    (!HELPERS.contains(&name)).then(|| name.to_owned())
}

/// The function of a path by which the library decided by itself.
#[must_use]
pub fn own_decision(path: &[String]) -> Option<&str> {
    let is_own = |function: &&String| OWN_DECISION.iter().any(|part| function.contains(part));
    path.iter().find(is_own).map(String::as_str)
}

/// The function of a path by which the library heeded parameters and rules.
#[must_use]
pub fn heeds(path: &[String]) -> Option<&str> {
    let heeds = |function: &&String| HEEDS.iter().any(|part| function.contains(part));
    path.iter().find(heeds).map(String::as_str)
}

/// True for the standard's own name of a function.
#[must_use]
pub fn is_standard(function: &str) -> bool {
    function.starts_with("MPI_") || function.starts_with("PMPI_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_outermost_component_has_carried_it_out() {
        let han = path("PMPI_Reduce mca_coll_han_reduce_intra ompi_coll_tuned_reduce_intra_dec_fixed");
        assert_eq!(of(&han).as_deref(), Some("han"));
        let handed_on = path("PMPI_Reduce mca_coll_han_reduce_intra_dynamic ompi_coll_tuned_reduce_intra_dec_fixed");
        assert_eq!(of(&handed_on).as_deref(), Some("tuned"));
        assert_eq!(of(&handed_on[..2]).as_deref(), Some("han"));
        let tuned = path("PMPI_Reduce ompi_coll_tuned_reduce_intra_dec_fixed ompi_coll_base_reduce_intra_binomial");
        assert_eq!(of(&tuned).as_deref(), Some("tuned"));
        assert_eq!(own_decision(&tuned), Some("ompi_coll_tuned_reduce_intra_dec_fixed"));
        assert_eq!(heeds(&tuned), None);
        assert_eq!(of(&path("PMPI_Reduce mca_coll_sm.so+0x12")).as_deref(), Some("sm"));
        assert_eq!(of(&path("PMPI_Reduce ompi_coll_base_reduce_intra_chain")), None);
        assert!(is_waiting("ompi_request_default_wait") && !is_waiting("ompi_coll_base_reduce_generic"));
        assert!(is_of_system("/usr/lib/libc.so.6") && !is_of_system("/usr/lib/libcoll.so"));
        assert_eq!(of(&path("PMPI_Reduce libmpi.so.12+0x12")), None);
    }
}
