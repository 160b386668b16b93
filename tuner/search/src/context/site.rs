//! The place that a run tunes: its options, its library, and the ranks' words on both.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Nodes;
use kilter_model::config::library::Library;
use kilter_model::options::Options;
use kilter_model::setup::Setup;
use kilter_protocol::report::Start;
use kilter_stats::verdict::Rule;

/// The place that a run tunes.
pub struct Site<'a> {
    /// Options.
    pub options: &'a Options,
    /// Description of the library.
    pub library: Library,
    /// Version of the library.
    pub version: String,
    said: RefCell<Said>,
}

/// Facts that ranks reported when they last started.
#[derive(Default)]
struct Said {
    /// Described variables of the environment before anything was tried.
    environment: BTreeMap<String, String>,
    /// The library's words on its device and transports where nothing was set, once ranks were asked.
    device: Option<BTreeMap<String, String>>,
    /// The library's own values of what the site sets, as its own program prints them.
    own_values: BTreeMap<String, String>,
    /// The library's words on itself.
    library: String,
    /// Hosts of the ranks in their order.
    hosts: Vec<String>,
}

/// True if the library runs as the site has it: a candidate may change just what it says of its device.
fn is_as_found(setup: &Setup) -> bool {
    setup.parameters.is_empty() && setup.expected.is_empty() && !setup.switching
}

impl<'a> Site<'a> {
    /// A site of which no ranks have said anything yet.
    #[must_use]
    pub fn new(options: &'a Options, mut library: Library, version: String) -> Site<'a> {
        if options.limits.any_operator {
            library.keep_those_for_any_operator();
        }
        Site {
            options,
            library,
            version,
            said: RefCell::default(),
        }
    }

    /// The value of a parameter of the library in the environment of the launcher.
    fn in_environment(&self, parameter: &str) -> Option<String> {
        std::env::var(self.library.launcher.variable_of(parameter)).ok()
    }

    /// True if the site or the user sets a parameter of the library, which need not be described.
    #[must_use]
    pub fn sets(&self, parameter: &str) -> bool {
        let mut site = self.options.site_parameters.iter();
        site.any(|(name, _)| name == parameter) || self.in_environment(parameter).is_some()
    }

    /// Settings of the site and the user before anything is tried: the environment that ranks had then, parameters in the environment of
    /// this process, which the library's launcher hands on, and options. Last ones win.
    #[must_use]
    pub fn set_by_site(&self) -> Vec<(String, String)> {
        let mut set: Vec<(String, String)> = self.said.borrow().environment.clone().into_iter().collect();
        let rows = self.library.parameters.iter().filter(|row| !row.environment);
        let described = rows.map(|row| row.name.clone());
        let names: BTreeSet<String> = described.chain(self.own_values().into_keys()).collect();
        for name in names {
            set.extend(self.in_environment(&name).map(|value| (name, value)));
        }
        set.extend(self.options.site_parameters.iter().cloned());
        set.extend(self.options.site_environment.iter().cloned());
        set
    }

    /// Takes over the library's own values of parameters that the site sets.
    pub fn learn_own_values(&self, values: BTreeMap<String, String>) {
        self.said.borrow_mut().own_values = values;
    }

    /// The library's own values of parameters that the site sets, which need not be described; empty where its own program did not say them.
    #[must_use]
    pub fn own_values(&self) -> BTreeMap<String, String> {
        self.said.borrow().own_values.clone()
    }

    /// Hosts of the ranks in their order, as the last job had them.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        self.said.borrow().hosts.clone()
    }

    /// The ranks that share a node, as a launch has shown, or because all are on one; `None` where nothing is known.
    #[must_use]
    pub fn nodes(&self) -> Option<Nodes> {
        let hosts = &self.said.borrow().hosts;
        let ranks = self.options.ranks;
        if hosts.len() == ranks {
            return Some(Nodes::new(hosts));
        }
        (!self.options.place().several_nodes).then(|| Nodes::one(ranks))
    }

    /// The library's words on its device and transports where nothing was set: name, value.
    #[must_use]
    pub fn device(&self) -> BTreeMap<String, String> {
        self.said.borrow().device.clone().unwrap_or_default()
    }

    /// The library's words on itself when ranks last started; empty before.
    #[must_use]
    pub fn library_string(&self) -> String {
        self.said.borrow().library.clone()
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

    /// Says that ranks which could be on several hosts are all on one, if they are so and no layout demands it: what holds among hosts is not
    /// seen there.
    #[must_use]
    pub fn crowded(&self, hosts: &[String]) -> Option<String> {
        let there = self.options.slots.len();
        let first = hosts
            .first()
            .filter(|_| hosts.len() > 1 && there > 1 && self.options.layout.is_none())?;
        hosts.iter().all(|host| host == first).then(|| {
            format!(
                "all {} ranks lie on `{first}`, one of {there} hosts: nothing is measured between hosts; give --layouts, such as {there}x1 or \
                 1x{} for this one",
                hosts.len(),
                hosts.len()
            )
        })
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
        self.take_over(setup, start);
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

    /// The library's variables that a job under `setup` must report. Those on its device are asked for once: to read any variable, Open MPI loads
    /// all its components, a third of a short launch.
    pub(super) fn variables_to_read(&self, setup: &Setup) -> Vec<String> {
        let set = setup.parameters.iter().chain(&setup.expected);
        let mut names: Vec<String> = set.map(|(name, _)| name.clone()).chain(setup.reads.clone()).collect();
        if self.said.borrow().device.is_none() && is_as_found(setup) {
            names.extend_from_slice(&self.library.transports.variables);
        }
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        names
    }

    /// Variables that a job must report: a setup's, and all that are described, since only the ranks know those that a site or a user has set.
    pub(super) fn environment_to_read(&self, mut names: Vec<String>) -> Vec<String> {
        let described = self.library.parameters.iter().filter(|row| row.environment);
        for row in described {
            if !names.contains(&row.name) {
                names.push(row.name.clone());
            }
        }
        names
    }

    /// Keeps the words of ranks that have started under `setup`.
    fn take_over(&self, setup: &Setup, start: &Start) {
        let mut said = self.said.borrow_mut();
        said.library.clone_from(&start.library);
        said.hosts.clone_from(&start.hosts);
        if said.device.is_none() && is_as_found(setup) {
            let about_device = |name: &String| Some((name.clone(), start.variables.get(name)?.clone()));
            let known = self.library.transports.variables.iter().filter_map(about_device);
            said.device = Some(known.collect());
        }
        if setup.environment.is_empty() && setup.expected_environment.is_empty() {
            let described = self.library.parameters.iter().filter(|row| row.environment);
            let of_ranks = |name: &String| Some((name.clone(), start.environment.get(name)?.clone()));
            said.environment = described.filter_map(|row| of_ranks(&row.name)).collect();
        }
    }
}
