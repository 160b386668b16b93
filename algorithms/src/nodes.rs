//! The mapping of ranks to nodes. Ranks of a node share its memory.

/// The ranks of a communicator by node. Nodes are numbered by their lowest ranks, and a node's lowest rank is its leader.
///
/// ```
/// # use kilter_algorithms::Nodes;
/// let round_robin = Nodes::new(&["b", "a", "b", "a"]);
/// assert_eq!((round_robin.count(), round_robin.node_of(3)), (2, 1));
/// assert_eq!(round_robin.members(1), [1, 3]);
/// assert!(!round_robin.are_runs());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nodes {
    node_of: Vec<usize>,
    members: Vec<Vec<usize>>,
}

impl Nodes {
    /// Ranks with equal names share a node; one name for each rank.
    #[must_use]
    pub fn new<N: PartialEq>(names: &[N]) -> Nodes {
        let mut nodes = Nodes {
            node_of: Vec::with_capacity(names.len()),
            members: Vec::new(),
        };
        for (rank, name) in names.iter().enumerate() {
            let known = nodes.members.iter().position(|members| names[members[0]] == *name);
            let node = known.unwrap_or_else(|| {
                nodes.members.push(Vec::new());
                nodes.members.len() - 1
            });
            nodes.members[node].push(rank);
            nodes.node_of.push(node);
        }
        nodes
    }

    /// All of `p` ranks on one node.
    #[must_use]
    pub fn one(p: usize) -> Nodes {
        Nodes::new(&vec![(); p])
    }

    /// Each of `p` ranks on a node of its own.
    #[must_use]
    pub fn each_alone(p: usize) -> Nodes {
        Nodes::new(&(0..p).collect::<Vec<_>>())
    }

    /// The number of nodes.
    #[must_use]
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The node of a rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn node_of(&self, rank: usize) -> usize {
        self.node_of[rank]
    }

    /// The ranks of a node, ascending; at least one, the first of which leads it.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn members(&self, node: usize) -> &[usize] {
        &self.members[node]
    }

    /// The first rank of each node.
    pub fn leaders(&self) -> impl ExactSizeIterator<Item = usize> {
        self.members.iter().map(|members| members[0])
    }

    /// True if every node's ranks follow each other, so that data in the order of nodes is in the order of ranks.
    #[must_use]
    pub fn are_runs(&self) -> bool {
        self.node_of.is_sorted()
    }
}
