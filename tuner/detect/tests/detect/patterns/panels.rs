//! Broadcasts of panels as solvers of dense systems make them: the root moves from rank to rank, panels shrink, and data are packed.

use std::ops::Range;

use crate::fixture::Rank;

/// Panels of a run.
pub(crate) const PANELS: u32 = 8;

/// Bytes of a panel.
pub(crate) fn bytes(panel: u32) -> usize {
    40_000 - 3_000 * panel as usize
}

/// Bytes of a panel whose pieces are too short for chunks.
pub(crate) fn few_bytes(panel: u32) -> usize {
    1_500 - 56 * panel as usize
}

/// One panel: its rank counted from the root, data and tag.
struct Panel {
    relative: u32,
    root: u32,
    data: Range<usize>,
    tag: i32,
}

impl Panel {
    fn rank(&self, relative: u32, size: u32) -> u32 {
        (relative + self.root) % size
    }
}

fn each(rank: &mut Rank, polls: bool, broadcast: impl Fn(&mut Rank, &Panel)) {
    each_of(rank, bytes, polls, broadcast);
}

fn each_of(rank: &mut Rank, bytes: fn(u32) -> usize, polls: bool, broadcast: impl Fn(&mut Rank, &Panel)) {
    for number in 0..PANELS {
        let root = number % rank.size;
        let panel = Panel {
            relative: (rank.rank + rank.size - root) % rank.size,
            root,
            data: 0..bytes(number),
            tag: 1000 + number as i32,
        };
        if rank.rank == root {
            rank.fill(panel.data.clone(), u64::from(number));
        } else if polls {
            (0..rank.size).for_each(|from| rank.probe_in_vain(from, panel.tag));
            rank.pause(2000);
        }
        broadcast(rank, &panel);
    }
}

/// Down a list of ranks, counted from the root.
fn ring(rank: &mut Rank, panel: &Panel, list: &[u32]) {
    let Some(at) = list.iter().position(|one| *one == panel.relative) else {
        return;
    };
    if at > 0 {
        rank.receive(panel.rank(list[at - 1], rank.size), panel.tag, panel.data.clone());
    }
    if let Some(&next) = list.get(at + 1) {
        rank.send(panel.rank(next, rank.size), panel.tag, panel.data.clone());
    }
}

/// The root, and ranks from one to another.
fn behind_root(ranks: Range<u32>) -> Vec<u32> {
    std::iter::once(0).chain(ranks).collect()
}

pub(crate) fn increasing_ring(rank: &mut Rank) {
    each(rank, false, |rank, panel| ring(rank, panel, &behind_root(1..rank.size)));
}

/// The same, looked for while the rank works.
pub(crate) fn increasing_ring_polled(rank: &mut Rank) {
    each(rank, true, |rank, panel| ring(rank, panel, &behind_root(1..rank.size)));
}

/// The rank behind the root gets the panel first, and sends it to nobody.
pub(crate) fn increasing_ring_modified(rank: &mut Rank) {
    each(rank, false, |rank, panel| {
        ring(rank, panel, &[0, 1]);
        ring(rank, panel, &behind_root(2..rank.size));
    });
}

pub(crate) fn two_rings(rank: &mut Rank) {
    each(rank, false, |rank, panel| {
        let middle = rank.size.div_ceil(2);
        ring(rank, panel, &behind_root(1..middle));
        ring(rank, panel, &behind_root(middle..rank.size));
    });
}

pub(crate) fn two_rings_modified(rank: &mut Rank) {
    each(rank, false, |rank, panel| {
        let middle = (rank.size + 2) / 2;
        ring(rank, panel, &[0, 1]);
        ring(rank, panel, &behind_root(2..middle));
        ring(rank, panel, &behind_root(middle..rank.size));
    });
}

/// Halves go down a tree until each rank of the list has a piece; pieces go round until each has all.
fn spread_and_roll(rank: &mut Rank, panel: &Panel, list: &[u32]) {
    let Some(own) = list.iter().position(|one| *one == panel.relative) else {
        return;
    };
    let count = list.len();
    spread(rank, panel, list, own);
    for step in 0..count - 1 {
        let piece = |at: usize| pieces(panel, count, at % count, at % count + 1);
        let (right, left) = ((own + 1) % count, (own + count - 1) % count);
        let (right, left) = (panel.rank(list[right], rank.size), panel.rank(list[left], rank.size));
        rank.send(right, panel.tag, piece(own + count - step));
        rank.receive(left, panel.tag, piece(own + 2 * count - step - 1));
    }
}

/// Pieces of a panel, from one to another.
fn pieces(panel: &Panel, count: usize, first: usize, end: usize) -> Range<usize> {
    let total = panel.data.len();
    first * total / count..end * total / count
}

/// Halves go down a tree until each rank of the list has a piece.
fn spread(rank: &mut Rank, panel: &Panel, list: &[u32], own: usize) {
    let count = list.len();
    let size = rank.size;
    let to = |at: usize| panel.rank(list[at % count], size);
    let (mut first, mut end) = (0, count);
    while end - first > 1 {
        let middle = (first + end).div_ceil(2);
        let (giver, taker, range) = (to(first), to(middle), pieces(panel, count, middle, end));
        if own == first {
            rank.send(taker, panel.tag, range);
        } else if own == middle {
            rank.receive(giver, panel.tag, range);
        }
        if own < middle {
            end = middle;
        } else {
            first = middle;
        }
    }
}

/// The same, but pieces are exchanged with the neighbours on both sides in turn: the two halves of the ranks have the pieces in different orders.
fn spread_and_exchange(rank: &mut Rank, panel: &Panel, list: &[u32]) {
    let Some(own) = list.iter().position(|one| *one == panel.relative) else {
        return;
    };
    let count = list.len();
    spread(rank, panel, list, own);
    for step in 0..count - 1 {
        let piece = |at: usize| pieces(panel, count, at % count, at % count + 1);
        let (right, far) = ((own + step).is_multiple_of(2), step / 2);
        let (partner, sent, received) = if right {
            (own + 1, own + count - far, own + far + 1)
        } else {
            (own + count - 1, own + far, own + count - far - 1)
        };
        let partner = panel.rank(list[partner % count], rank.size);
        rank.send(partner, panel.tag, piece(sent));
        rank.receive(partner, panel.tag, piece(received));
    }
}

pub(crate) fn long(rank: &mut Rank) {
    each(rank, false, |rank, panel| {
        let all: Vec<u32> = (0..rank.size).collect();
        spread_and_roll(rank, panel, &all);
    });
}

pub(crate) fn long_modified(rank: &mut Rank) {
    each(rank, false, |rank, panel| {
        ring(rank, panel, &[0, 1]);
        spread_and_roll(rank, panel, &behind_root(2..rank.size));
    });
}

/// Panels whose pieces are too short for chunks.
pub(crate) fn long_of_few_bytes(rank: &mut Rank) {
    each_of(rank, few_bytes, false, |rank, panel| {
        let all: Vec<u32> = (0..rank.size).collect();
        spread_and_exchange(rank, panel, &all);
    });
}

pub(crate) fn long_modified_of_few_bytes(rank: &mut Rank) {
    each_of(rank, few_bytes, false, |rank, panel| {
        ring(rank, panel, &[0, 1]);
        spread_and_exchange(rank, panel, &behind_root(2..rank.size));
    });
}
