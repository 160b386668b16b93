//! Messages beyond what an int counts in bytes.

use crate::dropin::job::{Deployed, Mpi, rule};

/// Not in continuous integration: 13 GiB of memory, and a minute of two cores for page faults and copies.
///
/// `KILTER_TEST_ALL=1 cargo test -p kilter-tests large`
fn more_than_two_gibibytes_arrive() {
    if std::env::var_os("KILTER_TEST_ALL").is_none() {
        kilter_tests::left_out("takes 13 GiB of memory and a minute; KILTER_TEST_ALL=1 runs it");
        return;
    }
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

kilter_tests::cases![more_than_two_gibibytes_arrive,];
