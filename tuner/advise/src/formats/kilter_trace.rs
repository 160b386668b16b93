//! Counters of a trace, which `kilter advise` makes of its directory.

use super::Format;
use super::recorded;

pub(super) static FORMAT: Format = Format {
    id: "kilter-trace",
    title: "trace of Kilter",
    made_by: "kilter trace --out DIRECTORY -- mpirun ... PROGRAM",
    source: "docs/manual/trace.md",
    leaves_out_zeros: true,
    file_per_process: false,
    is_sign: |line| line == recorded::TRACE,
    read: |text, found| recorded::read(recorded::TRACE, text, found),
};
