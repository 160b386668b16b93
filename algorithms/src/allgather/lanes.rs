//! Allgather over lanes: blocks gathered in teams, an allgather over each lane, an allgather of the lanes' blocks on each node.
//!
//! Source: Traeff and Hunold, IEEE CLUSTER 2020, doi:10.1109/CLUSTER49012.2020.00037 (arXiv:1910.13373); Traeff, arXiv:2410.14234, 2024,
//!         doi:10.48550/arXiv.2410.14234 (over the lanes).
//! Needs:  nothing. Any placement of ranks on nodes.
//! Shapes: input `[b]`, output `[p * b]`; scratch `[p * b]` on heads, and what the binomial gather needs in teams.
//! Cost:   that of the binomial gather and broadcast in a team of `t`, of the lane's blocks, of a ring among `h` heads
//!         = (2 ceil(log2 t) + ceil(log2 l) + h-1)*alpha + (b(t-1) + tb(l-1) + n(h-1)/h + ceil(log2 t)*n)*beta
//!         (n = p * b = bytes of the result, p = ranks, l = nodes, h = lanes, t = ranks of the largest team; alpha in s, beta in s/byte);
//!         exact where nodes have equally many ranks and `h` divides them, else an upper bound. Copies into the order of ranks are not
//!         counted.
//!
//! All lanes send at once: where one rank alone does not fill a node's link, or a node has several. With as many lanes as a node has ranks
//! there are no teams. Lanes run the circulant allgather, whose blocks may differ. For ranks 0 and 1 on one node, 2 and 3 on another, two
//! lanes; letters are the blocks of ranks 0 to 3:
//!
//! ```text
//!          rank 0   rank 1   rank 2   rank 3
//! start    a        b        c        d
//! lanes    ac       bd       ca       db       0 <-> 2, 1 <-> 3
//! ring     acbd     acbd     cadb     cadb     0 <-> 1, 2 <-> 3
//! copied   abcd     abcd     abcd     abcd
//! ```

use crate::group::Group;
use crate::lanes::Lanes;
use crate::patterns::circulant::{Turned, allgather};
use crate::patterns::lanes::{Form, LANES};
use crate::patterns::ring;
use crate::patterns::two_level::{call, sum};
use crate::schedule::ceil_log2;
use crate::{Algorithm, Arguments, Collective, Cost, Setting, Transport, TransportError, bcast, gather};

/// The id of [`INFO`].
pub(crate) const ID: &str = "allgather.lanes";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Allgather,
    summary: "blocks over all lanes at once, then on each node (large sizes, several ranks on a node)",
    source: "Traeff and Hunold 2020, doi:10.1109/CLUSTER49012.2020.00037",
    needs: &[],
    parameters: &[LANES],
    cost,
    scratch,
};

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting { p_ranks, n_bytes, .. } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let form = Form::of(setting);
    let team_bytes = n_bytes / p_ranks * form.team;
    let lane = Cost {
        rounds: f64::from(ceil_log2(form.nodes)),
        bytes_sent: ((form.nodes - 1) * team_bytes) as f64,
        bytes_reduced: 0.0,
    };
    // With teams of unequal sizes, no lane has more than the largest on every node.
    let all_lanes = (form.lanes * form.nodes * team_bytes) as f64;
    sum([
        (gather::binomial::INFO.cost)(&form.in_team(setting, team_bytes, &gather::binomial::INFO)),
        lane,
        form.among_heads(all_lanes, form.lanes - 1, false),
        (bcast::binomial::INFO.cost)(&form.in_team(setting, n_bytes, &bcast::binomial::INFO)),
    ])
}

fn scratch(setting: &Setting<'_>) -> usize {
    if setting.p_ranks == 1 {
        0
    } else {
        crate::scratch::one_volume(setting)
    }
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    if input.is_empty() {
        return Ok(());
    }
    if transport.size() == 1 {
        transport.copy(input, output);
        return Ok(());
    }
    let nodes = transport.nodes()?;
    let lanes = Lanes::new(&nodes, 0, parameters[0]);
    let (_, number) = lanes.place_of(transport.rank());
    if number >= lanes.count() {
        gather::binomial::run(&mut Group::of_team(transport, lanes), call(input, &mut [], 0, &[]))?;
    } else {
        let n_bytes = output.len();
        let mut scratch = transport.take_scratch(n_bytes)?;
        let blocks = &mut scratch[..n_bytes];
        collect(transport, lanes, input, blocks)?;
        let mut blocks = blocks.chunks_exact(input.len());
        for rank in in_order(transport.rank(), lanes) {
            if let Some(block) = blocks.next() {
                transport.copy(block, &mut output[rank * input.len()..][..input.len()]);
            }
        }
        transport.give_scratch(scratch);
    }
    bcast::binomial::run(&mut Group::of_team(transport, lanes), call(&[], output, 0, &[]))
}

/// All blocks on a head, in the order of [`in_order`].
fn collect<T: Transport>(
    transport: &mut T,
    lanes: Lanes<'_>,
    input: &[u8],
    blocks: &mut [u8],
) -> Result<(), TransportError> {
    let (node, number) = lanes.place_of(transport.rank());
    let bytes = input.len();
    let lane = |lane: usize| lanes.ranks_before_lane(lane) * bytes..lanes.ranks_before_lane(lane + 1) * bytes;
    let own = &mut blocks[lane(number)];
    let of_team = lanes.team(node, number) * bytes;
    gather::binomial::run(
        &mut Group::of_team(transport, lanes),
        call(input, &mut own[..of_team], 0, &[]),
    )?;
    let turned = Turned::new(node, lanes.nodes(), |node| {
        lanes.ranks_before_node(number, node) * bytes
    });
    allgather(&mut Group::of_lane(transport, lanes), own, &turned)?;
    ring::allgather(&mut Group::of_heads(transport, lanes), blocks, lane, None)
}

/// The ranks in the order in which a head has their blocks: lane by lane, of each the nodes from the head's on and once round, of each the
/// team.
fn in_order(head: usize, lanes: Lanes<'_>) -> impl Iterator<Item = usize> {
    let (own, _) = lanes.place_of(head);
    (0..lanes.count()).flat_map(move |lane| {
        let nodes = (own..lanes.nodes()).chain(0..own);
        nodes.flat_map(move |node| {
            (0..lanes.team(node, lane)).map(move |place| lanes.rank(node, lane + place * lanes.count()))
        })
    })
}
