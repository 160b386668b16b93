//! Reads the parameters that a library prints through a program of its own, and compares them with the description.
//!
//! [`ask`] runs the program beside the launcher, [`ompi_info`], [`impi_info`] and [`mpivars`] read what it prints, and [`differences()`] compares.
//! Transports that libraries share have programs of their own in PATH, read by [`ucx_info`] and [`fi_info`]: [`differences_of_transport`] compares.
//! `kilter doctor` reports it: a library of another release may have other names, defaults and values than the one that was described.

pub mod ask;
mod differences;
mod fi_info;
mod impi_info;
mod mpivars;
mod ompi_info;
mod transports;
mod ucx_info;

use std::collections::{BTreeMap, BTreeSet};

pub use differences::{Difference, differences};
pub use transports::differences_of_transport;

use kilter_model::config::library::InfoTool;
use kilter_model::config::transport::TransportInfo;

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
    /// Its value where the program ran; `None` if the program does not say it.
    pub value: Option<String>,
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
    /// A number of bytes, which may have a unit (`8K`, `64kb`), `inf` or `auto`.
    Bytes,
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
            Legal::Bytes => matches!(value, "inf" | "auto") || bytes(value).is_some(),
            Legal::Named(all) => all.iter().any(|(number, name)| number == value || name == value),
            Legal::Range(first, last) => value
                .parse()
                .is_ok_and(|number: u64| (*first..=*last).contains(&number)),
        }
    }
}

impl Reported {
    /// Its value by its name, or by its number: some libraries take the one, and some tell the other when they are asked.
    #[must_use]
    pub fn value_by(&self, is_by_name: bool) -> Option<String> {
        let value = self.value.as_ref()?;
        let Legal::Named(all) = &self.legal else {
            return Some(value.clone());
        };
        let named = all.iter().find(|(number, name)| number == value || name == value);
        Some(match named {
            Some((_, name)) if is_by_name => name.clone(),
            Some((number, _)) => number.clone(),
            None => value.clone(),
        })
    }
}

/// Bytes of a number with or without a unit.
fn bytes(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let text = text.strip_suffix('b').unwrap_or(&text);
    let units = [('k', 10), ('m', 20), ('g', 30)];
    let with_unit = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(*unit)?, *shift)));
    let (number, shift) = with_unit.unwrap_or((text, 0));
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
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

/// Row of a transport's program.
fn program_of_transport(tool: TransportInfo) -> &'static Program {
    match tool {
        TransportInfo::FiInfo => &fi_info::PROGRAM,
        TransportInfo::UcxInfo => &ucx_info::PROGRAM,
    }
}

#[cfg(test)]
mod tests;
