//! Question about a cell, in the form in which the worker is asked.

use kilter_algorithms::Collective;
use kilter_protocol::overlap::{Benchmark, Overlap};
use kilter_protocol::plan::{Block, Implementation, Item, Repetitions};
use kilter_protocol::task::{Functionality, Task};

use super::assemble;
use super::grid::Point;
use super::options::Suite;

/// Question about a cell. The worker interleaves the repetitions of its parts.
pub(super) fn question(suite: &Suite, benchmark: Benchmark, point: Point, seed: impl Fn(&str) -> u64) -> Block {
    let Point { bytes, load } = point;
    let id = format!(
        "{}/{bytes}B/{}ns/{}",
        benchmark.name(),
        load.computation_ns,
        load.threads
    );
    let parts = assemble::parts(benchmark);
    let seconds = suite.part_seconds * parts.len() as f64;
    let item = |part| Item {
        id: assemble::item_id(part).to_owned(),
        task: task(benchmark),
        bytes,
        implementation: Implementation::Overlap(Overlap {
            benchmark,
            part,
            computation_ns: load.computation_ns,
            model: suite.model,
            threads: load.threads,
            requests: match benchmark {
                Benchmark::ManyRequests => suite.requests,
                _ => 1,
            },
        }),
        settings: Vec::new(),
        arrival: None,
        deployed: Vec::new(),
    };
    Block {
        seed: seed(&id),
        items: parts.into_iter().map(item).collect(),
        repetitions: Repetitions::fixed(suite.repetitions, seconds),
        id,
    }
}

/// The communication that happens beside computation.
fn task(benchmark: Benchmark) -> Task {
    match benchmark {
        Benchmark::Ibcast => Collective::Bcast.into(),
        Benchmark::Iallreduce => Collective::Allreduce.into(),
        Benchmark::Iallgather => Collective::Allgather.into(),
        Benchmark::Ialltoall => Collective::Alltoall.into(),
        _ => Task::plain(Functionality::Transfer),
    }
}

#[cfg(test)]
mod tests {
    use kilter_protocol::overlap::{Model, Part};

    use super::*;
    use crate::grid::Load;

    fn suite() -> Suite {
        Suite {
            benchmarks: Benchmark::ALL.to_vec(),
            sizes: vec![8, 64],
            computations_ns: vec![1000],
            threads: Some(2),
            model: Model::ClockSpin,
            requests: 7,
            repetitions: 50,
            part_seconds: 0.5,
            full: true,
        }
    }

    fn asked(benchmark: Benchmark) -> Block {
        let load = Load {
            threads: 2,
            computation_ns: 1000,
        };
        question(&suite(), benchmark, Point { bytes: 64, load }, |id| id.len() as u64)
    }

    #[test]
    fn a_cell_is_one_block_with_its_parts() {
        let block = asked(Benchmark::Receiver);
        assert_eq!(block.id, "receiver/64B/1000ns/2");
        let items: Vec<&str> = block.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(items, ["latency", "communication", "computation", "overlapped"]);
        assert_eq!(block.repetitions, Repetitions::fixed(50, 2.0));
        let Implementation::Overlap(overlap) = &block.items[3].implementation else {
            panic!("{block:?}")
        };
        let wanted = Overlap {
            benchmark: Benchmark::Receiver,
            part: Part::Overlapped,
            computation_ns: 1000,
            model: Model::ClockSpin,
            threads: 2,
            requests: 1,
        };
        assert_eq!(*overlap, wanted);
    }

    #[test]
    fn several_requests_where_they_are_what_it_is_about() {
        let requests = |benchmark| match &asked(benchmark).items[0].implementation {
            Implementation::Overlap(overlap) => overlap.requests,
            other => panic!("{other:?}"),
        };
        assert_eq!((requests(Benchmark::ManyRequests), requests(Benchmark::Sender)), (7, 1));
    }

    #[test]
    fn collectives_say_which_one_they_are() {
        let tasks: Vec<String> = Benchmark::ALL
            .iter()
            .map(|benchmark| task(*benchmark).to_string())
            .collect();
        assert_eq!(tasks[..8], ["transfer"; 8]);
        assert_eq!(tasks[8..], ["bcast", "allreduce", "allgather", "alltoall"]);
    }
}
