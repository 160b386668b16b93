//! The deployment: the decisions so far. Pure data; `kilter-emit` writes it, `kilter-search` extends it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kilter_algorithms::{Collective, Parameter, closing, registry};
use kilter_protocol::row::{Row, SEGMENT};

use crate::config::library::Library;
use crate::fix::{Fix, FixKind, Setting};
use crate::plan::Subject;

mod culprits;
mod touches;

/// The variable that switches Kilter's progress thread on; the library has to be preloaded with it.
pub const PROGRESS_VARIABLE: &str = "KILTER_PROGRESS";

/// A parameter of the library or of its environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assignment {
    /// The library's spelling.
    pub name: String,
    /// The value as the library reads it.
    pub value: String,
    /// True for an environment variable of the ranks, false for a parameter of the library.
    pub environment: bool,
}

/// Implementation of a collective at one volume.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// The library with these settings for this collective (algorithm, segment size, fan-out): name, value.
    Settings(Vec<(String, String)>),
    /// A composition of calls, by id, with one value per parameter.
    Mockup(String, Vec<u64>),
    /// An algorithm of the registry, by id, with one value per parameter.
    Algorithm(String, Vec<u64>),
    /// A row of a user's plugin.
    Plugin(PluginRow),
}

/// The selection with a knob set.
#[must_use]
pub fn with_knob(selection: &Selection, name: &str, value: u64) -> Selection {
    match selection {
        Selection::Mockup(..) => selection.clone(),
        Selection::Settings(settings) => {
            let others = settings.iter().filter(|(knob, _)| knob != name).cloned();
            Selection::Settings(others.chain([(name.to_owned(), value.to_string())]).collect())
        }
        Selection::Algorithm(id, values) => {
            let mut values = values.clone();
            let position =
                registry::find(id).and_then(|row| row.parameters.iter().position(|parameter| parameter.name == name));
            if let Some(slot) = position.and_then(|position| values.get_mut(position)) {
                *slot = value;
            }
            Selection::Algorithm(id.clone(), values)
        }
        Selection::Plugin(plugin) => {
            let mut plugin = plugin.clone();
            let mut parameters = plugin.row.parameters.iter().zip(&mut plugin.values);
            if let Some((_, slot)) = parameters.find(|(parameter, _)| parameter.name == name) {
                *slot = value;
            }
            Selection::Plugin(plugin)
        }
    }
}

/// A row of a plugin with values for its parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginRow {
    /// The shared object.
    pub file: PathBuf,
    /// The row.
    pub row: Row,
    /// One value per parameter.
    pub values: Vec<u64>,
}

impl PluginRow {
    /// The value of a parameter.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<u64> {
        let mut parameters = self.row.parameters.iter().zip(&self.values);
        parameters
            .find(|(parameter, _)| parameter.name == name)
            .map(|(_, value)| *value)
    }

    /// Most scratch memory that it keeps on any rank; `None` if it does not say.
    #[must_use]
    pub fn scratch_bytes(&self, p_ranks: usize, n_bytes: u64) -> Option<u64> {
        Some(self.row.scratch?.bytes(p_ranks, n_bytes, self.value(SEGMENT)))
    }
}

impl Selection {
    /// Short id for people and reports.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Selection::Settings(settings) => settings
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(" "),
            Selection::Mockup(..) | Selection::Algorithm(..) | Selection::Plugin(_) => {
                let values = self.parameters().into_iter();
                self.implementation()
                    .map(str::to_owned)
                    .into_iter()
                    .chain(values.map(|(name, value)| format!("{name}={value}")))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
        }
    }

    /// The id by which a profile names the implementation that the drop-in runs; `None` for settings of the library.
    #[must_use]
    pub fn implementation(&self) -> Option<&str> {
        match self {
            Selection::Settings(_) => None,
            Selection::Mockup(id, _) | Selection::Algorithm(id, _) => Some(id),
            Selection::Plugin(plugin) => Some(&plugin.row.id),
        }
    }

    /// The implementation that the drop-in runs with its values, as `kilter verify-algorithms --only` and `KILTER_ONLINE_ROWS` take it; `None` for
    /// settings of the library.
    #[must_use]
    pub fn named(&self) -> Option<String> {
        let values = match self {
            Selection::Algorithm(_, values) | Selection::Mockup(_, values) => values.as_slice(),
            Selection::Plugin(plugin) => &plugin.values,
            Selection::Settings(_) => &[],
        };
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        let at = if values.is_empty() { "" } else { "@" };
        Some(format!("{}{at}{}", self.implementation()?, values.join("/")))
    }

    /// Names and values: settings of the library, or parameters of the implementation that the drop-in runs.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        match self {
            Selection::Settings(settings) => settings.clone(),
            Selection::Algorithm(id, parameters) | Selection::Mockup(id, parameters) => {
                algorithm_parameters(id, parameters)
            }
            Selection::Plugin(plugin) => {
                let parameters = plugin.row.parameters.iter().zip(&plugin.values);
                parameters
                    .map(|(parameter, value)| (parameter.name.clone(), value.to_string()))
                    .collect()
            }
        }
    }

    /// True if it acts on every size of its collective, whichever it was chosen for: settings of a library that does not switch them on size, or
    /// that sets others along with them; and what the drop-in runs where not every rank of a call knows the volume. Of several that do, the one
    /// for the largest size holds.
    #[must_use]
    pub fn acts_on_all_sizes(&self, collective: Collective, library: &Library) -> bool {
        match self {
            Selection::Settings(_) => !library.keeps_other_sizes(collective),
            Selection::Mockup(..) | Selection::Algorithm(..) | Selection::Plugin(_) => !collective.volume_is_known(),
        }
    }

    /// The kind of fix it is.
    #[must_use]
    pub fn kind(&self) -> FixKind {
        match self {
            Selection::Settings(_) => FixKind::Parameter,
            Selection::Mockup(..) => FixKind::Mockup,
            Selection::Algorithm(..) | Selection::Plugin(_) => FixKind::Algorithm,
        }
    }

    /// The fix in the report's form.
    #[must_use]
    pub fn fix(&self) -> Fix {
        Fix {
            kind: self.kind(),
            settings: self
                .parameters()
                .into_iter()
                .map(|(name, value)| Setting { name, value })
                .collect(),
            id: self.id(),
        }
    }
}

/// Names the values of an algorithm's parameters.
#[must_use]
pub fn algorithm_parameters(id: &str, values: &[u64]) -> Vec<(String, String)> {
    let named = |parameters: &[Parameter]| {
        let pairs = parameters.iter().zip(values);
        let pair = pairs.map(|(parameter, value)| (parameter.name.to_owned(), value.to_string()));
        pair.collect()
    };
    match (registry::find(id), closing::find(id)) {
        (Some(algorithm), _) => named(algorithm.parameters),
        (None, Some(row)) => named(std::slice::from_ref(row.way.parameter())),
        (None, None) => Vec::new(),
    }
}

/// The decisions so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deployment {
    /// Settings of every launch.
    pub assignments: Vec<Assignment>,
    /// Per collective and measured volume in bytes.
    pub selections: BTreeMap<(Collective, u64), Selection>,
}

impl Deployment {
    /// True if nothing is to be deployed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.selections.is_empty()
    }

    /// True if nothing that is deployed changes the time of a plain call: it has no selection, and no setting acts on whole launches.
    #[must_use]
    pub fn leaves(&self, subject: &Subject) -> bool {
        self.assignments.is_empty() && subject.collective().is_some() && !self.chooses_for(subject)
    }

    /// The parts of it that another deployment has not, or has otherwise.
    #[must_use]
    pub fn without(&self, other: &Deployment) -> Deployment {
        let assignments = self.assignments.iter().filter(|one| !other.assignments.contains(one));
        let selections = self
            .selections
            .iter()
            .filter(|(cell, own)| other.selections.get(*cell) != Some(*own));
        Deployment {
            assignments: assignments.cloned().collect(),
            selections: selections.map(|(cell, own)| (*cell, own.clone())).collect(),
        }
    }

    /// A single setting of the launch.
    #[must_use]
    pub fn of(setting: Assignment) -> Deployment {
        Deployment {
            assignments: vec![setting],
            ..Deployment::default()
        }
    }

    /// Sets or replaces an assignment.
    pub fn assign(&mut self, assignment: Assignment) {
        self.assignments.retain(|other| other.name != assignment.name);
        self.assignments.push(assignment);
    }

    /// The cell whose selection acts on every size of this collective.
    #[must_use]
    pub fn for_all_sizes(&self, collective: Collective, library: &Library) -> Option<(Collective, u64)> {
        let mut from_largest = self.selections.iter().rev();
        let of_all = from_largest
            .find(|((other, _), selection)| *other == collective && selection.acts_on_all_sizes(collective, library));
        of_all.map(|(key, _)| *key)
    }

    /// The selection that must have slowed `subject`: its own, or one whose rule holds for every size. `None` blames the launch-wide
    /// assignments: if nothing is selected for the subject, or if its selection was `verified` before and assignments have changed since.
    #[must_use]
    pub fn to_blame(&self, subject: &Subject, verified: &Deployment, library: &Library) -> Option<(Collective, u64)> {
        let collective = subject.collective()?;
        let own = (collective, subject.bytes);
        let is_its_own = |selection: &Selection| !selection.acts_on_all_sizes(collective, library);
        let key = if self.selections.get(&own).is_some_and(is_its_own) {
            own
        } else {
            self.for_all_sizes(collective, library)?
        };
        let is_new = self.selections.get(&key) != verified.selections.get(&key);
        (is_new || self.assignments == verified.assignments).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCAN: (Collective, u64) = (Collective::Scan, 262_144);

    fn eager_limit(value: u64) -> Assignment {
        Assignment {
            name: "btl_tcp_eager_limit".to_owned(),
            value: value.to_string(),
            environment: false,
        }
    }

    fn with_scan(assignments: &[Assignment]) -> Deployment {
        let selection = Selection::Algorithm("scan.pipelined_chain".to_owned(), vec![16384]);
        Deployment {
            assignments: assignments.to_vec(),
            selections: [(SCAN, selection)].into(),
        }
    }

    fn library() -> Library {
        crate::config::library::load_embedded()
            .unwrap()
            .into_iter()
            .find(|library| library.name == "Open MPI")
            .unwrap()
    }

    #[test]
    fn what_was_selected_in_this_round_is_to_blame_for_its_own_cell() {
        let now = with_scan(&[eager_limit(16384)]);
        let subject = Subject::library(SCAN.0, SCAN.1);
        assert_eq!(now.to_blame(&subject, &Deployment::default(), &library()), Some(SCAN));
    }

    #[test]
    fn a_new_assignment_is_to_blame_for_what_was_verified_without_it() {
        let verified = with_scan(&[]);
        let now = with_scan(&[eager_limit(16384)]);
        let subject = Subject::library(SCAN.0, SCAN.1);
        assert_eq!(now.to_blame(&subject, &verified, &library()), None);
        assert_eq!(verified.to_blame(&subject, &verified, &library()), Some(SCAN));
    }

    #[test]
    fn a_cell_without_a_selection_blames_the_rule_for_all_sizes_or_the_assignments() {
        let mut now = with_scan(&[eager_limit(16384)]);
        let gather = (Collective::Gather, 262_144);
        let settings = vec![("coll_tuned_gather_algorithm".to_owned(), "1".to_owned())];
        now.selections.insert(gather, Selection::Settings(settings));
        let none = Deployment::default();
        let blame = |collective| now.to_blame(&Subject::library(collective, 8), &none, &library());
        assert_eq!(blame(Collective::Gather), Some(gather));
        assert_eq!(blame(Collective::Bcast), None);
    }

    /// Ranks of a Gatherv do not know its volume, so that the drop-in runs for all sizes what was chosen for the largest.
    #[test]
    fn what_runs_without_a_known_volume_is_to_blame_at_every_size() {
        let mut now = with_scan(&[]);
        let row = |id: &str| Selection::Algorithm(id.to_owned(), Vec::new());
        now.selections.insert((Collective::Gatherv, 8), row("gatherv.binomial"));
        now.selections
            .insert((Collective::Gatherv, 262_144), row("gatherv.linear"));
        let blame = |bytes| {
            let subject = Subject::library(Collective::Gatherv, bytes);
            now.to_blame(&subject, &Deployment::default(), &library())
        };
        for bytes in [8, 1024, 262_144] {
            assert_eq!(blame(bytes), Some((Collective::Gatherv, 262_144)), "{bytes}");
        }
    }

    #[test]
    fn what_is_set_along_with_an_algorithm_of_mpich_is_to_blame_at_other_sizes_too() {
        let mpich = crate::config::library::find_for("HYDRA build details: Version: 4.0.2").unwrap();
        let mut now = with_scan(&[]);
        let bcast = (Collective::Bcast, 262_144);
        let settings = mpich
            .algorithms_of(Collective::Bcast)
            .map(|row| row.settings(&row.choices[0]));
        now.selections.insert(bcast, Selection::Settings(settings.unwrap()));
        let blame = |collective| now.to_blame(&Subject::library(collective, 8), &Deployment::default(), &mpich);
        assert_eq!(blame(Collective::Bcast), Some(bcast));
        assert_eq!(blame(Collective::Reduce), None);
    }

    #[test]
    fn what_another_deployment_lacks_or_has_otherwise_is_left() {
        let (mut old, mut new) = (with_scan(&[eager_limit(1)]), with_scan(&[eager_limit(1)]));
        assert!(old.without(&new).is_empty());
        new.selections.clear();
        old.assign(eager_limit(2));
        let left = old.without(&new);
        assert_eq!(left, old, "{left:?}");
        assert_eq!(new.without(&old).assignments, [eager_limit(1)]);
    }
}
