//! Reasons why an item cannot be measured.

use std::ffi::c_int;

use kilter_protocol::overlap::{Benchmark, Overlap};
use kilter_protocol::plan::{Implementation, Item};

use crate::clock;
use crate::reason::{NoOverlap, Reason};

/// The longest computation, in nanoseconds: the job says every second that it is alive, and not while it computes.
const MOST_COMPUTATION_NS: u64 = 500_000_000;

/// Operations under way at once, at most.
const MOST_REQUESTS: u32 = 1 << 16;

/// The processing units that this host has, whether or not the job may use them: to ask for more of them on purpose is no mistake.
pub(super) fn processing_units() -> u32 {
    // SAFETY: `sysconf` has no preconditions.
    let units = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(units).unwrap_or(1).max(1)
}

/// The item's measurement, if it is possible on `p_ranks` ranks. Plan and job decide it, so that ranks of like hosts
/// agree.
pub(super) fn accept(item: &Item, p_ranks: usize, processing_units: u32) -> Result<Overlap, Reason> {
    let Implementation::Overlap(overlap) = &item.implementation else {
        return Err(NoOverlap::BothKinds.into());
    };
    let Overlap {
        benchmark,
        computation_ns,
        threads,
        requests,
        ..
    } = *overlap;
    if clock::SIMULATED {
        return Err(NoOverlap::Simulated.into());
    }
    if p_ranks < 2 {
        return Err(NoOverlap::FewRanks {
            benchmark: benchmark.name(),
            ranks: p_ranks,
        }
        .into());
    }
    if let Some((variable, _)) = item.settings.first() {
        return Err(NoOverlap::Setting(variable.clone()).into());
    }
    if c_int::try_from(item.bytes).is_err() {
        return Err(Reason::Count { bytes: item.bytes });
    }
    if computation_ns > MOST_COMPUTATION_NS {
        return Err(NoOverlap::LongComputation {
            ns: computation_ns,
            most_ns: MOST_COMPUTATION_NS,
        }
        .into());
    }
    let most_threads = if benchmark == Benchmark::ThreadLoad {
        processing_units
    } else {
        1
    };
    if !(1..=most_threads).contains(&threads) {
        return Err(NoOverlap::Threads {
            benchmark: benchmark.name(),
            threads,
            most: most_threads,
        }
        .into());
    }
    let most_requests = match benchmark {
        Benchmark::ManyRequests | Benchmark::ManyPeers => MOST_REQUESTS,
        _ => 1,
    };
    if !(1..=most_requests).contains(&requests) {
        return Err(NoOverlap::Requests {
            benchmark: benchmark.name(),
            requests,
            most: most_requests,
        }
        .into());
    }
    Ok(*overlap)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_protocol::overlap::{Model, Part};

    use super::*;

    fn item(benchmark: Benchmark, change: impl FnOnce(&mut Overlap)) -> Item {
        let mut overlap = Overlap {
            benchmark,
            part: Part::Overlapped,
            computation_ns: 100_000,
            model: Model::FixedWork,
            threads: 1,
            requests: 1,
        };
        change(&mut overlap);
        Item {
            id: "i".to_owned(),
            task: Collective::Bcast.into(),
            bytes: 4096,
            implementation: Implementation::Overlap(overlap),
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        }
    }

    #[test]
    fn what_can_be_measured_is_accepted_and_the_rest_says_why() {
        let plain = |benchmark| item(benchmark, |_| {});
        for benchmark in Benchmark::ALL {
            assert!(accept(&plain(benchmark), 2, 4).is_ok(), "{benchmark:?}");
            let alone = accept(&plain(benchmark), 1, 4).unwrap_err().to_string();
            assert!(alone.contains("needs 2 ranks or more, and this job has 1"), "{alone}");
        }
        let requests = item(Benchmark::ManyRequests, |overlap| overlap.requests = 64);
        let threads = item(Benchmark::ThreadLoad, |overlap| overlap.threads = 4);
        assert!(accept(&requests, 2, 4).is_ok() && accept(&threads, 2, 4).is_ok());
        let mut set = plain(Benchmark::Sender);
        set.settings
            .push(("btl_vader_eager_limit".to_owned(), "65536".to_owned()));
        let mut long = plain(Benchmark::Sender);
        long.bytes = 1 << 31;
        let mut other = plain(Benchmark::Sender);
        other.implementation = Implementation::Expression {
            text: "bcast(n)".to_owned(),
        };
        for (item, reason) in [
            (
                threads.clone(),
                "`thread-load` with 4 threads that compute: 1 to 2 can be measured",
            ),
            (
                item(Benchmark::Sender, |overlap| overlap.threads = 2),
                "1 to 1 can be measured",
            ),
            (
                item(Benchmark::ThreadLoad, |overlap| overlap.threads = 0),
                "1 to 2 can be measured",
            ),
            (
                item(Benchmark::Ibcast, |overlap| overlap.requests = 2),
                "1 to 1 can be measured",
            ),
            (
                item(Benchmark::ManyPeers, |overlap| overlap.requests = 0),
                "1 to 65536 can be measured",
            ),
            (
                item(Benchmark::Sender, |overlap| overlap.computation_ns = 1 << 40),
                "longer than 500000000 ns",
            ),
            (set, "`btl_vader_eager_limit` cannot be set"),
            (long, "2147483648 bytes are more than an MPI count holds"),
            (other, "items of both kinds"),
        ] {
            let error = accept(&item, 2, 2).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
