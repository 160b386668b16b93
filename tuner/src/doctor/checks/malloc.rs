//! Size from which on `malloc` maps fresh pages. Libraries allocate large temporaries in each call.

use super::super::facts::Facts;
use super::super::{Check, Judgement};

/// glibc's own threshold, in bytes.
const DEFAULT: u64 = 128 << 10;

pub(super) const CHECK: Check = Check {
    id: "malloc",
    what: "large temporaries are not mapped anew in each call",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let Some(job) = &facts.job else {
        return Judgement::unknown("no job was started");
    };
    match job.malloc_maps_from_bytes {
        Some(bytes) if bytes <= DEFAULT => Judgement::note(format!(
            "malloc maps fresh pages from {} KiB on, for temporaries of the library too; `kilter tune` tries \
             MALLOC_MMAP_THRESHOLD_",
            bytes >> 10
        )),
        Some(bytes) => Judgement::fit(format!("malloc maps fresh pages from {} KiB on", bytes >> 10)),
        None => Judgement::fit("malloc keeps temporaries of up to 64 MiB"),
    }
}
