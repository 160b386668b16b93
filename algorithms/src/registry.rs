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

/// One rank's arguments of a collective call, as bytes.
///
/// Lengths, with `n` the total volume and `b = n/p` the block: `input` and `output` are empty where the collective defines
/// none on this rank (`output` of a reduce or gather away from the root). In-place calls are resolved by the caller: it has
/// copied the contribution, or passes it as `input`.
pub struct Arguments<'a> {
    /// This rank's contribution: `n` bytes (reduce, allreduce, scan) or `b` bytes (gather).
    pub input: &'a [u8],
    /// This rank's result: `n` bytes, or empty.
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
    [crate::allreduce::ALGORITHMS, crate::gather::ALGORITHMS, crate::reduce::ALGORITHMS, crate::scan::ALGORITHMS]
        .into_iter()
        .flatten()
        .copied()
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
pub fn run<T: Transport>(algorithm: &Algorithm, transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    match algorithm.collective {
        Collective::Allreduce => crate::allreduce::run(algorithm.id, transport, arguments),
        Collective::Gather => crate::gather::run(algorithm.id, transport, arguments),
        Collective::Reduce => crate::reduce::run(algorithm.id, transport, arguments),
        Collective::Scan => crate::scan::run(algorithm.id, transport, arguments),
        other => unreachable!("no algorithm of {other} is registered"),
    }
}
