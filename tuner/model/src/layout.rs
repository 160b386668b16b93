//! Number of nodes, and of ranks on each.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Nodes, and ranks on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    /// Nodes, at least 1.
    pub nodes: usize,
    /// Ranks on each node, at least 1.
    pub per_node: usize,
}

/// Largest number of ranks; more are a slip of the fingers.
const MOST_RANKS: usize = 1 << 22;

impl Layout {
    /// Ranks of the job.
    #[must_use]
    pub fn ranks(self) -> usize {
        self.nodes * self.per_node
    }

    /// Checks that the ranks lie so; `hosts` has the host of each. The error says how they lie.
    pub fn check(self, hosts: &[String]) -> Result<(), WrongPlacement> {
        let mut on: BTreeMap<&str, usize> = BTreeMap::new();
        for host in hosts {
            *on.entry(host).or_default() += 1;
        }
        if on.len() == self.nodes && on.values().all(|ranks| *ranks == self.per_node) {
            return Ok(());
        }
        let got: Vec<String> = on.iter().map(|(host, ranks)| format!("{host}: {ranks}")).collect();
        Err(WrongPlacement {
            layout: self,
            got: if got.is_empty() {
                "no rank".to_owned()
            } else {
                got.join(", ")
            },
        })
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.nodes, self.per_node)
    }
}

/// Error: ranks that lie otherwise than requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "layout {layout} was asked for, {} node(s) with {} rank(s) each, but the ranks lie as {got}; give as many nodes by --hostfile or in \
     the allocation, with room for as many ranks on each, or another layout",
    .layout.nodes, .layout.per_node
)]
pub struct WrongPlacement {
    /// Requested layout.
    pub layout: Layout,
    /// Ranks of each host.
    pub got: String,
}

/// A text that is no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// It is not written as a layout.
    #[error("`{0}` is no layout; give NODESxRANKS such as 8x16, or the ranks of one node such as 4")]
    NoLayout(String),
    /// A job of one rank.
    #[error("`{0}` has a single rank, whose collectives do nothing; give at least 2")]
    SingleRank(String),
    /// A slip of the fingers.
    #[error("`{0}` has more than {MOST_RANKS} ranks; give fewer")]
    TooManyRanks(String),
}

impl FromStr for Layout {
    type Err = LayoutError;

    /// Reads `8x16`, or `4` for so many ranks on one node.
    fn from_str(text: &str) -> Result<Layout, LayoutError> {
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse::<usize>().ok().filter(|value| digits && *value > 0)
        };
        let (nodes, per_node) = text.split_once('x').unwrap_or(("1", text));
        let layout = number(nodes)
            .zip(number(per_node))
            .map(|(nodes, per_node)| Layout { nodes, per_node })
            .ok_or_else(|| LayoutError::NoLayout(text.to_owned()))?;
        match layout.nodes.checked_mul(layout.per_node) {
            Some(0 | 1) => Err(LayoutError::SingleRank(text.to_owned())),
            Some(2..=MOST_RANKS) => Ok(layout),
            _ => Err(LayoutError::TooManyRanks(text.to_owned())),
        }
    }
}

/// Reads a list in its order, each layout once.
pub fn parse_list(text: &str) -> Result<Vec<Layout>, LayoutError> {
    let mut layouts = Vec::new();
    for part in text.split(',') {
        let layout = part.trim().parse()?;
        if !layouts.contains(&layout) {
            layouts.push(layout);
        }
    }
    Ok(layouts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(nodes: usize, per_node: usize) -> Layout {
        Layout { nodes, per_node }
    }

    #[test]
    fn a_list_has_nodes_by_ranks_and_ranks_of_one_node() {
        assert_eq!(
            parse_list("8x1, 8x16,4,1x4").unwrap(),
            [layout(8, 1), layout(8, 16), layout(1, 4)]
        );
        assert_eq!(layout(8, 16).to_string(), "8x16");
        assert_eq!(layout(8, 16).ranks(), 128);
    }

    #[test]
    fn what_is_no_layout_says_what_is() {
        for (text, part) in [
            ("", "NODESxRANKS"),
            ("8x", "NODESxRANKS"),
            ("x8", "NODESxRANKS"),
            ("8x1x2", "NODESxRANKS"),
            ("+2", "NODESxRANKS"),
            ("0x2", "NODESxRANKS"),
            ("2x2,,4", "NODESxRANKS"),
            ("1", "single rank"),
            ("1x1", "single rank"),
            ("4194305", "more than"),
            ("99999999999x99999999999", "more than"),
        ] {
            let error = parse_list(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn ranks_that_lie_otherwise_are_named_by_host() {
        let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        layout(2, 2).check(&hosts(&["a", "b", "a", "b"])).unwrap();
        for (names, got) in [
            (&["a", "a", "a", "a"][..], "a: 4"),
            (&["a", "a", "a", "b"], "a: 3, b: 1"),
            (&["a", "b", "c", "d"], "a: 1, b: 1, c: 1, d: 1"),
            (&[], "no rank"),
        ] {
            let error = layout(2, 2).check(&hosts(names)).unwrap_err().to_string();
            assert!(
                error.contains("2x2") && error.contains(&format!("lie as {got};")),
                "{error}"
            );
        }
    }
}
