//! The registry: one row per algorithm, from which lists, profiles, search, tests and docs are read.

use crate::entry::Function;
pub use crate::entry::{Entry, Family, run};
use crate::parameter::Parameter;
use crate::{Collective, Nodes};

/// Demand of an algorithm on a call. [`Algorithm::unmet`] checks it, in one place; nothing falls back in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The operator must be commutative.
    Commutative,
    /// The number of ranks must be a power of two.
    PowerOfTwoRanks,
    /// The number of ranks must be even.
    EvenRanks,
    /// All ranks must be on one node.
    OneNode,
}

/// Cost of one call on the slowest rank: `rounds * alpha + bytes_sent * beta + bytes_reduced * gamma`
/// (alpha in seconds, beta and gamma in seconds per byte; Hockney's model with a computation term).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Messages on the critical path.
    pub rounds: f64,
    /// Bytes on the critical path.
    pub bytes_sent: f64,
    /// Bytes combined with the operator on the critical path.
    pub bytes_reduced: f64,
}

impl Cost {
    /// Cost of a call that communicates nothing.
    pub const ZERO: Cost = Cost {
        rounds: 0.0,
        bytes_sent: 0.0,
        bytes_reduced: 0.0,
    };

    /// The time in seconds; `alpha` in seconds, `beta` and `gamma` in seconds per byte.
    #[must_use]
    pub fn seconds(self, alpha: f64, beta: f64, gamma: f64) -> f64 {
        self.rounds * alpha + self.bytes_sent * beta + self.bytes_reduced * gamma
    }
}

/// Inputs of a cost function.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// Number of ranks.
    pub p_ranks: usize,
    /// Total volume `n` in bytes, in equal blocks where the collective has blocks.
    pub n_bytes: usize,
    /// One value per row of [`Algorithm::parameters`], in that order.
    pub parameters: &'a [u64],
    /// Placement of the ranks on nodes.
    pub nodes: &'a Nodes,
}

/// One rank's arguments of a collective call, as bytes.
///
/// Lengths, with `n` the total volume and `b = n/p` the block: `input` and `output` are empty where the collective
/// defines none on this rank (`output` of a reduce or gather, `input` of a scatter, away from the root). A broadcast has
/// one buffer, as in MPI: `output`, which on the root holds the data; its `input` is empty. A barrier has none. An
/// exclusive scan leaves rank 0's output as it is. In-place calls are resolved by the caller: it has copied the
/// contribution, or passes it as `input`.
///
/// Blocks lie one after the other in the order of ranks. Their lengths are given where they may differ and this rank
/// knows them; elsewhere the lists are empty:
///
/// | Collective       | `input_blocks`               | `output_blocks`              |
/// | ---------------- | ---------------------------- | ---------------------------- |
/// | `allgatherv`     |                              | of each rank                 |
/// | `alltoallv`      | to each rank                 | from each rank               |
/// | `gatherv`        |                              | of each rank, at the root    |
/// | `reduce_scatter` | of each rank                 |                              |
/// | `scatterv`       | of each rank, at the root    |                              |
pub struct Arguments<'a> {
    /// This rank's contribution: `n` bytes (reduce, allreduce, scan, alltoall; scatter's root) or `b` bytes (gather,
    /// allgather).
    pub input: &'a [u8],
    /// This rank's result: `n` bytes, `b` bytes (scatter, reduce-scatter), or empty.
    pub output: &'a mut [u8],
    /// Bytes of each rank's block of `input`.
    pub input_blocks: &'a [usize],
    /// Bytes of each rank's block of `output`.
    pub output_blocks: &'a [usize],
    /// The root's rank; 0 where the collective has none.
    pub root: usize,
    /// One value per row of [`Algorithm::parameters`], in that order.
    pub parameters: &'a [u64],
}

/// A row of the registry.
///
/// The function is generic over the transport, which a table of function pointers cannot hold; so rows carry data, and
/// [`Entry::new`] finds the function by the row's address.
#[derive(Debug)]
pub struct Algorithm {
    /// Stable id, `<collective>.<file>`; never reused.
    pub id: &'static str,
    /// The collective that it implements.
    pub collective: Collective,
    /// One line for people.
    pub summary: &'static str,
    /// Paper, with DOI where there is one.
    pub source: &'static str,
    /// Requirements.
    pub needs: &'static [Need],
    /// Tunables.
    pub parameters: &'static [Parameter],
    /// Cost in a setting.
    pub cost: fn(&Setting<'_>) -> Cost,
    /// Bytes that a communicator keeps for calls in a setting, at most, on the rank that needs most.
    pub scratch: fn(&Setting<'_>) -> usize,
}

impl Algorithm {
    /// The first requirement that a call does not meet, if any; `one_node`: all ranks are on one node. Decided by rank-invariant
    /// facts only.
    #[must_use]
    pub fn unmet(&self, p_ranks: usize, commutative: bool, one_node: bool) -> Option<Need> {
        self.needs.iter().copied().find(|need| match need {
            Need::Commutative => !commutative,
            Need::PowerOfTwoRanks => !p_ranks.is_power_of_two(),
            Need::EvenRanks => !p_ranks.is_multiple_of(2),
            Need::OneNode => !one_node,
        })
    }

    /// The default of each parameter.
    #[must_use]
    pub fn default_parameters(&self) -> Vec<u64> {
        self.parameters.iter().map(|parameter| parameter.default).collect()
    }
}

/// Generates the rest of a module of algorithms: the table, the dispatch, and the test that every file has a row.
macro_rules! rows {
    ($collective:ident: $($file:ident),+ $(,)?) => {
        /// The rows, one per file of this folder.
        pub static ALGORITHMS: &[&crate::Algorithm] = &[$(&$file::INFO),+];

        /// The function of a row of this table.
        pub(crate) fn function<F: crate::entry::Family>(row: &crate::Algorithm) -> crate::entry::Function<F> {
            $(if std::ptr::eq(row, &raw const $file::INFO) {
                return |transport, arguments| $file::run(transport, arguments);
            })+
            unreachable!("`{}` is no row of {}'s table", row.id, stringify!($collective))
        }

        #[cfg(test)]
        #[test]
        fn every_file_has_a_row() {
            crate::registry::assert_every_file_has_a_row(stringify!($collective), ALGORITHMS);
        }
    };
}
pub(crate) use rows;

/// The modules of algorithms, by collective.
macro_rules! modules {
    ($($collective:ident: $module:ident;)*) => {
        /// All rows, collective by collective.
        pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
            [$(crate::$module::ALGORITHMS),*].into_iter().flatten().copied()
        }

        /// The function of a row.
        pub(crate) fn function<F: Family>(algorithm: &Algorithm) -> Function<F> {
            match algorithm.collective {
                $(Collective::$collective => crate::$module::function::<F>(algorithm),)*
                other => unreachable!("no algorithm of {other} is registered"),
            }
        }
    };
}

modules! {
    Allgather: allgather;
    Allgatherv: allgatherv;
    Allreduce: allreduce;
    Alltoall: alltoall;
    Alltoallv: alltoallv;
    Barrier: barrier;
    Bcast: bcast;
    Exscan: exscan;
    Gather: gather;
    Gatherv: gatherv;
    Reduce: reduce;
    ReduceScatter: reduce_scatter;
    ReduceScatterBlock: reduce_scatter_block;
    Scan: scan;
    Scatter: scatter;
    Scatterv: scatterv;
}

/// The rows of one collective, in the order of its table.
pub fn by_collective(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    algorithms().filter(move |algorithm| algorithm.collective == collective)
}

/// The row with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Algorithm> {
    algorithms().find(|algorithm| algorithm.id == id)
}

/// For the test of each collective: its folder and its table have the same entries.
#[cfg(test)]
pub(crate) fn assert_every_file_has_a_row(collective: &str, table: &[&Algorithm]) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src")
        .join(collective);
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|stem| stem != "mod")
        .map(|stem| format!("{collective}.{stem}"))
        .collect();
    let mut rows: Vec<&str> = table.iter().map(|row| row.id).collect();
    files.sort_unstable();
    rows.sort_unstable();
    assert_eq!(
        files,
        rows,
        "files of {} (left) and rows of its table (right)",
        folder.display()
    );
    assert!(table.iter().all(|row| row.collective.name() == collective));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_rows_complete() {
        let ids: std::collections::BTreeSet<_> = algorithms().map(|row| row.id).collect();
        assert_eq!(ids.len(), algorithms().count());
        for row in algorithms() {
            let Algorithm {
                id, summary, source, ..
            } = row;
            assert!(std::ptr::eq(find(id).unwrap(), row));
            assert!(source.contains("doi:10."), "{id}: {source}");
            assert!(!summary.is_empty() && !summary.ends_with('.'), "{id}: {summary}");
            assert!(crate::mockup::find(id).is_none(), "{id} is a mock-up, too");
            for Parameter {
                name,
                min,
                max,
                default,
                ..
            } in row.parameters
            {
                assert!(min <= default && default <= max, "{id}: {name}");
            }
        }
        assert!(find("reduce.nothing").is_none());
    }

    #[test]
    fn collectives_partition_the_rows() {
        let by_collective: Vec<_> = Collective::ALL
            .iter()
            .flat_map(|&c| by_collective(c))
            .map(|row| row.id)
            .collect();
        assert_eq!(by_collective, algorithms().map(|row| row.id).collect::<Vec<_>>());
    }

    #[test]
    fn needs_are_decided_by_ranks_operator_and_nodes() {
        let ring = find("reduce.ring").unwrap();
        assert_eq!(ring.unmet(5, false, true), Some(Need::Commutative));
        assert_eq!(ring.unmet(5, true, false), None);
        let shared = find("reduce.shared_memory").unwrap();
        assert_eq!(shared.unmet(5, false, false), Some(Need::OneNode));
        assert_eq!(shared.unmet(5, false, true), None);
    }
}
