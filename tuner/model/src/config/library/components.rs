//! The file by which one component of the library hands collectives to others, by communicator and message size: data on HAN of Open MPI.
//!
//! HAN comes before the component whose algorithms `[[algorithms]]` are. Its file sends a collective of one size there and leaves the others to
//! HAN. A variable does the same for one collective at all sizes, while a job runs: with it candidates are measured, with the file deployed.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use serde::Deserialize;

use super::{Library, Unit};

/// The placeholder of the collective's name in `switch`.
const COLLECTIVE: &str = "{collective}";

/// A file that hands collectives to components.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Components {
    /// Its form.
    pub form: ComponentsForm,
    /// Parameters without which it is not read.
    pub parameters: BTreeMap<String, String>,
    /// The parameter that names the file.
    pub filename: String,
    /// Names of the components; their numbers count from 0.
    pub names: Vec<String>,
    /// The component that reads the file, and carries out what the file does not hand on.
    pub own: String,
    /// The component whose algorithms the description has.
    pub of_algorithms: String,
    /// Variable with a component's number that holds for one collective at every size, `{collective}` in its name. It acts on calls and can be
    /// written while a job runs; without one nothing is tried.
    #[serde(default)]
    pub switch: Option<String>,
    /// True if the release also reads names of levels.
    #[serde(default)]
    pub level_names: bool,
    /// The collectives that can be handed on.
    pub collectives: Vec<HandedOn>,
}

/// A form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComponentsForm {
    /// That of Open MPI's HAN.
    Han,
}

/// A collective that can be handed on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandedOn {
    /// The collective.
    #[serde(deserialize_with = "crate::config::collective_name::deserialize")]
    pub collective: Collective,
    /// Its number in the file.
    pub id: u64,
    /// Quantity that the file compares.
    pub counts: Unit,
    /// Algorithms of the component that reads the file, which a rule may name; their numbers count from 0.
    #[serde(default)]
    pub algorithms: Vec<String>,
}

impl Components {
    /// The row of a collective.
    #[must_use]
    pub fn of(&self, collective: Collective) -> Option<&HandedOn> {
        self.collectives.iter().find(|row| row.collective == collective)
    }

    /// The setting that hands a collective, at every size, to the component with the described algorithms.
    #[must_use]
    pub fn switching(&self, collective: Collective) -> Option<(String, String)> {
        self.of(collective)?;
        let number = self.names.iter().position(|name| *name == self.of_algorithms)?;
        let name = self.switch.as_ref()?.replace(COLLECTIVE, collective.name());
        Some((name, number.to_string()))
    }

    /// Settings that choose an algorithm, together with the one without which it is not asked for; `None` where nothing is handed on.
    #[must_use]
    pub fn through(
        &self,
        collective: Collective,
        mut settings: Vec<(String, String)>,
    ) -> Option<Vec<(String, String)>> {
        let switch = self.switching(collective)?;
        // The first setting says which algorithm it is, and knobs follow.
        settings.insert(settings.len().min(1), switch);
        Some(settings)
    }

    /// The component that a setting hands a collective to; `None` if the setting is another one.
    #[must_use]
    pub fn handed_to(&self, collective: Collective, (name, value): (&str, &str)) -> Option<&str> {
        let switch = self.switch.as_ref()?.replace(COLLECTIVE, collective.name());
        if name != switch || self.of(collective).is_none() {
            return None;
        }
        self.names.get(value.parse::<usize>().ok()?).map(String::as_str)
    }

    /// All variables that hand a collective on.
    pub fn switches(&self) -> impl Iterator<Item = String> + '_ {
        let named = |row: &HandedOn| Some(self.switch.as_ref()?.replace(COLLECTIVE, row.collective.name()));
        self.collectives.iter().filter_map(named)
    }

    /// Parameters with which a site says itself what is handed on.
    pub fn settings(&self) -> impl Iterator<Item = String> + '_ {
        let own = self.parameters.keys().chain([&self.filename]).cloned();
        own.chain(self.switches())
    }
}

impl Library {
    /// Variables that must hold during calls, where the others hold while communicators are made.
    #[must_use]
    pub fn held_on_calls(&self) -> Vec<String> {
        self.components.iter().flat_map(Components::switches).collect()
    }
}

/// The mistake in the description, and what is allowed; `None` if there is none.
pub(super) fn problem(components: &Components) -> Option<String> {
    let known = || components.names.join(", ");
    for (key, name) in [("own", &components.own), ("of_algorithms", &components.of_algorithms)] {
        if !components.names.contains(name) {
            return Some(format!("components.{key} is `{name}`; allowed: {}", known()));
        }
    }
    if components
        .switch
        .as_ref()
        .is_some_and(|name| !name.contains(COLLECTIVE))
    {
        return Some(format!("components.switch must contain {COLLECTIVE}"));
    }
    if components.collectives.is_empty() {
        return Some("components.collectives is empty; name some, or remove the table".to_owned());
    }
    let (mut names, mut ids) = (BTreeSet::new(), BTreeSet::new());
    let twice = |row: &&HandedOn| !names.insert(row.collective.name()) || !ids.insert(row.id);
    let row = components.collectives.iter().find(twice)?;
    Some(format!(
        "components: {} or its id {} stands there twice; remove one",
        row.collective, row.id
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::library::find_for;

    fn han() -> Components {
        let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
        library.components.unwrap()
    }

    #[test]
    fn a_switch_names_one_collective_and_a_component() {
        let name = "coll_han_bcast_dynamic_global_communicator_module";
        let setting = han().switching(Collective::Bcast).unwrap();
        assert_eq!(setting, (name.to_owned(), "3".to_owned()));
        assert_eq!(han().handed_to(Collective::Bcast, (name, "3")), Some("tuned"));
        assert_eq!(han().handed_to(Collective::Bcast, (name, "6")), Some("han"));
        assert_eq!(han().handed_to(Collective::Reduce, (name, "3")), None);
        assert_eq!(han().handed_to(Collective::Bcast, (name, "9")), None);
        assert_eq!(han().switching(Collective::Alltoall), None);
        assert!(han().settings().any(|one| one == "coll_han_use_dynamic_file_rules"));
    }

    /// 4.1 has the file, and its variables cannot be written while a job runs.
    #[test]
    fn a_release_without_a_switch_tries_nothing() {
        let older = find_for("mpirun (Open MPI) 4.1.4").unwrap();
        assert!(older.held_on_calls().is_empty());
        assert_eq!(older.components.unwrap().switching(Collective::Bcast), None);
        assert_eq!(han().switches().count(), 8);
    }

    #[test]
    fn a_wrong_table_is_refused_with_what_is_allowed() {
        let refused = |change: &dyn Fn(&mut Components), part: &str| {
            let mut components = han();
            change(&mut components);
            let message = problem(&components).unwrap();
            assert!(message.contains(part), "{message}");
        };
        assert_eq!(problem(&han()), None);
        refused(&|one| one.own = "hen".to_owned(), "own is `hen`; allowed: self, basic");
        refused(&|one| one.of_algorithms.clear(), "of_algorithms");
        refused(&|one| one.switch = Some("same".to_owned()), "must contain {collective}");
        refused(&|one| one.collectives.clear(), "empty");
        refused(&|one| one.collectives[1].id = one.collectives[0].id, "twice");
    }
}
