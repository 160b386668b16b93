//! Descriptions of MPI libraries: their launch, their parameters, and the settings that they can switch and deploy.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_protocol::plan::SettingsAct;
use serde::Deserialize;

mod algorithms;
pub mod at_start;
mod by_connection;
mod check;
mod components;
mod constraint;
mod described;
mod inherit;
mod language;
mod launcher;
mod parameter;
mod read;
pub mod rules_file;
mod shares;
mod transports;
mod verified;
mod version;

pub use algorithms::{AlgorithmChoice, Algorithms, Column, Knob};
pub use at_start::{AtStart, Form, Unit};
pub use by_connection::{ByConnection, KINDS, Kind, NoValues, Values};
pub use components::{Components, ComponentsForm, HandedOn};
pub use constraint::{AtMost, Broken, Constraint};
pub use described::Described;
pub use language::{Grammar, Unreadable};
pub use launcher::Launcher;
pub use parameter::{ForOverlap, Ordered, Parameter, Placement, SPARE, Scale, Value};
pub use read::{Mistake, find_for, find_reported, load_embedded, load_embedded_with, load_file, load_file_with};
pub use rules_file::{RulesFile, RulesForm};
pub use shares::Shares;
pub use transports::{Reader, Speech, Transports};
pub use verified::{Verified, VerifiedRows};
pub use version::version_in;

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
    /// Part of the first line of `MPI_Get_library_version`, white space as single blanks.
    pub reports: String,
    /// Name of a build of Kilter for it, with `{major}` and `{minor}` of the library's version.
    pub builds: String,
    /// Name of the emitter that writes its files; the emitters' crate refuses a name that none has. A library without one can be verified
    /// and not tuned.
    #[serde(default)]
    pub emitter: Option<String>,
    /// The library's program that prints its parameters, if Kilter reads one.
    #[serde(default)]
    pub info: Option<InfoTool>,
    /// Verification of the rows that do not say it themselves.
    #[serde(default)]
    pub verified: VerifiedRows,
    /// True if the launcher reports a version of its own, so that the worker must report the library's.
    #[serde(default)]
    pub version_of_worker: bool,
    /// Launcher of its jobs.
    pub launcher: Launcher,
    /// Transports that carry its messages.
    pub transports: Transports,
    /// Settings a job needs to switch parameters while it runs.
    pub switching: Switching,
    /// Settings a job needs to be measured as applications run, if there are any.
    #[serde(default)]
    pub measuring: Option<Measuring>,
    /// Form of its rules files.
    #[serde(default)]
    pub rules_file: RulesFile,
    /// The file by which a component hands collectives to others, if there is one.
    #[serde(default)]
    pub components: Option<Components>,
    /// Counters that show which messages a call sends, if there are any.
    #[serde(default)]
    pub messages: Option<Messages>,
    /// Algorithms of collectives, switched per communicator.
    #[serde(default)]
    pub algorithms: Vec<Algorithms>,
    /// Parameters of a whole launch, most promising first.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// Settings that must not be made, or not without others.
    #[serde(default)]
    pub constraints: Vec<Constraint>,
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

/// Settings a job needs to switch parameters while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switching {
    /// Communicators on which switched parameters act.
    #[serde(default)]
    pub acts: SettingsAct,
    /// Parameters of the launch.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Variables that make a job end rather than run another algorithm than the one requested at its start. The
    /// library's own choices may end it, too. The variables are therefore set only in jobs that call nothing else.
    #[serde(default)]
    pub strict: BTreeMap<String, String>,
}

/// Settings a job needs to be measured as applications run. A library may treat the first calls on a communicator
/// otherwise than all later ones, and measurements make communicators of their own; or it may tune itself while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measuring {
    /// Environment of the ranks in every launch that measures; what the site sets wins.
    pub environment: BTreeMap<String, String>,
    /// True if files that deploy anything carry it, too, so that jobs run in the state in which they were measured and proven. False where jobs
    /// are in that state by themselves.
    #[serde(default)]
    pub in_files: bool,
    /// Reason, as a sentence.
    pub because: String,
}

/// Counters that show which messages a call sends. They are read in a launch of its own, because counting takes time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// MPI_T performance variables with a number for each rank of `MPI_COMM_WORLD`.
    pub counters: Vec<String>,
    /// Parameters of the launch. If one does not read back, nothing is counted.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Lists of components, each with a component that is added if a site has set the list.
    #[serde(default)]
    pub among: BTreeMap<String, String>,
}

/// Entry of a collective in a rules file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RulesEntry {
    /// Its number.
    pub id: u64,
    /// True if it may be switched on message size.
    pub size_switch: bool,
}

impl Library {
    /// Entry of a collective in the rules file.
    #[must_use]
    pub fn rules_entry(&self, collective: Collective) -> Option<RulesEntry> {
        let algorithms = self.algorithms_of(collective)?;
        Some(RulesEntry {
            id: algorithms.rules_id?,
            size_switch: algorithms.size_switch,
        })
    }

    /// True if a choice for one size of this collective leaves the other sizes as they are: files switch it on size,
    /// and no setting goes along with it that acts on all of them. A choice made when the job starts always acts on
    /// all.
    #[must_use]
    pub fn keeps_other_sizes(&self, collective: Collective) -> bool {
        self.algorithms_of(collective)
            .is_some_and(|row| row.size_switch && row.together.is_empty() && row.at_start.is_none())
    }

    /// The algorithms of a collective.
    #[must_use]
    pub fn algorithms_of(&self, collective: Collective) -> Option<&Algorithms> {
        self.algorithms
            .iter()
            .find(|algorithms| algorithms.collective == collective)
    }

    /// True if a row that acts only with the placement `wanted` acts on these hosts, given for each rank in order.
    /// Unknown hosts admit every row.
    #[must_use]
    pub fn acts_where(wanted: Option<Placement>, hosts: &[String]) -> bool {
        wanted.is_none_or(|wanted| hosts.is_empty() || wanted.is_that_of(hosts))
    }

    /// True if a parameter is left as the site has set it: it stands among these settings, and its row says so.
    #[must_use]
    pub fn leaves_to_site(&self, parameter: &str, set: &[(String, String)]) -> bool {
        let is_left = |row: &Parameter| row.leaves_site && row.name == parameter;
        self.parameters.iter().any(is_left) && set.iter().any(|(name, _)| name == parameter)
    }

    /// True if a parameter may act on the times of calls: it is described, tells what carries messages, or belongs to the component of the algorithms.
    /// Others are the site's business alone: its launcher, its networks, its file systems.
    #[must_use]
    pub fn may_act(&self, parameter: &str) -> bool {
        let lower = parameter.to_ascii_lowercase();
        let is_of_component = |row: &Algorithms| {
            let own = row.parameter.to_ascii_lowercase();
            own.split_once(row.collective.name())
                .is_some_and(|(component, _)| !component.is_empty() && lower.starts_with(component))
        };
        self.parameters.iter().any(|row| row.name == parameter)
            || self.transports.variables.iter().any(|name| name == parameter)
            || self.algorithms.iter().any(is_of_component)
    }

    /// True if the requested and the reported value mean the same: `true` and `1`, a name and its number.
    #[must_use]
    pub fn same_value(&self, name: &str, asked: &str, got: &str) -> bool {
        let is_choice = self.algorithms.iter().any(|row| row.parameter == name);
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
                // The library decides.
                "auto" if is_choice => "0".to_owned(),
                other => other.to_owned(),
            }
        };
        let row = self.parameters.iter().find(|row| row.name == name);
        let by_connection = row.and_then(|row| row.by_connection.as_ref());
        if let Some(words) = by_connection
            && let (Ok(asked), Ok(got)) = (words.read(asked), words.read(got))
        {
            return asked == got;
        }
        canonical(asked) == canonical(got)
    }
}

#[cfg(test)]
mod tests;
