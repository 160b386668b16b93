//! Sizes of a function that are compared with each other share a block, so that their calls are interleaved as those of a guideline's two sides are.
//!
//! What slows a rank for some milliseconds then slows both sizes. On two ranks of one host the ratios of calls of half a microsecond vary by 0.037 from
//! launch to launch within a block and by 0.064 across blocks (medians of 147 and 105 pairs, ten launches of a thousand repetitions).

use std::collections::BTreeSet;

use kilter_model::plan::{Plan, Subject};
use kilter_stats::sample::Sample;

use super::OF_SPLITS;
use super::launches::Timed;
use super::learnt::parts;

/// Ratio of times up to which two sides share a block. What differs more is told apart anyway, and a call that moves much would empty the caches of a
/// short one.
const MOST_RATIO: f64 = 2.0;

/// Ids of the blocks that are to be one, group by group, among those of the `measured` subjects, as far as their times in `timed` are alike: neighbouring
/// sizes of a function whose sizes are compared, and a size with its parts, if `in_parts` says that these have a block of their own.
pub(super) fn groups(
    plan: &Plan,
    measured: &BTreeSet<Subject>,
    in_parts: impl Fn(&Subject) -> bool,
    timed: &Timed,
) -> Vec<Vec<String>> {
    let seconds = |subject: &Subject| Some(Sample::new(timed.of(subject)?).ok()?.median());
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for (_, collective) in &plan.monotony_functions {
        let sizes = plan.volumes_of(*collective).into_iter();
        let sizes = sizes.map(|bytes| Subject::library(*collective, bytes));
        let known: Vec<(String, f64)> = sizes
            .filter(|one| measured.contains(one))
            .filter_map(|one| Some((one.block_id(), seconds(&one)?)))
            .collect();
        for ((id, own), (next, others)) in known.iter().zip(known.iter().skip(1)) {
            if are_alike(*own, *others) {
                join(&mut groups, [id.clone(), next.clone()].into());
            }
        }
    }
    for split in measured.iter().filter(|one| in_parts(one)) {
        let Some((count, part)) = parts(split) else {
            continue;
        };
        let whole = Subject {
            bytes: part.bytes.saturating_mul(count),
            ..part.clone()
        };
        let times = seconds(&whole).zip(seconds(&part));
        if measured.contains(&whole) && times.is_some_and(|(whole, part)| are_alike(whole, count as f64 * part)) {
            join(
                &mut groups,
                [whole.block_id(), format!("{}{OF_SPLITS}", split.block_id())].into(),
            );
        }
    }
    groups.into_iter().map(|group| group.into_iter().collect()).collect()
}

fn are_alike(one: f64, other: f64) -> bool {
    let ratio = one / other;
    (1.0 / MOST_RATIO..=MOST_RATIO).contains(&ratio)
}

/// Adds a group. Those that it has an id in common with become one with it.
fn join(groups: &mut Vec<BTreeSet<String>>, mut group: BTreeSet<String>) {
    groups.retain(|other| {
        let is_apart = other.is_disjoint(&group);
        if !is_apart {
            group.extend(other.iter().cloned());
        }
        is_apart
    });
    groups.push(group);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kilter_algorithms::Collective;

    use super::*;

    fn at(bytes: u64) -> Subject {
        Subject::library(Collective::Bcast, bytes)
    }

    #[test]
    fn sizes_whose_times_are_alike_share_a_block_with_their_parts() {
        let times = [(1, 1.0), (2, 1.1), (8, 0.9), (64, 2.5), (512, 2.6), (1024, 9.0)];
        let plan = Plan {
            monotony_functions: vec![("GL1".to_owned(), Collective::Bcast)],
            volumes: BTreeMap::from([(Collective::Bcast, times.iter().map(|(bytes, _)| *bytes).collect())]),
            ..Plan::default()
        };
        let mut timed = Timed::default();
        for (bytes, seconds) in times {
            timed.insert(at(bytes), 0, seconds);
        }
        let all: BTreeSet<Subject> = times.iter().map(|(bytes, _)| at(*bytes)).collect();
        let is_split = |one: &Subject| one.text.contains('*');
        let groups = |plan: &Plan, measured: &BTreeSet<Subject>| groups(plan, measured, is_split, &timed);
        let (small, middle) = (
            ["bcast@1", "bcast@2", "bcast@8"].to_vec(),
            ["bcast@512", "bcast@64"].to_vec(),
        );
        assert_eq!(groups(&plan, &all), [small.clone(), middle.clone()]);
        let without_two = all.iter().filter(|one| one.bytes != 2).cloned().collect();
        assert_eq!(groups(&plan, &without_two)[0], ["bcast@1", "bcast@8"]);
        assert!(groups(&plan, &[at(8)].into()).is_empty());
        assert!(groups(&Plan::default(), &all).is_empty(), "nobody compares sizes");

        // Twice 2.6 is near 9, and eight times 2.5 is not near 2.6.
        let parts = |count: u64, bytes: u64| Subject {
            text: format!("{count} * bcast(n)"),
            ..at(bytes)
        };
        let mut with_splits = all.clone();
        with_splits.extend([parts(2, 512), parts(8, 64)]);
        let split = ["bcast@1024", "bcast@512 in parts"].to_vec();
        assert_eq!(groups(&plan, &with_splits), [small, middle, split.clone()]);
        assert_eq!(groups(&Plan::default(), &with_splits), [split]);
    }

    #[test]
    fn groups_with_a_block_in_common_are_one() {
        let mut groups = Vec::new();
        for pair in [["a", "b"], ["c", "d"], ["e", "f"], ["d", "a"]] {
            join(&mut groups, pair.map(str::to_owned).into());
        }
        let ids = |group: &[&str]| -> BTreeSet<String> { group.iter().map(|&id| id.to_owned()).collect() };
        assert_eq!(groups, [ids(&["e", "f"]), ids(&["a", "b", "c", "d"])]);
    }
}
