//! The times of all calls: what each column of launches measured, in order.

use std::collections::BTreeMap;

use kilter_model::change::Cell;
use kilter_model::deployment::Selection;
use kilter_model::not_deployed::NotDeployed;
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Rule;

use super::gain::gains;
use super::problem::{Call, Way};
use crate::arrivals::slower;
use crate::choose::Held;

/// The ways of one call that launches compared with each other.
pub type Column = Held;

/// Columns of each call, the latest last.
#[derive(Debug, Clone, Default)]
pub struct Table {
    columns: BTreeMap<Cell, Vec<Column>>,
}

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

    /// The call of one column alone.
    #[must_use]
    pub fn call(column: Column, rule: &Rule) -> Option<Call> {
        let mut table = Table::default();
        table.add(column);
        let reading = Reading {
            rule,
            objection: &|_, _| None,
            on_all_sizes: &|_, _| false,
            is_decided: &|_| true,
        };
        table.calls(&reading).pop()
    }

    /// The calls with their ways.
    #[must_use]
    pub fn calls(&self, reading: &Reading<'_>) -> Vec<Call> {
        let call = |(cell, columns): (&Cell, &Vec<Column>)| {
            Some(Call {
                cell: *cell,
                ways: ways(*cell, columns, reading)?,
                is_decided: (reading.is_decided)(*cell),
            })
        };
        self.columns.iter().filter_map(call).collect()
    }
}

fn of<'c>(column: &'c Column, selection: Option<&Selection>) -> Option<&'c Sample> {
    let mut candidates = column.candidates.iter();
    candidates
        .find(|one| one.selection.as_ref() == selection)
        .map(|one| &one.medians)
}

/// Times of a way and of the default in the same launches, over all columns. A way that fell behind has the first launches of its column alone.
#[derive(Debug, Default)]
struct Pairs {
    own: Vec<f64>,
    default: Vec<f64>,
}

impl Pairs {
    fn new(columns: &[Column], selection: &Selection) -> Pairs {
        let mut pairs = Pairs::default();
        let both = |column: &'_ Column| Some((of(column, Some(selection))?.clone(), of(column, None)?.clone()));
        for (own, default) in columns.iter().filter_map(both) {
            let launches = own.len().min(default.len());
            pairs.own.extend(&own.values()[..launches]);
            pairs.default.extend(&default.values()[..launches]);
        }
        pairs
    }

    /// Median of the ratios within launches.
    fn ratio(&self) -> Option<f64> {
        let ratios = self.own.iter().zip(&self.default).map(|(own, default)| own / default);
        Some(Sample::new(ratios.collect()).ok()?.median())
    }

    fn gain(&self, rule: &Rule) -> bool {
        let both = Sample::new(self.default.clone())
            .ok()
            .zip(Sample::new(self.own.clone()).ok());
        both.is_some_and(|(default, own)| gains(&default, &own, rule))
    }
}

/// The ways of a call, the default first. Times are ratios to the default of their launches, times the default's seconds in the launches that timed all
/// calls: a machine has modes, and seconds of different launches differ by them.
fn ways(cell: Cell, columns: &[Column], reading: &Reading<'_>) -> Option<Vec<Way>> {
    let default_seconds = of(columns.first()?, None)?.median();
    let slower: BTreeMap<Selection, NotDeployed> = columns
        .iter()
        .flat_map(|column| slower(&column.apart, reading.rule))
        .collect();
    let mut ways = vec![Way {
        selection: None,
        seconds: default_seconds,
        gains: false,
        launches: columns
            .iter()
            .filter_map(|column| of(column, None))
            .map(Sample::len)
            .sum(),
        as_good: false,
        on_all_sizes: false,
        objection: None,
    }];
    let candidates = columns.iter().flat_map(|column| &column.candidates);
    for selection in candidates.filter_map(|one| one.selection.as_ref()) {
        if ways.iter().any(|way| way.selection.as_ref() == Some(selection)) {
            continue;
        }
        let pairs = Pairs::new(columns, selection);
        let Some(ratio) = pairs.ratio() else { continue };
        ways.push(Way {
            selection: Some(selection.clone()),
            seconds: default_seconds * ratio,
            gains: pairs.gain(reading.rule),
            launches: pairs.own.len(),
            as_good: false,
            on_all_sizes: (reading.on_all_sizes)(cell, selection),
            objection: (reading.objection)(cell, selection).or_else(|| slower.get(selection).cloned()),
        });
    }
    // As good is what is within the floor of the fastest that launches show. "Not significantly slower" would be said of all where launches are few, and
    // the simplest of them may be one that a guideline's right side beats. A way that seems faster still, without being shown to be, hides none that is,
    // and stands beside the default where none is.
    let of_size = |way: &Way| way.is_admitted() && !way.on_all_sizes;
    let is_shown = |way: &Way| way.gains || way.selection.is_none();
    let shown = ways.iter().filter(|way| of_size(way) && is_shown(way));
    let best = shown.map(|way| way.seconds).fold(f64::INFINITY, f64::min);
    let none_is_shown = !ways.iter().any(|way| of_size(way) && way.gains);
    let rule = reading.rule;
    for way in &mut ways {
        let is_near = is_shown(way) || none_is_shown || !rule.is_relevant(best, way.seconds);
        way.as_good = of_size(way) && is_near && !rule.is_relevant(way.seconds, best);
    }
    Some(ways)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;
    use crate::choose::Measured;
    use crate::target::Target;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values.to_vec()).unwrap()
    }

    fn column(launches: &[(&str, &[f64])]) -> Column {
        let measured = launches.iter().map(|(id, medians)| Measured {
            selection: (!id.is_empty()).then(|| Selection::Algorithm((*id).to_owned(), Vec::new())),
            medians: sample(medians),
        });
        Column {
            target: Target::unbounded(Collective::Reduce, 8),
            candidates: measured.collect(),
            apart: Vec::new(),
        }
    }

    fn read(columns: &[Column]) -> Vec<Way> {
        let rule = Rule::default();
        let reading = Reading {
            rule: &rule,
            objection: &|_, _| None,
            on_all_sizes: &|_, _| false,
            is_decided: &|_| true,
        };
        ways((Collective::Reduce, 8), columns, &reading).unwrap()
    }

    #[test]
    fn a_ratio_is_taken_launch_by_launch_and_one_that_fell_behind_has_the_first_ones() {
        // Launches differ by three, the ratio within them does not.
        let found = read(&[column(&[
            ("", &[2.0, 6.0, 18.0, 2.0, 6.0]),
            ("a", &[1.0, 3.0, 9.0, 1.0, 3.0]),
            ("b", &[1.5, 4.5]),
        ])]);
        let seconds: Vec<f64> = found.iter().map(|way| way.seconds).collect();
        assert_eq!(seconds, [6.0, 3.0, 4.5]);
        let as_good: Vec<bool> = found.iter().map(|way| way.as_good).collect();
        assert_eq!(as_good, [false, true, false]);
    }

    #[test]
    fn what_seems_faster_still_hides_no_way_that_launches_show() {
        let found = read(&[column(&[
            ("", &[10.0; 5]),
            ("shown", &[7.0, 7.1, 7.2, 6.9, 7.0]),
            ("seems", &[4.0, 4.1, 11.0, 4.2, 11.0]),
            ("like it", &[7.2, 7.1, 7.3, 7.0, 11.0]),
        ])]);
        let as_good: Vec<bool> = found.iter().map(|way| way.as_good).collect();
        assert_eq!(as_good, [false, true, false, true]);
    }

    #[test]
    fn what_seems_faster_stands_beside_the_default_where_nothing_is_shown() {
        let seems: &[f64] = &[8.0, 8.1, 7.9, 8.2, 10.1];
        let as_good = |columns: &[Column]| -> Vec<bool> { read(columns).iter().map(|way| way.as_good).collect() };
        assert_eq!(as_good(&[column(&[("", &[10.0; 5]), ("seems", seems)])]), [true, true]);
        let shown = ("shown", &[9.0; 5][..]);
        assert_eq!(
            as_good(&[column(&[("", &[10.0; 5]), ("seems", seems), shown])]),
            [false, false, true]
        );
    }

    #[test]
    fn columns_show_together_what_none_of_them_shows_alone() {
        let one = || column(&[("", &[10.0; 5]), ("a", &[8.0, 8.1, 7.9, 8.2, 10.1])]);
        assert!(!read(&[one()])[1].gains);
        assert!(read(&[one(), one()])[1].gains);
    }
}
