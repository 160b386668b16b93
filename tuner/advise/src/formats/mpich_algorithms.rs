//! MPICH's counts of collective algorithms, as `MPIR_CVAR_DUMP_COLL_ALGO_COUNTERS` prints them.
//!
//! Between two heads stand lines `NUMBER ALGORITHM`, such as `4  MPIR_Bcast_intra_scatter_ring_allgather`; `mpiexec -l` puts `[rank]` in
//! front. A counter has the name of the collective and the algorithm, `bcast.MPIR_Bcast_intra_scatter_ring_allgather`.

use super::Format;
use crate::listing::{Found, Unit, number};

const HEAD: &str = "==== Dump collective algorithm counters ====";
const END: &str = "==== END collective algorithm counters ====";

pub(super) static FORMAT: Format = Format {
    id: "mpich-algorithms",
    title: "counts of collective algorithms of MPICH",
    made_by: "MPIR_CVAR_DUMP_COLL_ALGO_COUNTERS=RANK, with an MPICH that has this variable (pmodels/mpich, pull request 7547)",
    source: "pmodels/mpich, pull requests 7547 and 7598: examples of the output",
    leaves_out_zeros: true,
    file_per_process: false,
    is_sign: |line| line.contains(HEAD),
    read,
};

fn read(text: &str, found: &mut Found) {
    let mut process = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(at) = line.find(HEAD) {
            let rank = line[..at].trim().trim_matches(['[', ']']).parse::<u32>();
            process =
                Some(found.process_anew(&rank.map_or_else(|_| "process 1".to_owned(), |rank| format!("rank {rank}"))));
        } else if line.contains(END) {
            process = None;
        } else if let (Some(process), Some((calls, algorithm))) = (process, counter(line)) {
            let name = format!("{}.{algorithm}", collective(algorithm));
            found.push(process, &name, calls, Unit::Count, index + 1);
        }
    }
}

/// Calls and algorithm of a line.
fn counter(line: &str) -> Option<(f64, &str)> {
    let mut tokens = line.split_whitespace().rev();
    let (algorithm, calls) = (tokens.next()?, tokens.next()?);
    let calls = number(calls).filter(|calls| *calls >= 0.0)?;
    algorithm.starts_with("MPI").then_some((calls, algorithm))
}

/// Collective of an algorithm: `MPIR_Bcast_intra_tree` and `MPIDI_POSIX_mpi_bcast_release_gather` are of `bcast`.
fn collective(algorithm: &str) -> String {
    let stem = algorithm.strip_prefix("MPIR_").and_then(|rest| {
        rest.find("_intra")
            .or_else(|| rest.find("_inter"))
            .map(|end| &rest[..end])
    });
    if let Some(stem) = stem {
        return stem.to_ascii_lowercase();
    }
    const NAMES: [&str; 16] = [
        "reduce_scatter_block",
        "reduce_scatter",
        "allgatherv",
        "allgather",
        "allreduce",
        "alltoallv",
        "alltoall",
        "barrier",
        "bcast",
        "exscan",
        "gatherv",
        "gather",
        "reduce",
        "scatterv",
        "scatter",
        "scan",
    ];
    let rest = algorithm.split_once("mpi_").map_or("", |(_, rest)| rest);
    NAMES
        .into_iter()
        .find(|name| rest.starts_with(name))
        .unwrap_or("other")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithms_are_of_their_collective() {
        for (algorithm, wanted) in [
            ("MPIR_Bcast_intra_scatter_ring_allgather", "bcast"),
            ("MPIR_Reduce_scatter_block_intra_pairwise", "reduce_scatter_block"),
            ("MPIR_Ibcast_inter_sched_flat", "ibcast"),
            ("MPIDI_POSIX_mpi_bcast_release_gather", "bcast"),
            ("MPIDI_POSIX_mpi_reduce_release_gather", "reduce"),
            ("MPIDI_new", "other"),
        ] {
            assert_eq!(collective(algorithm), wanted, "{algorithm}");
        }
    }

    #[test]
    fn lines_have_a_number_and_an_algorithm() {
        assert_eq!(counter("[0]         16  MPIDI_x"), Some((16.0, "MPIDI_x")));
        for other in ["", "16", "16 x", "many MPIR_x", "-1 MPIR_x"] {
            assert_eq!(counter(other), None, "{other}");
        }
    }
}
