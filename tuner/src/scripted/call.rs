//! The call for which the cost functions of a scripted library are asked.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_protocol::expression::{Form, Layout};
use kilter_protocol::plan::{ArrivalPattern, Element};

use kilter_model::config::library::Library;

/// Settings in force, by name, and the description that knows the defaults of the others.
#[derive(Debug, Clone)]
pub struct Settings<'l> {
    set: BTreeMap<String, String>,
    library: &'l Library,
}

impl<'l> Settings<'l> {
    pub(super) fn new(set: BTreeMap<String, String>, library: &'l Library) -> Settings<'l> {
        Settings { set, library }
    }

    /// Adds further settings for names that have no value.
    pub(super) fn with_defaults(&self, further: BTreeMap<String, String>) -> Settings<'l> {
        let mut set = further;
        set.extend(self.set.clone());
        Settings { set, ..*self }
    }

    /// True if a name has a value.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        !self.value(name).is_empty()
    }

    /// The value in force: the one set, else the description's default, else nothing.
    #[must_use]
    pub fn value(&self, name: &str) -> &str {
        let set = self.set.get(name).map(String::as_str);
        let described = || self.library.parameters.iter().find(|row| row.name == name);
        set.or_else(|| Some(described()?.default.as_str())).unwrap_or_default()
    }
}

/// A call of one collective.
#[derive(Debug)]
pub struct Call<'c> {
    /// The collective.
    pub collective: Collective,
    /// Total volume in bytes.
    pub bytes: u64,
    /// Ranks.
    pub ranks: usize,
    /// Hosts on which they lie.
    pub nodes: usize,
    /// The library's algorithm that is asked for, by its number; 0 where the library decides.
    pub algorithm: u64,
    /// Form of the call.
    pub form: Form,
    /// Layout of the input.
    pub sendtype: Layout,
    /// Id of the item that makes it: `default`, `reduce.binomial`, `reduce(n) @4096`.
    pub item: &'c str,
    /// Type of the elements that a proof combines beside the usual one.
    pub element: Option<Element>,
    /// Pattern in which the ranks arrive; without it they come together.
    pub arrival: Option<&'c ArrivalPattern>,
    /// The settings.
    pub settings: Settings<'c>,
}

impl Call<'_> {
    /// True if a setting has this value, set or by default.
    #[must_use]
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.settings.value(name) == value
    }

    /// A setting's value as a number; 0 where it is none.
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        self.settings.value(name).parse().unwrap_or_default()
    }
}
