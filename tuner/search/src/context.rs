//! The state of a run, by subject: its [`Site`], its [`Jobs`], and the [`Facts`] measured so far. A step takes the parts that it reads: a search
//! over launches a [`LaunchSearch`], one inside running jobs an [`InJobSearch`]. Only steps that make both take the whole.

mod facts;
mod in_force;
mod jobs;
mod measured;
mod parts;
mod site;

use std::rc::Rc;

use kilter_bench::launch::{Bench, CommandTemplate};
use kilter_bench::programs::Programs;
use kilter_bench::progress::Progress;
use kilter_bench::store::{Run, Store, StoreError};
use kilter_model::config::library::Library;
use kilter_model::options::Options;
use kilter_model::plan::{Plan, Subject};
use kilter_stats::verdict::screening::SCREENING_LAUNCHES;

pub(crate) use self::facts::Cost;
pub use self::facts::Facts;
pub use self::jobs::Jobs;
pub use self::measured::Measured;
pub use self::parts::{InJobSearch, LaunchSearch};
pub use self::site::Site;
use crate::PROOF_LAUNCHES;
use crate::correctness;
use crate::heard::Heard;
use crate::plugins::Plugin;
use crate::proofs::Proofs;
use crate::quarantine::Quarantine;

/// Seconds of a proof over those that are foreseen: what seems slower is measured once more, and ranks arrive apart.
const MARGIN: f64 = 1.5;

/// The whole state of a run.
pub struct Context<'a> {
    /// The place that is tuned.
    pub site: Rc<Site<'a>>,
    /// The jobs.
    pub jobs: Jobs<'a>,
    /// The guidelines' cells.
    pub plan: Plan,
    /// Facts about the machine.
    pub facts: Facts,
    /// Candidates never to be proposed again.
    pub quarantine: Quarantine,
    /// Evidence that candidates ran.
    pub proofs: Proofs,
    /// Plugins of the user, whose rows compete.
    pub plugins: Vec<Plugin>,
    /// Progress and warnings.
    pub progress: Rc<Progress>,
    /// Samples of all runs.
    pub store: &'a Store,
}

impl<'a> Context<'a> {
    /// Puts it together.
    #[must_use]
    pub fn new(
        options: &'a Options,
        (library, version): (Library, String),
        (store, run, typed): (&'a Store, Run, String),
        plan: Plan,
        launching: (CommandTemplate, Programs),
    ) -> Context<'a> {
        let site = Rc::new(Site::new(options, library, version));
        let progress = Rc::new(Progress::new(options.quiet));
        Context {
            jobs: Jobs::new(Rc::clone(&site), Rc::clone(&progress), (run, typed), &plan, launching),
            site,
            plan,
            facts: Facts::default(),
            quarantine: Quarantine::default(),
            proofs: Proofs::default(),
            plugins: Vec::new(),
            progress,
            store,
        }
    }

    /// Takes over what earlier runs on this library and machine have put away.
    ///
    /// # Errors
    /// The database's.
    pub fn with_earlier_failures(mut self) -> Result<Context<'a>, StoreError> {
        let library = correctness::library_name(&self.site.library, &self.site.version);
        let machine = correctness::machine(self.site.options);
        let table = self.jobs.run.quarantined(&library, &machine);
        let retries = self.site.options.retries_quarantined;
        self.quarantine = Quarantine::kept(table, retries, Rc::clone(&self.progress))?;
        Ok(self)
    }

    /// Replaces the bench; its clock becomes the budget's.
    #[must_use]
    pub fn on(mut self, bench: Box<dyn Bench>) -> Context<'a> {
        self.jobs = self.jobs.on(bench);
        self
    }

    /// Takes over what a running job said, before anything is measured. Where its messages go through no network that a job looks for when it starts, the
    /// following jobs do not look.
    pub fn hear(&self, heard: Heard) {
        let quick = self.jobs.start_quickly(&heard.transports);
        if !quick.is_empty() {
            let words: Vec<String> = quick.iter().map(|(name, value)| format!("{name}={value}")).collect();
            self.progress.note(&format!(
                "jobs are started with {}: they look for no network, and nothing goes through one here",
                words.join(" ")
            ));
        }
        self.facts.hear(heard);
    }

    /// Sets aside what verifying the result will cost, and takes over what the first verification found about the machine: its seconds, the
    /// spread of the empty operation, and on how many hosts ranks were.
    pub fn begin_search(&self, seconds: f64, noise_seconds: f64, hosts: usize) {
        // The verification of what is deployed measures the untouched library's left sides as well.
        let budget = &self.jobs.budget;
        budget.reserve(self.proof_seconds().max(seconds));
        let site = &self.site.options.site_parameters;
        let mut lie_on = self.site.hosts();
        if lie_on.is_empty() {
            // A stored run does not tell which rank was where.
            lie_on = (0..hosts).map(|host| host.to_string()).collect();
        }
        let usual = self.site.library.transports_in_use(&lie_on, site);
        self.facts.begin(noise_seconds, usual);
    }

    /// Seconds that a proof of everything takes, by what the first verification saw: its screening, and its launches on both sides.
    #[must_use]
    pub fn proof_seconds(&self) -> f64 {
        let costs = self.facts.costs();
        let left = self.plan.library_subjects();
        let of = |subject: &Subject| {
            costs.get(subject).map_or(0.0, |cost| {
                let sides = if left.contains(subject) { 2.0 } else { 1.0 };
                sides * PROOF_LAUNCHES as f64 * cost.launch_seconds
            })
        };
        let measuring: f64 = costs.keys().map(of).sum();
        let starts = 2 * PROOF_LAUNCHES + SCREENING_LAUNCHES;
        MARGIN * (measuring + starts as f64 * self.jobs.launch_seconds())
    }

    /// Parts for searches over launches.
    #[must_use]
    pub fn launch_search(&self) -> LaunchSearch<'_, 'a> {
        LaunchSearch {
            jobs: &self.jobs,
            plan: &self.plan,
            facts: &self.facts,
            quarantine: &self.quarantine,
        }
    }

    /// Parts for searches inside running jobs.
    #[must_use]
    pub fn in_job_search(&self) -> InJobSearch<'_, 'a> {
        InJobSearch {
            jobs: &self.jobs,
            facts: &self.facts,
            quarantine: &self.quarantine,
            proofs: &self.proofs,
            plugins: &self.plugins,
            store: self.store,
        }
    }
}
