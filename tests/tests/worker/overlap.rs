//! Overlap: every benchmark is measured, in the sequence that it is said to have, and its data is looked at.

use kilter_algorithms::Collective;
use kilter_protocol::overlap::{Benchmark, Model, Overlap, Part};
use kilter_protocol::plan::{Block, Implementation, Item, Repetitions, Wait};
use kilter_protocol::report::Event;

use crate::worker::job::{Finished, Job, item};

/// Duration of the computation in these tests, in nanoseconds.
const COMPUTATION_NS: u64 = 200_000;

const PARTS: [(&str, Part); 4] = [
    ("latency", Part::Latency),
    ("communication", Part::Communication),
    ("computation", Part::Computation),
    ("overlapped", Part::Overlapped),
];

fn overlap_item(id: &str, bytes: u64, overlap: Overlap) -> Item {
    Item {
        // The benchmark says what is done.
        implementation: Implementation::Overlap(overlap),
        ..item(id, Collective::Bcast, bytes, "bcast(n)")
    }
}

fn overlap(benchmark: Benchmark, part: Part, model: Model) -> Overlap {
    Overlap {
        benchmark,
        part,
        computation_ns: COMPUTATION_NS,
        model,
        threads: 1,
        requests: if benchmark == Benchmark::ManyRequests { 4 } else { 1 },
    }
}

/// A block of some of a benchmark's parts.
fn block(id: &str, benchmark: Benchmark, bytes: u64, model: Model, parts: &[(&str, Part)]) -> Block {
    let items = parts
        .iter()
        .map(|(id, part)| overlap_item(id, bytes, overlap(benchmark, *part, model)))
        .collect();
    Block {
        id: id.to_owned(),
        seed: 3,
        items,
        repetitions: Repetitions::fixed(3, 60.0),
    }
}

fn every_part_of_every_benchmark_is_measured_on_four_ranks() {
    let mut blocks = Vec::new();
    for benchmark in Benchmark::ALL {
        // Every rank's block, where there are some, has a byte of its own.
        for bytes in [0, 4, 100_000] {
            let id = format!("{}@{bytes}", benchmark.name());
            blocks.push(block(&id, benchmark, bytes, Model::FixedWork, &PARTS));
        }
    }
    blocks.push(block("spin", Benchmark::BothSides, 4, Model::ClockSpin, &PARTS));
    let mut mixed = block("mixed", Benchmark::Sender, 4, Model::FixedWork, &PARTS[..1]);
    mixed.items.push(item("other", Collective::Bcast, 4, "bcast(n)"));
    let mut odd = block("odd", Benchmark::NonContiguous, 33, Model::FixedWork, &PARTS[3..]);
    odd.items.push(overlap_item(
        "divided",
        33,
        overlap(Benchmark::Ialltoall, Part::Overlapped, Model::FixedWork),
    ));
    blocks.extend([mixed, odd]);
    let finished = Job::new(4).run_well(&blocks);

    for block in &blocks[..blocks.len() - 2] {
        for (part, _) in PARTS {
            let times = finished.samples(&block.id, part);
            assert!(
                times.len() == 3 && times.iter().all(|seconds| *seconds > 0.0),
                "{}: {part}: {times:?}",
                block.id
            );
        }
        // A core may be slower while others work than it was alone, and faster than it was when it was calibrated; not by half.
        let computation = finished.samples(&block.id, "computation");
        let least = COMPUTATION_NS as f64 / 2e9;
        assert!(
            computation.iter().all(|seconds| *seconds >= least),
            "{}: {computation:?}",
            block.id
        );
    }
    for part in ["computation", "overlapped"] {
        let times = finished.samples("spin", part);
        let asked = COMPUTATION_NS as f64 / 1e9;
        assert!(times.iter().all(|seconds| *seconds >= asked), "{part}: {times:?}");
    }
    assert_eq!(finished.failures().len(), 3, "{:?}", finished.failures());
    assert!(
        finished.failure("other").contains("items of both kinds"),
        "{}",
        finished.failure("other")
    );
    assert!(finished.failure("overlapped").contains("measure 32 or 64"));
    assert!(
        finished
            .failure("divided")
            .contains("33 bytes cannot be divided into 4 blocks")
    );
    let ends = finished
        .events
        .iter()
        .filter(|event| matches!(event, Event::BlockEnd { .. }));
    assert_eq!(ends.count(), blocks.len());
}

/// Runs it on two ranks with what writes down or spoils the calls; gives the letters of both.
fn run_traced(wait: Wait, fault: &[&str], blocks: &[Block]) -> (Finished, [String; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let (library, trace) = (folder.path().join("overlap.so"), folder.path().join("trace"));
    let source = kilter_tests::root().join("tests/tests/worker/overlap.c");
    let [library, source] = [library, source].map(|path| path.display().to_string());
    kilter_tests::mpicc(&["-shared", "-fPIC", "-O1", "-o", &library, &source]);
    let set = [
        format!("LD_PRELOAD={library}"),
        format!("KILTER_TEST_TRACE={}", trace.display()),
    ];
    let set = set.iter().map(String::as_str).chain(fault.iter().copied());
    let options: Vec<&str> = set.flat_map(|variable| ["-x", variable]).collect();
    let mut job = Job::new(2);
    job.header.wait = Some(wait);
    let finished = job.option(&options).run_well(blocks);
    let traces = [0, 1].map(|rank| std::fs::read_to_string(format!("{}.{rank}", trace.display())).unwrap());
    (finished, traces)
}

/// MPI calls of ranks 0 and 1 in one round of these parts. Each call is a letter; a small letter stands for a message of zero bytes.
const SEQUENCES: [(Benchmark, Part, &str, &str); 16] = [
    (Benchmark::Sender, Part::Latency, "sr", "rs"),
    (Benchmark::Sender, Part::Overlapped, "IWr", "Rs"),
    (Benchmark::Receiver, Part::Overlapped, "sJW", "rS"),
    (Benchmark::BothSides, Part::Overlapped, "IWJW", "JWIW"),
    (Benchmark::NonContiguous, Part::Communication, "IWr", "Rs"),
    (Benchmark::CpuOverhead, Part::Communication, "S", "R"),
    (Benchmark::CpuOverhead, Part::Overlapped, "IW", "R"),
    (Benchmark::ThreadLoad, Part::Communication, "SR", "RS"),
    (Benchmark::ThreadLoad, Part::Overlapped, "SR", "RS"),
    (Benchmark::ManyRequests, Part::Overlapped, "IIIIAr", "JJJJAs"),
    (Benchmark::ManyPeers, Part::Overlapped, "IAr", "JAs"),
    (Benchmark::Ibcast, Part::Overlapped, "BW", "BW"),
    (Benchmark::Iallreduce, Part::Overlapped, "DW", "DW"),
    (Benchmark::Iallgather, Part::Overlapped, "GW", "GW"),
    (Benchmark::Ialltoall, Part::Overlapped, "LW", "LW"),
    (Benchmark::Sender, Part::Computation, "", ""),
];

fn each_benchmark_has_its_sequence_and_makes_no_call_while_it_computes() {
    let blocks: Vec<Block> = SEQUENCES
        .iter()
        .map(|(benchmark, part, ..)| block(benchmark.name(), *benchmark, 4096, Model::FixedWork, &[("i", *part)]))
        .collect();
    let (finished, traces) = run_traced(Wait::Spin, &[], &blocks);
    let mut expected = [String::new(), String::new()];
    let samples = finished.events.iter().filter_map(|event| match event {
        Event::Samples { seconds, void, .. } => Some((seconds.len(), *void as usize)),
        _ => None,
    });
    for ((_, _, first, last), (valid, void)) in SEQUENCES.iter().zip(samples) {
        // Beside other programs fewer rounds are valid, and none at worst: what a round does is the same.
        assert!(
            valid <= 3 && valid + void >= 3,
            "{valid} rounds were valid and {void} void"
        );
        // One to check, two to warm up, and all of these.
        let rounds = 1 + 2 + void + valid;
        expected[0] += &first.repeat(rounds);
        expected[1] += &last.repeat(rounds);
    }
    assert_eq!(traces, expected);
}

fn wrong_data_is_found_in_every_benchmark_where_the_last_rank_gets_any() {
    let parts = &PARTS[3..];
    let mut blocks: Vec<Block> = Benchmark::ALL
        .into_iter()
        .filter(|benchmark| *benchmark != Benchmark::Receiver)
        .map(|benchmark| block(benchmark.name(), benchmark, 4096, Model::FixedWork, parts))
        .collect();
    // Right in the round that is looked at first, and wrong in those that are measured.
    blocks.push(block("later", Benchmark::Sender, 4097, Model::FixedWork, parts));
    let (finished, _) = run_traced(Wait::Sleep, &["KILTER_TEST_FAULT=1"], &blocks);
    let failures = finished.failures();
    assert_eq!(failures.len(), blocks.len(), "{failures:?}");
    for (block, _, reason) in failures {
        assert!(reason.starts_with("wrong data: rank 1 byte "), "{block}: {reason}");
    }
}

kilter_tests::cases![
    every_part_of_every_benchmark_is_measured_on_four_ranks,
    each_benchmark_has_its_sequence_and_makes_no_call_while_it_computes,
    wrong_data_is_found_in_every_benchmark_where_the_last_rank_gets_any,
];
