//! Scripted surveys in the shapes of the paper's figures 2 to 4.

use kilter_protocol::overlap::{Benchmark, Model};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::model::{Cell, Failed, Map, Survey};

impl Cell {
    /// What perfect overlap takes.
    pub(crate) fn ideal_seconds(&self) -> f64 {
        self.communication_seconds.max(self.computation_seconds)
    }

    /// What is added to that without any: the time by which ratios are scripted.
    pub(crate) fn serialised_overhead_seconds(&self) -> f64 {
        self.communication_seconds.min(self.computation_seconds)
    }
}

/// What times vary by in scripted cells.
pub(crate) const NOISE_SECONDS: f64 = 1.5e-7;

/// Communication of so many bytes takes so long, in seconds.
pub(crate) fn communication(bytes: u64) -> f64 {
    3e-6 + bytes as f64 * 2e-10
}

/// A cell with this ratio.
pub(crate) fn cell(bytes: u64, computation_ns: u64, threads: u32, communication_seconds: f64, ratio: f64) -> Cell {
    let mut cell = Cell {
        bytes,
        computation_ns,
        threads,
        communication_seconds,
        computation_seconds: computation_ns as f64 * 1e-9,
        overlapped_seconds: 0.0,
        overlapped_interval_seconds: [0.0; 2],
        noise_seconds: NOISE_SECONDS,
        repetitions: 50,
        disturbed: 0,
        inferred: false,
    };
    cell.overlapped_seconds = cell.ideal_seconds() + ratio * cell.serialised_overhead_seconds();
    cell.overlapped_interval_seconds = [-NOISE_SECONDS, NOISE_SECONDS].map(|offset| cell.overlapped_seconds + offset);
    cell
}

/// 8 B to 4 MiB against 1 us to 16 ms, powers of two: the ratio of a size and a computation time in nanoseconds.
pub(crate) fn map(benchmark: Benchmark, ratio: impl Fn(u64, u64) -> f64) -> Map {
    map_of_steps(benchmark, 1, ratio)
}

/// As [`map`], with every `step`-th power in either direction.
pub(crate) fn map_of_steps(benchmark: Benchmark, step: usize, ratio: impl Fn(u64, u64) -> f64) -> Map {
    let powers = |first: u32, last: u32| (first..=last).step_by(step).map(|power| 1_u64 << power);
    let cells = powers(3, 22)
        .flat_map(|bytes| powers(0, 14).map(move |us| (bytes, us * 1000)))
        .map(|(bytes, ns)| cell(bytes, ns, 1, communication(bytes), ratio(bytes, ns)))
        .collect();
    Map {
        benchmark,
        cells,
        failed: Vec::new(),
    }
}

/// Blocking round trips while 0 to 8 threads compute: how much longer they take than alone.
pub(crate) fn thread_load(slowdown: impl Fn(u64, u32) -> f64) -> Map {
    let cells = (3..=22)
        .step_by(2)
        .flat_map(|power| (0..=8).map(move |threads| (1_u64 << power, threads)))
        .map(|(bytes, threads)| {
            let alone = communication(bytes);
            let mut cell = cell(bytes, 1_000_000, threads, alone, 0.0);
            cell.overlapped_seconds = alone * slowdown(bytes, threads);
            cell.overlapped_interval_seconds = [0.99, 1.01].map(|factor| factor * cell.overlapped_seconds);
            cell
        })
        .collect();
    Map {
        benchmark: Benchmark::ThreadLoad,
        cells,
        failed: Vec::new(),
    }
}

/// Adds noise of this standard size, uniform, to the ratios of a map.
pub(crate) fn with_noise(mut map: Map, amplitude: f64, seed: u64) -> Map {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for cell in &mut map.cells {
        let offset = random.random_range(-amplitude..amplitude) * cell.serialised_overhead_seconds();
        cell.overlapped_seconds += offset;
        cell.overlapped_interval_seconds = cell.overlapped_interval_seconds.map(|seconds| seconds + offset);
    }
    map
}

/// Everywhere.
pub(crate) fn threaded(_: u64, _: u64) -> f64 {
    0.04
}

/// Nowhere.
pub(crate) fn serial(_: u64, _: u64) -> f64 {
    0.99
}

/// Up to 16 KiB.
pub(crate) fn rendezvous(bytes: u64, _: u64) -> f64 {
    if bytes <= 16 << 10 { 0.08 } else { 0.97 }
}

/// Up to 32 KiB, and beside computation of up to 64 us.
pub(crate) fn tcp(bytes: u64, computation_ns: u64) -> f64 {
    if bytes <= 32 << 10 || computation_ns <= 64_000 {
        0.07
    } else {
        0.95
    }
}

/// From 256 KiB on beside computation of up to 64 us.
pub(crate) fn pipelined(bytes: u64, computation_ns: u64) -> f64 {
    if bytes >= 256 << 10 && computation_ns <= 64_000 {
        0.15
    } else {
        1.02
    }
}

/// Two ranks of one host.
pub(crate) fn survey(maps: Vec<Map>) -> Survey {
    Survey {
        schema: 1,
        library: "Open MPI v4.1.4".to_owned(),
        ranks: 2,
        hosts: vec!["node-1".to_owned(); 2],
        processing_units: 2,
        processing_units_by: "hwloc 2.8".to_owned(),
        transport: "vader, cma".to_owned(),
        computation: Model::FixedWork,
        command: "kilter overlap -n 2".to_owned(),
        maps,
    }
}

/// The six maps of the paper for a library without threads, with what can go wrong: masked, inferred, slow and failed cells.
pub(crate) fn without_threads() -> Survey {
    let mut sender = with_noise(map(Benchmark::Sender, threaded), 0.05, 1);
    for cell in &mut sender.cells {
        let power = cell.bytes.ilog2();
        cell.inferred = power % 3 != 0 && (cell.computation_ns / 1000).ilog2() % 3 != 0;
        cell.noise_seconds = 1e-6;
    }
    let mut receiver = with_noise(map(Benchmark::Receiver, rendezvous), 0.1, 2);
    receiver
        .cells
        .retain(|cell| (cell.bytes, cell.computation_ns) != (1 << 22, 16_384_000));
    receiver.failed.push(Failed {
        bytes: 1 << 22,
        computation_ns: 16_384_000,
        threads: 1,
        reason: "no answer within 30 s".to_owned(),
    });
    let slow = |bytes: u64, ns: u64| {
        if bytes >= 1 << 20 && ns >= 256_000 {
            1.7
        } else {
            serial(bytes, ns)
        }
    };
    survey(vec![
        sender,
        receiver,
        with_noise(map(Benchmark::BothSides, slow), 0.1, 3),
        with_noise(map(Benchmark::NonContiguous, pipelined), 0.1, 4),
        with_noise(
            map(Benchmark::CpuOverhead, |bytes, _| {
                1.0 - threaded(bytes, 0) - if bytes > 4096 { 0.9 } else { 0.0 }
            }),
            0.05,
            5,
        ),
        thread_load(|bytes, threads| match threads {
            0 => 1.0,
            1..4 => 1.2,
            _ => 1.0 + 4e-3 / communication(bytes),
        }),
    ])
}
