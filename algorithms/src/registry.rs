//! The registry: one row per algorithm, from which lists, profiles, search, tests and docs are read.

use crate::{Collective, Transport, TransportError};

/// What an algorithm demands of a call; checked in one place, [`Algorithm::unmet`], never by a silent fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The operator must be commutative.
    Commutative,
    /// The number of ranks must be a power of two.
    PowerOfTwoRanks,
}

/// An ordered tunable of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in profiles and options, with the unit, such as `segment_bytes`.
    pub name: &'static str,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Value where nothing is said.
    pub default: u64,
    /// What it does.
    pub summary: &'static str,
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
    /// Of a call that communicates nothing.
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

/// One rank's arguments of a collective call, as bytes.
///
/// Lengths, with `n` the total volume and `b = n/p` the block: `input` and `output` are empty where the collective
/// defines none on this rank (`output` of a reduce or gather, `input` of a scatter, away from the root). A broadcast has
/// one buffer, as in MPI: `output`, which on the root holds the data; its `input` is empty. In-place calls are resolved
/// by the caller: it has copied the contribution, or passes it as `input`.
pub struct Arguments<'a> {
    /// This rank's contribution: `n` bytes (reduce, allreduce, scan; scatter's root) or `b` bytes (gather, allgather).
    pub input: &'a [u8],
    /// This rank's result: `n` bytes, `b` bytes (scatter), or empty.
    pub output: &'a mut [u8],
    /// The root's rank; 0 where the collective has none.
    pub root: usize,
    /// One value per row of [`Algorithm::parameters`], in that order.
    pub parameters: &'a [u64],
}

/// A row of the registry.
///
/// The entry is generic over the transport, which a table of function pointers cannot hold; so rows carry data, and
/// [`run`] dispatches on the id. A test checks that the two agree.
#[derive(Debug)]
pub struct Algorithm {
    /// Stable id, `<collective>.<file>`; never reused.
    pub id: &'static str,
    /// What it implements.
    pub collective: Collective,
    /// One line for people.
    pub summary: &'static str,
    /// Paper, with DOI where there is one.
    pub source: &'static str,
    /// Requirements.
    pub needs: &'static [Need],
    /// Tunables.
    pub parameters: &'static [Parameter],
    /// Cost for `p` ranks, total volume `n` bytes and one value per parameter.
    pub cost: fn(p_ranks: usize, n_bytes: usize, parameters: &[u64]) -> Cost,
}

impl Algorithm {
    /// The first requirement that a call does not meet, if any. Decided by rank-invariant facts only.
    #[must_use]
    pub fn unmet(&self, p_ranks: usize, commutative: bool) -> Option<Need> {
        self.needs.iter().copied().find(|need| match need {
            Need::Commutative => !commutative,
            Need::PowerOfTwoRanks => !p_ranks.is_power_of_two(),
        })
    }

    /// The default of each parameter.
    #[must_use]
    pub fn default_parameters(&self) -> Vec<u64> {
        self.parameters.iter().map(|parameter| parameter.default).collect()
    }
}

/// All rows, collective by collective.
pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
    [
        crate::allgather::ALGORITHMS,
        crate::allreduce::ALGORITHMS,
        crate::bcast::ALGORITHMS,
        crate::gather::ALGORITHMS,
        crate::reduce::ALGORITHMS,
        crate::scan::ALGORITHMS,
        crate::scatter::ALGORITHMS,
    ]
    .into_iter()
    .flatten()
    .copied()
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

/// Runs one algorithm on this rank.
///
/// # Errors
/// Whatever the transport reports.
///
/// # Panics
/// If the arguments are not those of the collective ([`Arguments`]); debug builds say which, release builds may find
/// out late.
pub fn run<T: Transport>(
    algorithm: &Algorithm,
    transport: &mut T,
    arguments: Arguments<'_>,
) -> Result<(), TransportError> {
    debug_assert_fits(algorithm, transport, &arguments);
    match algorithm.collective {
        Collective::Allgather => crate::allgather::run(algorithm.id, transport, arguments),
        Collective::Allreduce => crate::allreduce::run(algorithm.id, transport, arguments),
        Collective::Bcast => crate::bcast::run(algorithm.id, transport, arguments),
        Collective::Gather => crate::gather::run(algorithm.id, transport, arguments),
        Collective::Reduce => crate::reduce::run(algorithm.id, transport, arguments),
        Collective::Scan => crate::scan::run(algorithm.id, transport, arguments),
        Collective::Scatter => crate::scatter::run(algorithm.id, transport, arguments),
        other => unreachable!("no algorithm of {other} is registered"),
    }
}

/// The contract of [`Arguments`], as far as one rank can see it.
fn debug_assert_fits<T: Transport>(algorithm: &Algorithm, transport: &T, arguments: &Arguments<'_>) {
    let (id, rank, p) = (algorithm.id, transport.rank(), transport.size());
    let (input, output, root) = (arguments.input.len(), arguments.output.len(), arguments.root);
    debug_assert!(root < p, "{id}: root {root} of {p} ranks");
    debug_assert_eq!(
        input % transport.element_bytes(),
        0,
        "{id}: rank {rank}: input is no whole number of elements"
    );
    let input_expected = match algorithm.collective {
        Collective::Bcast => 0,
        Collective::Gather | Collective::Allgather if rank == root || !algorithm.collective.has_root() => output / p,
        Collective::Scatter if rank == root => p * output,
        Collective::Scatter => 0,
        other if rank == root || !other.has_root() => output,
        _ => input,
    };
    debug_assert_eq!(
        input, input_expected,
        "{id}: rank {rank}: bytes of input for {output} bytes of output"
    );
    debug_assert_eq!(
        arguments.parameters.len(),
        algorithm.parameters.len(),
        "{id}: one value per parameter"
    );
    for (parameter, &value) in algorithm.parameters.iter().zip(arguments.parameters) {
        debug_assert!(
            (parameter.min..=parameter.max).contains(&value),
            "{id}: {} = {value} is not within {}..={}",
            parameter.name,
            parameter.min,
            parameter.max
        );
    }
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
    fn needs_are_decided_by_ranks_and_operator() {
        let ring = find("reduce.ring").unwrap();
        assert_eq!(ring.unmet(5, false), Some(Need::Commutative));
        assert_eq!(ring.unmet(5, true), None);
    }
}
