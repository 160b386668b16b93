//! The cost model during an in-job search. It learns from every algorithm of Kilter's that the screening measures, says which of the next
//! target's candidates need not be measured, and explains the measured times.
//!
//! Measured prices of messages ([`crate::cost_model::measure`]) explain the times, and the model learns how far off they are for collectives.
//! Without them, prices are fitted to the times of collectives and named so: the first targets pay for the knowledge about the later ones. A
//! guide knows one round's launch settings on one placement of ranks, since prices depend on both.

mod basis;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use kilter_algorithms::{Algorithm, Cost, Nodes, registry};
use kilter_model::config::library::Library;
use kilter_model::deployment::Selection;
use kilter_model::report::{Contest, LeftOut, Prediction};

use crate::choose::Measured;
use crate::cost_model::calibrated::Calibrated;
use crate::cost_model::counts::{Counts, counts};
use crate::cost_model::explain::{by_prices, unexplained};
use crate::cost_model::fit::{Fit, Predicted};
use crate::cost_model::prices::{Distance, Prices};
use crate::cost_model::prune::{Candidate, judge};
use crate::cost_model::{Medium, Point, cost, costs, is_near};
use crate::target::Target;

use basis::{Basis, by_fit, residual};

/// Both media.
const MEDIA: [Medium; 2] = [Medium::Messages, Medium::SharedMemory];

/// A prediction whose interval is wider than this factor says nothing, and is not said.
const TELLING: f64 = 25.0;

/// A round's knowledge of its prices.
#[derive(Debug)]
pub struct Guide {
    /// Placement of the ranks. Without it there are no counts, so the guide says nothing.
    nodes: Option<Nodes>,
    /// True if candidates may be left out.
    prunes: bool,
    /// Prices of messages and local work, where they were measured.
    prices: Prices,
    points: RefCell<Vec<Point>>,
    left_out: RefCell<BTreeMap<String, Vec<LeftOut>>>,
    /// Once is enough.
    said_bad: Cell<bool>,
}

/// A row of the registry with the values of its parameters.
type Row = (&'static Algorithm, Vec<u64>);

impl Guide {
    /// Knows nothing yet; with `prunes` it leaves candidates out once it does.
    #[must_use]
    pub fn new(nodes: Option<Nodes>, prunes: bool) -> Guide {
        Guide {
            nodes,
            prunes,
            prices: Prices::default(),
            points: RefCell::default(),
            left_out: RefCell::default(),
            said_bad: Cell::default(),
        }
    }

    /// Explains by measured prices.
    #[must_use]
    pub fn with_prices(self, prices: Prices) -> Guide {
        Guide { prices, ..self }
    }

    /// The distance that all messages go, if there is just one and its price was measured.
    fn priced(&self, medium: Medium) -> Option<Distance> {
        let distance = Distance::of_all(self.nodes.as_ref()?)?;
        (medium == Medium::Messages && self.prices.level(distance).is_some()).then_some(distance)
    }

    /// Counts of a call; messages in turn only where a price is put on them.
    fn count(&self, row: &'static Algorithm, bytes: u64, parameters: &[u64], nodes: &Nodes) -> Counts {
        let ranks = node_ranks(nodes);
        if self.priced(Medium::of(row)).is_some() {
            counts(row, ranks, bytes, parameters, nodes)
        } else {
            cost(row, ranks, bytes, parameters, nodes).into()
        }
    }

    /// Takes in a measured time.
    pub fn learn(&self, target: &Target, selection: &Selection, seconds: f64) {
        let (Some(nodes), Some((row, parameters))) = (&self.nodes, own_row(selection)) else {
            return;
        };
        self.points.borrow_mut().push(Point {
            id: row.id.to_owned(),
            medium: Medium::of(row),
            bytes: target.bytes(),
            counts: self.count(row, target.bytes(), &parameters, nodes),
            seconds,
        });
    }

    /// The candidates that have to be measured, in the order given, and a sentence about those that have not, if any, or about
    /// why the model decides nothing although it could have.
    pub fn field(&self, target: &Target, candidates: Vec<Selection>) -> (Vec<Selection>, Option<String>) {
        let (Some(nodes), true) = (&self.nodes, self.prunes) else {
            return (candidates, None);
        };
        let fits = self.fits(target, None);
        if fits.is_empty() {
            return (candidates, None);
        }
        let ranks = node_ranks(nodes);
        // A candidate that is no row of the registry has no counts, and so cannot be predicted.
        let of_row = |(row, _): Row| Candidate {
            medium: Medium::of(row),
            costs: costs(row, ranks, target.bytes(), nodes)
                .into_iter()
                .map(|(parameters, _)| self.count(row, target.bytes(), &parameters, nodes))
                .collect(),
        };
        let rows: Vec<Option<Row>> = candidates.iter().map(own_row).collect();
        let predictable: Vec<Candidate> = rows.iter().flatten().cloned().map(of_row).collect();
        let mut judged = judge(&predictable, &|medium| fits.get(&medium).map(Basis::model)).into_iter();
        let mut left_out = Vec::new();
        let mut kept = Vec::with_capacity(candidates.len());
        for (selection, row) in candidates.into_iter().zip(rows) {
            let judged = row.as_ref().and_then(|_| judged.next());
            match (row, judged) {
                (Some((row, _)), Some(judged)) if judged.left_out => {
                    left_out.extend(judged.predicted.map(|predicted| LeftOut {
                        id: row.id.to_owned(),
                        predicted: self.best_in_words(row, target, predicted, &fits, nodes),
                    }));
                }
                _ => kept.push(selection),
            }
        }
        let note = self.note(target, &left_out, &fits);
        self.left_out.borrow_mut().insert(target.name(), left_out);
        (kept, note)
    }

    /// Adds the model's explanation to a contest. It uses measured prices; without any, each candidate's time is predicted from the times of the
    /// others.
    pub fn explain(&self, library: &Library, target: &Target, measured: &[Measured], contest: &mut Contest) {
        let Some(nodes) = &self.nodes else { return };
        let fits = self.fits(target, None);
        contest.models = self.in_report(&fits, target);
        contest.left_out = self.left_out.borrow().get(&target.name()).cloned().unwrap_or_default();
        for candidate in measured {
            let Some(selection) = &candidate.selection else {
                continue;
            };
            let Some((row, parameters)) = own_row(selection).or_else(|| row_of_library(library, target, selection))
            else {
                continue;
            };
            let counts = self.count(row, target.bytes(), &parameters, nodes);
            let seconds = candidate.medians.median();
            let Some(prediction) = self.predict(row, &counts, target, seconds) else {
                continue;
            };
            let id = selection.id();
            for contestant in contest.candidates.iter_mut().filter(|contestant| contestant.id == id) {
                contestant.predicted = Some(prediction.clone());
            }
        }
    }

    /// Explanation of a call that took so many seconds.
    fn predict(&self, row: &'static Algorithm, counts: &Counts, target: &Target, seconds: f64) -> Option<Prediction> {
        let medium = Medium::of(row);
        if let Some(distance) = self.priced(medium) {
            let explained = by_prices(counts, &self.prices, distance)?;
            return Some(Prediction {
                seconds: explained.total.seconds,
                interval: explained.total.interval,
                unexplained: unexplained(explained.total.seconds, seconds),
                because: explained.because,
            });
        }
        let without = self.fits(target, Some(row.id));
        let Some(Basis::Fitted(fit)) = without.get(&medium) else {
            return None;
        };
        let is_telling = |one: &Predicted| one.high <= TELLING * one.low;
        let predicted = fit
            .predict(counts.cost)
            .filter(|one| fit.is_trusted() && is_telling(one))?;
        Some(Prediction {
            unexplained: unexplained(predicted.seconds, seconds),
            ..by_fit(predicted, counts.cost, fit)
        })
    }

    /// The models near a target, which know everything but the row `without` at the target's own volume.
    fn fits(&self, target: &Target, without: Option<&str>) -> BTreeMap<Medium, Basis> {
        let points = self.points.borrow();
        let of = |medium: Medium| {
            let near: Vec<(Counts, f64)> = points
                .iter()
                .filter(|point| point.medium == medium && is_near(point.bytes, target.bytes()))
                .filter(|point| point.bytes != target.bytes() || Some(point.id.as_str()) != without)
                .map(|point| (point.counts, point.seconds))
                .collect();
            let basis = match self.priced(medium) {
                Some(distance) => Basis::Measured(Calibrated::of(&self.prices, distance, &near)?),
                None => {
                    let near: Vec<(Cost, f64)> = near.iter().map(|(counts, seconds)| (counts.cost, *seconds)).collect();
                    Basis::Fitted(Fit::of(&near)?)
                }
            };
            Some((medium, basis))
        };
        MEDIA.into_iter().filter_map(of).collect()
    }

    /// A prediction of a row with the best of its parameters, as [`judge`] made it.
    fn best_in_words(
        &self,
        row: &'static Algorithm,
        target: &Target,
        predicted: Predicted,
        fits: &BTreeMap<Medium, Basis>,
        nodes: &Nodes,
    ) -> Prediction {
        let basis = &fits[&Medium::of(row)];
        let all = costs(row, node_ranks(nodes), target.bytes(), nodes);
        let all = all
            .iter()
            .map(|(parameters, _)| self.count(row, target.bytes(), parameters, nodes));
        let seconds = |counts: &Counts| basis.model().predict(counts).map_or(f64::INFINITY, |one| one.seconds);
        let best = all.min_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let counts = best.unwrap_or(Counts::from(Cost::ZERO));
        let because = match basis {
            Basis::Fitted(fit) => return by_fit(predicted, counts.cost, fit),
            Basis::Measured(model) => {
                let distance = self.priced(Medium::of(row));
                let explained = distance.and_then(|distance| by_prices(&counts, &self.prices, distance));
                let residual = residual(counts.cost.rounds, model.residual);
                explained.map_or(String::new(), |explained| explained.because) + &residual
            }
        };
        Prediction {
            seconds: predicted.seconds,
            interval: (predicted.low, predicted.high),
            unexplained: None,
            because,
        }
    }

    /// A note for the user: the candidates left out, or, once, that a model is not trusted.
    fn note(&self, target: &Target, left_out: &[LeftOut], fits: &BTreeMap<Medium, Basis>) -> Option<String> {
        if !left_out.is_empty() {
            let ids: Vec<&str> = left_out.iter().map(|one| one.id.as_str()).collect();
            return Some(format!(
                "{}: not measured, since the cost model puts them far above the best: {}",
                target.name(),
                ids.join(", ")
            ));
        }
        let (medium, fit) = fits.iter().find(|(_, fit)| !fit.model().is_trusted())?;
        (!self.said_bad.replace(true)).then(|| {
            format!(
                "{}: the cost model of {} misses measured times by a factor of {:.1}, so every candidate is measured",
                target.name(),
                medium.name(),
                fit.misfit()
            )
        })
    }
}

fn node_ranks(nodes: &Nodes) -> usize {
    (0..nodes.count()).map(|node| nodes.members(node).len()).sum()
}

fn own_row(selection: &Selection) -> Option<Row> {
    match selection {
        Selection::Algorithm(id, parameters) => Some((registry::find(id)?, parameters.clone())),
        Selection::Settings(_) | Selection::Mockup(..) | Selection::Plugin(_) => None,
    }
}

/// Kilter's row of the algorithm that settings of the library choose, where the description names one, with the segment that they
/// set.
fn row_of_library(library: &Library, target: &Target, selection: &Selection) -> Option<Row> {
    let Selection::Settings(settings) = selection else {
        return None;
    };
    let algorithms = library.algorithms_of(target.collective()?)?;
    let value = |name: &str| settings.iter().find(|(other, _)| other == name).map(|(_, value)| value);
    let chosen = value(&algorithms.parameter)?;
    let choice = algorithms
        .choices
        .iter()
        .find(|choice| choice.value.to_string() == *chosen)?;
    let row = registry::find(choice.kilter.as_ref()?)?;
    let set = value(&format!("{}_segmentsize", algorithms.parameter)).and_then(|value| value.parse::<u64>().ok());
    let parameters = row.parameters.iter().map(|parameter| match set {
        Some(bytes) if parameter.name.contains("segment") => bytes.clamp(parameter.min, parameter.max),
        // Without one the library sends the message in one piece.
        None if parameter.name.contains("segment") => target.bytes().clamp(parameter.min, parameter.max),
        _ => parameter.default,
    });
    Some((row, parameters.collect()))
}

#[cfg(test)]
mod tests;
