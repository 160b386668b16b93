//! Compares the description of a library with the library's own report. Pure.

use std::collections::BTreeSet;
use std::fmt;

use kilter_model::config::library::{Algorithms, InfoTool, Library, Parameter, Value};

use super::{Legal, LibraryInfo, program};

/// Difference between the description and the library's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The library has no such parameter.
    Unknown(String),
    /// The default differs.
    Default {
        /// The parameter.
        parameter: String,
        /// Described value.
        described: String,
        /// Reported value.
        reported: String,
    },
    /// A legal value that only one of the two has.
    Value {
        /// The parameter.
        parameter: String,
        /// Its number.
        number: String,
        /// Its name.
        name: String,
        /// True if the description has it.
        described: bool,
    },
    /// The largest number differs.
    Last {
        /// The parameter.
        parameter: String,
        /// Described number.
        described: u64,
        /// Reported number.
        reported: u64,
    },
    /// A value to be tried is none that the library takes.
    Illegal {
        /// The parameter.
        parameter: String,
        /// The value.
        value: String,
        /// Kind of values of which it is none, in the library's words.
        kind: String,
    },
    /// The library has a knob that is not described.
    NotDescribed(String),
}

impl Difference {
    /// True if the library has more than is described. The rest is not tried, and no harm comes of it.
    #[must_use]
    pub fn is_more(&self) -> bool {
        match self {
            Difference::Value { described, .. } => !described,
            Difference::Last {
                described, reported, ..
            } => described < reported,
            Difference::NotDescribed(_) => true,
            Difference::Unknown(_) | Difference::Default { .. } | Difference::Illegal { .. } => false,
        }
    }

    /// True if a trial by the description does something else than it says, or nothing at all.
    #[must_use]
    pub fn misleads(&self) -> bool {
        match self {
            Difference::Value { described, .. } => *described,
            Difference::Last {
                described, reported, ..
            } => described > reported,
            Difference::Illegal { .. } => true,
            Difference::Unknown(_) | Difference::Default { .. } | Difference::NotDescribed(_) => false,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Unknown(name) => write!(f, "{name} is unknown to the library"),
            Difference::Default {
                parameter,
                described,
                reported,
            } => write!(
                f,
                "{parameter}: default `{described}` is described, `{reported}` is reported"
            ),
            Difference::Value {
                parameter,
                number,
                name,
                described,
            } => {
                let by = if *described { "described" } else { "reported" };
                write!(f, "{parameter}: value {number} {name} is only {by}")
            }
            Difference::Last {
                parameter,
                described,
                reported,
            } => write!(
                f,
                "{parameter}: numbers up to {described} are described, up to {reported} reported"
            ),
            Difference::Illegal { parameter, value, kind } => {
                write!(f, "{parameter}: `{value}` is tried, which is no legal {kind}")
            }
            Difference::NotDescribed(name) => write!(f, "{name} is not described"),
        }
    }
}

/// Differences among the parameters that the library's program prints. Parameters of transports count only if these are
/// in use.
#[must_use]
pub fn differences(library: &Library, tool: InfoTool, info: &LibraryInfo, transports: &[String]) -> Vec<Difference> {
    let mut found = Comparison {
        library,
        info,
        prints: program(tool).prints,
        differences: Vec::new(),
    };
    library.algorithms.iter().for_each(|row| found.algorithms(row));
    let in_use = library.parameters.iter().filter(|row| row.acts_on(transports));
    in_use.for_each(|row| found.parameter(row));
    let launcher = &library.launcher;
    // From 5.0 on Open MPI's launcher is a program with parameters of its own.
    let is_own = launcher.agent.iter().any(|word| word == "--mca");
    let agent = launcher.agent.iter().filter(|word| is_own && word.starts_with("plm_"));
    let switching = &library.switching;
    let counting = library.messages.iter();
    let counting = counting.flat_map(|row| row.parameters.keys().chain(row.among.keys()));
    let others = switching.parameters.keys().chain(switching.strict.keys());
    let others = others.chain(agent).chain(counting);
    others.for_each(|name| found.exists(name, false));
    found.differences
}

struct Comparison<'a> {
    library: &'a Library,
    info: &'a LibraryInfo,
    prints: fn(&str, bool) -> bool,
    differences: Vec<Difference>,
}

impl Comparison<'_> {
    fn exists(&mut self, name: &str, environment: bool) {
        if (self.prints)(name, environment) && !self.info.parameters.contains_key(name) {
            self.differences.push(Difference::Unknown(name.to_owned()));
        }
    }

    fn default(&mut self, name: &str, described: &str) {
        let Some(reported) = self.info.parameters.get(name) else {
            self.differences.push(Difference::Unknown(name.to_owned()));
            return;
        };
        if let Some(reported) = &reported.default
            && !self.library.same_value(name, described, reported)
        {
            self.differences.push(Difference::Default {
                parameter: name.to_owned(),
                described: described.to_owned(),
                reported: reported.clone(),
            });
        }
    }

    fn algorithms(&mut self, row: &Algorithms) {
        let parameter = &row.parameter;
        if !(self.prints)(parameter, row.at_start.is_some()) {
            return;
        }
        self.default(parameter, "ignore");
        let Some(reported) = self.info.parameters.get(parameter) else {
            return;
        };
        match &reported.legal {
            Legal::Named(reported) => {
                let choices = row.choices.iter();
                let described: BTreeSet<_> = choices
                    .map(|choice| (choice.value.to_string(), choice.name.clone()))
                    .collect();
                let differ = described.symmetric_difference(reported);
                // The number 0 leaves the choice to the library.
                for (number, name) in differ.filter(|(number, _)| number != "0") {
                    self.differences.push(Difference::Value {
                        parameter: parameter.clone(),
                        number: number.clone(),
                        name: name.clone(),
                        described: described.contains(&(number.clone(), name.clone())),
                    });
                }
            }
            Legal::Range(_, last) => {
                let described = row.choices.iter().map(|choice| choice.value).max().unwrap_or(0);
                if described != *last {
                    self.differences.push(Difference::Last {
                        parameter: parameter.clone(),
                        described,
                        reported: *last,
                    });
                }
            }
            Legal::Number | Legal::Text | Legal::Bytes => {}
        }
        for (knob, about) in &row.knobs {
            self.default(&format!("{parameter}_{knob}"), &about.default.to_string());
        }
        // A variable that is read at the start has many sub-parameters, and none is searched.
        if row.at_start.is_none() {
            let knobs = self.info.parameters.keys();
            let knobs =
                knobs.filter_map(|name| Some((name, name.strip_prefix(parameter.as_str())?.strip_prefix('_')?)));
            // The number of algorithms is a read-only knob.
            let unknown = knobs.filter(|(_, knob)| *knob != "count" && !row.knobs.contains_key(*knob));
            let unknown = unknown.map(|(name, _)| Difference::NotDescribed(name.clone()));
            self.differences.extend(unknown);
        }
        for name in row.together.keys() {
            self.exists(name, row.at_start.is_some());
        }
    }

    fn parameter(&mut self, row: &Parameter) {
        let is_printed = |name: &String| self.info.parameters.contains_key(name);
        if !row.built_with.as_ref().is_none_or(is_printed) {
            return;
        }
        let of_overlap = row.overlap.iter().flat_map(|tried| tried.together.keys());
        for name in row.together.keys().chain(of_overlap) {
            self.exists(name, row.environment);
        }
        if !(self.prints)(&row.name, row.environment) {
            return;
        }
        self.default(&row.name, &row.default);
        let Some(reported) = self.info.parameters.get(&row.name) else {
            return;
        };
        let names: BTreeSet<_> = row
            .names
            .iter()
            .map(|(name, number)| (number.clone(), name.clone()))
            .collect();
        if let Legal::Named(reported) = &reported.legal
            && !names.is_empty()
        {
            // A mechanism that this build lacks is not tried without its device either.
            let differ = names.symmetric_difference(reported);
            for (number, name) in differ.filter(|(_, name)| !row.devices.contains_key(name)) {
                self.differences.push(Difference::Value {
                    parameter: row.name.clone(),
                    number: number.clone(),
                    name: name.clone(),
                    described: names.contains(&(number.clone(), name.clone())),
                });
            }
        }
        let tried = row.r#try.iter().chain(row.overlap.iter().map(|tried| &tried.value));
        let tried = tried
            .map(Value::to_string)
            .filter(|value| !row.devices.contains_key(value));
        for value in tried.filter(|value| !reported.allows(value)) {
            self.differences.push(Difference::Illegal {
                parameter: row.name.clone(),
                value,
                kind: reported.kind.clone(),
            });
        }
    }
}
