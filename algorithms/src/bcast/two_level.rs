//! Two-level broadcast: among one rank of each node, then on each node.
//!
//! Source: Kielmann et al., PPoPP 1999, doi:10.1145/301104.301116.
//! Needs:  nothing. Any root, any placement of ranks on nodes.
//! Shapes: output `[n]`, which on the root holds the data; no scratch.
//! Cost:   that of the leaders' broadcast among `l` ranks, then that of the binomial broadcast among `k`
//!         = leaders(l, n) + ceil(log2 k)*(alpha + n*beta)
//!         (n = bytes, l = nodes, k = ranks of the largest one; alpha in s, beta in s/byte); exact where nodes have equally
//!         many ranks, else an upper bound.
//!
//! The data comes to each node once: where several ranks share a node's link. The root leads its node, else the lowest
//! rank. `leaders` chooses what they run, and `segment_bytes` is for those that have segments. For ranks 0, 2 and 4 on one
//! node, 1 and 3 on another, root 2, `leaders` 0:
//!
//! ```text
//! round 0   2 -> 1                     among the leaders, 2 and 1
//! round 1   2 -> 4, 1 -> 3             on the nodes
//! round 2   2 -> 0
//! ```

use super::{binomial, circulant, pipelined_chain, scatter_allgather};
use crate::parameter::Parameter;
use crate::patterns::pipeline::SEGMENT_BYTES;
use crate::patterns::two_level::{Levels, among_leaders, call, choice, chosen, on_node, sum};
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "bcast.two_level";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Bcast,
    summary: "among one rank of each node, then on each node (several ranks on a node)",
    source: "Kielmann et al. 1999, doi:10.1145/301104.301116",
    needs: &[],
    parameters: &[LEADERS, SEGMENT_BYTES],
    cost,
    scratch: crate::scratch::none,
};

/// By the value of `leaders`.
pub(super) static CHOICES: [&Algorithm; 4] = [
    &binomial::INFO,
    &scatter_allgather::INFO,
    &pipelined_chain::INFO,
    &circulant::INFO,
];

const LEADERS: Parameter = Parameter {
    name: "leaders",
    min: 0,
    max: 3,
    default: 0,
    summary: "what the leaders run: 0 binomial, 1 scatter_allgather, 2 pipelined_chain, 3 circulant",
};

fn cost(setting: &Setting<'_>) -> Cost {
    let row = choice(&CHOICES, setting.parameters);
    sum([
        (row.cost)(&among_leaders(setting, row)),
        (binomial::INFO.cost)(&on_node(setting, &binomial::INFO)),
    ])
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let levels = Levels::new(transport, arguments.root)?;
    let Arguments { output, parameters, .. } = arguments;
    if levels.leads() {
        let of_leaders = call(&[], &mut *output, levels.root_node(), parameters);
        run_choice(&mut levels.leaders(transport), of_leaders)?;
    }
    let (mut node, leader) = levels.on_node(transport);
    binomial::run(&mut node, call(&[], output, leader, &[]))
}

/// Runs the one of [`CHOICES`] that the parameters choose.
pub(super) fn run_choice<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let (row, arguments) = chosen(&CHOICES, arguments);
    match row.id {
        scatter_allgather::ID => scatter_allgather::run(transport, arguments),
        pipelined_chain::ID => pipelined_chain::run(transport, arguments),
        circulant::ID => circulant::run(transport, arguments),
        _ => binomial::run(transport, arguments),
    }
}
