//! Control variables of a description, with the library's defaults.

use super::{Library, Parameter};

/// A control variable, as described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Name as the library spells it.
    pub name: String,
    /// Default value.
    pub default: String,
    /// True if it chooses an algorithm, so that the default has many names.
    chooses: bool,
}

impl Described {
    /// True if `value`, as the library reports it, is the default.
    #[must_use]
    pub fn is_default(&self, library: &Library, value: &str) -> bool {
        self.chooses && matches!(value, "0" | "ignore" | "auto") || library.same_value(&self.name, &self.default, value)
    }
}

impl Library {
    /// Every control variable of the description that exists with these transports. Environment variables are left out,
    /// including those that choose algorithms at the start, because no running library reports them. So are parameters of parts that not every
    /// build has.
    #[must_use]
    pub fn described(&self, transports: &[String]) -> Vec<Described> {
        let switched = self.algorithms.iter().filter(|row| row.at_start.is_none());
        let algorithms = switched.flat_map(|row| {
            let chooses = Described {
                name: row.parameter.clone(),
                default: "0".to_owned(),
                chooses: true,
            };
            let knobs = row.knobs.iter().map(|(knob, about)| Described {
                name: format!("{}_{knob}", row.parameter),
                default: about.default.to_string(),
                chooses: false,
            });
            std::iter::once(chooses).chain(knobs)
        });
        let exists = |row: &&Parameter| !row.environment && row.built_with.is_none() && row.acts_on(transports);
        let parameters = self.parameters.iter().filter(exists).map(|row| Described {
            name: row.name.clone(),
            default: row.default.clone(),
            chooses: false,
        });
        algorithms.chain(parameters).collect()
    }
}
