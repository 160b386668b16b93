//! Messages beyond what an int counts in bytes.

use crate::job::{Deployed, Mpi, rule};

/// Not in continuous integration: 13 GiB of memory, and a minute of two cores for page faults and copies.
///
/// `cargo test -p kilter-tests --test dropin -- --ignored`
#[test]
#[ignore = "takes 13 GiB of memory and a minute"]
fn more_than_two_gibibytes_arrive() {
    for mpi in Mpi::installed() {
        // Without them, 2100 elements of 1 MiB.
        let large_counts: &[&str] = if mpi.has_large_counts() {
            &["-DLARGE_COUNTS"]
        } else {
            &[]
        };
        let options = [&["-std=c11", "-O2"], large_counts].concat();
        let program = mpi.built("mpicc", "large_volume.c", &options, "large_volume");
        for (bcast, allgather) in [
            ("bcast.binomial", "allgather.ring"),
            ("bcast.scatter_allgather", "allgather.bruck"),
        ] {
            let above = (i32::MAX as u64 + 1)..=u64::MAX;
            let rules = vec![
                rule("bcast", 2, above.clone(), bcast),
                rule("allgather", 2, above, allgather),
            ];
            let output = Deployed::for_library(mpi, rules).run(mpi, &[&program], 2, &[]);
            assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
            let calls = [(bcast.to_owned(), 1), (allgather.to_owned(), 1)].into();
            assert_eq!(output.calls(), calls, "{mpi:?}: {}", output.stderr);
        }
    }
}
