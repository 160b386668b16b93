//! Reads the parameters that a library prints through a program of its own, and compares them with the description.
//!
//! [`ask`] runs the program beside the launcher, [`ompi_info`], [`impi_info`] and [`mpivars`] read what it prints, and [`differences()`] compares.
//! `kilter doctor` reports it: a library of another release may have other names, defaults and values than the one that was described.

pub mod ask;
mod differences;
mod impi_info;
mod mpivars;
mod ompi_info;

use std::collections::{BTreeMap, BTreeSet};

pub use differences::{Difference, differences};

use kilter_model::config::library::InfoTool;

/// Output of the program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LibraryInfo {
    /// The library's version, if the program prints it.
    pub version: Option<String>,
    /// Its parameters by name.
    pub parameters: BTreeMap<String, Reported>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reported {
    /// Default; `None` if the program does not say it, or if a site's file or this user's environment has changed it.
    pub default: Option<String>,
    /// Its type, in the program's word.
    pub kind: String,
    /// Legal values.
    pub legal: Legal,
}

/// Legal values of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Legal {
    /// Any number.
    #[default]
    Number,
    /// Any text, or unspecified values.
    Text,
    /// These numbers, with their names.
    Named(BTreeSet<(String, String)>),
    /// These numbers, both ends included.
    Range(u64, u64),
}

impl Reported {
    /// True if it may have this value.
    #[must_use]
    pub fn allows(&self, value: &str) -> bool {
        match &self.legal {
            Legal::Number => value.parse::<u64>().is_ok(),
            Legal::Text => true,
            Legal::Named(all) => all.iter().any(|(number, name)| number == value || name == value),
            Legal::Range(first, last) => value
                .parse()
                .is_ok_and(|number: u64| (*first..=*last).contains(&number)),
        }
    }
}

/// A program that prints a library's parameters.
struct Program {
    name: &'static str,
    /// Arguments with which it prints all parameters.
    arguments: &'static [&'static str],
    /// Reads what it prints.
    parse: fn(&str) -> LibraryInfo,
    /// Tells if it prints a parameter of this name, which may be an environment variable.
    prints: fn(name: &str, environment: bool) -> bool,
}

/// Row of a tool.
fn program(tool: InfoTool) -> &'static Program {
    match tool {
        InfoTool::ImpiInfo => &impi_info::PROGRAM,
        InfoTool::Mpivars => &mpivars::PROGRAM,
        InfoTool::OmpiInfo => &ompi_info::PROGRAM,
    }
}

#[cfg(test)]
mod tests;
