//! What is to be deployed: the decisions so far. Pure data; [`crate::emit`] writes it, [`crate::search`] extends it.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;

use crate::config::library::Library;
use crate::report::model::{Fix, FixKind, Setting};

/// A parameter of the library or of its environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assignment {
    /// As the library spells it.
    pub name: String,
    /// As the library reads it.
    pub value: String,
    /// Whether it is an environment variable of the ranks; a parameter of the library otherwise.
    pub environment: bool,
}

/// What carries out a collective at one volume.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// The library with these settings for this collective (algorithm, segment size, fan-out): name, value.
    Settings(Vec<(String, String)>),
    /// A mock-up, by id.
    Mockup(String),
    /// An algorithm of the registry, by id, with one value per parameter.
    Algorithm(String, Vec<u64>),
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
            Selection::Mockup(id) => id.clone(),
            Selection::Algorithm(id, parameters) => {
                let values = algorithm_parameters(id, parameters);
                std::iter::once(id.clone())
                    .chain(values.into_iter().map(|(name, value)| format!("{name}={value}")))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
        }
    }

    /// The kind of fix it is.
    #[must_use]
    pub fn kind(&self) -> FixKind {
        match self {
            Selection::Settings(_) => FixKind::Parameter,
            Selection::Mockup(_) => FixKind::Mockup,
            Selection::Algorithm(..) => FixKind::Algorithm,
        }
    }

    /// As the report shows it.
    #[must_use]
    pub fn fix(&self) -> Fix {
        let settings = match self {
            Selection::Settings(settings) => settings.clone(),
            Selection::Mockup(_) => Vec::new(),
            Selection::Algorithm(id, parameters) => algorithm_parameters(id, parameters),
        };
        Fix {
            kind: self.kind(),
            settings: settings
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
    kilter_algorithms::registry::find(id)
        .map(|algorithm| {
            algorithm
                .parameters
                .iter()
                .zip(values)
                .map(|(parameter, value)| (parameter.name.to_owned(), value.to_string()))
                .collect()
        })
        .unwrap_or_default()
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
    /// Whether nothing is to be deployed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.selections.is_empty()
    }

    /// Sets or replaces an assignment.
    pub fn assign(&mut self, assignment: Assignment) {
        self.assignments.retain(|other| other.name != assignment.name);
        self.assignments.push(assignment);
    }

    /// The cell whose settings hold for every size of this collective, because the library must not switch it on size.
    #[must_use]
    pub fn without_size_switch(&self, collective: Collective, library: &Library) -> Option<(Collective, u64)> {
        let switches = library.rules_entry(collective).is_some_and(|entry| entry.size_switch);
        self.selections
            .iter()
            .find(|((other, _), selection)| {
                !switches && *other == collective && matches!(selection, Selection::Settings(_))
            })
            .map(|(key, _)| *key)
    }

    /// Whether anything needs the drop-in.
    #[must_use]
    pub fn needs_dropin(&self) -> bool {
        self.selections
            .values()
            .any(|selection| selection.kind() != FixKind::Parameter)
    }
}
