//! The gains of calls in one line.

use kilter_model::report::{CallGain, GainVerdict, Report};
use kilter_render::format;

use crate::words::{call_at, factor};

/// Slower calls that are named.
const MOST_NAMED: usize = 3;

/// `38 of 49 calls became faster: 1.9 times in the geometric mean of all, up to 3.8 (MPI_Reduce of 4 KiB); none became slower`; `None` where no
/// call was compared.
pub(super) fn line(report: &Report) -> Option<String> {
    let gain = report.gain.as_ref()?;
    let calls = format::count(gain.calls, "call");
    let best = call_at(&gain.best.function, gain.best.bytes);
    let faster = match (gain.faster, gain.calls) {
        (0, _) => format!("None of {calls} became faster"),
        (_, 1) => format!(
            "1 of {calls} became faster: {} times ({best})",
            factor(gain.best.factor)
        ),
        (n, _) => format!(
            "{n} of {calls} became faster: {} times in the geometric mean of all, up to {} ({best})",
            factor(gain.geometric_mean),
            factor(gain.best.factor),
        ),
    };
    Some(format!("{faster}; {}", slower(gain.slower, &report.gains)))
}

/// Says which calls became slower, the slowest first.
fn slower(number: usize, gains: &[CallGain]) -> String {
    if number == 0 {
        return "none became slower".to_owned();
    }
    let mut slower: Vec<&CallGain> = gains
        .iter()
        .filter(|call| call.verdict == GainVerdict::Slower)
        .collect();
    slower.sort_by(|a, b| a.factor.total_cmp(&b.factor));
    let named = slower.iter().take(MOST_NAMED).map(|call| {
        let place = call_at(&call.function, call.bytes);
        format!("{place} (takes {} times as long)", factor(1.0 / call.factor))
    });
    let mut names: Vec<String> = named.collect();
    if slower.len() > MOST_NAMED {
        names.push(format!("{} more", slower.len() - MOST_NAMED));
    }
    if names.is_empty() {
        return format!("{number} became slower");
    }
    format!("{number} became slower: {}", names.join(", "))
}
