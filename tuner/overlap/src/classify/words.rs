//! Sentences of the classes.

use kilter_protocol::overlap::Benchmark;
use kilter_render::format;

use super::Class;

/// A time given in nanoseconds.
pub(super) fn time(nanoseconds: u64) -> String {
    format::seconds(nanoseconds as f64 * 1e-9)
}

/// Meaning of a class of region for a benchmark.
pub(super) fn sentence(
    class: Class,
    benchmark: Benchmark,
    bytes: Option<[u64; 2]>,
    computation_ns: Option<[u64; 2]>,
) -> String {
    let [small, large] = bytes.unwrap_or_default().map(format::bytes);
    let [short, long] = computation_ns.unwrap_or_default().map(time);
    let of_processor = benchmark == Benchmark::CpuOverhead;
    match class {
        Class::Overlaps if of_processor => {
            "The sender's processor is free while messages leave: its computation is not delayed.".to_owned()
        }
        Class::Overlaps => "Overlaps at all sizes and times: threaded, or offloaded to the network card.".to_owned(),
        Class::OverlapsInPart => "Overlaps in part, at all sizes and times alike.".to_owned(),
        Class::NoOverlap if of_processor => {
            "A non-blocking send takes as much of the sender's processor as a blocking one.".to_owned()
        }
        Class::NoOverlap => {
            "Does not overlap: communication progresses only within calls of the library, after or before computation."
                .to_owned()
        }
        Class::RendezvousThreshold if of_processor => {
            format!("The sender's processor is free up to {small}, and taken from {large} on.")
        }
        Class::RendezvousThreshold => format!(
            "Overlaps up to {small} and not from {large} on: a rendezvous threshold between them, above which an answer waits for a call of the library."
        ),
        Class::LargeOnly if of_processor => format!(
            "Up to {small} the call that begins a message takes the sender's processor (eager copies); from {large} on it is free."
        ),
        Class::LargeOnly => format!(
            "Overlaps from {large} on and not up to {small}: what is smaller is copied by the call that begins it."
        ),
        Class::ShortComputation => format!(
            "Overlaps where computation takes up to {short}, not from {long} on: it is over before the other side's answer has come, as on TCP, where this is the round trip."
        ),
        Class::ThresholdAndShortComputation => format!(
            "Overlaps up to {small} (eager) and not from {large} on, but where computation takes up to {short}: that is over before the other side's answer has come, as on TCP."
        ),
        Class::PipelinedCopy => format!(
            "Overlaps only from {large} on with computation of up to {short}: a pipelined copy, whose first chunk alone leaves before computation."
        ),
        _ => "Overlaps in some cells and not in others, without a pattern of sizes or times.".to_owned(),
    }
}
