//! MPICH's summary under `MPIR_CVAR_DEBUG_SUMMARY=1`, which has a part for its netmod:
//!
//! ```text
//! ==== UCX netmod Capability ====
//! libfabric provider: tcp;ofi_rxm - 192.0.2.0/24
//! ```
//!
//! Messages within a host, which need no netmod, are not spoken of.

use super::Names;

pub(super) fn read(text: &str) -> Names {
    let netmod = |line: &str| {
        if line.contains("UCX netmod Capability") {
            Some("ucx")
        } else if line.contains("libfabric provider: ") {
            Some("ofi")
        } else {
            None
        }
    };
    text.lines().filter_map(netmod).map(str::to_owned).collect()
}
