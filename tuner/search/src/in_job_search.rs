//! Contests inside running jobs: every candidate for a violated cell against the default and the bounds, interleaved in the
//! same job. Algorithms and knobs of the library are switched through MPI_T on a duplicated communicator, Kilter's own run over
//! point-to-point calls, mock-ups over the library, and those of a plugin as the plugin will.
//!
//! Three rounds, each with fewer candidates and more repetitions (successive halving): a screening of all, a refinement of the
//! ordered knobs of the front runners by argmin, and a final over several launches, whose medians decide.

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_bench::launch::session::{BlockOutcome, Session, SessionError};
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::limits::Call;
use kilter_model::plan::{self, BOUND, DEFAULT};
use kilter_model::report::{FixKind, Refused, Screened};
use kilter_model::setup::Setup;
use kilter_protocol::fault::{Fault, FaultKind};
use kilter_protocol::plan::{Block, Implementation, Item, Repetitions};
use kilter_stats::sample::Sample;
use kilter_stats::verdict::Rule;

use crate::choose::{Choice, Measured, choose_among};
use crate::context::Context;
use crate::correctness::admit;
use crate::guide::Guide;
use crate::ordered::{self, Costs, Space};
use crate::proof::{self, Finding};
use crate::ranking::{best_of_kinds, ranked, to_refine};
use crate::reasons;
use crate::space;
use crate::target::Target;
use crate::trials::{self, Purpose};

/// Candidates per block of the screening: few enough that drift within the block stays small.
const PER_BLOCK: usize = 10;
/// Candidates that reach the final.
const FINALISTS: usize = 5;
/// Launches of the final.
pub const FINAL_LAUNCHES: usize = 5;
/// Values that are measured at most of a knob alone, and points of several together: fewer than of one after the other.
const EVALUATIONS: usize = 7;
const EVALUATIONS_TOGETHER: usize = 10;
/// A median this far above the default's in the screening is out, whatever its rank.
const HOPELESS: f64 = 3.0;

/// A contest that was held, before anything is chosen.
#[derive(Debug, Clone)]
pub struct Held {
    /// The target of this contest.
    pub target: Target,
    /// The default and the finalists.
    pub candidates: Vec<Measured>,
    /// The right sides of the target.
    pub bounds: Vec<Sample>,
}

/// Medians of each launch in seconds, by item.
type Medians = BTreeMap<String, Vec<f64>>;

/// Runs the contests of one round of tuning.
pub struct Contests<'c, 'a> {
    context: &'c Context<'a>,
    setup: Setup,
    deployment: &'c Deployment,
    label: String,
    guide: Guide,
    /// Candidates that the options forbid, by the name of the target.
    refused: RefCell<BTreeMap<String, Vec<Refused>>>,
    /// Candidates that the screening found faster and left behind, by the name of the target.
    left_behind: RefCell<BTreeMap<String, Vec<Screened>>>,
}

impl<'c, 'a> Contests<'c, 'a> {
    /// Prepares contests under the launch settings of `deployment`. `label` names them in launch keys.
    #[must_use]
    pub fn new(context: &'c Context<'a>, deployment: &'c Deployment, label: &str) -> Contests<'c, 'a> {
        let setup = Setup::of(deployment).switching().comparing_bits();
        Contests {
            context,
            setup,
            deployment,
            label: label.to_owned(),
            guide: Guide::new(context.site.nodes(), true).with_prices(context.facts.prices()),
            refused: RefCell::default(),
            left_behind: RefCell::default(),
        }
    }

    /// The setup of its launches.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Measures the candidates that the cost model would leave out, too.
    #[must_use]
    pub fn measuring_all(self) -> Contests<'c, 'a> {
        Contests {
            guide: Guide::new(self.context.site.nodes(), false).with_prices(self.context.facts.prices()),
            ..self
        }
    }

    /// Finds the best candidate for each target, in the order given; stops where the budget ends.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn run(
        &self,
        targets: &[Target],
        kinds: &dyn Fn(&Target, FixKind) -> bool,
    ) -> anyhow::Result<Vec<(Target, Choice)>> {
        let finals = self.screen_all(targets, kinds, &front)?;
        let held = self.finals(finals, FINAL_LAUNCHES)?;
        let findings = proof::of_finalists(
            &self.context.jobs,
            &self.context.proofs,
            &self.context.quarantine,
            &self.label,
            &self.setup,
            &held,
        )?;
        let rule = self.context.site.rule(self.context.facts.noise_seconds());
        held.into_iter()
            .map(|held| {
                let Held {
                    target,
                    mut candidates,
                    bounds,
                } = held;
                let finding = findings.get(&target.name());
                let credited = |one: &Selection| finding.is_none_or(|finding| finding.credits(one));
                candidates.retain(|candidate| candidate.selection.as_ref().is_none_or(&credited));
                let mut choice = self.choose_proven(&target, candidates.clone(), &bounds, &rule)?;
                if let Some(finding) = finding {
                    choice.hidden = matches!(finding, Finding::NoEffect { .. });
                    self.tell(&target, finding, &mut choice);
                }
                let library = &self.context.site.library;
                self.guide.explain(library, &target, &candidates, &mut choice.contest);
                self.add_refused(&target, &mut choice);
                let behind = self.left_behind.borrow_mut().remove(&target.name());
                choice.contest.screened = behind.unwrap_or_default();
                self.tell_why_not(&target, &choice);
                Ok((target, choice))
            })
            .collect()
    }

    /// Says which finalists were faster than the default and are not deployed, and why; the report has those of the screening as well.
    fn tell_why_not(&self, target: &Target, choice: &Choice) {
        for one in &choice.contest.candidates {
            if let Some(why) = &one.not_deployed {
                self.context
                    .progress
                    .note(&format!("{}: `{}` {why}", target.name(), one.id));
            }
        }
    }

    /// Adds to the choice the evidence on the library's algorithms. If they have no effect, it also warns and puts them into quarantine.
    fn tell(&self, target: &Target, finding: &Finding, choice: &mut Choice) {
        let context = self.context;
        let mut text = finding.text();
        if let Finding::NoEffect { .. } = finding {
            let transports = context.facts.transports();
            let admitting: Vec<String> = context
                .site
                .library
                .admitting(&transports)
                .map(|row| format!("`{}`", row.name))
                .collect();
            if !admitting.is_empty() {
                text += &format!(
                    "; the library may use them only under another value of {}",
                    admitting.join(", ")
                );
            }
            let row = target
                .collective()
                .and_then(|one| context.site.library.algorithms_of(one));
            let id = format!("{} for {}", row.map_or("", |row| &row.parameter), target.name());
            context.progress.warn(&format!("`{id}` is not credited: {text}"));
            context.quarantine.add(&id, FaultKind::NoEffect, &text);
            if let Some(reason) = &mut choice.unfixed_because {
                *reason += &format!("; the library's own algorithms: {text}");
            }
        }
        choice.contest.proof = Some(text);
    }

    /// Measures every candidate of the kinds asked for, refines the front runners' knobs, and picks who goes on.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn screen_all(
        &self,
        targets: &[Target],
        kinds: &dyn Fn(&Target, FixKind) -> bool,
        front: &dyn Fn(&BTreeMap<Selection, f64>) -> Vec<Selection>,
    ) -> anyhow::Result<Vec<(Target, Vec<Selection>)>> {
        // Before the job of the screening: while rows of plugins are verified, no worker waits beside them and takes a core.
        let fields = targets.iter().map(|target| self.candidates(target, kinds));
        let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
        let mut screening = Job::new(self, "screening");
        let mut finals: Vec<(Target, Vec<Selection>)> = Vec::new();
        self.context.progress.phase("screen candidates", targets.len() as u64);
        for (target, field) in targets.iter().zip(fields) {
            if self.context.jobs.budget.search_exhausted(0.0) {
                self.context
                    .progress
                    .warn("the budget ended before every violated cell was searched; raise --budget");
                break;
            }
            let ratios = self.screen(&mut screening, target, field)?;
            let front = front(&ratios);
            let behind = reasons::left_behind(&ratios, &front, FINALISTS);
            self.left_behind.borrow_mut().insert(target.name(), behind);
            finals.push((target.clone(), front));
            self.context.progress.step(1);
        }
        screening.finish()?;
        Ok(finals)
    }

    /// Candidates of the kinds asked for that the options allow; a plugin's rows must also have passed the correctness matrix.
    fn candidates(&self, target: &Target, kinds: &dyn Fn(&Target, FixKind) -> bool) -> anyhow::Result<Vec<Selection>> {
        let context = self.context;
        let one_node = !context.site.options.place().several_nodes;
        let (library, ranks) = (&context.site.library, context.site.options.ranks);
        let mut all = space::selections(library, target, ranks, one_node);
        all.extend(space::of_plugins(library, &context.plugins, target, ranks, one_node));
        all.retain(|one| kinds(target, one.kind()) && context.site.options.limits.asks_for(one));
        self.proven(self.allowed(target, all))
    }

    fn screen(
        &self,
        job: &mut Job<'_, 'c, 'a>,
        target: &Target,
        candidates: Vec<Selection>,
    ) -> anyhow::Result<BTreeMap<Selection, f64>> {
        let context = self.context;
        let mut ratios: BTreeMap<Selection, f64> = BTreeMap::new();
        let (candidates, note) = self.guide.field(target, candidates);
        if let Some(note) = note {
            context.progress.note(&note);
        }
        for chunk in candidates.chunks(PER_BLOCK) {
            ratios.extend(job.ratios(target, chunk, Purpose::Screening)?);
        }
        let has_knobs = |one: &Selection| !space::knobs(&context.site.library, one, target.bytes()).is_empty();
        for kind in [FixKind::Parameter, FixKind::Algorithm] {
            for (selection, _) in to_refine(&ratios, kind, &has_knobs) {
                self.refine(job, target, &selection, &mut ratios)?;
            }
        }
        Ok(ratios)
    }

    /// Drops plugin rows whose defaults fail the correctness matrix, so that no wrong code runs beside others. The winner of any kind is checked
    /// again with its tuned values.
    fn proven(&self, candidates: Vec<Selection>) -> anyhow::Result<Vec<Selection>> {
        let mut wrong: Vec<String> = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        for selection in candidates.iter().filter(|one| matches!(one, Selection::Plugin(_))) {
            // The one with the defaults comes first.
            let family = space::family(selection);
            if seen.contains(&family) {
                continue;
            }
            seen.push(family.clone());
            if self.context.quarantine.contains(&family) {
                wrong.push(family);
            } else if let Err(reason) = admit(&self.context.jobs, self.context.store, selection)? {
                let text = format!("`{family}` is no candidate: it failed the correctness matrix: {reason}");
                self.context.progress.warn(&text);
                self.context.quarantine.add(&family, FaultKind::Incorrect, &reason);
                wrong.push(family);
            }
        }
        let is_right = |one: &Selection| !wrong.contains(&space::family(one));
        Ok(candidates.into_iter().filter(is_right).collect())
    }

    /// The reason why the options forbid a candidate; `None` if they do not.
    fn refusal(&self, target: &Target, selection: &Selection) -> Option<String> {
        let nodes = self.context.site.nodes();
        let call = Call {
            ranks: self.context.site.options.ranks,
            bytes: target.bytes(),
            nodes: nodes.as_ref(),
        };
        self.context.site.options.limits.refusal(selection, call)
    }

    /// The candidates that the options do not forbid, in the order given; says and keeps why the others are none.
    fn allowed(&self, target: &Target, candidates: Vec<Selection>) -> Vec<Selection> {
        let mut refused = Vec::new();
        let mut allowed = Vec::with_capacity(candidates.len());
        for selection in candidates {
            match self.refusal(target, &selection) {
                None => allowed.push(selection),
                Some(because) => refused.push(Refused {
                    id: selection.id(),
                    because,
                }),
            }
        }
        if !refused.is_empty() {
            let lines: Vec<String> = refused
                .iter()
                .map(|one| format!("{} {}", one.id, one.because))
                .collect();
            let note = format!("{}: not measured: {}", target.name(), lines.join("; "));
            self.context.progress.note(&note);
            self.refused.borrow_mut().insert(target.name(), refused);
        }
        allowed
    }

    /// Adds to a choice the candidates that the options forbid.
    fn add_refused(&self, target: &Target, choice: &mut Choice) {
        let Some(refused) = self.refused.borrow().get(&target.name()).cloned() else {
            return;
        };
        if let Some(reason) = &mut choice.unfixed_because {
            let ids: Vec<&str> = refused.iter().map(|one| one.id.as_str()).collect();
            reason.push_str(&format!(
                "; not measured, since the options forbid them: {}",
                ids.join(", ")
            ));
        }
        choice.contest.refused = refused;
    }

    /// Searches the ordered knobs of one candidate, all together, from the screening's times of its family.
    fn refine(
        &self,
        job: &mut Job<'_, 'c, 'a>,
        target: &Target,
        selection: &Selection,
        ratios: &mut BTreeMap<Selection, f64>,
    ) -> anyhow::Result<()> {
        let knobs = space::knobs(&self.context.site.library, selection, target.bytes());
        let start = knobs.iter().map(|knob| {
            let value = space::knob_value(selection, &knob.name);
            knob.axis(value.unwrap_or(knob.min))
        });
        let space = Space {
            axes: start.collect(),
            evaluations: if knobs.len() > 1 {
                EVALUATIONS_TOGETHER
            } else {
                EVALUATIONS
            },
        };
        let family = space::family(selection);
        let known: Costs = ratios
            .iter()
            .filter(|(one, _)| space::family(one) == family)
            .map(|(one, ratio)| (space::point(&knobs, one), *ratio))
            .collect();
        ordered::minimise(&space, &known, &mut |values| -> anyhow::Result<f64> {
            let candidate = space::at_point(&knobs, selection, values);
            if self.refusal(target, &candidate).is_some() {
                return Ok(f64::INFINITY);
            }
            let measured = job.ratios(target, std::slice::from_ref(&candidate), Purpose::Screening)?;
            let ratio = measured.get(&candidate).copied().unwrap_or(f64::INFINITY);
            ratios.insert(candidate, ratio);
            Ok(ratio)
        })?;
        Ok(())
    }

    /// Runs all finals together, in a few launches of their own.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn finals(&self, finals: Vec<(Target, Vec<Selection>)>, most_launches: usize) -> anyhow::Result<Vec<Held>> {
        let launches = self.launches_of_finals(most_launches);
        let mut medians = vec![Medians::new(); finals.len()];
        self.context
            .progress
            .phase("compare finalists", (launches * finals.len()) as u64);
        for launch in 0..launches {
            self.final_launch(launch, &finals, &mut medians)?;
        }
        Ok(self.held(finals, medians))
    }

    /// Runs [`Contests::finals`] in turn with launches of `without`, which measure only the defaults and the bounds. Returns each final with its
    /// counterpart without.
    ///
    /// # Errors
    /// A failure that no candidate explains.
    pub fn finals_in_turn(
        &self,
        without: &Contests<'_, '_>,
        finals: Vec<(Target, Vec<Selection>)>,
        most_launches: usize,
    ) -> anyhow::Result<Vec<(Held, Held)>> {
        let launches = self.launches_of_finals(most_launches);
        let alone = finals.iter().map(|(target, _)| (target.clone(), Vec::new()));
        let alone: Vec<(Target, Vec<Selection>)> = alone.collect();
        let mut medians = vec![Medians::new(); finals.len()];
        let mut of_alone = medians.clone();
        self.context
            .progress
            .phase("compare finalists in turn", (2 * launches * finals.len()) as u64);
        for launch in 0..launches {
            without.final_launch(launch, &alone, &mut of_alone)?;
            self.final_launch(launch, &finals, &mut medians)?;
        }
        let held = self.held(finals, medians).into_iter();
        Ok(held.zip(without.held(alone, of_alone)).collect())
    }

    fn launches_of_finals(&self, most: usize) -> usize {
        most.min(self.context.site.options.launches).max(1)
    }

    /// One launch with all finals; their medians are added to those that there are.
    fn final_launch(
        &self,
        launch: usize,
        finals: &[(Target, Vec<Selection>)],
        medians: &mut [Medians],
    ) -> anyhow::Result<()> {
        let mut job = Job::new(self, &format!("final/{launch}"));
        for ((target, front), medians) in finals.iter().zip(medians) {
            let outcome = job.measure(target, front, Purpose::Final)?;
            for id in outcome.samples.keys() {
                medians.entry(id.clone()).or_default().extend(outcome.median(id));
            }
            self.context.progress.step(1);
        }
        job.finish()
    }

    fn held(&self, finals: Vec<(Target, Vec<Selection>)>, medians: Vec<Medians>) -> Vec<Held> {
        finals
            .into_iter()
            .zip(medians)
            .map(|((target, front), medians)| {
                let sample = |id: &str| medians.get(id).and_then(|values| Sample::new(values.clone()).ok());
                let mut candidates: Vec<Measured> = sample(DEFAULT)
                    .into_iter()
                    .map(|medians| Measured {
                        selection: None,
                        medians,
                    })
                    .collect();
                candidates.extend(
                    front
                        .iter()
                        .filter(|selection| !self.context.quarantine.contains(&selection.id()))
                        .filter_map(|selection| {
                            Some(Measured {
                                selection: Some(selection.clone()),
                                medians: sample(&selection.id())?,
                            })
                        }),
                );
                let bounds: Vec<Sample> = target
                    .bounds
                    .iter()
                    .filter_map(|bound| sample(&bound_id(bound)))
                    .collect();
                Held {
                    target,
                    candidates,
                    bounds,
                }
            })
            .collect()
    }

    /// One candidate in a job of its own, over several targets; its time over the default's for each, `None` where it has none.
    ///
    /// # Errors
    /// A failure that the candidate does not explain.
    pub fn alone(&self, name: &str, targets: &[&Target], selection: &Selection) -> anyhow::Result<Vec<Option<f64>>> {
        let mut job = Job::new(self, name);
        let mut found = Vec::with_capacity(targets.len());
        for target in targets {
            let ratios = job.ratios(target, std::slice::from_ref(selection), Purpose::Final)?;
            found.push(ratios.get(selection).copied());
        }
        job.finish()?;
        Ok(found)
    }

    /// The best candidate that passes the correctness matrix on this library and machine: who does not goes into quarantine,
    /// and the choice is made again without it.
    ///
    /// # Errors
    /// A failure of the matrix that the candidate does not explain.
    pub fn choose_proven(
        &self,
        target: &Target,
        mut candidates: Vec<Measured>,
        bounds: &[Sample],
        rule: &Rule,
    ) -> anyhow::Result<Choice> {
        let is_simulated = self.context.site.library.launcher.is_simulator();
        let deployable = |selection: &Selection| !is_simulated || selection.kind() == FixKind::Parameter;
        loop {
            let choice = choose_among(target, &candidates, bounds, rule, &deployable);
            let Some(chosen) = &choice.chosen else {
                return Ok(choice);
            };
            let Err(reason) = admit(&self.context.jobs, self.context.store, chosen)? else {
                return Ok(choice);
            };
            let id = chosen.id();
            let text = format!("`{id}` is not deployed: it failed the correctness matrix: {reason}");
            self.context.progress.warn(&text);
            self.context.quarantine.add(&id, FaultKind::Incorrect, &reason);
            candidates.retain(|candidate| candidate.selection.as_ref() != Some(chosen));
        }
    }
}

/// Finalists of the screening when one is to be deployed: the best of each kind, so that the final can prefer the simplest among equals, and the
/// fastest overall.
#[must_use]
pub fn front(ratios: &BTreeMap<Selection, f64>) -> Vec<Selection> {
    let ranked = ranked(ratios);
    let mut front = best_of_kinds(&ranked, 1);
    for (selection, ratio) in ranked {
        if front.len() < FINALISTS && ratio < HOPELESS && !front.contains(&selection) {
            front.push(selection);
        }
    }
    front
}

/// Under which name a candidate is put away for one target alone.
fn put_away_as(id: &str, target: &Target) -> String {
    format!("{id} for {}", target.name())
}

fn bound_id(bound: &plan::Subject) -> String {
    format!("{BOUND}{}", bound.item_id())
}

/// The line for the worker that carries out `collective` as selected; `None` is the default.
#[must_use]
pub fn item(target: &Target, selection: Option<&Selection>) -> Item {
    let library = target.left.item();
    match selection {
        None => Item {
            id: DEFAULT.to_owned(),
            ..library
        },
        Some(selection) => {
            let id = selection.id();
            match selection {
                Selection::Settings(settings) => Item {
                    id,
                    settings: settings.clone(),
                    ..library
                },
                Selection::Mockup(mockup) => {
                    let text = kilter_algorithms::mockup::find(mockup)
                        .map(|row| {
                            row.calls
                                .iter()
                                .map(|call| format!("{call}(n)"))
                                .collect::<Vec<_>>()
                                .join(" + ")
                        })
                        .unwrap_or_default();
                    Item {
                        id,
                        implementation: Implementation::Expression { text },
                        ..library
                    }
                }
                Selection::Plugin(plugin) => Item {
                    id,
                    implementation: Implementation::Plugin {
                        file: plugin.file.display().to_string(),
                        id: plugin.row.id.clone(),
                        parameters: plugin.values.clone(),
                    },
                    ..library
                },
                Selection::Algorithm(algorithm, parameters) => Item {
                    id,
                    implementation: Implementation::Algorithm {
                        id: algorithm.clone(),
                        parameters: parameters.clone(),
                    },
                    ..library
                },
            }
        }
    }
}

/// One job, restarted when a candidate takes it down.
struct Job<'r, 'c, 'a> {
    contests: &'r Contests<'c, 'a>,
    name: String,
    attempt: usize,
    blocks: usize,
    session: Option<Session<'c>>,
}

impl<'r, 'c, 'a> Job<'r, 'c, 'a> {
    fn new(contests: &'r Contests<'c, 'a>, name: &str) -> Job<'r, 'c, 'a> {
        Job {
            contests,
            name: format!("{}/{name}", contests.label),
            attempt: 0,
            blocks: 0,
            session: None,
        }
    }

    /// Time of each candidate over the default's, in one block. Candidates that fail are missing.
    fn ratios(
        &mut self,
        target: &Target,
        candidates: &[Selection],
        purpose: Purpose,
    ) -> anyhow::Result<BTreeMap<Selection, f64>> {
        let bare = Target {
            bounds: Vec::new(),
            ..target.clone()
        };
        let outcome = self.measure(&bare, candidates, purpose)?;
        let median = |id: &str| outcome.median(id);
        for selection in candidates {
            if let Some(seconds) = median(&selection.id()) {
                self.contests.guide.learn(target, selection, seconds);
            }
        }
        let Some(default) = median(DEFAULT) else {
            return Ok(BTreeMap::new());
        };
        Ok(candidates
            .iter()
            .filter_map(|selection| Some((selection.clone(), median(&selection.id())? / default)))
            .collect())
    }

    /// Measures the default, the bounds and the candidates that are not in quarantine; who takes the job down goes there, and
    /// the rest is measured again in a new job.
    fn measure(&mut self, target: &Target, candidates: &[Selection], purpose: Purpose) -> anyhow::Result<BlockOutcome> {
        let context = self.contests.context;
        let repetitions =
            trials::repetitions_of(context.site.options, &context.facts, purpose, &target.left.block_id());
        loop {
            let mut items = vec![item(target, None)];
            items.extend(target.bounds.iter().map(|bound| self.bound_item(bound)));
            let is_put_away =
                |id: &str| context.quarantine.contains(id) || context.quarantine.contains(&put_away_as(id, target));
            let live: Vec<&Selection> = candidates.iter().filter(|s| !is_put_away(&s.id())).collect();
            items.extend(live.iter().map(|selection| item(target, Some(selection))));
            self.blocks += 1;
            let id = format!("{}: {}", self.blocks, target.name());
            let block = Block {
                seed: plan::derived_seed(context.jobs.run.seed, &format!("{}/{}/{id}", self.name, self.attempt)),
                repetitions: Repetitions {
                    seconds: repetitions.seconds * items.len() as f64,
                    ..repetitions
                },
                items,
                id,
            };
            let key = format!("{}/{}", self.name, self.attempt);
            let setup = &self.contests.setup;
            let session = match &mut self.session {
                Some(session) => session,
                none => none.insert(context.jobs.session(&key, setup, false)?),
            };
            match session.measure(&block) {
                Ok(outcome) => {
                    for (item, fault) in &outcome.failed {
                        if matches!(fault, Fault::OtherResults { .. }) {
                            // At another size it may leave what the default leaves.
                            let id = put_away_as(item, target);
                            context.progress.note(&format!("`{id}` is no candidate: {fault}"));
                            context.quarantine.add(&id, fault.kind(), &fault.to_string());
                        } else {
                            context.quarantine.add_failed(item, fault, &context.progress);
                        }
                    }
                    return Ok(outcome);
                }
                Err(SessionError::Job(failure)) => {
                    self.session = None;
                    self.attempt += 1;
                    let suspect = failure.suspect().map(str::to_owned);
                    let (what, detail) = (failure.kind(), failure.to_string());
                    let guilty: Vec<String> = match suspect {
                        Some(id) => live
                            .iter()
                            .map(|s| s.id())
                            .filter(|candidate| *candidate == id)
                            .collect(),
                        // Nobody was caught entering: all that ran together are put away, rather than hang again.
                        None => live.iter().map(|s| s.id()).collect(),
                    };
                    if guilty.is_empty() {
                        return Err(anyhow::Error::new(failure).context("the library's own collectives failed"));
                    }
                    for id in guilty {
                        context.progress.warn(&format!(
                            "candidate `{id}` {what} and is not proposed again; see the report"
                        ));
                        context.quarantine.add(&id, what, &detail);
                    }
                }
                Err(other) => return Err(other.into()),
            }
        }
    }

    /// A bound as it is deployed so far: with the settings selected for its calls, or by the implementation selected for it.
    fn bound_item(&self, bound: &plan::Subject) -> Item {
        let mut item = Item {
            id: bound_id(bound),
            ..bound.item()
        };
        let calls = bound
            .text
            .parse::<kilter_protocol::expression::Side>()
            .ok()
            .and_then(|side| side.plain_calls())
            .unwrap_or_default();
        for call in &calls {
            match self.contests.deployment.selections.get(&(*call, bound.bytes)) {
                Some(Selection::Settings(settings)) => item.settings.extend(settings.iter().cloned()),
                Some(selection) if calls.len() == 1 => {
                    let as_deployed = self::item(&Target::unbounded(*call, bound.bytes), Some(selection));
                    item = Item {
                        id: item.id,
                        ..as_deployed
                    };
                }
                _ => {}
            }
        }
        item
    }

    fn finish(&mut self) -> anyhow::Result<()> {
        if let Some(session) = self.session.take() {
            session.finish()?;
        }
        Ok(())
    }
}
