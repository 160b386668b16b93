//! Cost of the clock and of the measuring loop, so that times near it can be told from noise.

use kilter_protocol::plan::Wait;

use crate::common_time::CommonTime;

/// Empty repetitions.
const REPETITIONS: usize = 101;

/// Median time of an empty repetition of this rank alone, from the start to the end, in seconds: leaving the wait and reading the clock add it
/// to every time.
pub(crate) fn loop_overhead_seconds(time: &CommonTime, wait: Wait) -> f64 {
    // Ahead enough to be waiting, little enough not to take long.
    let lead_ns = match wait {
        Wait::Spin => 5_000,
        Wait::Sleep => 50_000,
    };
    let mut spans_ns: Vec<u64> = (0..REPETITIONS)
        .map(|_| {
            let start_ns = time.now_ns() + lead_ns;
            let begun = time.begin(start_ns, 0);
            std::hint::black_box(());
            time.end_ns(begun).saturating_sub(start_ns)
        })
        .collect();
    spans_ns.sort_unstable();
    spans_ns[REPETITIONS / 2] as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_repetition_takes_some_time_and_not_long() {
        for wait in [Wait::Spin, Wait::Sleep] {
            let seconds = loop_overhead_seconds(&CommonTime::of_host(wait), wait);
            assert!(seconds > 0.0 && seconds < 0.1, "{wait:?}: {seconds}");
        }
    }
}
