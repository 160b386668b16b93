//! Seconds of an application that a measurement speaks of, by which measurements are ordered. Pure.

use std::collections::BTreeMap;

use super::{Called, Plan, Subject};

/// Seconds at stake by subject: those of the application's own calls, and for what these are compared with, those of the call with most.
#[derive(Debug, Clone, Default)]
pub struct Stakes {
    of: BTreeMap<Subject, f64>,
}

impl Stakes {
    /// The stakes of a plan; none without a call mix.
    #[must_use]
    pub fn of(plan: &Plan) -> Stakes {
        let seconds = |called: &Called| called.calls.values().map(|made| made.seconds).sum::<f64>();
        let own = plan
            .calls
            .iter()
            .map(|(subject, called)| (subject.clone(), seconds(called)));
        let mut of: BTreeMap<Subject, f64> = own.collect();
        for cell in &plan.cells {
            let Some(called) = plan.calls.get(&cell.left) else {
                continue;
            };
            let stake = of.entry(cell.right.clone()).or_default();
            *stake = stake.max(seconds(called));
        }
        Stakes { of }
    }

    /// Seconds at stake in any of these subjects; 1 without a call mix, with which all are alike.
    pub fn most<'s>(&self, subjects: impl IntoIterator<Item = &'s Subject>) -> f64 {
        if self.of.is_empty() {
            return 1.0;
        }
        let stakes = subjects.into_iter().filter_map(|one| self.of.get(one));
        stakes.copied().fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;
    use crate::config::guideline;
    use crate::config::mix::Mix;
    use crate::place::Place;
    use crate::scope::Scope;

    #[test]
    fn a_bound_stands_for_the_call_with_most() {
        let all = guideline::load_embedded().unwrap();
        let wanted = guideline::select(&all, &["GL8".to_owned()]).unwrap();
        let text = "[[call]]\nfunction = \"reduce\"\nbytes = 4096\nseconds = 3.0\n\
                    [[call]]\nfunction = \"reduce\"\nbytes = 8\nseconds = 0.5\n";
        let mix = Mix::parse(text, "mix.toml").unwrap();
        let scope = Scope {
            functions: &[],
            sizes: &[],
            mix: Some(&mix),
            ranks: 2,
            nodes: None,
        };
        let plan = Plan::within(&wanted, &scope, Place::on_one_node(2));
        let stakes = Stakes::of(&plan);
        let bounds = |bytes| {
            let cells = plan.cells.iter().filter(move |cell| cell.left.bytes == bytes);
            stakes.most(cells.map(|cell| &cell.right))
        };
        let of = |collective, bytes| stakes.most(&[Subject::library(collective, bytes)]);
        assert_eq!(of(Collective::Reduce, 4096), 3.0);
        assert_eq!((bounds(4096), bounds(8)), (3.0, 0.5), "they bound the reduce");
        assert_eq!(of(Collective::Scan, 8), 0.0, "the mix does not call it");
        assert_eq!(Stakes::default().most(&[Subject::library(Collective::Scan, 8)]), 1.0);
    }
}
