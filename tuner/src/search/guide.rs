//! The cost model at work in a round of contests: it learns from every algorithm of Kilter's that the screening measures, says which
//! of the next target's need not be measured, and explains what was.
//!
//! Nothing is measured for the model: the first targets pay for what it knows about the later ones. It knows one round's launch
//! settings on one placement of ranks, since prices depend on both.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use kilter_algorithms::{Algorithm, Cost, Nodes, registry};

use crate::config::library::Library;
use crate::cost_model::explain::because;
use crate::cost_model::fit::{Fit, Predicted};
use crate::cost_model::prune::{Candidate, judge};
use crate::cost_model::{Medium, Point, cost, costs, is_near};
use crate::deployment::Selection;
use crate::report::model::{Contest, CostModel, LeftOut, Prediction};
use crate::search::choose::Measured;
use crate::search::target::Target;

/// Both media.
const MEDIA: [Medium; 2] = [Medium::Messages, Medium::SharedMemory];

/// A prediction whose interval is wider than this factor says nothing, and is not said.
const TELLING: f64 = 25.0;

/// What a round of contests knows about its prices.
#[derive(Debug)]
pub struct Guide {
    /// Where the ranks are; without it there are no counts, and nothing is said.
    nodes: Option<Nodes>,
    /// Whether candidates are left out.
    prunes: bool,
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
            points: RefCell::default(),
            left_out: RefCell::default(),
            said_bad: Cell::default(),
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
            cost: cost(row, node_ranks(nodes), target.bytes(), &parameters, nodes),
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
        // What is no row of the registry has no counts, and so cannot be predicted.
        let of_row = |(row, _): Row| Candidate {
            medium: Medium::of(row),
            costs: costs(row, ranks, target.bytes(), nodes)
                .into_iter()
                .map(|(_, cost)| cost)
                .collect(),
        };
        let rows: Vec<Option<Row>> = candidates.iter().map(own_row).collect();
        let predictable: Vec<Candidate> = rows.iter().flatten().cloned().map(of_row).collect();
        let mut judged = judge(&predictable, &|medium| fits.get(&medium)).into_iter();
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

    /// Adds to a contest what the model says of it: each candidate is predicted from the times of the others, so that a
    /// prediction is one.
    pub fn explain(&self, library: &Library, target: &Target, measured: &[Measured], contest: &mut Contest) {
        let Some(nodes) = &self.nodes else { return };
        let fits = self.fits(target, None);
        contest.models = fits.iter().map(|(medium, fit)| in_report(*medium, fit)).collect();
        contest.left_out = self.left_out.borrow().get(&target.name()).cloned().unwrap_or_default();
        for candidate in measured {
            let Some(selection) = &candidate.selection else {
                continue;
            };
            let Some((row, parameters)) = own_row(selection).or_else(|| row_of_library(library, target, selection))
            else {
                continue;
            };
            let without = self.fits(target, Some(row.id));
            let Some(fit) = without.get(&Medium::of(row)).filter(|fit| fit.is_trusted()) else {
                continue;
            };
            let cost = cost(row, node_ranks(nodes), target.bytes(), &parameters, nodes);
            let is_telling = |one: &Predicted| one.high <= TELLING * one.low;
            let Some(predicted) = fit.predict(cost).filter(is_telling) else {
                continue;
            };
            let id = selection.id();
            for contestant in contest.candidates.iter_mut().filter(|contestant| contestant.id == id) {
                contestant.predicted = Some(prediction(predicted, cost, fit));
            }
        }
    }

    /// The models near a target, fitted to everything but the row `without` at the target's own volume.
    fn fits(&self, target: &Target, without: Option<&str>) -> BTreeMap<Medium, Fit> {
        let points = self.points.borrow();
        let fit = |medium: Medium| {
            let near: Vec<(Cost, f64)> = points
                .iter()
                .filter(|point| point.medium == medium && is_near(point.bytes, target.bytes()))
                .filter(|point| point.bytes != target.bytes() || Some(point.id.as_str()) != without)
                .map(|point| (point.cost, point.seconds))
                .collect();
            Some((medium, Fit::of(&near)?))
        };
        MEDIA.into_iter().filter_map(fit).collect()
    }

    /// A prediction of a row with the best of its parameters, as [`judge`] made it.
    fn best_in_words(
        &self,
        row: &'static Algorithm,
        target: &Target,
        predicted: Predicted,
        fits: &BTreeMap<Medium, Fit>,
        nodes: &Nodes,
    ) -> Prediction {
        let fit = &fits[&Medium::of(row)];
        let all = costs(row, node_ranks(nodes), target.bytes(), nodes);
        let seconds = |cost: &Cost| cost.seconds(fit.alpha, fit.beta, fit.gamma);
        let best = all.iter().min_by(|a, b| seconds(&a.1).total_cmp(&seconds(&b.1)));
        prediction(predicted, best.map_or(Cost::ZERO, |(_, cost)| *cost), fit)
    }

    /// What was left out, or, the first time, that a model is not trusted.
    fn note(&self, target: &Target, left_out: &[LeftOut], fits: &BTreeMap<Medium, Fit>) -> Option<String> {
        if !left_out.is_empty() {
            let ids: Vec<&str> = left_out.iter().map(|one| one.id.as_str()).collect();
            return Some(format!(
                "{}: not measured, since the cost model puts them far above the best: {}",
                target.name(),
                ids.join(", ")
            ));
        }
        let (medium, fit) = fits.iter().find(|(_, fit)| !fit.is_trusted())?;
        (!self.said_bad.replace(true)).then(|| {
            format!(
                "{}: the cost model of {} misses measured times by a factor of {:.1}, so it leaves nothing out",
                target.name(),
                medium.name(),
                fit.misfit
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
        Selection::Settings(_) | Selection::Mockup(_) | Selection::Plugin(_) => None,
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

fn in_report(medium: Medium, fit: &Fit) -> CostModel {
    CostModel {
        medium: medium.name().to_owned(),
        alpha: fit.alpha,
        beta: fit.beta,
        gamma: fit.gamma,
        points: fit.points,
        misfit: fit.misfit,
        trusted: fit.is_trusted(),
    }
}

fn prediction(predicted: Predicted, cost: Cost, fit: &Fit) -> Prediction {
    Prediction {
        seconds: predicted.seconds,
        interval: (predicted.low, predicted.high),
        because: because(cost, fit),
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;
    use crate::config::library::find_for;
    use crate::search::choose::choose;
    use crate::search::space;
    use crate::stats::sample::Sample;
    use crate::verdict::Rule;

    const RANKS: usize = 32;

    fn nodes() -> Nodes {
        Nodes::each_alone(RANKS)
    }

    fn openmpi() -> Library {
        find_for("mpirun (Open MPI) 4.1.4").unwrap()
    }

    /// 50 us a round, 1 ns a byte, 0.1 ns a byte combined.
    fn seconds(target: &Target, selection: &Selection) -> f64 {
        let (row, parameters) = own_row(selection).unwrap();
        cost(row, RANKS, target.bytes(), &parameters, &nodes()).seconds(50e-6, 1e-9, 1e-10)
    }

    fn candidates(target: &Target) -> Vec<Selection> {
        space::selections(&openmpi(), target, RANKS, false)
    }

    /// Has measured all algorithms for these.
    fn taught(prunes: bool, known: &[(Collective, u64)]) -> Guide {
        let guide = Guide::new(Some(nodes()), prunes);
        for (collective, bytes) in known {
            let target = Target::unbounded(*collective, *bytes);
            for selection in candidates(&target)
                .iter()
                .filter(|selection| own_row(selection).is_some())
            {
                guide.learn(&target, selection, seconds(&target, selection));
            }
        }
        guide
    }

    const KNOWN: [(Collective, u64); 2] = [(Collective::Allreduce, 1024), (Collective::Gather, 2048)];

    #[test]
    fn what_is_far_above_the_best_is_not_measured_and_everything_else_is() {
        let guide = taught(true, &KNOWN);
        let target = Target::unbounded(Collective::Bcast, 1024);
        let all = candidates(&target);
        let (kept, note) = guide.field(&target, all.clone());
        let gone: Vec<String> = all
            .iter()
            .filter(|one| !kept.contains(one))
            .map(Selection::id)
            .collect();
        // 31 messages one after the other, against 5 rounds.
        assert!(gone.iter().any(|id| id == "bcast.linear"), "{gone:?}");
        assert!(kept.iter().any(|one| one.id().starts_with("bcast.binomial")));
        assert!(
            gone.iter().all(|id| id.starts_with("bcast.")),
            "settings and mock-ups stay: {gone:?}"
        );
        assert!(note.is_some_and(|note| note.starts_with("bcast 1024: not measured") && note.contains("bcast.linear")));
    }

    #[test]
    fn nothing_is_left_out_where_nothing_is_known_or_it_must_not() {
        let target = Target::unbounded(Collective::Bcast, 1024);
        let all = candidates(&target);
        let far = [(Collective::Allreduce, 1 << 20)];
        for guide in [
            taught(true, &[]),
            taught(true, &far),
            taught(false, &KNOWN),
            Guide::new(None, true),
        ] {
            assert_eq!(guide.field(&target, all.clone()), (all.clone(), None));
        }
    }

    #[test]
    fn a_model_that_does_not_fit_says_so() {
        let guide = taught(true, &KNOWN);
        // As many times again, of which every other one is four times as long, and the rest a fourth.
        for (collective, bytes) in [
            (Collective::Reduce, 1024),
            (Collective::Scatter, 2048),
            (Collective::Allgather, 1024),
        ] {
            let odd = Target::unbounded(collective, bytes);
            let rows = candidates(&odd).into_iter().filter(|one| own_row(one).is_some());
            for (index, selection) in rows.enumerate() {
                let factor = if index % 2 == 0 { 4.0 } else { 0.25 };
                guide.learn(&odd, &selection, factor * seconds(&odd, &selection));
            }
        }
        let target = Target::unbounded(Collective::Bcast, 1024);
        let all = candidates(&target);
        let (kept, note) = guide.field(&target, all.clone());
        assert_eq!(kept, all);
        assert!(note.is_some_and(|note| note.ends_with("so it leaves nothing out")));
    }

    #[test]
    fn a_contest_is_explained_by_the_times_of_the_others() {
        let guide = taught(true, &KNOWN);
        let target = Target::unbounded(Collective::Bcast, 1024);
        let algorithm = Selection::Algorithm("bcast.binomial".to_owned(), Vec::new());
        guide.field(&target, candidates(&target));
        // What is measured is twice what the others let expect: the prediction does not follow.
        let slow = 2.0 * seconds(&target, &algorithm);
        guide.learn(&target, &algorithm, slow);
        // The library's own linear broadcast.
        let linear = Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), "1".to_owned())]);
        let measured = |selection, seconds| Measured {
            selection,
            medians: Sample::new(vec![seconds; 3]).unwrap(),
        };
        let measured = [
            measured(None, 1e-3),
            measured(Some(algorithm.clone()), slow),
            measured(Some(linear.clone()), 1.6e-3),
        ];
        let mut contest = choose(&target, &measured, &[], &Rule::default()).contest;
        guide.explain(&openmpi(), &target, &measured, &mut contest);
        let of = |id: &str| {
            contest
                .candidates
                .iter()
                .find(|one| one.id == id)
                .unwrap()
                .predicted
                .clone()
        };
        let predicted = of(&algorithm.id()).unwrap();
        approx::assert_relative_eq!(predicted.seconds, slow / 2.0, max_relative = 1e-3);
        assert!(
            predicted
                .because
                .starts_with("5 rounds x 50.0 us + 5 KiB sent x 1.00 ns/B"),
            "{predicted:?}"
        );
        let linear = of(&linear.id()).unwrap();
        assert!(linear.because.starts_with("31 rounds x "), "{linear:?}");
        assert_eq!(of("default"), None);
        assert!(
            contest
                .models
                .iter()
                .any(|model| model.medium == "messages" && model.points > 5)
        );
        assert!(contest.left_out.iter().any(|one| one.id == "bcast.linear"));
    }
}
