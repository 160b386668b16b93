//! Reduce over lanes: a reduce-scatter on each node, a reduce of each piece over its lane, pieces collected on the root's node.
//!
//! Source: Traeff and Hunold, IEEE CLUSTER 2020, doi:10.1109/CLUSTER49012.2020.00037 (arXiv:1910.13373).
//! Needs:  a commutative operator, since the ranks of a node need not follow each other. Any root, any count, any placement of
//!         ranks on nodes.
//! Shapes: input `[n]`, output `[n]` on the root; scratch on heads `[n]` where they have a team, three pieces `[n/h]` where there are
//!         several lanes, and what the team's reduce and the lane's need.
//! Cost:   that of the tree in a team of `t`, of a ring among `h` heads, of the lane's reduce among `l`, of the pieces at the root
//!         = team(t, n) + (h-1)*(2 alpha + n/h*(2 beta + gamma)) + lane(l, n/h)
//!         (n = bytes per rank, l = nodes, h = lanes, t = ranks of the largest team; alpha in s, beta and gamma in s/byte); exact where
//!         nodes have equally many ranks, `h` divides them and the count, else an upper bound.
//!
//! All lanes send at once, a piece each: where one rank alone does not fill a node's link, or a node has several. With as many lanes as a node
//! has ranks there are no teams. `in_lane` chooses what a lane runs; teams run what nodes of [`super::two_level`] do. For
//! ranks 0 and 1 on one node, 2 and 3 on another, root 0, two lanes, `in_lane` 0; letters are the contributions of ranks 0 to 3, and each has
//! two halves:
//!
//! ```text
//!           rank 0      rank 1      rank 2      rank 3
//! start     a a         b b         c c         d d
//! ring      ab -        - ab        cd -        - cd       0 <-> 1, 2 <-> 3
//! lanes     abcd -      - abcd                             2 -> 0, 3 -> 1
//! root      abcd abcd                                      1 -> 0
//! ```

use std::ops::Range;

use super::two_level::{AMONG_LEADERS, ON_NODES, rows, run_choice};
use crate::group::Group;
use crate::lanes::Lanes;
use crate::overlap::{SHORT_BYTES, receive_each};
use crate::parameter::Parameter;
use crate::patterns::k_nomial::RADIX;
use crate::patterns::lanes::{Form, LANES, pieces};
use crate::patterns::subtree::take_start;
use crate::patterns::two_level::{call, sum};
use crate::patterns::{lent, ring};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError, scratch};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.lanes";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "combined in pieces on each node, over all lanes at once, collected (large sizes, several ranks on a node)",
    source: "Traeff and Hunold 2020, doi:10.1109/CLUSTER49012.2020.00037",
    needs: &[Need::Commutative],
    parameters: &[LANES, IN_LANE, RADIX],
    cost,
    scratch: scratch_kept,
};

const IN_LANE: Parameter = Parameter {
    name: "in_lane",
    min: 0,
    max: 2,
    default: 0,
    summary: "what each lane runs: 0 binomial, 1 ring, 2 k_nomial, in teams as well",
};

/// Pieces of scratch: two for the ring and one for what comes out of it.
const PIECES: usize = 3;

fn cost(setting: &Setting<'_>) -> Cost {
    let form = Form::of(setting);
    let n_bytes = setting.n_bytes;
    let (tree, row) = rows(&setting.parameters[1..]);
    sum([
        (tree.cost)(&form.in_team(setting, n_bytes, tree)),
        form.among_heads(n_bytes as f64, form.lanes - 1, true),
        (row.cost)(&form.in_lane(setting, n_bytes.div_ceil(form.lanes), row)),
        form.among_heads(n_bytes as f64, form.lanes - 1, false),
    ])
}

fn scratch_kept(setting: &Setting<'_>) -> usize {
    let form = Form::of(setting);
    let (tree, row) = rows(&setting.parameters[1..]);
    let piece = form.piece(setting);
    let combined = if form.team > 1 && (form.lanes, form.nodes) != (1, 1) {
        setting.n_bytes
    } else {
        0
    };
    let pieces = if form.lanes > 1 { PIECES * piece } else { 0 };
    let in_team = (tree.scratch)(&form.in_team(setting, setting.n_bytes, tree));
    let in_lane = (row.scratch)(&form.in_lane(setting, piece, row));
    scratch::kept(combined.saturating_add(pieces))
        .saturating_add(in_team)
        .saturating_add(in_lane)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        root,
        parameters,
        ..
    } = arguments;
    let n_bytes = input.len();
    if n_bytes == 0 {
        return Ok(());
    }
    let nodes = transport.nodes()?;
    let lanes = Lanes::new(&nodes, root, parameters[0]);
    let (node, number) = lanes.place_of(transport.rank());
    let own = &parameters[1..];
    let has_team = lanes.team(node, number.min(lanes.count() - 1)) > 1;
    if number >= lanes.count() || (lanes.count(), lanes.nodes()) == (1, 1) {
        return run_team(transport, lanes, call(input, output, 0, own));
    }
    let piece = pieces(n_bytes, transport.element_bytes(), &lanes);
    // The first piece is one of the longest.
    let (combined_bytes, longest) = (if has_team { n_bytes } else { 0 }, piece(0).len());
    let pieces_bytes = if lanes.count() > 1 { PIECES * longest } else { 0 };
    let bytes = combined_bytes + pieces_bytes;
    let mut scratch = lent::take(transport, bytes)?;
    let (combined, rest) = scratch[..bytes].split_at_mut(combined_bytes);
    if has_team {
        run_team(transport, lanes, call(input, combined, 0, own))?;
    }
    let given = if has_team { &*combined } else { input };
    let (root_node, root_number) = lanes.place_of(root);
    if lanes.count() == 1 {
        let of_lane = call(given, output, root_node, own);
        run_choice(&AMONG_LEADERS, &mut Group::of_lane(transport, lanes), of_lane)?;
    } else {
        let (ring_scratch, result) = rest.split_at_mut(2 * longest);
        let result = &mut result[..piece(number).len()];
        ring::reduce_scatter_own(
            &mut Group::of_heads(transport, lanes),
            given,
            result,
            ring_scratch,
            piece,
        )?;
        // The lane delivers at the root where it belongs, on the other heads of its node in what the ring has used.
        let delivered = match (node == root_node, number == root_number) {
            (true, true) => &mut output[piece(number)],
            (true, false) => &mut ring_scratch[..result.len()],
            (false, _) => &mut [],
        };
        let of_lane = call(result, delivered, root_node, own);
        run_choice(&AMONG_LEADERS, &mut Group::of_lane(transport, lanes), of_lane)?;
        let mut heads = Group::of_heads(transport, lanes);
        if node == root_node && number == root_number {
            collect(&mut heads, output, lanes.count(), piece)?;
        } else if !delivered.is_empty() {
            heads.send(root_number, delivered)?;
        }
    }
    lent::give(transport, scratch);
    Ok(())
}

/// Combines what this rank's team has, at its head.
fn run_team<T: Transport>(transport: &mut T, lanes: Lanes<'_>, arguments: Arguments<'_>) -> Result<(), TransportError> {
    run_choice(&ON_NODES, &mut Group::of_team(transport, lanes), arguments)
}

/// Receives the pieces of the other heads, at the root.
fn collect<T: Transport>(
    heads: &mut T,
    mut output: &mut [u8],
    count: usize,
    piece: impl Fn(usize) -> Range<usize>,
) -> Result<(), TransportError> {
    let (own, is_short) = (heads.rank(), output.len() <= SHORT_BYTES);
    let all = (0..count).map(|head| (head, take_start(&mut output, piece(head).len())));
    let others = all.filter(|(head, target)| *head != own && !target.is_empty());
    receive_each(heads, is_short, others, |_| ())
}
