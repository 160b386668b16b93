//! Two-level reduce: on each node to its leader, then among the leaders.
//!
//! Source: Kielmann et al., PPoPP 1999, doi:10.1145/301104.301116.
//! Needs:  a commutative operator, since the ranks of a node need not follow each other. Any root, any placement of ranks
//!         on nodes.
//! Shapes: input `[n]`, output `[n]` on the root; scratch `[n]` on leaders of nodes with several ranks, and what the
//!         rows of both levels need.
//! Cost:   that of the node's tree among `k` ranks, then that of the leaders' row among `l`
//!         = node(k, n) + leaders(l, n), where node(k, n) = ceil(log2 k)*(alpha + n*beta + n*gamma) for the binomial tree
//!         (n = bytes per rank, l = nodes, k = ranks of the largest one; alpha in s, beta and gamma in s/byte); exact where
//!         nodes have equally many ranks, else an upper bound.
//!
//! Each node gives its result once: where several ranks share a node's link. The root leads its node, else the lowest
//! rank; `leaders` chooses what they run. A k-nomial tree among leaders has one on each node below it, with the same
//! `radix`; the other rows have a binomial tree there. For ranks 0, 2 and 4 on one node, 1 and 3 on another, root 2,
//! `leaders` 0; letters are the contributions of ranks 0 to 4:
//!
//! ```text
//!           rank 0   rank 1   rank 2   rank 3   rank 4
//! round 0   a        bd       ac       d        e        0 -> 2, 3 -> 1
//! round 1                     ace                        4 -> 2
//! round 2                     abcde                      1 -> 2
//! ```

use super::{binomial, k_nomial, ring};
use crate::parameter::Parameter;
use crate::patterns::k_nomial::RADIX;
use crate::patterns::two_level::{Levels, among_leaders, call, choice, chosen, combined_kept, on_node, sum};
use crate::{Algorithm, Arguments, Collective, Cost, Need, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "reduce.two_level";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Reduce,
    summary: "on each node, then among one rank of each (several ranks on a node)",
    source: "Kielmann et al. 1999, doi:10.1145/301104.301116",
    needs: &[Need::Commutative],
    parameters: &[LEADERS, RADIX],
    cost,
    scratch,
};

/// The leaders' row, by the value of `leaders`.
pub(super) static AMONG_LEADERS: [&Algorithm; 3] = [&binomial::INFO, &ring::INFO, &k_nomial::INFO];

/// The row on each node, by the same value: a tree, since a ring's many rounds gain nothing where messages are cheap.
pub(super) static ON_NODES: [&Algorithm; 3] = [&binomial::INFO, &binomial::INFO, &k_nomial::INFO];

const LEADERS: Parameter = Parameter {
    name: "leaders",
    min: 0,
    max: 2,
    default: 0,
    summary: "what the leaders run: 0 binomial, 1 ring, 2 k_nomial, on the nodes as well",
};

fn cost(setting: &Setting<'_>) -> Cost {
    let (tree, row) = rows(setting.parameters);
    sum([
        (tree.cost)(&on_node(setting, tree)),
        (row.cost)(&among_leaders(setting, row)),
    ])
}

fn scratch(setting: &Setting<'_>) -> usize {
    let (tree, row) = rows(setting.parameters);
    combined_kept(setting, tree, row)
}

/// The rows on the nodes and among the leaders, by `leaders, ...`.
pub(super) fn rows(parameters: &[u64]) -> (&'static Algorithm, &'static Algorithm) {
    (choice(&ON_NODES, parameters), choice(&AMONG_LEADERS, parameters))
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
    let levels = Levels::new(transport, root)?;
    if levels.is_alone() {
        return run_choice(
            &AMONG_LEADERS,
            &mut levels.leaders(transport),
            call(input, output, levels.root_node(), parameters),
        );
    }
    if !levels.leads() || levels.count() == 1 {
        return within(transport, &levels, input, output, parameters);
    }
    let mut scratch = transport.take_scratch(n_bytes)?;
    let combined = &mut scratch[..n_bytes];
    within(transport, &levels, input, combined, parameters)?;
    run_choice(
        &AMONG_LEADERS,
        &mut levels.leaders(transport),
        call(combined, output, levels.root_node(), parameters),
    )?;
    transport.give_scratch(scratch);
    Ok(())
}

/// On this rank's node, to its leader.
fn within<T: Transport>(
    transport: &mut T,
    levels: &Levels,
    input: &[u8],
    output: &mut [u8],
    parameters: &[u64],
) -> Result<(), TransportError> {
    let (mut node, root) = levels.on_node(transport);
    run_choice(&ON_NODES, &mut node, call(input, output, root, parameters))
}

/// Runs the row of a level, [`AMONG_LEADERS`] or [`ON_NODES`], that the parameters choose.
pub(super) fn run_choice<T: Transport>(
    level: &[&'static Algorithm],
    transport: &mut T,
    arguments: Arguments<'_>,
) -> Result<(), TransportError> {
    let (row, arguments) = chosen(level, arguments);
    match row.id {
        k_nomial::ID => k_nomial::run(transport, arguments),
        ring::ID => ring::run(transport, arguments),
        _ => binomial::run(transport, arguments),
    }
}
