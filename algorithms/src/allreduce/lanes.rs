//! Allreduce over lanes: a reduce-scatter on each node, an allreduce of each piece over its lane, an allgather on each node.
//!
//! Source: Traeff and Hunold, IEEE CLUSTER 2020, doi:10.1109/CLUSTER49012.2020.00037 (arXiv:1910.13373).
//! Needs:  a commutative operator, since the ranks of a node need not follow each other. Any count, any placement of ranks
//!         on nodes.
//! Shapes: input `[n]`, output `[n]`; scratch on heads `[n]` where they have a team, else `[n/h]`, and what the binomial reduce and the
//!         lane's allreduce need.
//! Cost:   that of the binomial reduce and broadcast in a team of `t`, of two rings among `h` heads, of the lane's allreduce among `l`
//!         = ceil(log2 t)*(2 alpha + 2n*beta + n*gamma) + (h-1)*(2 alpha + n/h*(2 beta + gamma)) + lane(l, n/h)
//!         (n = bytes per rank, l = nodes, h = lanes, t = ranks of the largest team; alpha in s, beta and gamma in s/byte); exact where
//!         nodes have equally many ranks, `h` divides them and the count, else an upper bound. The copy of a piece is not counted.
//!
//! All lanes send at once, a piece each: where one rank alone does not fill a node's link, or a node has several. With as many lanes as a node
//! has ranks there are no teams. `in_lane` chooses what a lane runs. For ranks 0 and 1 on one node, 2 and 3 on another, two lanes, `in_lane`
//! 0; letters are the contributions of ranks 0 to 3, and each has two halves:
//!
//! ```text
//!           rank 0      rank 1      rank 2      rank 3
//! start     a a         b b         c c         d d
//! ring      ab -        - ab        cd -        - cd       0 <-> 1, 2 <-> 3
//! lanes     abcd -      - abcd      abcd -      - abcd     0 <-> 2, 1 <-> 3
//! ring      abcd abcd   abcd abcd   abcd abcd   abcd abcd  0 <-> 1, 2 <-> 3
//! ```

use super::two_level::{CHOICES, run_choice};
use crate::group::Group;
use crate::lanes::Lanes;
use crate::parameter::Parameter;
use crate::patterns::lanes::{Form, LANES, pieces};
use crate::patterns::two_level::{call, choice, sum};
use crate::patterns::{lent, ring};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError, bcast, reduce, scratch};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.lanes";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "combined in pieces on each node, over all lanes at once, collected (large sizes, several ranks on a node)",
    source: "Traeff and Hunold 2020, doi:10.1109/CLUSTER49012.2020.00037",
    needs: &[Need::Commutative],
    parameters: &[LANES, IN_LANE],
    cost,
    scratch: scratch_kept,
};

const IN_LANE: Parameter = Parameter {
    name: "in_lane",
    min: 0,
    max: 3,
    default: 0,
    summary: "what each lane runs: 0 recursive_doubling, 1 rabenseifner, 2 ring, 3 circulant",
};

fn cost(setting: &Setting<'_>) -> Cost {
    let form = Form::of(setting);
    let n_bytes = setting.n_bytes;
    let row = choice(&CHOICES, &setting.parameters[1..]);
    let team = |row| form.in_team(setting, n_bytes, row);
    sum([
        (reduce::binomial::INFO.cost)(&team(&reduce::binomial::INFO)),
        form.among_heads(n_bytes as f64, form.lanes - 1, true),
        (row.cost)(&form.in_lane(setting, n_bytes.div_ceil(form.lanes), row)),
        form.among_heads(n_bytes as f64, form.lanes - 1, false),
        (bcast::binomial::INFO.cost)(&team(&bcast::binomial::INFO)),
    ])
}

fn scratch_kept(setting: &Setting<'_>) -> usize {
    let form = Form::of(setting);
    let row = choice(&CHOICES, &setting.parameters[1..]);
    let piece = form.piece(setting);
    let own = match (form.team, form.lanes, form.nodes) {
        (1, 1, _) | (_, 1, 1) | (1, _, 1) => 0,
        (1, ..) => piece,
        _ => setting.n_bytes,
    };
    let tree = &reduce::binomial::INFO;
    let in_team = (tree.scratch)(&form.in_team(setting, setting.n_bytes, tree));
    let in_lane = (row.scratch)(&form.in_lane(setting, piece, row));
    scratch::kept(own).saturating_add(in_team).saturating_add(in_lane)
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    let n_bytes = input.len();
    if n_bytes == 0 {
        return Ok(());
    }
    let nodes = transport.nodes()?;
    let lanes = Lanes::new(&nodes, 0, parameters[0]);
    let (node, number) = lanes.place_of(transport.rank());
    if number >= lanes.count() {
        reduce::binomial::run(&mut Group::of_team(transport, lanes), call(input, &mut [], 0, &[]))?;
    } else {
        let has_team = lanes.team(node, number) > 1;
        let bytes = match (has_team, lanes.count(), lanes.nodes()) {
            (false, 1, _) | (_, 1, 1) | (false, _, 1) => 0,
            (false, ..) => pieces(n_bytes, transport.element_bytes(), &lanes)(number).len(),
            _ => n_bytes,
        };
        let mut scratch = lent::take(transport, bytes)?;
        let held = &mut scratch[..bytes];
        as_head(transport, lanes, (input, output), held, parameters)?;
        lent::give(transport, scratch);
    }
    bcast::binomial::run(&mut Group::of_team(transport, lanes), call(&[], output, 0, &[]))
}

/// The result in a head's output. `held` has room for the combination of its team, where that does not go into the output at once, or for
/// the lane's piece.
fn as_head<T: Transport>(
    transport: &mut T,
    lanes: Lanes<'_>,
    (input, output): (&[u8], &mut [u8]),
    held: &mut [u8],
    parameters: &[u64],
) -> Result<(), TransportError> {
    let (node, number) = lanes.place_of(transport.rank());
    let has_team = lanes.team(node, number) > 1;
    let is_alone = (lanes.count(), lanes.nodes()) == (1, 1);
    if has_team {
        let combined = if is_alone { &mut *output } else { &mut *held };
        reduce::binomial::run(&mut Group::of_team(transport, lanes), call(input, combined, 0, &[]))?;
    } else if is_alone {
        transport.copy(input, output);
    }
    if is_alone {
        return Ok(());
    }
    let own = &parameters[1..];
    let given = if has_team { &*held } else { input };
    if lanes.count() == 1 {
        return run_choice(&mut Group::of_lane(transport, lanes), call(given, output, 0, own));
    }
    let piece = pieces(output.len(), transport.element_bytes(), &lanes);
    ring::reduce_scatter(&mut Group::of_heads(transport, lanes), given, output, piece)?;
    if lanes.nodes() > 1 {
        let output = &mut output[piece(number)];
        let given = &mut held[..output.len()];
        transport.copy(output, given);
        run_choice(&mut Group::of_lane(transport, lanes), call(given, output, 0, own))?;
    }
    ring::allgather(&mut Group::of_heads(transport, lanes), output, piece, None)
}
