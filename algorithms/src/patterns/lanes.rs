//! Base of all rows with lanes: ranks with the same number on their nodes carry a piece of the data each.
//!
//! A node with more ranks than there are lanes has teams: flat rows run within a team, then the heads of the teams share the data out among
//! each other, and each lane, one head of each node, carries its piece between the nodes (Traeff and Hunold 2020). One lane is the two-level
//! form with one leader for each node, as many lanes as ranks the full-lane form.

use std::ops::Range;

use crate::lanes::{Lanes, count};
use crate::parameter::Parameter;
use crate::patterns::two_level::own_parameters;
use crate::schedule::{Division, elements, in_bytes};
use crate::{Algorithm, Cost, Setting, scratch};

/// The first parameter of rows with lanes.
pub(crate) const LANES: Parameter = Parameter {
    name: "lanes",
    min: 1,
    max: 64,
    default: 64,
    summary: "ranks of each node that carry a piece each; at most as many as the node with the fewest ranks has",
};

/// The pieces that lanes carry: `bytes` in whole elements, as equal as can be.
pub(crate) fn pieces(bytes: usize, element_bytes: usize, lanes: &Lanes<'_>) -> impl Fn(usize) -> Range<usize> + Copy {
    let division = Division::new(elements(bytes, element_bytes), lanes.count());
    move |lane| in_bytes(division.block(lane), element_bytes)
}

/// Numbers that costs depend on.
pub(crate) struct Form {
    pub(crate) lanes: usize,
    pub(crate) nodes: usize,
    /// Ranks of the largest team.
    pub(crate) team: usize,
}

impl Form {
    /// The form of a call with these parameters, the first of which is [`LANES`].
    pub(crate) fn of(setting: &Setting<'_>) -> Form {
        let nodes = setting.nodes;
        let lanes = count(nodes, setting.parameters[0]);
        let largest = (0..nodes.count()).map(|node| nodes.members(node).len()).max();
        Form {
            lanes,
            nodes: nodes.count(),
            team: largest.unwrap_or(1).div_ceil(lanes),
        }
    }

    /// The setting within the largest team, which has `n_bytes` and runs `row`: its parameters follow the first two.
    pub(crate) fn in_team<'a>(&self, setting: &Setting<'a>, n_bytes: usize, row: &Algorithm) -> Setting<'a> {
        Setting {
            p_ranks: self.team,
            n_bytes,
            parameters: own_parameters(&setting.parameters[1..], row),
            nodes: setting.nodes,
        }
    }

    /// The setting of a lane that carries `n_bytes` and runs `row`: its parameters follow the first two.
    pub(crate) fn in_lane<'a>(&self, setting: &Setting<'a>, n_bytes: usize, row: &Algorithm) -> Setting<'a> {
        Setting {
            p_ranks: self.nodes,
            n_bytes,
            parameters: own_parameters(&setting.parameters[1..], row),
            nodes: setting.nodes,
        }
    }

    /// Cost of blocks from head to head on a node, all but one of `n_bytes`; each also combined where `combines`.
    pub(crate) fn among_heads(&self, n_bytes: f64, rounds: usize, combines: bool) -> Cost {
        if n_bytes == 0.0 {
            return Cost::ZERO;
        }
        let bytes = (self.lanes - 1) as f64 * (n_bytes / self.lanes as f64);
        Cost {
            rounds: rounds as f64,
            bytes_sent: bytes,
            bytes_reduced: if combines { bytes } else { 0.0 },
        }
    }

    /// The longest piece of a setting's volume.
    pub(crate) fn piece(&self, setting: &Setting<'_>) -> usize {
        if self.lanes == 1 {
            return setting.n_bytes;
        }
        let even = setting.n_bytes.div_ceil(self.lanes);
        even.next_multiple_of(scratch::ELEMENT_BYTES).min(setting.n_bytes)
    }
}
