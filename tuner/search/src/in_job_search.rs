//! Contests inside running jobs: every candidate for a call against the default, interleaved in the same job. Algorithms and knobs of the library are switched through MPI_T on a duplicated communicator, Kilter's own run over
//! point-to-point calls, mock-ups over the library, and those of a plugin as the plugin will.
//!
//! Three rounds, each with fewer candidates and more repetitions (successive halving): a screening of all, a refinement of the
//! ordered knobs of the front runners by argmin, and finals of all calls in several common launches, in which who falls behind is dropped.
//!
//! [`field`] says who may compete, [`screening`] holds the first two rounds and [`finals`] the last, [`inside`] tells compositions what is
//! deployed, [`datatypes`] looks at what the library's algorithms make of other data, [`job`] restarts a job when a candidate takes it down,
//! [`items`] are its lines of the plan, and [`pace`] foresees the seconds of a final.

pub(crate) mod datatypes;
mod field;
mod finals;
mod inside;
mod items;
mod job;
mod pace;
mod screening;

use std::cell::RefCell;
use std::collections::BTreeMap;

use kilter_model::arrival::Arrival;
use kilter_model::deployment::{Deployment, Selection};
use kilter_model::report::{Refused, Screened};
use kilter_model::setup::Setup;
use kilter_protocol::fault::FaultKind;

use self::datatypes::Objection;
pub use self::finals::FINAL_LAUNCHES;
pub use self::items::item;
use self::job::Job;
use self::pace::Pace;
pub use self::screening::front;
use crate::choose::{Choice, Measured};
use crate::context::InJobSearch;
use crate::correctness::{Admission, admit_all};
use crate::guide::Guide;
use crate::proof::Finding;
use crate::repetition::Purpose;
use crate::target::Target;

/// Runs the contests of one round of tuning.
pub struct Contests<'c, 'a> {
    parts: InJobSearch<'c, 'a>,
    setup: Setup,
    deployment: &'c Deployment,
    label: String,
    guide: Guide,
    /// Candidates that the options forbid, by the name of the target.
    refused: RefCell<BTreeMap<String, Vec<Refused>>>,
    /// Candidates that the screening found faster and left behind, by the name of the target.
    left_behind: RefCell<BTreeMap<String, Vec<Screened>>>,
    /// Blocks so far, by the name of the target.
    paces: RefCell<BTreeMap<String, Pace>>,
    /// False if finals go on where the budget has ended.
    heeds_budget: bool,
    /// True if nothing is found before these contests.
    finds_first: bool,
    /// True if the library's algorithms alone compete, each with the setting that hands the collective to their component.
    hands_on: bool,
    /// True if compositions of plain calls compete.
    compositions: bool,
    /// Patterns in which ranks arrive apart in finals.
    arrivals: &'c [Arrival],
}

impl<'c, 'a> Contests<'c, 'a> {
    /// Prepares contests under the launch settings of `deployment`. `label` names them in launch keys.
    #[must_use]
    pub fn new(parts: InJobSearch<'c, 'a>, deployment: &'c Deployment, label: &str) -> Contests<'c, 'a> {
        let setup = Setup::of(deployment).switching().comparing_bits();
        Contests {
            parts,
            setup,
            deployment,
            label: label.to_owned(),
            guide: Guide::new(parts.jobs.site.nodes(), true).with_prices(parts.facts.prices()),
            refused: RefCell::default(),
            left_behind: RefCell::default(),
            paces: RefCell::default(),
            heeds_budget: true,
            finds_first: false,
            hands_on: false,
            compositions: true,
            arrivals: &parts.jobs.site.options.arrivals,
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
            guide: Guide::new(self.parts.jobs.site.nodes(), false).with_prices(self.parts.facts.prices()),
            ..self
        }
    }

    /// Makes all launches of finals, whatever the budget says: what was measured before them would be lost.
    #[must_use]
    pub fn regardless_of_budget(self) -> Contests<'c, 'a> {
        Contests {
            heeds_budget: false,
            ..self
        }
    }

    /// Leaves out compositions of calls, which are measured when it is known what their calls are.
    #[must_use]
    pub fn without_compositions(self) -> Contests<'c, 'a> {
        Contests {
            compositions: false,
            ..self
        }
    }

    /// Lets finals spend seconds of the proof, where nothing is found before them that it would prove.
    #[must_use]
    pub fn finding_first(self, finds_first: bool) -> Contests<'c, 'a> {
        Contests { finds_first, ..self }
    }

    /// Lets the library's algorithms alone compete, each with the setting that hands the collective to the component that has them.
    #[must_use]
    pub fn handing_on(self) -> Contests<'c, 'a> {
        Contests { hands_on: true, ..self }
    }

    /// The beginning of the names of its launches.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// True if the library's algorithms alone compete, each handed on.
    #[must_use]
    pub fn hands_on(&self) -> bool {
        self.hands_on
    }

    /// True if evidence does not speak against a selection. The library's algorithms that are handed on need evidence: without it they are known not to
    /// act.
    #[must_use]
    pub fn credits(&self, finding: &Finding, selection: &Selection) -> bool {
        let is_proven = matches!(finding, Finding::Acts { .. });
        finding.credits(selection) && (is_proven || !self.hands_on)
    }

    /// Compares finalists with ranks that come together alone.
    #[must_use]
    pub fn together(self) -> Contests<'c, 'a> {
        Contests { arrivals: &[], ..self }
    }

    /// Adds to a choice everything that was noted of its target beside times: evidence on the library's algorithms, the model's explanation, what the
    /// options forbid, and what the screening left behind.
    pub fn complete(&self, target: &Target, measured: &[Measured], finding: Option<&Finding>, choice: &mut Choice) {
        if let Some(finding) = finding {
            self.tell(target, finding, choice);
        }
        let library = &self.parts.jobs.site.library;
        self.guide.explain(library, target, measured, &mut choice.contest);
        self.add_refused(target, choice);
        let behind = self.left_behind.borrow_mut().remove(&target.name());
        choice.contest.screened = behind.unwrap_or_default();
    }

    /// Checks selections that are to be deployed: rows of Kilter's and of plugins in the correctness matrix, the library's algorithms on [other
    /// datatypes](datatypes). Those that fail go into quarantine; the kind of each one's fault is returned.
    ///
    /// # Errors
    /// A failure that no selection explains.
    pub fn strike(&self, chosen: &[(Target, Selection)]) -> anyhow::Result<Vec<Option<FaultKind>>> {
        let selections: Vec<Selection> = chosen.iter().map(|(_, selection)| selection.clone()).collect();
        let admissions = admit_all(self.parts.jobs, self.parts.store, &selections)?;
        let objections = datatypes::objections(self.parts.jobs, &self.label, &self.setup, chosen)?;
        let mut faults = Vec::with_capacity(chosen.len());
        for ((_, selection), (admission, objection)) in chosen.iter().zip(admissions.into_iter().zip(objections)) {
            let refused = match admission {
                Admission::Admitted => None,
                Admission::Refused(why) => Some(Objection {
                    what: why.fault(),
                    detail: why.to_string(),
                }),
            };
            let fault = refused.or(objection).map(|Objection { what, detail }| {
                let id = selection.id();
                if !self.parts.quarantine.contains(&id) {
                    self.parts
                        .jobs
                        .progress
                        .warn(&format!("`{id}` is not deployed: it {what}: {detail}"));
                    self.parts.quarantine.add(&id, what, &detail);
                }
                what
            });
            faults.push(fault);
        }
        Ok(faults)
    }

    /// Adds to the choice the evidence on the library's algorithms. If they have no effect, it also warns and puts them into quarantine.
    fn tell(&self, target: &Target, finding: &Finding, choice: &mut Choice) {
        let parts = self.parts;
        let text = finding.text();
        if let Finding::NoEffect { .. } = finding {
            let row = target
                .collective()
                .and_then(|one| parts.jobs.site.library.algorithms_of(one));
            let id = format!("{} for {}", row.map_or("", |row| &row.parameter), target.name());
            parts.jobs.progress.warn(&format!("`{id}` is not credited: {text}"));
            parts.quarantine.add(&id, FaultKind::NoEffect, &text);
            if let Some(reason) = &mut choice.unfixed_because {
                *reason += &format!("; the library's own algorithms: {text}");
            }
        }
        choice.contest.proof = Some(text);
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
}
