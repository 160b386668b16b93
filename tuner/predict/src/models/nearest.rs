//! The naive rule: times are those of the measured layout with the next smaller number of ranks, as libraries read rules by the size of a
//! communicator; below the smallest one, those of the smallest.

use kilter_model::layout::Layout;

use super::{Fitted, Guess};
use crate::between::octaves;
use crate::table::Table;

pub(super) fn fit(table: &Table) -> Box<dyn Fitted> {
    Box::new(Nearest(table.clone()))
}

struct Nearest(Table);

impl Fitted for Nearest {
    fn guesses(&self, layout: Layout, bytes: u64) -> Vec<Guess> {
        let known = self.0.compared(bytes);
        let smaller = known.iter().filter(|other| other.ranks() <= layout.ranks());
        let nearer = |a: &&Layout, b: &&Layout| octaves(**b, layout).total_cmp(&octaves(**a, layout));
        let next = smaller.max_by(|a, b| a.ranks().cmp(&b.ranks()).then(nearer(a, b)));
        let smallest = || known.iter().min_by_key(|other| other.ranks());
        let Some(taken) = next.or_else(smallest) else {
            return Vec::new();
        };
        let measured = self.0.measured(*taken, bytes).into_iter();
        measured
            .map(|(implementation, point)| Guess {
                implementation,
                log: point.log,
                deviation: 0.0,
            })
            .collect()
    }
}
