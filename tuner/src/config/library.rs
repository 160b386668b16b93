//! Descriptions of MPI libraries: how they are launched, which parameters they have, what they can switch and deploy.

use std::collections::BTreeMap;
use std::path::Path;

use kilter_algorithms::Collective;
use kilter_protocol::plan::SettingsAct;
use serde::Deserialize;

use super::{ConfigError, embedded, read};

pub mod at_start;
mod check;
mod described;
mod inherit;
pub mod rules_file;

pub use at_start::{AtStart, Form, Unit};
pub use described::Described;
pub use rules_file::{RulesFile, RulesForm};

/// A library.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Such as `openmpi-4.1`.
    pub id: String,
    /// Such as `Open MPI`.
    pub name: String,
    /// Parts of the launcher's version line; one is enough.
    pub detect: Vec<String>,
    /// What the first line of `MPI_Get_library_version` contains, white space as single blanks.
    pub reports: String,
    /// What a build of Kilter for it is called, with `{major}` and `{minor}` of the library's version.
    pub builds: String,
    /// Which emitter writes its files; without one it can be verified and not tuned.
    #[serde(default)]
    pub emitter: Option<Emitter>,
    /// Which program of its own prints its parameters, where Kilter reads one.
    #[serde(default)]
    pub info: Option<InfoTool>,
    /// How jobs are launched.
    pub launcher: Launcher,
    /// Which transports carry messages.
    pub transports: Transports,
    /// What a job needs to switch parameters while it runs.
    pub switching: Switching,
    /// What it reads of rules files, where it has such.
    #[serde(default)]
    pub rules_file: RulesFile,
    /// What shows which messages a call sends, where something does.
    #[serde(default)]
    pub messages: Option<Messages>,
    /// Algorithms of collectives, switched per communicator.
    #[serde(default)]
    pub algorithms: Vec<Algorithms>,
    /// Parameters of a whole launch, most promising first.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
}

/// How jobs are launched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Arguments of every launch.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Arguments when the user is root.
    #[serde(default)]
    pub root_arguments: Vec<String>,
    /// Before the number of ranks.
    pub ranks_flag: String,
    /// Before the host file.
    pub hostfile_flag: String,
    /// Arguments beside a host file, which make the launcher fill its hosts one after the other as the file says; a layout's `per_node`
    /// replaces them.
    #[serde(default)]
    pub by_hostfile: Vec<String>,
    /// Arguments that put so many ranks on each node, with `{per_node}` and, if need be, `{nodes}`; empty if it cannot be told: the order of
    /// the host file must do.
    #[serde(default)]
    pub per_node: Vec<String>,
    /// A host's name, which is given once for each rank where there is no host file; without it, the launcher needs none.
    #[serde(default)]
    pub host: Option<String>,
    /// Form of a parameter, with `{name}` and `{value}`; empty where the library has none but variables.
    #[serde(default)]
    pub parameter: Vec<String>,
    /// The variable that sets a parameter, with `{name}`, where another launcher than the library's starts the ranks; empty where
    /// parameters are variables of the same name.
    #[serde(default)]
    pub variable: String,
    /// Form of an environment variable of the ranks, with `{name}` and `{value}`; empty if the launcher hands its own environment on.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Arguments that name the program which starts daemons on other hosts, with `{agent}`; empty if it cannot be named.
    #[serde(default)]
    pub agent: Vec<String>,
    /// Arguments that name the machine a simulator simulates, with `{platform}` and `{hostfile}`; empty if ranks really run.
    #[serde(default)]
    pub platform: Vec<String>,
    /// The file that is launched where it is not the worker itself, which it lies beside.
    #[serde(default)]
    pub program: Option<String>,
}

impl Launcher {
    /// Whether it is a simulator: its times are exact, and what is preloaded does not come before the library.
    #[must_use]
    pub fn is_simulator(&self) -> bool {
        !self.platform.is_empty()
    }
}

/// Who writes a library's files; a file each in `emit/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Emitter {
    /// MPICH's control variables and selection file.
    Mpich,
    /// MVAPICH2's file of variables.
    Mvapich2,
    /// Open MPI's parameter and rules files.
    OpenMpi,
    /// Arguments of SimGrid's `smpirun`.
    Smpi,
    /// The environment alone.
    Variables,
}

/// A library's own program that prints its parameters; a file each in `library_info/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InfoTool {
    /// Intel MPI's.
    ImpiInfo,
    /// MPICH's.
    Mpivars,
    /// Open MPI's.
    OmpiInfo,
}

/// Names of the transports in use, by where the ranks are.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transports {
    /// All ranks on one host.
    pub one_host: Vec<String>,
    /// Ranks on several hosts.
    pub several_hosts: Vec<String>,
    /// Control variables that say which transports are in use, for `kilter doctor`.
    #[serde(default)]
    pub variables: Vec<String>,
}

impl Transports {
    /// Those in use where all ranks are on one host, or on several.
    #[must_use]
    pub fn on(&self, one_host: bool) -> &[String] {
        if one_host { &self.one_host } else { &self.several_hosts }
    }
}

/// What a job needs to switch parameters while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switching {
    /// On what parameters act that are switched.
    #[serde(default)]
    pub acts: SettingsAct,
    /// Parameters of the launch.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Variables under which a job ends rather than run another algorithm than the one that was asked for at its start. The library's own
    /// choices may do so, too: they are set where nothing but what was asked for is called.
    #[serde(default)]
    pub strict: BTreeMap<String, String>,
}

/// What shows which messages a call sends, in a launch of its own: counting takes time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// MPI_T performance variables with a number for each rank of `MPI_COMM_WORLD`.
    pub counters: Vec<String>,
    /// Parameters of the launch; where one does not read back, nothing is counted.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Lists of components that must have another one where a site has set them.
    #[serde(default)]
    pub among: BTreeMap<String, String>,
}

/// The algorithms of one collective.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Algorithms {
    /// The collective.
    #[serde(deserialize_with = "super::collective_name::deserialize")]
    pub collective: Collective,
    /// The parameter that chooses; knobs are `<parameter>_<knob>`.
    pub parameter: String,
    /// The collective's number in a rules file, where the library has such files.
    #[serde(default)]
    pub rules_id: Option<u64>,
    /// Whether rules may switch it on message size without taking ranks apart or comparing something else.
    #[serde(default)]
    pub size_switch: bool,
    /// The test of a selection file that compares the volume, where the library has such files and may switch on size.
    #[serde(default)]
    pub size_test: Option<String>,
    /// The variable is read when a job starts, and in this form.
    #[serde(default)]
    pub at_start: Option<AtStart>,
    /// What must be set along with it so that the choice is asked for at all.
    #[serde(default)]
    pub together: BTreeMap<String, String>,
    /// The values.
    #[serde(default)]
    pub choices: Vec<AlgorithmChoice>,
    /// All knobs there are.
    #[serde(default)]
    pub knobs: BTreeMap<String, Knob>,
}

/// One value of an algorithm parameter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmChoice {
    /// The number.
    pub value: u64,
    /// The library's name for it.
    pub name: String,
    /// The knobs it listens to.
    #[serde(default)]
    pub knobs: Vec<String>,
    /// It runs on exactly this number of ranks.
    #[serde(default)]
    pub ranks: Option<usize>,
    /// It runs where ranks are on several nodes, some of them with several ranks.
    #[serde(default)]
    pub several_nodes: bool,
    /// It runs on an even number of ranks.
    #[serde(default)]
    pub even_ranks: bool,
    /// It runs on a power of two of ranks.
    #[serde(default)]
    pub power_of_two_ranks: bool,
    /// What a selection file must say with it: parameters that the library would take as 0 else.
    #[serde(default)]
    pub selection: Vec<String>,
    /// Kilter's row of the same algorithm: `kilter benchmark --same` compares the two.
    #[serde(default)]
    pub kilter: Option<String>,
}

/// An ordered knob of an algorithm.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// The library's default.
    pub default: u64,
    /// Smallest value worth trying.
    pub min: u64,
    /// Largest value worth trying.
    pub max: u64,
    /// Spacing.
    pub scale: Scale,
    /// Unit.
    pub unit: String,
    /// Column of the rules file that carries it; without one it acts on every size at once and is not searched.
    #[serde(default)]
    pub column: Option<Column>,
}

/// A column of a rules file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Column {
    /// Bytes of a segment.
    Segment,
    /// Fan-out of a tree, or number of chains.
    Fan,
    /// Requests in flight at most; not every release has it, see [`RulesFile`].
    Requests,
}

/// Spacing of an ordered value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Powers of two.
    Log2,
    /// Integers.
    Linear,
}

/// A parameter of a whole launch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// As the library spells it.
    pub name: String,
    /// Whether it is an environment variable of the ranks.
    #[serde(default)]
    pub environment: bool,
    /// It acts on these collectives alone, and is tried only where one of them is too slow; empty if it may act on all.
    #[serde(default, deserialize_with = "super::collective_name::list")]
    pub collectives: Vec<Collective>,
    /// Only where this transport is in use.
    #[serde(default)]
    pub transport: Option<String>,
    /// The library's default.
    pub default: String,
    /// Values of the screening.
    pub r#try: Vec<Value>,
    /// What is tried where an overlap target is missed, beside the values above.
    #[serde(default)]
    pub overlap: Vec<ForOverlap>,
    /// The range, where values are ordered.
    #[serde(default)]
    pub ordered: Option<Ordered>,
    /// Other names of values, as the library may report them.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// What is set along with it; `{value}` stands for its value.
    #[serde(default)]
    pub together: BTreeMap<String, String>,
    /// It decides whether the library's algorithms are asked for at all: it is tried first, and stays where one of them is chosen under
    /// it; where messages show that none is asked for, and nothing else fixes a cell, each of its values is tried together with them.
    #[serde(default)]
    pub admits_algorithms: bool,
    /// It is the fair competitor of other candidates, so a contest that was asked for always measures it.
    #[serde(default)]
    pub confirm_always: bool,
    /// Unit.
    #[serde(default)]
    pub unit: Option<String>,
    /// What it does.
    pub summary: String,
}

/// What is tried where an overlap target is missed: a value, or `{ value = 1, together = { NAME = "TEXT" } }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "ForOverlapWritten")]
pub struct ForOverlap {
    /// The parameter's value.
    pub value: Value,
    /// What is set along with it in the ranks' environment, beside what is for every value; `{spare}` stands for a list of a free processing unit for each rank of
    /// a host. Where there are none, it is not tried.
    pub together: BTreeMap<String, String>,
}

/// [`ForOverlap`] as it is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum ForOverlapWritten {
    Alone(Value),
    Together(Together),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Together {
    value: Value,
    together: BTreeMap<String, String>,
}

impl From<ForOverlapWritten> for ForOverlap {
    fn from(written: ForOverlapWritten) -> ForOverlap {
        match written {
            ForOverlapWritten::Alone(value) => ForOverlap {
                value,
                together: BTreeMap::new(),
            },
            ForOverlapWritten::Together(Together { value, together }) => ForOverlap { value, together },
        }
    }
}

/// Stands for the numbers of free processing units, such as `6,7`.
pub const SPARE: &str = "{spare}";

/// A value: TOML integers and strings both do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A word.
    Word(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

/// The range of an ordered parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ordered {
    /// Smallest value worth trying.
    pub min: u64,
    /// Largest value worth trying.
    pub max: u64,
    /// Spacing.
    pub scale: Scale,
}

impl Parameter {
    /// Whether what it acts on is among these transports.
    #[must_use]
    pub fn acts_on(&self, transports: &[String]) -> bool {
        self.transport
            .as_ref()
            .is_none_or(|transport| transports.contains(transport))
    }
}

impl Algorithms {
    /// The choices that run on this number of ranks.
    pub fn choices_on(&self, ranks: usize) -> impl Iterator<Item = &AlgorithmChoice> {
        self.choices.iter().filter(move |choice| {
            choice.ranks.is_none_or(|only| only == ranks)
                && (!choice.even_ranks || ranks.is_multiple_of(2))
                && (!choice.power_of_two_ranks || ranks.is_power_of_two())
        })
    }

    /// What must be set for a choice.
    #[must_use]
    pub fn settings(&self, choice: &AlgorithmChoice) -> Vec<(String, String)> {
        let own = std::iter::once((self.parameter.clone(), choice.value.to_string()));
        own.chain(self.together.clone()).collect()
    }
}

/// What a rules file needs to know of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulesEntry {
    /// Its number.
    pub id: u64,
    /// Whether it may be switched on message size.
    pub size_switch: bool,
}

impl Library {
    /// Reads a file's text; `file` is named in errors.
    ///
    /// # Errors
    /// Whatever is wrong, with the line and what is allowed.
    pub fn parse(text: &str, file: &str) -> Result<Library, ConfigError> {
        let wrong = |message: String| ConfigError {
            file: file.to_owned(),
            message,
        };
        let refused = |error: toml::de::Error| wrong(error.to_string().trim_end().to_owned());
        let own: toml::Table = text.parse().map_err(refused)?;
        let mut library: Library = match inherit::like(&own).map(str::to_owned) {
            // As the text has it, so that errors name its lines.
            None => toml::from_str(text).map_err(refused)?,
            Some(id) => {
                let base = Library::table(&id).map_err(&wrong)?;
                inherit::filled(own, base)
                    .map_err(&wrong)?
                    .try_into()
                    .map_err(|error| wrong(format!("together with what `{id}` has: {error}")))?
            }
        };
        library.algorithms.iter_mut().for_each(Algorithms::name_the_nameless);
        check::problem(&library).map_or(Ok(()), |message| Err(wrong(message)))?;
        Ok(library)
    }

    /// A description that comes with Kilter as a table, with what it takes from those that it is like.
    fn table(id: &str) -> Result<toml::Table, String> {
        let tables: Vec<toml::Table> = embedded("libraries")
            .into_iter()
            .filter_map(|(_, text)| text.parse().ok())
            .collect();
        let id_of = |table: &toml::Table| {
            let id = table.get("id").and_then(toml::Value::as_str);
            id.unwrap_or_default().to_owned()
        };
        // From the one that was asked for to the one that is like no other.
        let mut chain: Vec<toml::Table> = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            let found = tables.iter().find(|table| id_of(table) == id).ok_or_else(|| {
                let known: Vec<String> = tables.iter().map(id_of).collect();
                format!("it is like `{id}`, which is none of {}", known.join(", "))
            })?;
            if chain.iter().any(|seen| id_of(seen) == id) {
                return Err(format!("`{id}` is like itself, by way of others"));
            }
            next = inherit::like(found).map(str::to_owned);
            chain.push(found.clone());
        }
        let whole = chain.pop().unwrap_or_default();
        chain
            .into_iter()
            .rev()
            .try_fold(whole, |base, own| inherit::filled(own, base))
    }

    /// What the rules file needs to know of a collective.
    #[must_use]
    pub fn rules_entry(&self, collective: Collective) -> Option<RulesEntry> {
        let algorithms = self.algorithms_of(collective)?;
        Some(RulesEntry {
            id: algorithms.rules_id?,
            size_switch: algorithms.size_switch,
        })
    }

    /// Whether what is chosen for one size of this collective leaves the other sizes as they are: files switch it on size, and
    /// nothing is set along with it that acts on all of them.
    #[must_use]
    pub fn keeps_other_sizes(&self, collective: Collective) -> bool {
        self.algorithms_of(collective)
            .is_some_and(|row| row.size_switch && row.together.is_empty())
    }

    /// The algorithms of a collective.
    #[must_use]
    pub fn algorithms_of(&self, collective: Collective) -> Option<&Algorithms> {
        self.algorithms
            .iter()
            .find(|algorithms| algorithms.collective == collective)
    }

    /// The parameters that decide whether its algorithms are asked for, where these transports are in use.
    pub fn admitting<'l>(&'l self, transports: &'l [String]) -> impl Iterator<Item = &'l Parameter> {
        let in_use = |row: &&Parameter| row.transport.as_ref().is_none_or(|needed| transports.contains(needed));
        self.parameters
            .iter()
            .filter(|row| row.admits_algorithms)
            .filter(in_use)
    }

    /// Whether a value that was asked for and one that is reported mean the same: `true` and `1`, a name and its number.
    #[must_use]
    pub fn same_value(&self, name: &str, asked: &str, got: &str) -> bool {
        let canonical = |value: &str| -> String {
            let names = self
                .parameters
                .iter()
                .find(|parameter| parameter.name == name)
                .map(|parameter| &parameter.names);
            let number = names.and_then(|names| names.get(value)).map_or(value, String::as_str);
            match number {
                "true" | "yes" | "enabled" => "1".to_owned(),
                "false" | "no" | "disabled" => "0".to_owned(),
                other => other.to_owned(),
            }
        };
        canonical(asked) == canonical(got)
    }

    /// The version number in the launcher's version line.
    #[must_use]
    pub fn version_of(&self, line: &str) -> String {
        version_in(line).unwrap_or_else(|| line.to_owned())
    }

    /// The name of a build of Kilter for this version of the library, such as `mpich-4.0`.
    #[must_use]
    pub fn build_name(&self, version: &str) -> String {
        let mut numbers = version.split('.');
        let mut next = || numbers.next().unwrap_or("0");
        self.builds.replace("{major}", next()).replace("{minor}", next())
    }

    /// Whether the first line of `MPI_Get_library_version` is this library in this version.
    #[must_use]
    pub fn is_reported_by(&self, version: &str, line: &str) -> bool {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        line.contains(&self.reports) && version_in(&line).is_none_or(|reported| reported == version)
    }
}

/// The first word that is a version number, without a `v` or the library's name before it and punctuation after it.
#[must_use]
pub fn version_in(line: &str) -> Option<String> {
    line.split_whitespace()
        .map(|word| word.strip_prefix("mvapich2-").unwrap_or(word))
        .map(|word| {
            word.strip_prefix('v')
                .unwrap_or(word)
                .trim_end_matches([',', ';', ')', '.'])
        })
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
        .map(str::to_owned)
}

/// The descriptions that come with Kilter.
///
/// # Errors
/// A file is wrong: a defect of this build.
pub fn load_embedded() -> Result<Vec<Library>, ConfigError> {
    embedded("libraries")
        .into_iter()
        .map(|(file, text)| Library::parse(text, &file))
        .collect()
}

/// A description by file.
///
/// # Errors
/// It cannot be read or is wrong.
pub fn load_file(path: &Path) -> Result<Library, ConfigError> {
    Library::parse(&read(path)?, &path.display().to_string())
}

/// The description for a launcher's version line, as it holds for that version.
///
/// # Errors
/// None fits.
pub fn find_for(version_line: &str) -> Result<Library, ConfigError> {
    let all = load_embedded()?;
    let known: Vec<String> = all
        .iter()
        .map(|library| format!("`{}` ({})", library.detect.join("` or `"), library.id))
        .collect();
    all.into_iter()
        .find(|library| library.detect.iter().any(|part| version_line.contains(part)))
        .map(|library| {
            let version = library.version_of(version_line);
            library.for_version(&version)
        })
        .ok_or_else(|| ConfigError {
            file: "--mpirun".to_owned(),
            message: format!(
                "no description fits `{version_line}`; known: {}; give another --mpirun, or --library-description FILE",
                known.join(", ")
            ),
        })
}

#[cfg(test)]
mod tests;
