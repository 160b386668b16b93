//! Broadcast over lanes: a scatter on the root's node, a broadcast of each piece over its lane, an allgather on each node.
//!
//! Source: Traeff and Hunold, IEEE CLUSTER 2020, doi:10.1109/CLUSTER49012.2020.00037 (arXiv:1910.13373).
//! Needs:  nothing. Any root, any count, any placement of ranks on nodes.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   that of a binomial scatter and a ring among `h` heads, of the lane's broadcast among `l`, of the binomial one in a team of `t`
//!         = (ceil(log2 h) + h-1)*alpha + 2n(h-1)/h*beta + lane(l, n/h) + ceil(log2 t)*(alpha + n*beta)
//!         (n = bytes, l = nodes, h = lanes, t = ranks of the largest team; alpha in s, beta in s/byte); exact where nodes have equally
//!         many ranks, `h` divides them and the count, else an upper bound.
//!
//! All lanes send at once, a piece each: where one rank alone does not fill a node's link, or a node has several. With as many lanes as a node
//! has ranks there are no teams. `in_lane` chooses what a lane runs, and `segment_bytes` is for those that have segments. For ranks 0 to 2 on
//! one node, 3 to 5 on another, root 0, two lanes, `in_lane` 0; letters are halves of the data:
//!
//! ```text
//! scatter   0 -> 1 b                   among the heads on the root's node
//! lanes     0 -> 3 a, 1 -> 4 b
//! ring      1 has both from 0; 3 -> 4 a, 4 -> 3 b
//! teams     0 -> 2 ab, 3 -> 5 ab       1 and 4 are alone
//! ```

use super::binomial;
use super::two_level::{CHOICES, run_choice};
use crate::group::Group;
use crate::lanes::Lanes;
use crate::parameter::Parameter;
use crate::patterns::lanes::{Form, LANES, pieces};
use crate::patterns::pipeline::SEGMENT_BYTES;
use crate::patterns::two_level::{call, choice, sum};
use crate::patterns::{binomial as tree, ring};
use crate::schedule::{Halving, ceil_log2};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.lanes";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "shared out on the root's node, over all lanes at once, collected on each (large sizes, several ranks on a node)",
    source: "Traeff and Hunold 2020, doi:10.1109/CLUSTER49012.2020.00037",
    needs: &[],
    parameters: &[LANES, IN_LANE, SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::none,
};

const IN_LANE: Parameter = Parameter {
    name: "in_lane",
    min: 0,
    max: 3,
    default: 0,
    summary: "what each lane runs: 0 binomial, 1 scatter_allgather, 2 pipelined_chain, 3 circulant",
};

fn cost(setting: &Setting<'_>) -> Cost {
    let form = Form::of(setting);
    let n_bytes = setting.n_bytes;
    let row = choice(&CHOICES, &setting.parameters[1..]);
    let lane = form.in_lane(setting, n_bytes.div_ceil(form.lanes), row);
    sum([
        form.among_heads(n_bytes as f64, ceil_log2(form.lanes) as usize, false),
        (row.cost)(&lane),
        form.among_heads(n_bytes as f64, form.lanes - 1, false),
        (binomial::INFO.cost)(&form.in_team(setting, n_bytes, &binomial::INFO)),
    ])
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        output,
        root,
        parameters,
        ..
    } = arguments;
    if output.is_empty() {
        return Ok(());
    }
    let nodes = transport.nodes()?;
    let lanes = Lanes::new(&nodes, root, parameters[0]);
    let (node, number) = lanes.place_of(transport.rank());
    let (root_node, root_number) = lanes.place_of(root);
    if number < lanes.count() {
        let piece = pieces(output.len(), transport.element_bytes(), &lanes);
        if node == root_node {
            let place = Halving::new(number, root_number, lanes.count());
            tree::scatter_in_place(&mut Group::of_heads(transport, lanes), &place, output, piece)?;
        }
        let of_lane = call(&[], &mut output[piece(number)], root_node, &parameters[1..]);
        run_choice(&mut Group::of_lane(transport, lanes), of_lane)?;
        let has_all = (node == root_node).then_some(root_number);
        ring::allgather(&mut Group::of_heads(transport, lanes), output, piece, has_all)?;
    }
    binomial::run(&mut Group::of_team(transport, lanes), call(&[], output, 0, &[]))
}
