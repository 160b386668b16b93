//! Validated options. No code below the command line knows any others.

use std::path::PathBuf;

use kilter_algorithms::Collective;
use kilter_protocol::overlap::Model;
use kilter_protocol::plan::{Cache, Element, Repetitions, Root, Synchronisation, Wait};
use kilter_stats::verdict::{Correction, Test};

use crate::arrival::Arrival;
use crate::config::launcher::Starts;
use crate::config::mix::Mix;
use crate::config::platform::Platform;
use crate::config::target::Target;
use crate::layout::Layout;
use crate::limits::Limits;
use crate::place::Place;
use crate::scope::Scope;

pub use crate::typed::{OptionError, absolute, functions, pairs, parse_bytes, parse_sizes, plugins, wrong};

/// Options that every measuring command shares.
#[derive(Debug, Clone)]
pub struct Options {
    /// The launcher.
    pub mpirun: PathBuf,
    /// Number of ranks, at least 1.
    pub ranks: usize,
    /// Required placement of the ranks, if one was given.
    pub layout: Option<Layout>,
    /// Host file.
    pub hostfile: Option<PathBuf>,
    /// Launch agent.
    pub launch_agent: Option<PathBuf>,
    /// Program that starts the ranks in place of the library's launcher, with the process management interface in its
    /// arguments.
    pub starts: Option<Starts>,
    /// True if ranks are on several hosts.
    pub several_hosts: bool,
    /// Slots of each host, in which the launcher puts a rank each unless it is told to over-subscribe; empty where nobody knows them.
    pub slots: Vec<usize>,
    /// Simulated machine.
    pub platform: Option<Platform>,
    /// Site parameters: name, value.
    pub site_parameters: Vec<(String, String)>,
    /// Site environment of the ranks: name, value.
    pub site_environment: Vec<(String, String)>,
    /// Behaviour of waiting ranks; `None` if the ranks decide it by the processors of their hosts.
    pub wait: Option<Wait>,
    /// Synchronisation of ranks at the start of a repetition.
    pub sync: Synchronisation,
    /// Contents of the caches.
    pub cache: Cache,
    /// Arrival patterns in which the ranks come to a call as well, beside all together.
    pub arrivals: Vec<Arrival>,
    /// Repetitions of an item in a launch.
    pub repetitions: Repetitions,
    /// True if the number of repetitions of a launch follows from the variance that the screening sees; false if
    /// predictors decide it.
    pub by_variance: bool,
    /// Total volumes in bytes, ascending, each once.
    pub sizes: Vec<u64>,
    /// Guideline ids or families; empty for all.
    pub guidelines: Vec<String>,
    /// Guideline files of the site.
    pub guideline_files: Vec<PathBuf>,
    /// Names of functions on left sides; empty for all.
    pub functions: Vec<String>,
    /// Call mix of an application, if only its calls count.
    pub mix: Option<Mix>,
    /// Root of rooted collectives.
    pub root: Root,
    /// Element type of reductions.
    pub element: Element,
    /// Launches per verification.
    pub launches: usize,
    /// True if a noisy machine gets more than [`Options::launches`], because the user gave no number.
    pub plans_launches: bool,
    /// True for a single look, after all launches.
    pub fixed: bool,
    /// True if allocations of a batch system are the units of verdicts.
    pub allocations: bool,
    /// Wall-clock seconds of the budget.
    pub budget_seconds: f64,
    /// True if the command goes on over several allocations: a run is resumed with another budget, on other hosts.
    pub goes_on: bool,
    /// True if an interrupted run is not resumed.
    pub fresh: bool,
    /// True if candidates are tried that hung, crashed or delivered wrong data in earlier runs.
    pub retries_quarantined: bool,
    /// Prints the plan and launches nothing.
    pub dry_run: bool,
    /// Seed, if given.
    pub seed: Option<u64>,
    /// Output directory.
    pub out: PathBuf,
    /// Database.
    pub db: PathBuf,
    /// Significance level.
    pub alpha: f64,
    /// Effect floor.
    pub effect_floor: f64,
    /// Test of "slower".
    pub test: Test,
    /// Correction for multiple tests.
    pub correction: Correction,
    /// True if standard output is JSON.
    pub json: bool,
    /// True without progress on standard error.
    pub quiet: bool,
    /// Description of the library by file.
    pub library_description: Option<PathBuf>,
    /// Seconds of silence after which a job counts as hung, where the user gave them.
    pub stall_seconds: Option<f64>,
    /// Limits of fixes.
    pub limits: Limits,
    /// Plugins of the user, whose algorithms compete.
    pub plugins: Vec<PathBuf>,
    /// Directory of worker, drop-in and plugin, if given.
    pub libexec: Option<PathBuf>,
    /// Directory of `kilter` itself.
    pub own_directory: PathBuf,
}

impl Options {
    /// The same options on a simulated machine. Its clock is exact, so that one repetition in one launch gives the
    /// time, and every difference of two times is real.
    #[must_use]
    pub fn on(self, platform: Platform) -> Options {
        let seconds = self.repetitions.seconds;
        Options {
            platform: Some(platform),
            launches: 1,
            repetitions: Repetitions::fixed(1, seconds),
            test: Test::Exact,
            ..self
        }
    }

    /// True if some host gets more ranks than it has slots, or if nobody knows how many it has.
    #[must_use]
    pub fn over_subscribes(&self) -> bool {
        match self.layout {
            Some(layout) => {
                let with_room = self.slots.iter().filter(|slots| **slots >= layout.per_node);
                with_room.count() < layout.nodes
            }
            None => self.ranks > self.slots.iter().sum(),
        }
    }

    /// True if the launcher has several hosts to put ranks on.
    #[must_use]
    pub fn has_several_hosts(&self) -> bool {
        self.hostfile.is_some() || self.starts.is_some() || self.slots.len() > 1
    }

    /// True if times are exact, as on a simulated machine.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.platform.is_some()
    }

    /// True if verifications begin with launches that screen all cells.
    #[must_use]
    pub fn screens(&self) -> bool {
        self.by_variance && !self.fixed && !self.is_exact()
    }

    /// These repetitions, or the one that exact times need.
    #[must_use]
    pub fn repetitions_or(&self, usual: Repetitions) -> Repetitions {
        if self.is_exact() { self.repetitions } else { usual }
    }

    /// Properties of the job that the plan depends on.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            ranks: self.ranks,
            element_bytes: self.element.bytes(),
            several_nodes: match &self.platform {
                Some(platform) => self.ranks > platform.ranks_per_host,
                None => self.several_hosts,
            },
            each_alone: match (&self.platform, self.layout) {
                (Some(platform), _) => platform.ranks_per_host == 1,
                (None, Some(layout)) => layout.per_node == 1,
                (None, None) => false,
            },
        }
    }

    /// Functions, volumes and call mix to be verified.
    #[must_use]
    pub fn scope(&self) -> Scope<'_> {
        Scope {
            functions: &self.functions,
            sizes: &self.sizes,
            mix: self.mix.as_ref(),
            ranks: self.ranks,
            nodes: self.layout.map(|layout| layout.nodes),
        }
    }
}

/// The aim of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// Every call that can become faster does, and no guideline is broken.
    #[default]
    Fastest,
    /// As few calls as possible change so that no guideline is broken.
    Smallest,
}

impl Goal {
    /// The word in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Goal::Fastest => "fastest",
            Goal::Smallest => "smallest",
        }
    }
}

/// Options of `tune`.
#[derive(Debug, Clone)]
pub struct TuneOptions {
    /// Options of the measurement; with layouts, those of their common results.
    pub common: Options,
    /// Options of the measurement for each tuned layout; empty without layouts.
    pub layouts: Vec<Options>,
    /// Layouts that were chosen for a profile, and those left out, in words for the user; empty without one.
    pub said: Vec<String>,
    /// True if parameters of the library may change.
    pub parameters: bool,
    /// True if mock-ups may be deployed.
    pub mockups: bool,
    /// True if algorithms may be deployed.
    pub algorithms: bool,
    /// Collectives and sizes that are put through the contest even without a violation.
    pub contests: Vec<(Collective, u64)>,
    /// The aim of a deployment.
    pub goal: Goal,
    /// Most rounds.
    pub rounds: usize,
    /// Overlap targets to meet.
    pub targets: Vec<Target>,
    /// Model of computation for overlap measurements.
    pub model: Model,
    /// True if the drop-in's profile names runners-up, which jobs with `KILTER_ONLINE` try.
    pub online: bool,
}
