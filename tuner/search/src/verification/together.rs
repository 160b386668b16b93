//! Sizes of a function that are compared with each other share a block, so that their calls are interleaved as those of a guideline's two sides are.
//!
//! What slows a rank for some milliseconds then slows both sizes. On two ranks of one host the ratios of calls of half a microsecond vary by 0.037 from
//! launch to launch within a block and by 0.064 across blocks (medians of 147 and 105 pairs, ten launches of a thousand repetitions).

use kilter_model::plan::{Plan, Subject};
use kilter_stats::sample::Sample;

use super::launches::Timed;

/// Ratio of times up to which two sizes share a block. What differs more is told apart anyway, and a call that moves much would empty the caches of a
/// short one.
const MOST_RATIO: f64 = 2.0;

/// Ids of the blocks that are to be one, group by group: of each function whose sizes are compared, neighbours among those that are `measured`, as far as
/// their times in `timed` are alike.
pub(super) fn groups(plan: &Plan, measured: impl Fn(&Subject) -> bool, timed: &Timed) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for (_, collective) in &plan.monotony_functions {
        let mut group: Vec<String> = Vec::new();
        let mut last_seconds = f64::NAN;
        for bytes in plan.volumes_of(*collective) {
            let subject = Subject::library(*collective, bytes);
            let median = |medians| Sample::new(medians).ok().map(|sample| sample.median());
            let Some(seconds) = timed.of(&subject).filter(|_| measured(&subject)).and_then(median) else {
                continue;
            };
            let ratio = seconds / last_seconds;
            if !(ratio <= MOST_RATIO && ratio >= 1.0 / MOST_RATIO) {
                groups.push(std::mem::take(&mut group));
            }
            group.push(subject.block_id());
            last_seconds = seconds;
        }
        groups.push(group);
    }
    groups.retain(|group| group.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kilter_algorithms::Collective;

    use super::*;

    #[test]
    fn neighbours_whose_times_are_alike_share_a_block() {
        let times = [(1, 1.0), (2, 1.1), (8, 0.9), (64, 2.5), (512, 2.6), (1024, 9.0)];
        let plan = Plan {
            monotony_functions: vec![("GL1".to_owned(), Collective::Bcast)],
            volumes: BTreeMap::from([(Collective::Bcast, times.iter().map(|(bytes, _)| *bytes).collect())]),
            ..Plan::default()
        };
        let mut timed = Timed::default();
        for (bytes, seconds) in times {
            timed.insert(Subject::library(Collective::Bcast, bytes), 0, seconds);
        }
        let all = groups(&plan, |_| true, &timed);
        assert_eq!(
            all,
            [
                ["bcast@1", "bcast@2", "bcast@8"].to_vec(),
                ["bcast@64", "bcast@512"].to_vec()
            ]
        );
        let without_two = groups(&plan, |one| one.bytes != 2, &timed);
        assert_eq!(without_two[0], ["bcast@1", "bcast@8"]);
        assert!(groups(&plan, |one| one.bytes == 8, &timed).is_empty());
        timed.remove(&Subject::library(Collective::Bcast, 512));
        assert_eq!(groups(&plan, |_| true, &timed).len(), 1);
        assert!(groups(&Plan::default(), |_| true, &timed).is_empty());
    }
}
