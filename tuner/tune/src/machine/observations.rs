//! Measurements of a layout, as predictions for others are made from them.

use std::collections::BTreeMap;

use kilter_model::layout::Layout;
use kilter_model::report::Contest;
use kilter_predict::{Call, Implementation, Observation};
use kilter_search::verification::Medians;
use kilter_stats::median_interval::median_interval;
use kilter_stats::sample::Sample;

/// Confidence of the interval of a median that stands for its noise.
const CONFIDENCE: f64 = 0.95;

/// Times of the library as it is, and of the selections that competed with it. Changes that need a setting of the launch beside a selection are
/// no implementation of a call.
#[must_use]
pub fn of(layout: Layout, medians: &Medians, contests: &[Contest]) -> Vec<Observation> {
    let mut all: BTreeMap<(Call, Implementation), Observation> = BTreeMap::new();
    let mut add = |call: Call, implementation: Implementation, seconds: f64, noise: f64| {
        if seconds.is_finite() && seconds > 0.0 {
            let observation = Observation {
                layout,
                call,
                implementation: implementation.clone(),
                seconds,
                noise,
            };
            // The first one: the verification knows the default best.
            all.entry((call, implementation)).or_insert(observation);
        }
    };
    let mut noises: BTreeMap<Call, f64> = BTreeMap::new();
    let mut defaults: BTreeMap<Call, f64> = BTreeMap::new();
    for (subject, launches) in medians {
        let Some(collective) = subject.collective() else {
            continue;
        };
        let Ok(sample) = Sample::new(launches.clone()) else {
            continue;
        };
        let call = Call {
            collective,
            bytes: subject.bytes,
        };
        let median = sample.median();
        let (low, high) = median_interval(&sample, CONFIDENCE);
        let noise = (high - low) / (2.0 * median);
        let noise = if noise.is_finite() { noise.max(0.0) } else { 0.0 };
        add(call, Implementation::Default, median, noise);
        noises.insert(call, noise);
        defaults.insert(call, median);
    }
    for contest in contests {
        let Ok(collective) = contest.function.parse() else {
            continue;
        };
        for one in &contest.candidates {
            let Some(((_, bytes), selection)) = &one.change.selection else {
                continue;
            };
            let call = Call {
                collective,
                bytes: *bytes,
            };
            // Ratios are of one job, and times of different jobs: what is compared is the ratio.
            let (Some(default), true) = (defaults.get(&call), one.change.settings.is_empty()) else {
                continue;
            };
            let noise = noises.get(&call).copied().unwrap_or_default();
            let implementation = Implementation::Selected(selection.clone());
            add(call, implementation, one.ratio_to_default * default, noise);
        }
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_model::change::Change;
    use kilter_model::deployment::{Assignment, Selection};
    use kilter_model::plan::Subject;
    use kilter_model::report::Contestant;

    use super::*;

    fn contestant(change: Change, ratio: f64) -> Contestant {
        Contestant {
            id: String::new(),
            kind: None,
            seconds: 7.0,
            ratio_to_default: ratio,
            ratio_to_bound: 1.0,
            among_best: false,
            chosen: false,
            change,
            not_deployed: None,
            predicted: None,
        }
    }

    #[test]
    fn selections_are_seen_beside_the_default_and_settings_of_launches_are_not() {
        let cell = (Collective::Bcast, 8);
        let ring = Selection::Algorithm("bcast.ring".to_owned(), Vec::new());
        let with_setting = Change {
            settings: vec![Assignment {
                name: "x".to_owned(),
                value: "1".to_owned(),
                environment: false,
            }],
            selection: Some((cell, Selection::Mockup("m".to_owned(), Vec::new()))),
        };
        let contest = Contest {
            function: "bcast".to_owned(),
            bytes: 8,
            candidates: vec![
                contestant(Change::default(), 1.0),
                contestant(Change::of_cell(cell, ring.clone()), 0.5),
                contestant(with_setting, 0.4),
            ],
            proof: None,
            models: Vec::new(),
            left_out: Vec::new(),
            refused: Vec::new(),
            screened: Vec::new(),
        };
        let medians = Medians::from([(Subject::library(Collective::Bcast, 8), vec![2e-6, 2e-6, 2e-6])]);
        let layout = "4x2".parse().unwrap();
        let seen: Vec<(Implementation, f64)> = of(layout, &medians, &[contest])
            .into_iter()
            .map(|one| (one.implementation, one.seconds))
            .collect();
        let expected = [(Implementation::Default, 2e-6), (Implementation::Selected(ring), 1e-6)];
        assert_eq!(seen, expected);
        assert!(of(layout, &Medians::new(), &[]).is_empty());
    }
}
