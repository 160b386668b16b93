//! Transports of a library's messages: those that it uses by placement, and what makes a running job say which ones it took.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::Library;

/// Names of the transports in use, by the placement of the ranks.
///
/// A transport that several libraries can use, such as UCX, has transports of its own: `ucx/posix` is one in use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transports {
    /// Transports among ranks of one host, unless the job says otherwise.
    pub one_host: Vec<String>,
    /// Transports between hosts, unless the job says otherwise.
    pub several_hosts: Vec<String>,
    /// Control variables that say which transports are in use, for `kilter doctor`.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Variables that say by which mechanism large messages cross within a host without a second copy: the mechanism that it is if the variable
    /// is on, or `{value}` if that names it.
    #[serde(default)]
    pub single_copy: BTreeMap<String, String>,
    /// Files of `configs/transports` by the name that the transport has in this library.
    #[serde(default)]
    pub shared: BTreeMap<String, String>,
    /// Settings that make a job say what carries its messages.
    #[serde(default)]
    pub speech: Option<Speech>,
    /// Parameters by which a job does not look for networks when it starts, where a transport of `one_host` or `several_hosts` carries its messages.
    #[serde(default)]
    pub quick_start: BTreeMap<String, String>,
}

/// Settings that make a job print what carries its messages, and the reader of that text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speech {
    /// The reader.
    pub reader: Reader,
    /// Parameters of the launch.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Environment of the ranks.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// A reader of what jobs print of their transports; a file each in the command's `carriers/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// libfabric's log, and what MPI libraries print of its provider.
    Libfabric,
    /// MPICH's summary of its netmod.
    Mpich,
    /// Open MPI's words on its components.
    OpenMpi,
    /// UCX's log.
    Ucx,
}

impl Transports {
    /// Transports if all ranks are on one host, or on several.
    #[must_use]
    pub fn on(&self, one_host: bool) -> &[String] {
        if one_host { &self.one_host } else { &self.several_hosts }
    }

    /// Usual transports of ranks that lie on these hosts, given for each rank in order: both kinds where hosts with several ranks exchange
    /// messages. Without hosts, those within one.
    #[must_use]
    pub fn usual(&self, hosts: &[String]) -> Vec<String> {
        let distinct: BTreeSet<&String> = hosts.iter().collect();
        let mut usual = Vec::new();
        if distinct.len() <= 1 || distinct.len() < hosts.len() {
            usual.clone_from(&self.one_host);
        }
        if distinct.len() > 1 {
            let further = self.several_hosts.iter().filter(|name| !self.one_host.contains(name));
            if usual.is_empty() {
                usual.clone_from(&self.several_hosts);
            } else {
                usual.extend(further.cloned());
            }
        }
        usual
    }
}

impl Library {
    /// Mechanisms of single copy that the values of control variables name.
    #[must_use]
    pub fn single_copy(&self, variables: &BTreeMap<String, String>) -> Vec<String> {
        let said = |(name, form): (&String, &String)| {
            let value = variables.get(name)?;
            if form != "{value}" {
                return self.same_value(name, "1", value).then(|| form.clone());
            }
            let row = self.parameters.iter().find(|row| row.name == *name);
            let mut names = row.into_iter().flat_map(|row| &row.names);
            let by_number = names.find(|(_, number)| *number == value);
            Some(by_number.map_or(value, |(name, _)| name).clone())
        };
        let said = self.transports.single_copy.iter().filter_map(said);
        said.filter(|name| !name.is_empty() && name != "none").collect()
    }

    /// Names of the transports in use if ranks lie on these hosts and the site sets these parameters.
    /// The site may list components in one of [`Transports::variables`], or those to leave out (`^`).
    #[must_use]
    pub fn transports_in_use(&self, hosts: &[String], site: &[(String, String)]) -> Vec<String> {
        let usual = self.transports.usual(hosts);
        let named = self.parameters.iter().filter_map(|row| row.transport.as_ref());
        let known: BTreeSet<&String> = named.chain(&usual).chain(&self.transports.several_hosts).collect();
        let lists = site.iter().filter(|(name, _)| self.transports.variables.contains(name));
        for (_, list) in lists {
            let (left_out, names) = match list.strip_prefix('^') {
                Some(names) => (true, names),
                None => (false, list.as_str()),
            };
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            if !known.iter().any(|known| names.contains(&known.as_str())) {
                continue;
            }
            let is_there = |one: &&String| names.contains(&one.as_str()) != left_out;
            // The usual transports come first in the library's own order, too.
            let first: Vec<String> = usual.iter().filter(is_there).cloned().collect();
            let is_shared = |one: &String| left_out && self.transports.shared.contains_key(one);
            return if first.is_empty() {
                // A shared transport is not taken for the one in its place just because it is not excluded.
                let others = known.into_iter().filter(is_there).filter(|one| !is_shared(one));
                others.cloned().collect()
            } else {
                first
            };
        }
        usual
    }
}
