//! The observations of one collective, by implementation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kilter_algorithms::Collective;
use kilter_model::layout::Layout;

use crate::schedules::Timed;
use crate::terms::{Terms, own_row};
use crate::{BadObservation, Call, Implementation, Observation};

/// A measured time of an implementation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) layout: Layout,
    pub(crate) bytes: u64,
    /// Natural logarithm of the seconds.
    pub(crate) log: f64,
    /// Half the width of its interval, as a share of the time.
    pub(crate) noise: f64,
}

/// All times of one collective.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) collective: Collective,
    /// The default first, if it was measured.
    pub(crate) implementations: Vec<Implementation>,
    /// Counts of the implementations' schedules where anything was measured.
    pub(crate) terms: Arc<Terms>,
    /// Critical paths of the implementations that are rows of the registry.
    pub(crate) timed: Arc<Timed>,
    /// The row that each implementation is in `timed`.
    pub(crate) rows: Vec<Option<usize>>,
    times: Times,
}

/// By layout, bytes, and index of the implementation.
type Times = BTreeMap<(Layout, u64, usize), Point>;

/// The rows of the registry among implementations with their critical paths, and which of them each implementation is.
fn timed(implementations: &[Implementation], times: &Times, asked: &[Layout]) -> (Timed, Vec<Option<usize>>) {
    let mut rows = Vec::new();
    let own = implementations.iter().map(|implementation| {
        rows.push(own_row(implementation)?);
        Some(rows.len() - 1)
    });
    let own: Vec<Option<usize>> = own.collect();
    let seen = times.iter().filter_map(|((layout, bytes, implementation), point)| {
        Some((own[*implementation]?, *layout, *bytes, point.log.exp()))
    });
    let seen: Vec<(usize, Layout, u64, f64)> = seen.collect();
    let volumes: BTreeSet<u64> = times.keys().map(|(_, bytes, _)| *bytes).collect();
    let asked = asked
        .iter()
        .flat_map(|layout| volumes.iter().map(move |bytes| (*layout, *bytes)));
    let asked: Vec<(Layout, u64)> = asked.collect();
    (Timed::of(rows, &seen, &asked), own)
}

impl Table {
    /// Tables of all observations, a collective each, for predictions of `asked` layouts.
    pub(crate) fn all(observations: &[Observation], asked: &[Layout]) -> Result<Vec<Table>, BadObservation> {
        let collectives: BTreeSet<Collective> = observations.iter().map(|seen| seen.call.collective).collect();
        collectives
            .into_iter()
            .map(|collective| Table::of(observations, collective, asked))
            .collect()
    }

    fn of(observations: &[Observation], collective: Collective, asked: &[Layout]) -> Result<Table, BadObservation> {
        let own = || observations.iter().filter(|seen| seen.call.collective == collective);
        let names: BTreeSet<&Implementation> = own().map(|seen| &seen.implementation).collect();
        let implementations: Vec<Implementation> = names.into_iter().cloned().collect();
        let mut times = BTreeMap::new();
        for seen in own() {
            let (layout, call, implementation) = (seen.layout, seen.call, Box::new(seen.implementation.clone()));
            if !(seen.seconds.is_finite() && seen.seconds > 0.0) {
                let seconds = seen.seconds;
                return Err(BadObservation::Seconds {
                    layout,
                    call,
                    implementation,
                    seconds,
                });
            }
            if !(seen.noise.is_finite() && seen.noise >= 0.0) {
                let noise = seen.noise;
                return Err(BadObservation::Noise {
                    layout,
                    call,
                    implementation,
                    noise,
                });
            }
            let Ok(index) = implementations.binary_search(&seen.implementation) else {
                continue;
            };
            let point = Point {
                layout,
                bytes: call.bytes,
                log: seen.seconds.ln(),
                noise: seen.noise,
            };
            if times.insert((layout, call.bytes, index), point).is_some() {
                return Err(BadObservation::Twice {
                    layout,
                    call,
                    implementation,
                });
            }
        }
        let places: BTreeSet<(Layout, u64)> = times.keys().map(|(layout, bytes, _)| (*layout, *bytes)).collect();
        let terms = Arc::new(Terms::of(collective, &implementations, &places));
        let (timed, rows) = timed(&implementations, &times, asked);
        Ok(Table {
            collective,
            implementations,
            terms,
            timed: Arc::new(timed),
            rows,
            times,
        })
    }

    /// The table without a layout.
    pub(crate) fn without(&self, layout: Layout) -> Table {
        let mut less = self.clone();
        less.times.retain(|(other, _, _), _| *other != layout);
        less
    }

    /// The index of the library's own choice.
    pub(crate) fn default(&self) -> Option<usize> {
        self.implementations.binary_search(&Implementation::Default).ok()
    }

    pub(crate) fn layouts(&self) -> BTreeSet<Layout> {
        self.times.keys().map(|(layout, _, _)| *layout).collect()
    }

    /// Layouts on which the default of a volume was measured, and so the others can be compared with it.
    pub(crate) fn compared(&self, bytes: u64) -> Vec<Layout> {
        let Some(default) = self.default() else {
            return Vec::new();
        };
        let all = self.layouts().into_iter();
        all.filter(|layout| self.point(*layout, bytes, default).is_some())
            .collect()
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        let volumes: BTreeSet<u64> = self.times.keys().map(|(_, bytes, _)| *bytes).collect();
        let collective = self.collective;
        volumes.into_iter().map(|bytes| Call { collective, bytes }).collect()
    }

    pub(crate) fn point(&self, layout: Layout, bytes: u64, implementation: usize) -> Option<&Point> {
        self.times.get(&(layout, bytes, implementation))
    }

    /// All points of an implementation.
    pub(crate) fn points(&self, implementation: usize) -> Vec<Point> {
        let of = self.times.iter().filter(|((_, _, index), _)| *index == implementation);
        of.map(|(_, point)| *point).collect()
    }

    /// Index and point of each implementation of a call on a layout.
    pub(crate) fn measured(&self, layout: Layout, bytes: u64) -> Vec<(usize, Point)> {
        self.times
            .range((layout, bytes, 0)..=(layout, bytes, usize::MAX))
            .map(|((_, _, index), point)| (*index, *point))
            .collect()
    }

    /// Measured time of an implementation over the best one's on a layout, less 1; `None` if it did not run there.
    pub(crate) fn regret(&self, layout: Layout, bytes: u64, implementation: usize) -> Option<f64> {
        let own = self.point(layout, bytes, implementation)?.log;
        let best = self.measured(layout, bytes).into_iter().map(|(_, point)| point.log);
        Some((own - best.fold(f64::INFINITY, f64::min)).exp() - 1.0)
    }

    /// Measured time of an implementation over the default's, less 1.
    pub(crate) fn over_default(&self, layout: Layout, bytes: u64, implementation: usize) -> Option<f64> {
        let default = self.point(layout, bytes, self.default()?)?.log;
        Some((self.point(layout, bytes, implementation)?.log - default).exp() - 1.0)
    }
}
