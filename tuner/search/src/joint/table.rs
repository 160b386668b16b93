//! The times of all calls: what each column of launches measured, in order.

use std::collections::BTreeMap;

use kilter_model::change::Cell;
use kilter_model::deployment::Selection;
use kilter_model::not_deployed::NotDeployed;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::{self, Rule, improves, is_beyond};

use super::problem::{Call, Way};
use crate::arrivals::slower;
use crate::choose::Measured;
use crate::in_job_search::Held;

/// The ways of one call that launches compared with each other.
pub type Column = Held;

/// Columns of each call, the latest last.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: BTreeMap<Cell, Vec<Column>>,
}

/// Margin between the medians where launches are too few for the test. A slow mode of a machine makes a launch 30 % longer.
const MARGIN_OF_FEW: f64 = 0.5;

/// Fewest launches that say anything: the order of one pair is chance.
const FEWEST: usize = 2;

/// Rules by which a table becomes calls.
#[derive(Clone, Copy)]
pub struct Reading<'r> {
    /// The rule that compares times.
    pub rule: &'r Rule,
    /// Reasons against a selection for a cell that no launch of the table shows.
    pub objection: &'r dyn Fn(Cell, &Selection) -> Option<NotDeployed>,
    /// Tells the selections that act on all sizes of their collective.
    pub on_all_sizes: &'r dyn Fn(Cell, &Selection) -> bool,
    /// Tells the calls that a decision may change.
    pub is_decided: &'r dyn Fn(Cell) -> bool,
}

impl Table {
    /// Adds what launches compared.
    pub fn add(&mut self, column: Column) {
        if let Some(cell) = column.target.cell().filter(|_| !column.candidates.is_empty()) {
            self.columns.entry(cell).or_default().push(column);
        }
    }

    /// Takes what launches compared in place of all that was known of a call: other settings of whole launches are in force now.
    pub fn replace(&mut self, column: Column) {
        if let Some(cell) = column.target.cell() {
            self.columns.remove(&cell);
        }
        self.add(column);
    }

    /// The latest column of a call.
    #[must_use]
    pub fn latest(&self, cell: Cell) -> Option<&Column> {
        self.columns.get(&cell)?.last()
    }

    /// True if a way of a call was compared with ranks that arrive apart.
    #[must_use]
    pub fn is_compared_apart(&self, cell: Cell, selection: &Selection) -> bool {
        let columns = self.columns.get(&cell).into_iter().flatten();
        let mut apart = columns.flat_map(|column| &column.apart).flat_map(|one| &one.candidates);
        apart.any(|one| one.selection.as_ref() == Some(selection))
    }

    /// The calls with their ways. What the latest column of a call does not have is read from the columns before.
    #[must_use]
    pub fn calls(&self, reading: &Reading<'_>) -> Vec<Call> {
        let call = |(cell, columns): (&Cell, &Vec<Column>)| {
            let scale = default_of(columns.first()?)?.median();
            let slower: BTreeMap<Selection, NotDeployed> = columns
                .iter()
                .flat_map(|column| slower(&column.apart, reading.rule))
                .collect();
            let mut ways: Vec<(usize, Way)> = Vec::new();
            for (launched, column) in columns.iter().enumerate().rev() {
                for way in self::ways(*cell, column, (scale, &slower), reading).unwrap_or_default() {
                    if ways.iter().all(|(_, known)| known.selection != way.selection) {
                        ways.push((launched, way));
                    }
                }
            }
            let ways = across(ways, reading.rule.effect_floor);
            if ways.is_empty() {
                return None;
            }
            Some(Call {
                cell: *cell,
                ways,
                is_decided: (reading.is_decided)(*cell),
            })
        };
        self.columns.iter().filter_map(call).collect()
    }
}

/// Ways of several columns, each with its column's number: one that is as good as the best of its own launches is not where another column has one that is
/// faster by more than `floor`.
fn across(ways: Vec<(usize, Way)>, floor: f64) -> Vec<Way> {
    let good = ways.iter().filter(|(_, way)| way.as_good);
    let good: Vec<(usize, f64)> = good.map(|(column, way)| (*column, way.seconds)).collect();
    let judged = ways.into_iter().map(|(column, mut way)| {
        let mut others = good.iter().filter(|(other, _)| *other != column);
        way.as_good &= others.all(|(_, seconds)| way.seconds <= (1.0 + floor) * seconds);
        way
    });
    judged.collect()
}

fn default_of(column: &Column) -> Option<&Sample> {
    let default = column.candidates.iter().find(|one| one.selection.is_none());
    default.map(|one| &one.medians)
}

/// The ways of a column, the default first. Times are ratios to the default of their launches, times `scale`, the default's seconds in the launches
/// that timed all calls: a machine has modes, and seconds of different launches differ by them. `slower` are those that are slower than the default when
/// ranks arrive apart.
fn ways(
    cell: Cell,
    column: &Column,
    (scale, slower): (f64, &BTreeMap<Selection, NotDeployed>),
    reading: &Reading<'_>,
) -> Option<Vec<Way>> {
    let default = default_of(column)?;
    let way = |one: &Measured| {
        let selection = one.selection.as_ref();
        let objection = selection.and_then(|own| {
            let apart = slower.get(own).cloned();
            (reading.objection)(cell, own).or(apart)
        });
        Way {
            seconds: scale * ratio(&one.medians, default),
            gains: selection.is_some() && gains(default, &one.medians, reading.rule),
            as_good: false,
            on_all_sizes: selection.is_some_and(|own| (reading.on_all_sizes)(cell, own)),
            selection: one.selection.clone(),
            objection,
        }
    };
    let (defaults, others): (Vec<&Measured>, Vec<&Measured>) =
        column.candidates.iter().partition(|one| one.selection.is_none());
    let measured: Vec<&Measured> = defaults.into_iter().chain(others).collect();
    let mut ways: Vec<Way> = measured.iter().map(|one| way(one)).collect();
    let of_size = |way: &Way| way.is_admitted() && !way.on_all_sizes;
    let compared: Vec<usize> = (0..ways.len()).filter(|place| of_size(&ways[*place])).collect();
    let samples: Vec<Sample> = compared.iter().map(|place| measured[*place].medians.clone()).collect();
    for (place, as_good) in compared
        .into_iter()
        .zip(verdict::equivalent_to_best(&samples, reading.rule))
    {
        ways[place].as_good = as_good;
    }
    Some(ways)
}

/// Time over the default's, launch by launch where both have the same launches.
fn ratio(medians: &Sample, default: &Sample) -> f64 {
    if medians.len() != default.len() {
        return medians.median() / default.median();
    }
    let pairs = medians.values().iter().zip(default.values());
    let ratios: Vec<f64> = pairs.map(|(own, default)| own / default).collect();
    Sample::new(ratios).map_or(1.0, |ratios| ratios.median())
}

/// True if the launches show that a candidate is faster than the default.
///
/// The rule's test decides, with the effect floor, if launches are enough for it: a candidate that gains nothing passes with a probability of
/// alpha at most. With fewer, each launch of the candidate has to be faster than each of the default, and the default's median has to exceed the
/// candidate's by half, which a slow mode of the machine does not. These probabilities are of one candidate, and of several one is lucky more often.
/// The proof has to show the gain once more.
fn gains(default: &Sample, candidate: &Sample, rule: &Rule) -> bool {
    let launches = default.len().min(candidate.len());
    if rule.test.smallest_p(launches) <= rule.alpha {
        return improves(default, candidate, rule);
    }
    launches >= FEWEST
        && rule.is_relevant(default.median(), candidate.median())
        && is_beyond(default, candidate, MARGIN_OF_FEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    #[test]
    fn a_ratio_is_taken_launch_by_launch() {
        // Launches differ by three, the ratio within them does not.
        let (own, default) = (sample(&[1.0, 3.0, 9.0]), sample(&[2.0, 6.0, 18.0]));
        assert!((ratio(&own, &default) - 0.5).abs() < 1e-12);
        assert!((ratio(&sample(&[3.0]), &default) - 0.5).abs() < 1e-12, "by medians");
    }

    #[test]
    fn what_was_as_good_in_its_own_launches_is_not_beside_a_faster_one_of_others() {
        let way = |seconds: f64| Way {
            selection: None,
            seconds,
            gains: false,
            as_good: true,
            on_all_sizes: false,
            objection: None,
        };
        let good = |ways: &[(usize, f64)]| -> Vec<bool> {
            let ways = ways.iter().map(|(column, seconds)| (*column, way(*seconds)));
            across(ways.collect(), 0.05).iter().map(|one| one.as_good).collect()
        };
        assert_eq!(good(&[(1, 4.0), (0, 1.0), (0, 1.1)]), [false, true, true]);
        assert_eq!(good(&[(1, 1.0), (1, 1.1), (0, 1.04)]), [true, false, true]);
    }

    #[test]
    fn few_launches_show_a_gain_only_where_all_are_far_apart() {
        let rule = Rule::default();
        let default = sample(&[3.0, 3.1]);
        assert!(gains(&default, &sample(&[1.0, 1.1]), &rule));
        assert!(
            !gains(&default, &sample(&[2.5, 2.4]), &rule),
            "a slow mode does as much"
        );
        assert!(!gains(&sample(&[3.0]), &sample(&[1.0]), &rule), "one pair is chance");
        let many = sample(&[1.0; 8]);
        assert!(gains(&many, &sample(&[0.9; 8]), &rule));
        assert!(!gains(&many, &sample(&[0.97; 8]), &rule), "within the floor");
    }
}
