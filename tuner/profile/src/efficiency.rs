//! The efficiencies of POP (Performance Optimisation and Productivity Centre of Excellence, "Additive and multiplicative hierarchies of
//! parallel efficiencies").
//!
//! With the run time T, the computation C(r) of rank r (its time outside of MPI) and the run time T' on an ideal network, which transfers in
//! no time:
//!
//! | efficiency    | definition       |
//! | ------------- | ---------------- |
//! | parallel      | mean C / T       |
//! | load balance  | mean C / max C   |
//! | communication | max C / T        |
//! | serialisation | max C / T'       |
//! | transfer      | T' / T           |
//!
//! Parallel efficiency is load balance times communication, and communication is serialisation times transfer. T' is the longest that any rank
//! computes and waits: its time less its transfers, which [`crate::waiting`] estimates. Where POP replays a trace on a simulated network, this
//! is an estimate from totals.

use schemars::JsonSchema;
use serde::Serialize;

/// Efficiencies from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Efficiencies {
    /// Mean computation of the ranks in the run time.
    pub parallel: f64,
    /// Mean computation in the longest.
    pub load_balance: f64,
    /// Longest computation in the run time.
    pub communication: f64,
    /// Longest computation in the run time without transfer.
    pub serialisation: f64,
    /// Run time without transfer in the run time.
    pub transfer: f64,
}

/// Times of a rank in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// From the begin to the end.
    pub total: f64,
    /// Inside of MPI.
    pub mpi: f64,
    /// The part of it spent waiting.
    pub waiting: f64,
}

/// The efficiencies of ranks with these times; `None` without a rank that computed.
#[must_use]
pub fn of(ranks: &[Times]) -> Option<Efficiencies> {
    let computation = |rank: &Times| (rank.total - rank.mpi).max(0.0);
    let longest = |time: &dyn Fn(&Times) -> f64| ranks.iter().map(time).fold(0.0, f64::max);
    let run = longest(&|rank| rank.total);
    let most = longest(&computation);
    if !(run > 0.0 && most > 0.0) {
        return None;
    }
    let mean = ranks.iter().map(computation).sum::<f64>() / ranks.len() as f64;
    let ideal = longest(&|rank| computation(rank) + rank.waiting).clamp(most, run);
    Some(Efficiencies {
        parallel: mean / run,
        load_balance: mean / most,
        communication: most / run,
        serialisation: most / ideal,
        transfer: ideal / run,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiencies_multiply() {
        let times = |mpi, waiting| Times {
            total: 10.0,
            mpi,
            waiting,
        };
        let found = of(&[times(2.0, 0.3), times(5.0, 3.25)]).unwrap();
        assert!((found.parallel - 0.65).abs() < 1e-12);
        assert!((found.load_balance - 6.5 / 8.0).abs() < 1e-12);
        assert!((found.communication - 0.8).abs() < 1e-12);
        assert!((found.transfer - 0.83).abs() < 1e-12);
        assert!((found.parallel - found.load_balance * found.communication).abs() < 1e-12);
        assert!((found.communication - found.serialisation * found.transfer).abs() < 1e-12);
    }

    #[test]
    fn without_computation_there_are_none() {
        assert_eq!(of(&[]), None);
        let idle = Times {
            total: 1.0,
            mpi: 1.0,
            waiting: 1.0,
        };
        assert_eq!(of(&[idle]), None);
    }
}
