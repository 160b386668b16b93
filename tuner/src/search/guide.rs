//! The cost model at work in a round of contests: it learns from every algorithm of Kilter's that the screening measures, says which
//! of the next target's need not be measured, and explains what was.
//!
//! Where the prices of messages were measured ([`crate::cost_model::measure`]), they explain, and what the model learns is how far off they are
//! for collectives. Where they were not, prices are fitted to what was measured, and named so: the first targets pay for what it knows about the
//! later ones. It knows one round's launch settings on one placement of ranks, since prices depend on both.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use kilter_algorithms::{Algorithm, Cost, Nodes, registry};

use crate::config::library::Library;
use crate::cost_model::calibrated::Calibrated;
use crate::cost_model::counts::{Counts, counts};
use crate::cost_model::explain::{by_prices, fitted, unexplained};
use crate::cost_model::fit::{Fit, Predicted};
use crate::cost_model::prices::{Distance, Price, Prices};
use crate::cost_model::prune::{Candidate, Model, judge};
use crate::cost_model::{Medium, Point, cost, costs, is_near};
use crate::deployment::Selection;
use crate::report::format;
use crate::report::model::{Contest, CostModel, LeftOut, MeasuredPrice, Prediction};
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
    /// What messages and local work cost, where it was measured.
    prices: Prices,
    points: RefCell<Vec<Point>>,
    left_out: RefCell<BTreeMap<String, Vec<LeftOut>>>,
    /// Once is enough.
    said_bad: Cell<bool>,
}

/// A row of the registry with the values of its parameters.
type Row = (&'static Algorithm, Vec<u64>);

/// What a medium's times are predicted by.
#[derive(Debug)]
enum Basis {
    /// Measured prices.
    Measured(Calibrated),
    /// Prices fitted to the times of other collectives.
    Fitted(Fit),
}

impl Basis {
    fn model(&self) -> &dyn Model {
        match self {
            Basis::Measured(model) => model,
            Basis::Fitted(model) => model,
        }
    }

    fn misfit(&self) -> f64 {
        match self {
            Basis::Measured(model) => model.misfit,
            Basis::Fitted(model) => model.misfit,
        }
    }
}

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

    /// The same, explaining by measured prices.
    #[must_use]
    pub fn with_prices(self, prices: Prices) -> Guide {
        Guide { prices, ..self }
    }

    /// How far all messages go, where that is one distance whose price was measured.
    fn priced(&self, medium: Medium) -> Option<Distance> {
        let distance = Distance::of_all(self.nodes.as_ref()?)?;
        (medium == Medium::Messages && self.prices.level(distance).is_some()).then_some(distance)
    }

    /// What a call counts; messages in turn only where a price is put on them.
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
        // What is no row of the registry has no counts, and so cannot be predicted.
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

    /// Adds to a contest what the model says of it: by measured prices, or where there are none each candidate from the times of the
    /// others, so that a prediction is one.
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

    /// What the model says of a call that took so many seconds.
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

    /// The models of a target for the report.
    fn in_report(&self, fits: &BTreeMap<Medium, Basis>, target: &Target) -> Vec<CostModel> {
        let mut models = Vec::new();
        for medium in MEDIA {
            let prices = self
                .priced(medium)
                .map(|distance| self.prices_near(distance, target.bytes()));
            let basis = fits.get(&medium);
            let none = CostModel {
                medium: medium.name().to_owned(),
                prices: prices.clone().unwrap_or_default(),
                residual: 0.0,
                alpha: 0.0,
                beta: 0.0,
                gamma: 0.0,
                points: 0,
                misfit: 1.0,
                trusted: false,
            };
            models.extend(match basis {
                Some(Basis::Measured(model)) => Some(CostModel {
                    residual: model.residual,
                    points: model.points,
                    misfit: model.misfit,
                    trusted: model.is_trusted(),
                    ..none
                }),
                Some(Basis::Fitted(fit)) => Some(CostModel {
                    alpha: fit.alpha,
                    beta: fit.beta,
                    gamma: fit.gamma,
                    points: fit.points,
                    misfit: fit.misfit,
                    trusted: fit.is_trusted(),
                    ..none
                }),
                None => prices.map(|_| none),
            });
        }
        models
    }

    /// The measured prices of messages of so many bytes.
    fn prices_near(&self, distance: Distance, bytes: u64) -> Vec<MeasuredPrice> {
        let Some(level) = self.prices.level(distance) else {
            return Vec::new();
        };
        let size = bytes as f64;
        let priced = |what: String, price: Price| MeasuredPrice {
            what,
            seconds: price.seconds,
            interval: price.interval,
        };
        let of = format::bytes(bytes);
        let mut prices = vec![
            priced(format!("latency {}", distance.name()), level.latency()),
            priced("gap between messages".to_owned(), level.gap()),
            priced(format!("under way for {of}"), level.under_way(size)),
            priced(format!("byte of {of}"), level.byte(size)),
        ];
        prices.extend(
            self.prices
                .combine(size)
                .map(|price| priced("byte combined".to_owned(), price)),
        );
        prices.extend(
            self.prices
                .copy(size)
                .map(|price| priced("byte copied".to_owned(), price)),
        );
        prices
    }

    /// What was left out, or, the first time, that a model is not trusted.
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
                "{}: the cost model of {} misses measured times by a factor of {:.1}, so it leaves nothing out",
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

/// A prediction by fitted prices, which says that they are.
fn by_fit(predicted: Predicted, cost: Cost, fit: &Fit) -> Prediction {
    Prediction {
        seconds: predicted.seconds,
        interval: (predicted.low, predicted.high),
        unexplained: None,
        because: format!("{} (fitted to other times)", fitted(cost, fit)),
    }
}

/// What collectives need beside measured prices; empty where that is nothing.
fn residual(messages: f64, seconds: f64) -> String {
    if seconds == 0.0 {
        return String::new();
    }
    format!(
        " + {messages} x {} that the prices leave open",
        format::seconds(seconds)
    )
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;
    use crate::config::library::find_for;
    use crate::cost_model::tests_of_prices::{SLOW, prices};
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

    #[test]
    fn measured_prices_explain_a_chain_by_latencies_and_say_what_they_do_not_explain() {
        let prices = prices(&SLOW, Distance::Between, 1.0, 0);
        let guide = Guide::new(Some(Nodes::each_alone(8)), true).with_prices(prices);
        let target = Target::unbounded(Collective::Bcast, 262_144);
        let chain = Selection::Algorithm("bcast.pipelined_chain".to_owned(), vec![32_768]);
        // Seven latencies, fourteen messages: 1.4 ms + 14 * (4 us + 32 KiB * 8.5 ns/B).
        let seconds = 7.0 * 196e-6 + 14.0 * (4e-6 + 32_768.0 * 8.5e-9);
        let measured = |factor: f64| {
            let medians = |seconds| Sample::new(vec![seconds; 3]).unwrap();
            let selection = Some(chain.clone());
            [
                Measured {
                    selection: None,
                    medians: medians(1.0),
                },
                Measured {
                    selection,
                    medians: medians(factor * seconds),
                },
            ]
        };
        let explained = |factor: f64| {
            let measured = measured(factor);
            let mut contest = choose(&target, &measured, &[], &Rule::default()).contest;
            guide.explain(&openmpi(), &target, &measured, &mut contest);
            let found = contest.candidates.iter().find(|one| one.id == chain.id()).unwrap();
            (found.predicted.clone().unwrap(), contest.models)
        };
        let (predicted, models) = explained(1.0);
        approx::assert_relative_eq!(predicted.seconds, seconds, max_relative = 0.02);
        assert!(
            predicted.because.starts_with("7 hops x 196 us + 14 messages x 4.0"),
            "{predicted:?}"
        );
        assert_eq!(predicted.unexplained, None);
        // Nothing was learnt of collectives; the prices are there all the same, and leave nothing out.
        let latency = models[0]
            .prices
            .iter()
            .find(|price| price.what == "latency between nodes")
            .unwrap();
        approx::assert_relative_eq!(latency.seconds, 200e-6, max_relative = 0.01);
        assert!(!models[0].trusted && models[0].points == 0);
        let all = candidates(&target);
        assert_eq!(guide.field(&target, all.clone()), (all, None));
        for factor in [0.7, 1.5] {
            let (predicted, _) = explained(factor);
            let text = predicted.unexplained.unwrap();
            assert!(text.starts_with("the model does not explain it"), "{factor}: {text}");
        }
    }

    #[test]
    fn measured_prices_leave_out_what_is_far_above_the_best() {
        let prices = prices(&SLOW, Distance::Between, 1.0, 0);
        let guide = Guide::new(Some(nodes()), true).with_prices(prices.clone());
        let time = |target: &Target, selection: &Selection| {
            let (row, parameters) = own_row(selection)?;
            let counts = counts(row, RANKS, target.bytes(), &parameters, &nodes());
            Some(by_prices(&counts, &prices, Distance::Between)?.total.seconds)
        };
        let learn = |factor: fn(usize) -> f64| {
            for (collective, bytes) in KNOWN {
                let target = Target::unbounded(collective, bytes);
                for (index, selection) in candidates(&target).iter().enumerate() {
                    if let Some(seconds) = time(&target, selection) {
                        guide.learn(&target, selection, factor(index) * seconds);
                    }
                }
            }
        };
        learn(|_| 1.1);
        // A chain of 31 hops, or one of few segments, against five.
        let target = Target::unbounded(Collective::Bcast, 1024);
        let all = candidates(&target);
        let (kept, _) = guide.field(&target, all.clone());
        let gone: Vec<String> = all
            .iter()
            .filter(|one| !kept.contains(one))
            .map(Selection::id)
            .collect();
        assert!(
            gone.iter().any(|id| id.starts_with("bcast.pipelined_chain")),
            "{gone:?}"
        );
        // The root sends 31 messages behind each other, which the latency hides.
        assert!(kept.iter().any(|one| one.id() == "bcast.linear"), "{gone:?}");
        // As many times that are off by four either way: nothing is left out any more.
        learn(|index| if index % 2 == 0 { 4.0 } else { 0.25 });
        let (kept, note) = guide.field(&target, all.clone());
        assert_eq!(kept, all);
        assert!(note.is_some_and(|note| note.ends_with("so it leaves nothing out")));
    }
}
