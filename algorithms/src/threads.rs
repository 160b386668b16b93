//! A [`Transport`](crate::Transport) over the threads of one process, with a clock that runs on a network model instead
//! of the wall.
//!
//! [`run`] starts one thread per rank and runs a closure on each, [`run_each`] several times. The messages are real, so results can be checked; the
//! time is the model's, so it is the same on every machine and in every run: [`Network`] says what messages and
//! operations cost, and each rank's [`Statistics`] say how long it took, and why. [`Threads`] says what threads: those of the system race for memory that
//! they share; ranks that only exchange messages get the same from light ones, whose changes are no system calls.
//!
//! Nothing hangs: a rank that ends, fails or panics is seen by all that wait for it ([`TransportError::PeerGone`]), and
//! when all ranks wait for each other, all are told so ([`TransportError::Deadlock`]); who waits in shared memory for a rank
//! that is there is told so after two minutes.
//!
//! ```
//! use kilter_algorithms::threads::{Config, Network, run};
//! use kilter_algorithms::{Arguments, registry};
//!
//! let add = |a: &[u8], b: &mut [u8]| a.iter().zip(b).for_each(|(a, b)| *b = b.wrapping_add(*a));
//! let config = Config { network: Network { alpha: 1e-6, ..Network::FREE }, ..Config::new(1, add) };
//! let scan = registry::find("scan.recursive_doubling").unwrap();
//! let outcome = run(5, &config, |transport| {
//!     let mut sum = [0];
//!     registry::run(scan, transport, Arguments { input: &[1], output: &mut sum, input_blocks: &[], output_blocks: &[], root: 0,
//!         parameters: &[] })?;
//!     Ok(sum[0])
//! });
//! assert_eq!(outcome.critical_path().rounds, 3.0);
//! assert_eq!(outcome.results().unwrap(), [1, 2, 3, 4, 5]);
//! ```

mod arena;
mod clock;
mod in_turn;
mod shared;
mod switchboard;
mod transport;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

pub use arena::Arena;
pub use clock::Network;
pub use transport::{Statistics, ThreadRequest, ThreadTransport};

use crate::{Cost, Nodes, TransportError};
use in_turn::Turn;
use switchboard::Switchboard;

/// The largest number of ranks that [`run`] takes.
pub const MAX_RANKS: usize = 64;

/// `inout[i] = input[i] op inout[i]` over all elements of two buffers of equal length, as `MPI_Reduce_local`.
pub type Operator = Box<dyn Fn(&[u8], &mut [u8]) + Send + Sync>;

/// The threads of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// Threads of the system, which run at the same time: for ranks that share memory, whose races need them.
    OfSystem,
    /// Light ones (stackful coroutines), which take turns on the calling thread: each goes on until it has to wait. What ranks get by messages does not
    /// depend on who runs when, since each receive names its sender.
    Light,
}

/// State that the ranks of a [`run`] share.
pub struct Config {
    /// Bytes of an element, at least 1.
    pub element_bytes: usize,
    /// The operator; need not be commutative.
    pub operator: Operator,
    /// Prices of messages and operations.
    pub network: Network,
    /// The mapping of ranks to nodes. `None` puts each rank on a node of its own.
    pub nodes: Option<Nodes>,
    /// The threads of the ranks.
    pub threads: Threads,
}

impl Config {
    /// Elements of `element_bytes` bytes, combined by `operator`, over a network where everything is free, on light threads.
    pub fn new(element_bytes: usize, operator: impl Fn(&[u8], &mut [u8]) + Send + Sync + 'static) -> Config {
        Config {
            element_bytes,
            operator: Box::new(operator),
            network: Network::FREE,
            nodes: None,
            threads: Threads::Light,
        }
    }
}

/// Why a rank has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// Its closure returned this error.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Its closure panicked with this message.
    #[error("panicked: {0}")]
    Panicked(String),
}

/// Outcome of one rank of a [`run`].
#[derive(Debug)]
pub struct RankOutcome<R> {
    /// The value that its closure returned.
    pub result: Result<R, RankError>,
    /// Counts of data that it sent, combined and copied, and the time when it was done.
    pub statistics: Statistics,
}

/// Outcome of a [`run`].
#[derive(Debug)]
pub struct Outcome<R> {
    /// One entry per rank, in order.
    pub ranks: Vec<RankOutcome<R>>,
    /// Messages that were sent and never received: more than 0 in a run without errors is a defect of the algorithm.
    pub undelivered: usize,
}

impl<R> Outcome<R> {
    /// Each rank's result.
    ///
    /// # Errors
    /// The lowest rank that failed for a reason of its own, rather than because another one did; with its error.
    pub fn results(self) -> Result<Vec<R>, (usize, RankError)> {
        let is_consequence = |error: &RankError| matches!(error, RankError::Transport(TransportError::PeerGone { .. }));
        let mut results = Vec::with_capacity(self.ranks.len());
        let mut failure: Option<(usize, RankError)> = None;
        for (rank, outcome) in self.ranks.into_iter().enumerate() {
            match outcome.result {
                Ok(result) => results.push(result),
                Err(error) => {
                    let replaces = failure
                        .as_ref()
                        .is_none_or(|(_, first)| is_consequence(first) && !is_consequence(&error));
                    if replaces {
                        failure = Some((rank, error));
                    }
                }
            }
        }
        failure.map_or(Ok(results), Err)
    }

    /// Model time in seconds at which the last rank was done.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.ranks
            .iter()
            .map(|rank| rank.statistics.seconds)
            .fold(0.0, f64::max)
    }

    /// For each term of [`Cost`] the slowest rank's, were that term the only one that takes time.
    #[must_use]
    pub fn critical_path(&self) -> Cost {
        self.ranks
            .iter()
            .map(|rank| rank.statistics.critical_path)
            .fold(Cost::ZERO, |slowest, path| Cost {
                rounds: slowest.rounds.max(path.rounds),
                bytes_sent: slowest.bytes_sent.max(path.bytes_sent),
                bytes_reduced: slowest.bytes_reduced.max(path.bytes_reduced),
            })
    }
}

/// Runs `body` on `p` ranks, one thread each, and returns when all have ended.
///
/// # Panics
/// If `p` is not within `1..=`[`MAX_RANKS`], the element has no bytes, or the system cannot start a thread.
pub fn run<R, F>(p: usize, config: &Config, body: F) -> Outcome<R>
where
    R: Send,
    F: Fn(&mut ThreadTransport<'_>) -> Result<R, TransportError> + Sync,
{
    let runs = Runs::new(p, config);
    let switchboard = Switchboard::new(p);
    let ranks = runs.on_threads(|rank, turn| runs.one(rank, turn, &switchboard, &body));
    Outcome {
        ranks,
        undelivered: switchboard.undelivered(),
    }
}

/// Runs `body` `count` times on `p` ranks whose threads are started once, which takes longer than most runs. Each run has messages, clocks and
/// arenas of its own; `body` gets its number, and a rank may begin one while others are still in the one before.
///
/// # Panics
/// As [`run`].
pub fn run_each<R, F>(p: usize, count: usize, config: &Config, body: F) -> Vec<Outcome<R>>
where
    R: Send,
    F: Fn(usize, &mut ThreadTransport<'_>) -> Result<R, TransportError> + Sync,
{
    let runs = Runs::new(p, config);
    let switchboards: Vec<Switchboard> = (0..count).map(|_| Switchboard::new(p)).collect();
    let by_rank: Vec<Vec<RankOutcome<R>>> = runs.on_threads(|rank, turn| {
        let numbered = switchboards.iter().enumerate();
        numbered
            .map(|(number, switchboard)| {
                runs.one(rank, turn, switchboard, &|transport: &mut _| body(number, transport))
            })
            .collect()
    });
    let mut by_rank: Vec<_> = by_rank.into_iter().map(Vec::into_iter).collect();
    switchboards
        .iter()
        .map(|switchboard| Outcome {
            ranks: by_rank.iter_mut().filter_map(Iterator::next).collect(),
            undelivered: switchboard.undelivered(),
        })
        .collect()
}

/// The common part of all runs on the same ranks.
struct Runs<'a> {
    p: usize,
    config: &'a Config,
    nodes: Arc<Nodes>,
}

impl<'a> Runs<'a> {
    fn new(p: usize, config: &'a Config) -> Runs<'a> {
        assert!((1..=MAX_RANKS).contains(&p), "{p} ranks; allowed: 1 to {MAX_RANKS}");
        assert!(config.element_bytes > 0, "an element has at least one byte");
        Runs {
            p,
            config,
            nodes: Arc::new(config.nodes.clone().unwrap_or_else(|| Nodes::each_alone(p))),
        }
    }

    /// One rank's part of one run.
    fn one<R, F>(&self, rank: usize, turn: Turn<'_>, switchboard: &Switchboard, body: &F) -> RankOutcome<R>
    where
        F: Fn(&mut ThreadTransport<'_>) -> Result<R, TransportError>,
    {
        // `transport` is dropped inside, and so says that the rank has gone, whatever happens.
        let mut statistics = Statistics::default();
        let result = {
            let mut transport = ThreadTransport::new(rank, turn, switchboard, self.config, Arc::clone(&self.nodes));
            // The transport is only read after a panic, for its counters.
            let result = catch_unwind(AssertUnwindSafe(|| body(&mut transport)));
            statistics.clone_from(&transport.statistics());
            result
        };
        let result = match result {
            Ok(result) => result.map_err(RankError::from),
            Err(panic) => Err(RankError::Panicked(panic_message(panic.as_ref()))),
        };
        RankOutcome { result, statistics }
    }

    /// One thread for each rank; their results when all have ended.
    fn on_threads<T: Send>(&self, of_rank: impl Fn(usize, Turn<'_>) -> T + Sync) -> Vec<T> {
        match self.config.threads {
            Threads::OfSystem => self.on_threads_of_system(|rank| of_rank(rank, Turn::OF_SYSTEM)),
            Threads::Light => in_turn::run(self.p, of_rank),
        }
    }

    fn on_threads_of_system<T: Send>(&self, of_rank: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let of_rank = &of_rank;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.p).map(|rank| scope.spawn(move || of_rank(rank))).collect();
            let results = threads.into_iter().map(|thread| thread.join());
            // A panic of `body` is caught before it ends the thread.
            results
                .map(|result| result.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        })
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is no text".to_owned())
}
