//! Deployed changes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gain::CallGain;
use crate::fix::FixKind;

/// One deployed change: a setting of whole launches, or what one call runs at the sizes that share it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Change")]
pub struct DeployedChange {
    /// The kind.
    pub kind: FixKind,
    /// Parameter name, or the call with its sizes: `MPI_Reduce at 4 KiB`, `MPI_Reduce, 1 B to 4 KiB`.
    pub name: String,
    /// Value, or implementation id.
    pub value: String,
    /// File in the `emit` directory that carries it.
    pub file: String,
    /// The violated cells that it is deployed for, in words.
    pub why: String,
    /// Default time over deployed time of its calls (geometric mean); above 1 is faster. `null` where the proof measured none of them.
    #[serde(deserialize_with = "kilter_stats::nan::null_as_nan")]
    #[schemars(with = "Option<f64>")]
    pub gain: f64,
    /// The violated cells that it is deployed for, as `GL8 reduce 4096`. Those of a partial fix are violated still.
    pub cells: Vec<String>,
    /// The collective that it was chosen for, such as `reduce`; absent for a setting of whole launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Measured volumes that it was chosen for, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<u64>,
    /// Volumes for which the files carry it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<SizeRange>,
    /// Measured volumes of its collective in these ranges.
    #[serde(default)]
    pub measured_sizes: usize,
    /// Gains of its calls in the proof. For a setting of whole launches: of the calls that it was deployed for, and of those that became
    /// faster with nothing else chosen for them.
    #[serde(default)]
    pub calls: Vec<CallGain>,
}

/// A range of volumes, in bytes, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SizeRange {
    /// Smallest volume.
    pub from: u64,
    /// Largest volume; `null` where it has no end.
    pub to: Option<u64>,
}

impl SizeRange {
    /// A range in which `u64::MAX` stands for no end.
    #[must_use]
    pub fn new((from, to): (u64, u64)) -> SizeRange {
        SizeRange {
            from,
            to: (to != u64::MAX).then_some(to),
        }
    }

    /// True if a volume lies in it.
    #[must_use]
    pub fn contains(&self, bytes: u64) -> bool {
        bytes >= self.from && self.to.is_none_or(|to| bytes <= to)
    }
}

/// Ranges in their order, those that touch or overlap as one.
#[must_use]
pub fn joined(mut ranges: Vec<SizeRange>) -> Vec<SizeRange> {
    ranges.sort_unstable();
    let mut out: Vec<SizeRange> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.to.is_none_or(|to| range.from <= to.saturating_add(1)) => {
                last.to = last.to.zip(range.to).map(|(a, b)| a.max(b));
            }
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        let range = |from, to| SizeRange { from, to };
        let ranges = vec![
            range(91, Some(5792)),
            range(8, Some(90)),
            range(9000, None),
            range(10_000, Some(10_001)),
        ];
        assert_eq!(joined(ranges), [range(8, Some(5792)), range(9000, None)]);
        assert!(range(8, None).contains(u64::MAX) && !range(8, Some(9)).contains(10));
        assert_eq!(SizeRange::new((0, u64::MAX)).to, None);
    }
}
