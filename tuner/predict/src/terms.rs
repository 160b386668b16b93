//! The terms that a time is made of, by layout and volume: counts of a schedule, to which a fit gives prices.
//!
//! They are counted once for all fits of a table, since a count may go through all ranks.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::{Algorithm, Collective, Need, Nodes, Setting, registry};
use kilter_model::deployment::Selection;
use kilter_model::layout::Layout;

use crate::Implementation;
use crate::schedules::placed;

/// Counts that an implementation may have.
#[derive(Debug, Clone)]
enum Schedule {
    /// A row of the registry with values of its parameters.
    Row(&'static Algorithm, Vec<u64>),
    /// Logarithms and numbers of nodes and ranks, alone and by the volume.
    Plain,
}

/// The schedules of a collective's implementations, and their terms at the places of a table.
#[derive(Debug)]
pub(crate) struct Terms {
    schedules: Vec<Schedule>,
    /// Indices of the schedules that each implementation may have.
    likely: Vec<Vec<usize>>,
    counted: BTreeMap<(usize, Layout, u64), Vec<f64>>,
}

impl Terms {
    /// Counts at all `places`.
    pub(crate) fn of(
        collective: Collective,
        implementations: &[Implementation],
        places: &BTreeSet<(Layout, u64)>,
    ) -> Terms {
        let rows = registry::by_collective(collective).filter(|row| !row.needs.contains(&Need::OneNode));
        let mut schedules: Vec<Schedule> = rows.map(|row| Schedule::Row(row, row.default_parameters())).collect();
        schedules.push(Schedule::Plain);
        let any: Vec<usize> = (0..schedules.len()).collect();
        let likely = implementations
            .iter()
            .map(|implementation| match own_row(implementation) {
                Some((row, values)) => {
                    schedules.push(Schedule::Row(row, values));
                    vec![schedules.len() - 1]
                }
                None => any.clone(),
            })
            .collect();
        let mut terms = Terms {
            schedules,
            likely,
            counted: BTreeMap::new(),
        };
        let layouts: BTreeSet<Layout> = places.iter().map(|(layout, _)| *layout).collect();
        let placed: BTreeMap<Layout, Placed> = layouts.into_iter().map(|layout| (layout, Placed::of(layout))).collect();
        for (layout, bytes) in places {
            for index in 0..terms.schedules.len() {
                let counts = terms.schedules[index].count(*layout, &placed[layout], *bytes);
                terms.counted.insert((index, *layout, *bytes), counts);
            }
        }
        terms
    }

    /// The schedules that an implementation may have, by index.
    pub(crate) fn likely(&self, implementation: usize) -> &[usize] {
        &self.likely[implementation]
    }

    /// Terms of a schedule at a place, which need not be one of the table.
    pub(crate) fn at(&self, schedule: usize, layout: Layout, bytes: u64) -> Vec<f64> {
        let counted = self.counted.get(&(schedule, layout, bytes)).cloned();
        counted.unwrap_or_else(|| self.schedules[schedule].count(layout, &Placed::of(layout), bytes))
    }
}

/// The row and values of an implementation that is one of the registry's.
pub(crate) fn own_row(implementation: &Implementation) -> Option<(&'static Algorithm, Vec<u64>)> {
    let Implementation::Selected(Selection::Algorithm(id, values)) = implementation else {
        return None;
    };
    let row = registry::find(id).filter(|row| row.parameters.len() == values.len())?;
    Some((row, values.clone()))
}

/// Ranks in blocks by node, and one rank of each node.
struct Placed {
    all: Nodes,
    across: Nodes,
}

impl Placed {
    fn of(layout: Layout) -> Placed {
        Placed {
            all: placed(layout),
            across: Nodes::each_alone(layout.nodes),
        }
    }
}

impl Schedule {
    fn count(&self, layout: Layout, placed: &Placed, bytes: u64) -> Vec<f64> {
        let n = bytes as f64;
        let sharing = layout.per_node as f64;
        match self {
            Schedule::Row(row, parameters) => {
                let counts = |p_ranks: usize, nodes: &Nodes| {
                    let n_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                    (row.cost)(&Setting {
                        p_ranks,
                        n_bytes,
                        parameters,
                        nodes,
                    })
                };
                let all = counts(layout.ranks(), &placed.all);
                let across = counts(layout.nodes, &placed.across);
                vec![
                    1.0,
                    all.rounds,
                    all.bytes_sent,
                    all.bytes_reduced,
                    across.rounds,
                    across.bytes_sent,
                    // Ranks of a node send over one link.
                    across.bytes_sent * sharing,
                    n * (sharing - 1.0),
                ]
            }
            Schedule::Plain => {
                let (nodes, ranks) = (layout.nodes as f64, layout.ranks() as f64);
                let (high, low) = (nodes.log2(), sharing.log2());
                let by_volume = [n, n * high, n * low, n * (sharing - 1.0), n / ranks];
                [&[1.0, high, low, nodes, ranks], &by_volume[..]].concat()
            }
        }
    }
}
