//! Cases whose ranks race.
//!
//! Ranks that share memory race for it on threads of the system, which have all processors, one case at a time: those with words as elements, and up to
//! four of them. All others take turns, as ranks do that only exchange messages: what they show is lengths and roots, and threads of the system that
//! wait for each other would take most of the time of these tests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kilter_algorithms::Need;
use kilter_algorithms::threads::{Config, Network, Threads};

use super::Case;

const MOST_RANKS: usize = 4;
const WORD_BYTES: usize = 4;

fn race(case: &Case) -> bool {
    case.algorithm.needs.contains(&Need::OneNode) && case.element_bytes == WORD_BYTES && case.p <= MOST_RANKS
}

/// The configuration of a run in which ranks race if the case's do, and then its turn.
pub(crate) fn config(case: &Case, network: Network) -> (Config, Option<MutexGuard<'static, ()>>) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let in_turn = case.config(network);
    if !race(case) {
        return (in_turn, None);
    }
    // A case that failed leaves nothing behind.
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let racing = Config {
        threads: Threads::OfSystem,
        ..in_turn
    };
    (racing, Some(turn))
}
