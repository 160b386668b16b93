//! Finding on a library from all of its maps together.

use kilter_protocol::overlap::Benchmark;
use kilter_render::format;

use super::{Class, Finding, HALF, MapClasses};

/// Extent to which a side overlaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Large messages at least.
    Large,
    /// Small messages, or those beside short computation.
    Small,
    Not,
    /// No map, or one without a finding.
    Unknown,
}

fn reach(maps: &[MapClasses], benchmark: Benchmark) -> Reach {
    let finding = maps
        .iter()
        .find(|map| map.benchmark == benchmark)
        .and_then(|map| map.findings.first());
    if let Some(ratio) = finding.and_then(|finding| finding.largest) {
        return if ratio < HALF { Reach::Large } else { Reach::Small };
    }
    match finding.map(|finding| finding.class) {
        Some(Class::Overlaps | Class::LargeOnly) => Reach::Large,
        Some(
            Class::RendezvousThreshold
            | Class::ShortComputation
            | Class::ThresholdAndShortComputation
            | Class::PipelinedCopy
            | Class::OverlapsInPart,
        ) => Reach::Small,
        Some(Class::NoOverlap) => Reach::Not,
        _ => Reach::Unknown,
    }
}

/// The library's class, from its sender's, receiver's and both sides' maps.
pub(super) fn of(maps: &[MapClasses]) -> Finding {
    let sides = [Benchmark::Sender, Benchmark::Receiver, Benchmark::BothSides];
    let [sender, receiver, both] = sides.map(|side| reach(maps, side));
    let threshold = maps
        .iter()
        .filter(|map| sides.contains(&map.benchmark))
        .find_map(|map| map.findings.first()?.between_bytes);
    let small = threshold.map_or_else(
        || "small messages or short computation".to_owned(),
        |[bytes, _]| format!("messages of up to about {}", format::bytes(bytes)),
    );
    let (class, sentence) = match (sender, receiver, both) {
        (Reach::Large, Reach::Large, Reach::Large) => (
            Class::Overlaps,
            "This library overlaps on both sides at once: it makes progress by itself, from threads or on the network card.".to_owned(),
        ),
        (Reach::Large, Reach::Large, Reach::Unknown) => (
            Class::Overlaps,
            "This library overlaps on either side; both at once were not measured or tell nothing.".to_owned(),
        ),
        (Reach::Large, Reach::Large, _) => (
            Class::OneSideAtATime,
            "This library overlaps on either side while the other one is within the library, not on both at once.".to_owned(),
        ),
        (Reach::Large, Reach::Not, _) => (
            Class::SenderOnly,
            "This library overlaps on the sender's side only: large messages move while the receiver is within the library.".to_owned(),
        ),
        (Reach::Large, Reach::Small, _) => (
            Class::SenderOnly,
            format!("This library overlaps on the sender's side, and on the receiver's side for {small} only."),
        ),
        (Reach::Not, Reach::Large, _) => (
            Class::ReceiverOnly,
            "This library overlaps on the receiver's side only: large messages move while the sender is within the library.".to_owned(),
        ),
        (Reach::Small, Reach::Large, _) => (
            Class::ReceiverOnly,
            format!("This library overlaps on the receiver's side, and on the sender's side for {small} only."),
        ),
        (Reach::Not, Reach::Not, _) => (
            Class::NoOverlap,
            "This library does not overlap: it makes progress only within its calls.".to_owned(),
        ),
        (Reach::Small, Reach::Small | Reach::Not, _) | (Reach::Not, Reach::Small, _) => (
            Class::RendezvousThreshold,
            format!("This library overlaps for {small} only; for all else it makes progress only within its calls."),
        ),
        _ => (
            Class::TooLittle,
            "The sender's and the receiver's maps do not tell this library's class.".to_owned(),
        ),
    };
    let named = maps.iter().filter(|map| sides.contains(&map.benchmark));
    let evidence: Vec<String> = named
        .filter_map(|map| {
            Some(format!(
                "{}: {}",
                map.benchmark.name(),
                map.findings.first()?.class.name()
            ))
        })
        .collect();
    let shares = maps.iter().filter(|map| sides.contains(&map.benchmark));
    let share = shares
        .filter_map(|map| Some(map.findings.first()?.share))
        .fold(f64::INFINITY, f64::min);
    Finding {
        class,
        sentence,
        evidence: evidence.join(", "),
        share: if share.is_finite() { share } else { 0.0 },
        between_bytes: threshold,
        between_computation_ns: None,
        largest: None,
    }
}
