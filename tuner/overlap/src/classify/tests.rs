//! The paper's shapes are named as the paper names them, with noise and without.

use kilter_fixtures::survey as fixture;

use super::*;

fn first(benchmark: Benchmark, ratio: impl Fn(u64, u64) -> f64, noise: f64) -> Finding {
    let mut map = fixture::map(benchmark, ratio);
    if noise > 0.0 {
        map = fixture::with_noise(map, noise, 11);
    }
    classify(&fixture::survey(vec![map])).maps[0].findings[0].clone()
}

#[test]
fn each_shape_has_its_class_and_bounds() {
    for noise in [0.0, 0.3] {
        let of = |ratio: fn(u64, u64) -> f64| first(Benchmark::Receiver, ratio, noise);
        assert_eq!(of(fixture::threaded).class, Class::Overlaps);
        assert_eq!(of(fixture::serial).class, Class::NoOverlap);
        let threshold = of(fixture::rendezvous);
        assert_eq!(
            (threshold.class, threshold.between_bytes),
            (Class::RendezvousThreshold, Some([16 << 10, 32 << 10]))
        );
        assert!(
            threshold.sentence.contains("up to 16 KiB and not from 32 KiB on"),
            "{}",
            threshold.sentence
        );
        let tcp = of(fixture::tcp);
        assert_eq!(
            (tcp.class, tcp.between_bytes, tcp.between_computation_ns),
            (
                Class::ThresholdAndShortComputation,
                Some([32 << 10, 64 << 10]),
                Some([64_000, 128_000])
            )
        );
        let short = of(|_, ns| if ns <= 32_000 { 0.1 } else { 1.0 });
        assert_eq!(
            (short.class, short.between_computation_ns),
            (Class::ShortComputation, Some([32_000, 64_000]))
        );
        let corner = of(fixture::pipelined);
        assert_eq!(
            (corner.class, corner.between_bytes, corner.between_computation_ns),
            (
                Class::PipelinedCopy,
                Some([128 << 10, 256 << 10]),
                Some([64_000, 128_000])
            )
        );
        let large = of(|bytes, _| if bytes > 4096 { 0.05 } else { 1.0 });
        assert_eq!(
            (large.class, large.between_bytes),
            (Class::LargeOnly, Some([4096, 8192]))
        );
        assert_eq!(of(|_, _| 0.5).class, Class::OverlapsInPart);
    }
}

#[test]
fn noise_invents_no_threshold() {
    // A ratio that is anything from 0 to 1 in every cell, on grids of several sizes.
    let mut invented = 0;
    for step in [1, 2, 4] {
        for seed in 0..40 {
            let map = fixture::with_noise(fixture::map_of_steps(Benchmark::Receiver, step, |_, _| 0.5), 0.9, seed);
            let class = of_map(&map).findings[0].class;
            invented += usize::from(class != Class::Mixed && class != Class::OverlapsInPart);
        }
    }
    assert!(invented <= 6, "{invented} of 120");
    // A serial library in whose map one cell of twelve is good by accident.
    for seed in 0..20_u64 {
        let hash = |bytes: u64, ns: u64| (bytes.wrapping_mul(31) ^ ns ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let ratio = |bytes: u64, ns: u64| if hash(bytes, ns) % 12 == 0 { 0.1 } else { 1.0 };
        assert_eq!(first(Benchmark::Receiver, ratio, 0.0).class, Class::NoOverlap);
    }
}

#[test]
fn masked_cells_say_nothing() {
    let mut map = fixture::map(Benchmark::Sender, fixture::rendezvous);
    for cell in map.cells.iter_mut().filter(|cell| cell.bytes <= 16 << 10) {
        cell.noise_seconds = 1.0;
    }
    let classes = of_map(&map);
    assert_eq!(classes.findings[0].class, Class::NoOverlap, "what was good is masked");
    for cell in &mut map.cells {
        cell.noise_seconds = 1.0;
    }
    let nothing = &of_map(&map).findings[0];
    assert_eq!(
        (nothing.class, nothing.evidence.as_str()),
        (Class::TooLittle, "0 of 300 cells above the noise")
    );
}

#[test]
fn slower_zones_are_bounded_and_need_more_than_noise() {
    let slow = |bytes: u64, ns: u64| if bytes >= 1 << 20 && ns >= 256_000 { 1.8 } else { 1.0 };
    let map = fixture::map(Benchmark::BothSides, slow);
    let findings = of_map(&map).findings;
    assert_eq!(findings.len(), 2);
    assert_eq!(
        findings[1].sentence,
        "Slower than communication and computation one after the other at 1 MiB to 4 MiB with 256 us to 16.4 ms of computation."
    );
    let mut uncertain = map.clone();
    for cell in &mut uncertain.cells {
        cell.overlapped_interval_seconds[0] = 0.0;
    }
    assert_eq!(
        of_map(&uncertain).findings.len(),
        1,
        "intervals that reach below serial prove nothing"
    );
    let mut inferred = map;
    for cell in inferred.cells.iter_mut().filter(|cell| cell.bytes >= 1 << 20) {
        cell.inferred = true;
    }
    assert_eq!(
        of_map(&inferred).findings.len(),
        1,
        "nothing is proved by what was not measured"
    );
}

#[test]
fn threads_are_harmless_disturbing_or_scheduled() {
    let class = |slowdown: fn(u64, u32) -> f64| of_map(&fixture::thread_load(slowdown)).findings[0].clone();
    assert_eq!(class(|_, _| 1.05).class, Class::ThreadsHarmless);
    let disturbing = class(|_, threads| if threads >= 2 { 2.0 } else { 1.0 });
    assert_eq!(disturbing.class, Class::ThreadsDisturb);
    assert!(
        disturbing.sentence.contains("With 2 computing threads"),
        "{}",
        disturbing.sentence
    );
    let penalty = class(|bytes, threads| {
        if threads >= 4 {
            1.0 + 4e-3 / fixture::communication(bytes)
        } else {
            1.1
        }
    });
    assert_eq!(penalty.class, Class::SchedulerPenalty);
    assert!(
        penalty.sentence.starts_with("With 4 computing threads or more"),
        "{}",
        penalty.sentence
    );
}

#[test]
fn a_library_is_named_by_its_sides() {
    let of = |shapes: [fn(u64, u64) -> f64; 3]| {
        let sides = [Benchmark::Sender, Benchmark::Receiver, Benchmark::BothSides];
        let maps = sides.iter().zip(shapes).map(|(side, shape)| fixture::map(*side, shape));
        classify(&fixture::survey(maps.collect())).library
    };
    use fixture::{rendezvous, serial, tcp, threaded};
    assert_eq!(of([threaded, threaded, threaded]).class, Class::Overlaps);
    assert_eq!(of([threaded, serial, serial]).class, Class::SenderOnly);
    assert_eq!(of([serial, threaded, serial]).class, Class::ReceiverOnly);
    assert_eq!(of([threaded, threaded, serial]).class, Class::OneSideAtATime);
    assert_eq!(of([serial, serial, serial]).class, Class::NoOverlap);
    assert_eq!(of([tcp, tcp, serial]).class, Class::RendezvousThreshold);
    let half = of([threaded, rendezvous, serial]);
    assert_eq!(half.class, Class::SenderOnly);
    assert!(half.sentence.contains("up to about 16 KiB only"), "{}", half.sentence);
    assert_eq!(
        half.evidence,
        "sender: overlaps, receiver: rendezvous-threshold, both-sides: no-overlap"
    );
    assert_eq!(classify(&fixture::survey(Vec::new())).library.class, Class::TooLittle);
}

#[test]
fn sentences_of_the_processor_s_time_speak_of_the_processor() {
    let eager = |bytes: u64, _: u64| if bytes > 4096 { 0.05 } else { 1.0 };
    let finding = first(Benchmark::CpuOverhead, eager, 0.1);
    assert_eq!(finding.class, Class::LargeOnly);
    assert!(
        finding.sentence.contains("sender's processor (eager copies)"),
        "{}",
        finding.sentence
    );
}

#[test]
fn the_text_has_a_line_for_the_library_and_one_for_each_finding() {
    let classification = classify(&fixture::without_threads());
    let text = text(&classification);
    let findings: usize = classification.maps.iter().map(|map| map.findings.len()).sum();
    assert_eq!(text.lines().count(), 1 + findings);
    insta::assert_snapshot!(text);
}
