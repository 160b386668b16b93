//! Counters of a profile: of its file, or as `kilter profile show --format counters` prints them.

use super::Format;
use super::recorded;

pub(super) static FORMAT: Format = Format {
    id: "kilter-profile",
    title: "profile of Kilter",
    made_by: "kilter profile --out FILE -- mpirun ... PROGRAM",
    source: "docs/manual/profile.md",
    leaves_out_zeros: true,
    file_per_process: false,
    is_sign: |line| line == recorded::PROFILE,
    read: |text, found| recorded::read(recorded::PROFILE, text, found),
};
