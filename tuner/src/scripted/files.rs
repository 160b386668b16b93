//! Reads the input of a launcher and a library: their command line, and the files that it names.

use std::collections::BTreeMap;
use std::path::Path;

use kilter_algorithms::Collective;
use kilter_profile::{Placement, Profile, Table};

use kilter_bench::launch::CommandSpec;
use kilter_emit::components::ComponentRules;
use kilter_emit::mca;
use kilter_emit::mvapich2_conf;
use kilter_emit::rules::{ByNodes, Nodes, Rules};
use kilter_model::config::library::{Components, Library};

use super::call::Settings;

/// The variables in which a launcher's own environment sets parameters, and the one that names files of them.
const PARAMETER: &str = "OMPI_MCA_";
const PARAMETER_FILES: &str = "OMPI_MCA_mca_base_param_files";

/// Names MVAPICH2's file of variables.
const USER_FILE: &str = "MV2_USER_CONFIG";

/// Says how many ranks are put on each host.
const PER_HOST: &str = "--per-node";

/// Settings of a command.
#[derive(Debug, Default)]
pub(super) struct InForce {
    pub(super) ranks: usize,
    /// Ranks of each host; all of them on one where nothing is said.
    pub(super) per_host: Option<usize>,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) environment: BTreeMap<String, String>,
    /// Those rules of the library's file that hold on as many hosts.
    pub(super) rules: Option<Rules>,
    /// The file that hands collectives to components.
    pub(super) components: Option<ComponentRules>,
    /// The profile that the drop-in follows.
    pub(super) profile: Option<Table>,
}

impl InForce {
    /// Reads a command as the launcher of `library` does; the command line wins over variables, and these over files.
    pub(super) fn of(command: &CommandSpec, library: &Library) -> InForce {
        let mut found = InForce::default();
        for (name, value) in &command.environment {
            if name == PARAMETER_FILES {
                // The first file is the strongest.
                for file in value.split(',').rev() {
                    let text = std::fs::read_to_string(file).unwrap_or_default();
                    found.parameters.extend(mca::parse(&text).unwrap_or_default());
                }
            }
        }
        for (name, value) in &command.environment {
            if let Some(name) = name.strip_prefix(PARAMETER).filter(|_| name != PARAMETER_FILES) {
                found.parameters.insert(name.to_owned(), value.clone());
            }
        }
        found.read_words(&command.argv, library);
        found.read_files(library);
        found
    }

    /// Ranks that are put on a host before the next one.
    pub(super) fn per_host(&self) -> usize {
        self.per_host.unwrap_or(self.ranks).max(1)
    }

    /// The component that carries a call out; `None` for a collective of which none is asked for. A rule of the file wins over the setting.
    pub(super) fn component<'c>(
        &'c self,
        components: &'c Components,
        settings: &Settings<'_>,
        (collective, bytes): (Collective, u64),
    ) -> Option<&'c str> {
        let row = components.of(collective)?;
        let (name, value) = components.switching(collective)?;
        let ranks = self.ranks as u64;
        let (size, _) = row.counts.range((bytes, bytes), ranks);
        let rules = self.components.as_ref();
        let by_file = rules.and_then(|rules| rules.lookup(row.id, ranks, size));
        let by_setting = if settings.value(&name) == value {
            &components.of_algorithms
        } else {
            &components.own
        };
        Some(by_file.map_or(by_setting, |to| &to.component))
    }

    fn read_words(&mut self, words: &[String], library: &Library) {
        let (parameter, environment) = (&library.launcher.parameter, &library.launcher.environment);
        // If all parameters are variables, one form serves for both.
        let parameter: &[String] = if parameter == environment { &[] } else { parameter };
        let mut at = 1;
        while at < words.len() {
            let rest = &words[at..];
            if let [flag, ranks, ..] = rest
                && *flag == library.launcher.ranks_flag
            {
                self.ranks = ranks.parse().unwrap_or_default();
                at += 2;
            } else if let [flag, per_host, ..] = rest
                && flag == PER_HOST
            {
                self.per_host = per_host.parse().ok();
                at += 2;
            } else if let [flag, file, ..] = rest
                && *flag == library.launcher.hostfile_flag
            {
                // Ranks are spread evenly over its lines.
                let hosts = std::fs::read_to_string(file).unwrap_or_default().lines().count();
                self.per_host = Some(self.ranks.div_ceil(hosts.max(1)));
                at += 2;
            } else if let Some((name, value)) = filled(parameter, rest) {
                self.parameters.insert(name, value);
                at += parameter.len();
            } else if let Some((name, value)) = filled(environment, rest) {
                self.insert_variable(name, value);
                at += environment.len();
            } else {
                at += 1;
            }
        }
    }

    /// A variable, and the lines of the file that it names, none of which wins over a variable.
    fn insert_variable(&mut self, name: String, value: String) {
        if name == USER_FILE {
            let text = std::fs::read_to_string(&value).unwrap_or_default();
            for (name, value) in mvapich2_conf::parse(&text).unwrap_or_default() {
                self.environment.entry(name).or_insert(value);
            }
        }
        self.environment.insert(name, value);
    }

    fn read_files(&mut self, library: &Library) {
        let asked = self
            .parameters
            .get("coll_tuned_use_dynamic_rules")
            .is_some_and(|one| one == "1");
        let file = self
            .parameters
            .get("coll_tuned_dynamic_rules_filename")
            .filter(|_| asked);
        self.rules = file.and_then(|file| {
            let text = std::fs::read_to_string(file).ok()?;
            let rules = ByNodes::read(&text, library.rules_file.form).ok()?;
            let nodes = self.ranks.div_ceil(self.per_host());
            Some(rules.of(Nodes::of(nodes)).clone())
        });
        self.components = library.components.as_ref().and_then(|described| {
            let mut needed = described.parameters.iter();
            let is_read = needed.all(|(name, value)| self.parameters.get(name) == Some(value));
            let file = self.parameters.get(&described.filename).filter(|_| is_read)?;
            ComponentRules::parse(&std::fs::read_to_string(file).ok()?, described).ok()
        });
        let preloaded = self
            .environment
            .get("LD_PRELOAD")
            .is_some_and(|list| list.contains("libkilter.so"));
        let file = self.environment.get("KILTER_PROFILE").filter(|_| preloaded);
        self.profile = file.and_then(|file| {
            let text = std::fs::read_to_string(Path::new(file)).ok()?;
            let placement = Placement::of((0..self.ranks).map(|rank| rank / self.per_host()))?;
            Some(Table::compile(&Profile::parse_trusting(&text, file).ok()?, &placement))
        });
    }
}

/// Name and value, where these words are a form that was filled in.
fn filled(form: &[String], words: &[String]) -> Option<(String, String)> {
    if form.is_empty() || words.len() < form.len() {
        return None;
    }
    let (mut name, mut value) = (None, None);
    for (part, word) in form.iter().zip(words) {
        match part.as_str() {
            "{name}" => name = Some(word.clone()),
            "{value}" => value = Some(word.clone()),
            fixed => match fixed.split_once("{name}") {
                // Such as `--cfg={name}:{value}`.
                Some((before, between)) => {
                    let between = between.strip_suffix("{value}")?;
                    let (first, rest) = word.strip_prefix(before)?.split_once(between)?;
                    (name, value) = (Some(first.to_owned()), Some(rest.to_owned()));
                }
                None if fixed != word => return None,
                None => {}
            },
        }
    }
    Some((name?, value?))
}
