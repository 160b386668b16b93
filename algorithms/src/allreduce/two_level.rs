//! Two-level allreduce: a reduce on each node, an allreduce among the leaders, a broadcast on each node.
//!
//! Source: Kielmann et al., PPoPP 1999, doi:10.1145/301104.301116.
//! Needs:  a commutative operator, since the ranks of a node need not follow each other. Any count, any placement of ranks
//!         on nodes.
//! Shapes: input `[n]`, output `[n]`; scratch `[n]` on leaders of nodes with several ranks, and what the binomial reduce and
//!         the leaders' allreduce need.
//! Cost:   that of the binomial reduce and broadcast among `k` ranks and of the leaders' allreduce among `l`
//!         = ceil(log2 k)*(2 alpha + 2n*beta + n*gamma) + leaders(l, n)
//!         (n = bytes per rank, l = nodes, k = ranks of the largest one; alpha in s, beta and gamma in s/byte); exact where
//!         nodes have equally many ranks, else an upper bound.
//!
//! One rank of each node uses its link: where several share it. A node's lowest rank leads it; `leaders` chooses what they
//! run. For ranks 0, 2 and 4 on one node, 1 and 3 on another, `leaders` 0; letters are the contributions of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! round 0   ac       bd       c        d        e        2 -> 0, 3 -> 1
//! round 1   ace                                          4 -> 0
//! round 2   abcde    abcde                               0 <-> 1
//! round 3                              abcde    abcde    0 -> 4, 1 -> 3
//! round 4                     abcde                      0 -> 2
//! ```

use super::{circulant, rabenseifner, recursive_doubling, ring};
use crate::parameter::Parameter;
use crate::patterns::two_level::{Levels, among_leaders, call, choice, chosen, combined_kept, on_node, sum};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError, bcast, reduce};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allreduce.two_level";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allreduce,
    summary: "reduce on each node, allreduce among one rank of each, broadcast on each (several ranks on a node)",
    source: "Kielmann et al. 1999, doi:10.1145/301104.301116",
    needs: &[Need::Commutative],
    parameters: &[LEADERS],
    cost,
    scratch,
};

/// By the value of `leaders`.
pub(super) static CHOICES: [&Algorithm; 4] = [
    &recursive_doubling::INFO,
    &rabenseifner::INFO,
    &ring::INFO,
    &circulant::INFO,
];

const LEADERS: Parameter = Parameter {
    name: "leaders",
    min: 0,
    max: 3,
    default: 0,
    summary: "what the leaders run: 0 recursive_doubling, 1 rabenseifner, 2 ring, 3 circulant",
};

fn cost(setting: &Setting<'_>) -> Cost {
    let row = choice(&CHOICES, setting.parameters);
    sum([
        (reduce::binomial::INFO.cost)(&on_node(setting, &reduce::binomial::INFO)),
        (row.cost)(&among_leaders(setting, row)),
        (bcast::binomial::INFO.cost)(&on_node(setting, &bcast::binomial::INFO)),
    ])
}

fn scratch(setting: &Setting<'_>) -> usize {
    combined_kept(setting, &reduce::binomial::INFO, choice(&CHOICES, setting.parameters))
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
    let levels = Levels::new(transport, 0)?;
    if levels.is_alone() {
        return run_choice(&mut levels.leaders(transport), call(input, output, 0, parameters));
    }
    let (mut node, root) = levels.on_node(transport);
    if !levels.leads() {
        reduce::binomial::run(&mut node, call(input, &mut [], root, &[]))?;
    } else if levels.count() == 1 {
        reduce::binomial::run(&mut node, call(input, output, root, &[]))?;
    } else {
        let mut scratch = node.take_scratch(n_bytes)?;
        let combined = &mut scratch[..n_bytes];
        reduce::binomial::run(&mut node, call(input, combined, root, &[]))?;
        run_choice(&mut levels.leaders(transport), call(combined, output, 0, parameters))?;
        transport.give_scratch(scratch);
    }
    let (mut node, root) = levels.on_node(transport);
    bcast::binomial::run(&mut node, call(&[], output, root, &[]))
}

/// Runs the one of [`CHOICES`] that the parameters choose.
pub(super) fn run_choice<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let (row, arguments) = chosen(&CHOICES, arguments);
    match row.id {
        rabenseifner::ID => rabenseifner::run(transport, arguments),
        ring::ID => ring::run(transport, arguments),
        circulant::ID => circulant::run(transport, arguments),
        _ => recursive_doubling::run(transport, arguments),
    }
}
