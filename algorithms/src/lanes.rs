//! The division of ranks into lanes: ranks with the same number on their nodes.

use crate::Nodes;

/// The ranks of each node by number. The first `count` of a node head a lane each, and every other one is in the team of a head: number
/// `i` in that of number `i % count`.
///
/// Numbers follow the ranks, but the root heads a lane: where its number would be too high, it changes places with the first rank of its node.
///
/// For ranks 0 to 4 on one node, 5 to 7 on another, two lanes and root 3:
///
/// ```text
/// number   0   1   2   3   4
/// node 0   3   1   2   0   4      teams 3 2 4 and 1 0
/// node 1   5   6   7              teams 5 7 and 6
/// lanes    3-5 1-6
/// ```
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes<'n> {
    nodes: &'n Nodes,
    count: usize,
    /// Ranks of each node, where all have as many.
    ranks_each: Option<usize>,
    /// The root's node, and its place among the ranks there, where it has changed places.
    swapped: Option<(usize, usize)>,
}

impl<'n> Lanes<'n> {
    /// At most `most` lanes, as many as every node has ranks for; at least one.
    pub(crate) fn new(nodes: &'n Nodes, root: usize, most: u64) -> Lanes<'n> {
        let count = count(nodes, most);
        let first = nodes.members(0).len();
        let is_even = (0..nodes.count()).all(|node| nodes.members(node).len() == first);
        let node = nodes.node_of(root);
        let place = nodes.members(node).partition_point(|&member| member < root);
        Lanes {
            nodes,
            count,
            ranks_each: is_even.then_some(first),
            swapped: (place >= count).then_some((node, place)),
        }
    }

    /// The number of lanes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.count()
    }

    /// The rank of this number on a node.
    pub(crate) fn rank(&self, node: usize, number: usize) -> usize {
        let members = self.nodes.members(node);
        match self.swapped {
            Some((swapped, place)) if swapped == node && number == 0 => members[place],
            Some((swapped, place)) if swapped == node && number == place => members[0],
            _ => members[number],
        }
    }

    /// The node of a rank, and its number there.
    pub(crate) fn place_of(&self, rank: usize) -> (usize, usize) {
        let node = self.nodes.node_of(rank);
        let index = self.nodes.members(node).partition_point(|&member| member < rank);
        let number = match self.swapped {
            Some((swapped, place)) if swapped == node && index == 0 => place,
            Some((swapped, place)) if swapped == node && index == place => 0,
            _ => index,
        };
        (node, number)
    }

    /// Ranks in the team of this head on a node, with the head.
    pub(crate) fn team(&self, node: usize, head: usize) -> usize {
        (self.nodes.members(node).len() - head).div_ceil(self.count)
    }

    /// Ranks in the teams of a lane on the nodes before this one; the number of nodes is allowed.
    pub(crate) fn ranks_before_node(&self, lane: usize, node: usize) -> usize {
        match self.ranks_each {
            Some(_) => node * self.team(0, lane),
            None => (0..node).map(|node| self.team(node, lane)).sum(),
        }
    }

    /// Ranks in the teams of the lanes before this one, on all nodes; the number of lanes is allowed.
    pub(crate) fn ranks_before_lane(&self, lane: usize) -> usize {
        let in_teams = |ranks: usize| lane * (ranks / self.count) + lane.min(ranks % self.count);
        match self.ranks_each {
            Some(ranks) => self.nodes() * in_teams(ranks),
            None => (0..self.nodes())
                .map(|node| in_teams(self.nodes.members(node).len()))
                .sum(),
        }
    }
}

/// The number of lanes where there may be `most`.
pub(crate) fn count(nodes: &Nodes, most: u64) -> usize {
    let fewest = (0..nodes.count()).map(|node| nodes.members(node).len()).min();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    fewest.unwrap_or(1).min(most).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_documentation() {
        let nodes = Nodes::new(&[0, 0, 0, 0, 0, 1, 1, 1]);
        let lanes = Lanes::new(&nodes, 3, 2);
        let on =
            |node: usize, ranks: usize| -> Vec<usize> { (0..ranks).map(|number| lanes.rank(node, number)).collect() };
        assert_eq!((on(0, 5), on(1, 3)), (vec![3, 1, 2, 0, 4], vec![5, 6, 7]));
        assert_eq!(
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(node, head)| lanes.team(node, head)),
            [3, 2, 2, 1]
        );
    }

    #[test]
    fn every_rank_has_a_number_and_the_root_heads_a_lane() {
        for most in [1, 2, 3, 64] {
            for names in [
                vec![0; 5],
                vec![0, 1, 0, 1, 0],
                vec![0, 0, 0, 1, 1, 1, 1],
                vec![0, 1, 2],
            ] {
                let nodes = Nodes::new(&names);
                for root in 0..names.len() {
                    let lanes = Lanes::new(&nodes, root, most);
                    assert!(
                        lanes.place_of(root).1 < lanes.count(),
                        "root {root} of {names:?}, {most} lanes"
                    );
                    for rank in 0..names.len() {
                        let (node, number) = lanes.place_of(rank);
                        assert_eq!(lanes.rank(node, number), rank, "root {root} of {names:?}, {most} lanes");
                    }
                    for node in 0..nodes.count() {
                        let in_teams: usize = (0..lanes.count()).map(|head| lanes.team(node, head)).sum();
                        assert_eq!(in_teams, nodes.members(node).len());
                    }
                    let in_lane = |lane| lanes.ranks_before_node(lane, nodes.count());
                    let ends: Vec<usize> = (0..=lanes.count()).map(|lane| lanes.ranks_before_lane(lane)).collect();
                    let sums: Vec<usize> = (0..=lanes.count()).map(|lane| (0..lane).map(in_lane).sum()).collect();
                    assert_eq!(ends, sums);
                }
            }
        }
        assert_eq!(
            count(&Nodes::new(&[0, 0, 0, 1, 1]), 64),
            2,
            "as many as the smallest node has ranks"
        );
    }
}
