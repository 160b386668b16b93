//! The exhaustive optimum, and what a map loses against it.

use std::collections::BTreeMap;

use kilter_model::layout::Layout;
use kilter_predict::{Call, Implementation, Map, Observation};

use crate::FLOOR;

/// Times of all candidates.
pub(crate) struct Truth<'a>(BTreeMap<(Layout, Call), Vec<&'a Observation>>);

impl<'a> Truth<'a> {
    pub(crate) fn of(all: &'a [Observation]) -> Truth<'a> {
        let mut cells: BTreeMap<(Layout, Call), Vec<&Observation>> = BTreeMap::new();
        for seen in all {
            cells.entry((seen.layout, seen.call)).or_default().push(seen);
        }
        Truth(cells)
    }

    pub(crate) fn seconds(&self, layout: Layout, call: Call, implementation: &Implementation) -> Option<f64> {
        let found = self.0[&(layout, call)]
            .iter()
            .find(|seen| seen.implementation == *implementation);
        found.map(|seen| seen.seconds)
    }

    pub(crate) fn best(&self, layout: Layout, call: Call) -> &Observation {
        self.0[&(layout, call)]
            .iter()
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
            .unwrap()
    }

    /// Time of an implementation over the optimum; infinite if it does not run there.
    pub(crate) fn ratio(&self, layout: Layout, call: Call, implementation: &Implementation) -> f64 {
        let seconds = self.seconds(layout, call, implementation).unwrap_or(f64::INFINITY);
        seconds / self.best(layout, call).seconds
    }
}

/// Quality of a map.
pub(crate) struct Score {
    pub(crate) cells: usize,
    good: usize,
    /// Cells slower than the default by more than the floor.
    pub(crate) slower: usize,
    logs: f64,
    worst: f64,
}

impl Score {
    pub(crate) fn of(map: &Map, truth: &Truth<'_>) -> Score {
        let mut score = Score {
            cells: 0,
            good: 0,
            slower: 0,
            logs: 0.0,
            worst: 1.0,
        };
        for cell in &map.cells {
            let ratio = truth.ratio(cell.layout, cell.call, &cell.choice);
            let default = truth.ratio(cell.layout, cell.call, &Implementation::Default);
            score.cells += 1;
            score.good += usize::from(ratio <= 1.0 + FLOOR);
            score.slower += usize::from(ratio > (1.0 + FLOOR) * default);
            score.logs += ratio.min(1e3).ln();
            score.worst = score.worst.max(ratio);
        }
        score
    }

    pub(crate) fn within(&self) -> f64 {
        self.good as f64 / self.cells.max(1) as f64
    }

    pub(crate) fn line(&self, name: &str) -> String {
        let mean = (self.logs / self.cells.max(1) as f64).exp();
        format!(
            " {name:42} {:5.1} % {:10} of {} {:14.3} {:8.2}\n",
            self.within() * 100.0,
            self.slower,
            self.cells,
            mean,
            self.worst
        )
    }
}
