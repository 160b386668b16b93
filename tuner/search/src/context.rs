//! The state that every step of a run shares: options, library, store, launcher, plan, budget, progress.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kilter_algorithms::Nodes;
use kilter_bench::budget::Budget;
use kilter_bench::launch::command::TemplateError;
use kilter_bench::launch::{Bench, CommandSpec, CommandTemplate, JobSpec, Limits, Machine, Session, Watch, other_load};
use kilter_bench::programs::{PROGRESS_LIBRARY, Programs};
use kilter_bench::progress::Progress;
use kilter_bench::reference::{self, Reference};
use kilter_bench::store::{Run, Store};
use kilter_model::config::library::Library;
use kilter_model::deployment::PROGRESS_VARIABLE;
use kilter_model::options::Options;
use kilter_model::plan::{Plan, is_candidate};
use kilter_model::range::combining_volumes;
use kilter_model::setup::Setup;
use kilter_protocol::fault::Fault;
use kilter_protocol::plan::Header;
use kilter_protocol::report::Start;
use kilter_stats::verdict::Rule;

use crate::cost_model::prices::Prices;
use crate::plugins::Plugin;
use crate::proofs::Proofs;
use crate::quarantine::Quarantine;

/// Longer than any job: budgets may be given that no clock can count.
const FOR_EVER_SECONDS: f64 = 30.0 * 86_400.0;

/// Names and values.
type Pairs = Vec<(String, String)>;

/// The state that every step of a run shares: options, library, store, launcher, plan, budget, progress.
pub struct Context<'a> {
    /// Options.
    pub options: &'a Options,
    /// Description of the library.
    pub library: Library,
    /// Version of the library.
    pub version: String,
    /// Samples.
    pub store: &'a Store,
    /// This run.
    pub run: Run,
    /// The command line of this run.
    pub typed: String,
    /// The cells to verify.
    pub plan: Plan,
    /// Progress and warnings.
    pub progress: Progress,
    /// Candidates never to be proposed again.
    pub quarantine: Quarantine,
    /// The evidence that candidates ran.
    pub proofs: Proofs,
    /// Results of the untouched library on random doubles, where the options ask for reproducibility.
    pub reference: Reference,
    /// Directory of plans, reports and logs of the launches.
    pub directory: PathBuf,
    /// The launch command's template.
    pub template: CommandTemplate,
    /// Worker, drop-in and plugin for the library.
    pub programs: Programs,
    /// Plugins of the user, whose rows compete.
    pub plugins: Vec<Plugin>,
    /// Starts the programs of launches.
    pub bench: Box<dyn Bench>,
    /// Seconds of measuring.
    pub budget: Budget,
    /// The jobs that are over.
    pub watch: Watch,
    other_load_is_known: Cell<bool>,
    noise_seconds: Cell<f64>,
    transports: RefCell<Vec<String>>,
    prices: RefCell<Prices>,
    device: RefCell<BTreeMap<String, String>>,
    found: RefCell<BTreeMap<String, String>>,
    library_string: RefCell<String>,
    hosts: RefCell<Vec<String>>,
    /// Repetitions of each block, once they were predicted.
    pub predicted: RefCell<BTreeMap<String, u32>>,
}

/// Parameters and environment of a launch: the site's, then those of a setup. The setup wins, since the candidate may be a change of the site's
/// own setting. Where files are to be proven, the site's settings of the same names are left out: on the command line they would win, and they
/// must be removed where the files are deployed.
fn combined(
    (site_parameters, site_environment): (&Pairs, &Pairs),
    setup: &Setup,
    switching: &BTreeMap<String, String>,
    measuring: Option<&BTreeMap<String, String>>,
) -> (Pairs, Pairs) {
    let is_in = |list: &Pairs, name: &str| list.iter().any(|(other, _)| other == name);
    let owned = |(name, value): (&String, &String)| (name.clone(), value.clone());
    let mut parameters = site_parameters.clone();
    parameters.retain(|(name, _)| !is_in(&setup.expected, name));
    if setup.switching {
        parameters.extend(switching.iter().map(owned));
    }
    parameters.extend(setup.parameters.iter().cloned());
    // The drop-in comes before what the site preloads: both lists are joined by the template.
    let is_replaced = |name: &str| {
        name != "LD_PRELOAD" && (is_in(&setup.environment, name) || is_in(&setup.expected_environment, name))
    };
    let mut kept = site_environment.clone();
    kept.retain(|(name, _)| !is_replaced(name));
    let mut environment = setup.environment.clone();
    let is_said = |name: &str| is_in(&kept, name) || is_replaced(name);
    let measuring = measuring.into_iter().flatten().filter(|(name, _)| !is_said(name));
    environment.extend(measuring.map(owned));
    environment.extend(kept);
    (parameters, environment)
}

impl<'a> Context<'a> {
    /// Puts it together.
    #[must_use]
    pub fn new(
        options: &'a Options,
        (library, version): (Library, String),
        (store, run, command_line): (&'a Store, Run, String),
        plan: Plan,
        (template, programs): (CommandTemplate, Programs),
    ) -> Context<'a> {
        Context {
            progress: Progress::new(options.quiet),
            directory: options.out.join("launches"),
            options,
            library,
            version,
            store,
            run,
            typed: command_line,
            plan,
            template,
            programs,
            quarantine: Quarantine::default(),
            proofs: Proofs::default(),
            reference: Reference::default(),
            plugins: Vec::new(),
            bench: Box::new(Machine),
            budget: Budget::new(options.budget_seconds),
            watch: Watch::default(),
            other_load_is_known: Cell::new(false),
            noise_seconds: Cell::new(0.0),
            transports: RefCell::default(),
            prices: RefCell::default(),
            device: RefCell::default(),
            found: RefCell::default(),
            library_string: RefCell::default(),
            hosts: RefCell::default(),
            predicted: RefCell::default(),
        }
    }

    /// Replaces the bench; its clock becomes the budget's.
    #[must_use]
    pub fn on(mut self, bench: Box<dyn Bench>) -> Context<'a> {
        let clock = bench.clock();
        let seconds = move || clock.elapsed().as_secs_f64();
        self.budget = Budget::by_clock(self.options.budget_seconds, seconds);
        self.bench = bench;
        self
    }

    /// A job under `setup`; launched when its first block is not in the store.
    ///
    /// # Errors
    /// A launcher's template that cannot express the setup.
    pub fn session(&self, key: &str, setup: &Setup, noise: bool) -> anyhow::Result<Session<'_>> {
        let is_reproducible = self.options.limits.reproducible && setup.compares_bits;
        let read = |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let header = Header {
            v: kilter_protocol::VERSION,
            wait: self.options.wait,
            root: self.options.root,
            element: self.options.element,
            seed: kilter_model::plan::derived_seed(self.run.seed, "worker"),
            read_variables: read(&setup.parameters)
                .into_iter()
                .chain(read(&setup.expected))
                .chain(self.library.transports.variables.iter().cloned())
                .collect(),
            read_environment: self
                .environment_to_read([read(&setup.environment), read(&setup.expected_environment)].concat()),
            noise_repetitions: if noise && !self.options.is_exact() { 50 } else { 0 },
            idle_seconds: self.options.stall_seconds.max(30.0),
            sync: self.options.sync,
            cache: self.options.cache,
            settings: self.library.switching.acts,
            asks_processing_units: false,
            counters: setup.counters.clone(),
            bits_at: if is_reproducible {
                combining_volumes(&self.plan)
            } else {
                Vec::new()
            },
            clock_faults: Vec::new(),
        };
        let command = self.command(setup, &[])?;
        let limits = Limits {
            start_seconds: self.options.stall_seconds + 20.0,
            stall_seconds: self.options.stall_seconds,
            finish_seconds: self.options.stall_seconds,
        };
        let spec = JobSpec {
            key: key.to_owned(),
            command,
            header,
            limits,
            ends_by: Some(
                self.bench.clock().now()
                    + Duration::from_secs_f64(self.budget.launch_limit_seconds().min(FOR_EVER_SECONDS)),
            ),
        };
        self.heed_jobs();
        let session = Session::new(&self.run, &self.programs.worker, &self.directory, spec)
            .on(&*self.bench)
            .watched_by(&self.watch);
        Ok(if is_reproducible {
            session.judged_by(&self.reference, reference::Launch::of(setup))
        } else {
            session
        })
    }

    /// Settings of the site and the user, before anything is tried: the ranks' environment at the first launch, the library's parameters in this
    /// process's environment (its launcher hands them on), and options. The last setting of a name wins.
    #[must_use]
    pub fn set_by_site(&self) -> Vec<(String, String)> {
        let mut set: Vec<(String, String)> = self.found.borrow().clone().into_iter().collect();
        let form = &self.library.launcher.variable;
        let rows = self.library.parameters.iter().filter(|row| !row.environment);
        for row in rows {
            let variable = if form.is_empty() {
                row.name.clone()
            } else {
                form.replace("{name}", &row.name)
            };
            set.extend(std::env::var(variable).ok().map(|value| (row.name.clone(), value)));
        }
        set.extend(self.options.site_parameters.iter().cloned());
        set.extend(self.options.site_environment.iter().cloned());
        set
    }

    /// True if the site or the user has set this name: a file of ours would not win over it.
    #[must_use]
    pub fn is_set_by_site(&self, name: &str) -> bool {
        self.set_by_site().iter().any(|(other, _)| other == name)
    }

    /// Hosts of the ranks in their order, as the last job had them.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.hosts.borrow().clone()
    }

    /// The site's settings and then the setup's.
    fn in_force(&self, setup: &Setup) -> (Pairs, Pairs) {
        let Options {
            site_parameters,
            site_environment,
            ..
        } = self.options;
        let measuring = self.library.measuring.as_ref().map(|one| &one.environment);
        let mut setup = setup.clone();
        setup.environment.extend(self.progress_library(&setup));
        let switching = &self.library.switching.parameters;
        combined((site_parameters, site_environment), &setup, switching, measuring)
    }

    /// The variable that loads the progress thread, if a setup switches it on; staged files load their own copy.
    fn progress_library(&self, setup: &Setup) -> Option<(String, String)> {
        let has =
            |wanted: &dyn Fn(&str, &str) -> bool| setup.environment.iter().any(|(name, value)| wanted(name, value));
        let is_on = has(&|name, _| name == PROGRESS_VARIABLE);
        let is_loaded = has(&|name, value| name == "LD_PRELOAD" && value.contains(PROGRESS_LIBRARY));
        let path = self.programs.progress().ok().filter(|_| is_on && !is_loaded)?;
        Some(("LD_PRELOAD".to_owned(), path.display().to_string()))
    }

    /// Variables to read from the ranks: a setup's, and all described ones, since the ranks know what a site or a user has set.
    fn environment_to_read(&self, mut names: Vec<String>) -> Vec<String> {
        let described = self.library.parameters.iter().filter(|row| row.environment);
        for row in described {
            if !names.contains(&row.name) {
                names.push(row.name.clone());
            }
        }
        names
    }

    /// The launcher's command under `setup`, for a program and its arguments.
    ///
    /// # Errors
    /// A template that cannot express it.
    fn command(&self, setup: &Setup, program_and_args: &[String]) -> Result<CommandSpec, TemplateError> {
        let (parameters, environment) = self.in_force(setup);
        let mut command = self
            .template
            .build(self.options.ranks, &parameters, &environment, program_and_args)?;
        command.environment.extend(setup.launcher_environment.iter().cloned());
        Ok(command)
    }

    /// A launch under `setup` as a command line for people.
    #[must_use]
    pub fn command_line(&self, setup: &Setup) -> String {
        self.command(setup, &["APPLICATION".to_owned()])
            .map(|command| command.to_string())
            .unwrap_or_default()
    }

    /// Confirms that every setting reads back from the running library and its ranks: a wrong setting is nearly always silent.
    ///
    /// # Errors
    /// The first setting that did not take effect.
    pub fn confirm(&self, setup: &Setup, start: &Start) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.library.is_reported_by(&self.version, &start.library),
            "the launcher belongs to {} {}, but the ranks ran with `{}`; does LD_LIBRARY_PATH name another library?",
            self.library.name,
            self.version,
            start.library
        );
        if let Some(layout) = self.options.layout {
            layout.check(&start.hosts)?;
        }
        self.library_string.replace(start.library.clone());
        self.hosts.replace(start.hosts.clone());
        if setup.parameters.is_empty() && setup.expected.is_empty() && !setup.switching {
            // Of the library as the site has it: a candidate may be to change just this.
            let about_device = |name: &String| Some((name.clone(), start.variables.get(name)?.clone()));
            let known = self.library.transports.variables.iter().filter_map(about_device);
            self.device.replace(known.collect());
        }
        if setup.environment.is_empty() && setup.expected_environment.is_empty() {
            let described = self.library.parameters.iter().filter(|row| row.environment);
            let of_ranks = |name: &String| Some((name.clone(), start.environment.get(name)?.clone()));
            self.found
                .replace(described.filter_map(|row| of_ranks(&row.name)).collect());
        }
        for (name, value) in setup.parameters.iter().chain(&setup.expected) {
            match start.variables.get(name) {
                Some(got) if self.library.same_value(name, value, got) => {}
                Some(got) => anyhow::bail!("`{name}` was set to `{value}`, but the library reports `{got}`"),
                None => anyhow::bail!("`{name}` was set to `{value}`, but the library knows no such variable"),
            }
        }
        let variables = setup.environment.iter().chain(&setup.expected_environment);
        for (name, value) in variables.filter(|(name, _)| name != "LD_PRELOAD") {
            match start.environment.get(name) {
                Some(got) if got == value => {}
                got => anyhow::bail!("`{name}` was set to `{value}`, but the ranks see {got:?}"),
            }
        }
        Ok(())
    }

    /// Start and end of a job, in seconds: as the last ones took here, or, before the first, a guess.
    #[must_use]
    pub fn launch_seconds(&self) -> f64 {
        let guess = if self.options.several_hosts { 2.0 } else { 0.5 };
        self.budget.start_seconds().unwrap_or(guess)
    }

    /// Processors that other programs may take beside a launch.
    #[must_use]
    pub fn most_other_cores(&self) -> f64 {
        other_load::most_cores(self.options.ranks)
    }

    /// Warns about the jobs that ended since the last call: other load, and time that was over.
    pub fn heed_jobs(&self) {
        for job in self.watch.news() {
            if job.unanswered > 0 {
                self.progress.note(&format!(
                    "launch `{}` had to end after {:.0} s: {} of its blocks were not measured",
                    job.key, job.seconds, job.unanswered
                ));
            }
            let busy = job.other_cores.filter(|cores| *cores > self.most_other_cores());
            if let Some(cores) = busy.filter(|_| !self.other_load_is_known.replace(true)) {
                self.progress.note(&format!(
                    "other programs took {cores:.1} processors beside launch `{}`: launches last longer and decide less; end them, or wait for \
                     them (said once; the end of the run says what they did)",
                    job.key
                ));
            }
        }
    }

    /// Sets aside the seconds that verifying the result will cost, and takes over the first verification's findings on the machine: its seconds,
    /// the spread of the empty operation, and the number of hosts.
    pub fn begin_search(&self, seconds: f64, noise_seconds: f64, hosts: usize) {
        // The verification of what is deployed measures the untouched library's left sides as well.
        self.budget.reserve(1.6 * self.budget.spent_seconds().max(seconds));
        self.noise_seconds.set(noise_seconds);
        let site = &self.options.site_parameters;
        self.transports
            .replace(self.library.transports_in_use(hosts <= 1, site));
    }

    /// Takes over the measured prices of messages and local work.
    pub fn set_prices(&self, prices: Prices) {
        self.prices.replace(prices);
    }

    /// Prices of messages and local work, where they were measured.
    #[must_use]
    pub fn prices(&self) -> Prices {
        self.prices.borrow().clone()
    }

    /// Spread of the empty operation, in seconds.
    #[must_use]
    pub fn noise_seconds(&self) -> f64 {
        self.noise_seconds.get()
    }

    /// Names of the transports in use.
    #[must_use]
    pub fn transports(&self) -> Vec<String> {
        self.transports.borrow().clone()
    }

    /// The library's report of its device and transports where nothing was set: name, value.
    #[must_use]
    pub fn device(&self) -> BTreeMap<String, String> {
        self.device.borrow().clone()
    }

    /// The library's version string of the last launch; empty before the first.
    #[must_use]
    pub fn library_string(&self) -> String {
        self.library_string.borrow().clone()
    }

    /// Nodes that ranks share, from a launch, or a single one if all ranks are on it; `None` if unknown.
    #[must_use]
    pub fn nodes(&self) -> Option<Nodes> {
        let hosts = self.hosts.borrow();
        let ranks = self.options.ranks;
        if hosts.len() == ranks {
            return Some(Nodes::new(&hosts));
        }
        (!self.options.place().several_nodes).then(|| Nodes::one(ranks))
    }

    /// The rule of verdicts.
    #[must_use]
    pub fn rule(&self, noise_seconds: f64) -> Rule {
        Rule {
            alpha: self.options.alpha,
            effect_floor: self.options.effect_floor,
            noise_seconds,
            test: self.options.test,
            correction: self.options.correction,
            ..Rule::default()
        }
    }

    /// Puts a candidate that failed its self-check, or that says that it cannot run here, into quarantine, with a warning; the library's
    /// own failures are warnings.
    pub fn quarantine_failed(&self, item: &str, fault: &Fault) {
        let what = fault.kind();
        if is_candidate(item) {
            self.progress
                .warn(&format!("candidate `{item}` {what} and is not proposed again: {fault}"));
            self.quarantine.add(item, what, &fault.to_string());
        } else {
            self.progress.warn(&format!(
                "the library's own `{item}` {what}: {fault}; report it to its developers"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(words: &[(&str, &str)]) -> Pairs {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        words.iter().map(owned).collect()
    }

    /// A tried setting wins over the site's, and the site's setting does not hide a file's.
    #[test]
    fn a_setup_wins_over_the_site() {
        let site = (
            pairs(&[("p", "site"), ("q", "site"), ("r", "site")]),
            pairs(&[("A", "site"), ("B", "site"), ("C", "site"), ("LD_PRELOAD", "site.so")]),
        );
        let setup = Setup {
            parameters: pairs(&[("p", "tried")]),
            expected: pairs(&[("q", "file")]),
            environment: pairs(&[("A", "tried"), ("LD_PRELOAD", "own.so")]),
            expected_environment: pairs(&[("B", "file")]),
            ..Setup::default()
        };
        let measuring: BTreeMap<String, String> = pairs(&[("C", "1"), ("D", "1"), ("A", "1")]).into_iter().collect();
        let (parameters, environment) = combined((&site.0, &site.1), &setup, &BTreeMap::new(), Some(&measuring));
        assert_eq!(parameters, pairs(&[("p", "site"), ("r", "site"), ("p", "tried")]));
        assert_eq!(
            environment,
            pairs(&[
                ("A", "tried"),
                ("LD_PRELOAD", "own.so"),
                ("D", "1"),
                ("C", "site"),
                ("LD_PRELOAD", "site.so")
            ])
        );
    }
}
