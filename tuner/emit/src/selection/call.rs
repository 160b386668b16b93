//! The library's reading of a selection: the path that a call takes.

use super::{ALGORITHM, Tree, is_any, is_of_communicator};

/// A call, as far as the library's tests look at it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The collective, such as `bcast`.
    pub collective: &'a str,
    /// Ranks of the intracommunicator.
    pub ranks: u64,
    /// Nodes on which they are.
    pub nodes: u64,
    /// Bytes of the buffer of a rank, or of the block for one of them.
    pub avg_msg_size: u64,
    /// Bytes over all ranks.
    pub total_msg_size: u64,
    /// Elements.
    pub count: u64,
    /// True if the communicator has ranks on several nodes or several on one, and so a hierarchy.
    pub parent: bool,
    /// Answers to the tests `is_NAME=yes`.
    pub is: &'a dyn Fn(&str) -> bool,
}

impl Tree {
    /// The end of the path that a call takes, by the rules of the library; `None` where the library would abort.
    #[must_use]
    pub fn lookup(&self, call: &Call<'_>) -> Option<&(String, Tree)> {
        let mut in_call = false;
        let mut tree = self;
        loop {
            let mut next = None;
            for entry in &tree.0 {
                if entry.0.starts_with(ALGORITHM) {
                    return Some(entry);
                }
                in_call |= !is_of_communicator(&entry.0) && !entry.0.starts_with("collective=");
                if call.passes(&entry.0, in_call)? {
                    next = Some(&entry.1);
                    break;
                }
            }
            tree = next?;
        }
    }
}

impl Call<'_> {
    /// Result of a test; `None` for none that the library knows.
    fn passes(&self, key: &str, in_call: bool) -> Option<bool> {
        if is_any(key) {
            return Some(true);
        }
        if let Some(most) = key.strip_prefix("comm_avg_ppn<=") {
            return Some(self.ranks <= self.nodes.saturating_mul(most.parse().ok()?));
        }
        if let Some((name, number)) = key.split_once("<=") {
            return Some(self.number(name)? <= number.parse().ok()?);
        }
        if let Some((name, number)) = key.split_once('<') {
            if (name, number) == ("count", "pow2") {
                return Some(self.count < 1 << self.ranks.max(1).ilog2());
            }
            let (own, limit): (u64, u64) = (self.number(name)?, number.parse().ok()?);
            // The library's slip, of which the page of `selection` tells.
            return Some(own < limit || name == "comm_size" && in_call && own == limit);
        }
        let (name, value) = key.split_once('=')?;
        match (name, value) {
            ("collective", _) => Some(value == self.collective),
            ("comm_type", _) => Some(value == "intra"),
            ("comm_size", "pow2") => Some(self.ranks.is_power_of_two()),
            ("comm_hierarchy", _) => Some((value == "parent") == self.parent),
            (_, "yes" | "no") => Some((self.is)(name) == (value == "yes")),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        match name {
            "comm_size" => Some(self.ranks),
            "avg_msg_size" => Some(self.avg_msg_size),
            "total_msg_size" => Some(self.total_msg_size),
            "count" => Some(self.count),
            _ => None,
        }
    }
}
