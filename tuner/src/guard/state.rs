//! A job that times nothing: what the library reports of its parameters, and what its ranks have in their environment.

use kilter_guard::Facts;
use kilter_guard::deployed::{Acts, Change};
use kilter_guard::facts::PRINTED;
use kilter_model::config::library::Library;
use kilter_model::setup::Setup;
use kilter_protocol::report::Start;
use kilter_search::context::Jobs;

use super::tuned::Tuned;

/// Text of a variable of the environment that no rank has.
const NOT_SET: &str = "not set";

/// Words of a job when it started.
pub(super) struct State {
    pub(super) start: Start,
}

impl State {
    /// Starts a job of the library as everybody gets it here, and asks it for all parameters that are described or were deployed.
    pub(super) fn ask(jobs: &Jobs<'_>, tuned: &Tuned) -> anyhow::Result<State> {
        let library = &jobs.site.library;
        let described = library.parameters.iter().filter(|row| !row.environment);
        let described = described.map(|row| row.name.clone());
        let deployed = tuned.settings.iter().map(|(name, _)| name.clone());
        let transports = library.transports.variables.iter().cloned();
        let setup = Setup {
            reads: described.chain(transports).chain(deployed).collect(),
            ..Setup::default()
        };
        let mut session = jobs.session("state", &setup, false)?;
        let start = session.start()?;
        session.finish()?;
        jobs.site.confirm(&Setup::default(), &start)?;
        Ok(State { start })
    }

    /// The hosts, each once.
    pub(super) fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = Vec::new();
        for host in &self.start.hosts {
            if !hosts.contains(host) {
                hosts.push(host.clone());
            }
        }
        hosts
    }

    /// Value of a parameter of the library, or of a variable of the ranks.
    fn value(&self, name: &str) -> Option<&str> {
        let Start {
            variables, environment, ..
        } = &self.start;
        variables
            .get(name)
            .or_else(|| environment.get(name))
            .map(String::as_str)
    }

    /// Adds what it says to the facts.
    pub(super) fn tell(&self, library: &Library, tuned: &Tuned, facts: &mut Facts) {
        for (name, value) in &self.start.variables {
            // The running job knows better than the library's program.
            facts.forget(&format!("{PRINTED}{name}"));
            facts.of_job(&format!("parameter {name}"), value.clone());
        }
        let described = library.parameters.iter().filter(|row| row.environment);
        let described = described.map(|row| row.name.as_str());
        let deployed = tuned.settings.iter().map(|(name, _)| name.as_str());
        for name in described.chain(deployed.filter(|name| !self.start.variables.contains_key(*name))) {
            let value = self.start.environment.get(name).map_or(NOT_SET, String::as_str);
            facts.of_job(&format!("environment {name}"), value);
        }
    }

    /// Deployed settings of whole launches, with what the library reports of them.
    pub(super) fn settings(&self, library: &Library, tuned: &Tuned, acted: &dyn Fn(&str) -> bool) -> Vec<Change> {
        let change = |(name, value): &(String, String)| {
            let id = format!("{name}={value}");
            let acts = match self.value(name) {
                Some(got) if library.same_value(name, value, got) => Acts::Yes("it reads back".to_owned()),
                Some(got) => Acts::No(format!("it reads back as `{got}`")),
                None => Acts::No("neither the library nor the ranks know it".to_owned()),
            };
            Change {
                acted: acted(&id),
                id,
                acts,
            }
        };
        tuned.settings.iter().map(change).collect()
    }
}
