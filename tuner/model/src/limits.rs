//! Limits of fixes: functions that are left alone, and memory. Pure.

use kilter_algorithms::{Collective, Nodes, Setting, closing, mockup, registry};
use kilter_render::format;
use serde::Serialize;

use crate::config::library::Library;
use crate::deployment::Selection;

/// Limits of fixes; the default forbids nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Limits {
    /// Functions that no fix may touch, by name.
    pub left_alone: Vec<String>,
    /// Bytes of scratch that an algorithm or a mock-up may keep on a rank.
    pub scratch_bytes: Option<u64>,
    /// True if results must equal the default's bit by bit.
    pub reproducible: bool,
    /// True if algorithms of the library are left out that are wrong for operators that do not commute.
    pub any_operator: bool,
    /// Only plugins of the user may be deployed.
    pub only_plugins: bool,
}

/// More than any rank has memory for: what an implementation keeps there is its most, where it runs for calls of every volume.
const ANY_VOLUME: u64 = 1 << 46;

/// A call whose memory is estimated.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Ranks of the communicator.
    pub ranks: usize,
    /// Total volume in bytes.
    pub bytes: u64,
    /// Ranks that share a node, if known.
    pub nodes: Option<&'a Nodes>,
}

impl Limits {
    /// Reason why no fix may touch a function; `None` if one may.
    #[must_use]
    pub fn leaves(&self, function: &str) -> Option<String> {
        let is_left = self.left_alone.iter().any(|left| left == function);
        is_left.then(|| format!("no fix may touch {function} (--leave)"))
    }

    /// True if a parameter of the library is meant for functions of which one is left alone. A parameter for no
    /// function in particular, such as an eager limit, acts on all of them and is allowed.
    #[must_use]
    pub fn leaves_parameter(&self, library: &Library, parameter: &str) -> bool {
        let left = |collective: &Collective| self.leaves(collective.name()).is_some();
        let rows = library.parameters.iter().filter(|row| row.name == parameter);
        rows.flat_map(|row| &row.collectives).any(left)
    }

    /// True if candidates of this origin may be deployed.
    #[must_use]
    pub fn asks_for(&self, selection: &Selection) -> bool {
        !self.only_plugins || matches!(selection, Selection::Plugin(_))
    }

    /// Reason why a selection is no candidate for a call; `None` if it is one. One that runs whatever the volume is must keep little at any.
    #[must_use]
    pub fn refusal(&self, selection: &Selection, mut call: Call<'_>) -> Option<String> {
        let limit = self.scratch_bytes?;
        if replaced(selection).is_some_and(|collective| !collective.volume_is_known()) {
            call.bytes = ANY_VOLUME;
        }
        let kept = match scratch_bytes(selection, call) {
            Some(kept) if kept <= limit => return None,
            Some(kept) => format!("keeps up to {} of scratch on a rank", format::bytes(kept)),
            None => "does not say how much scratch it keeps on a rank".to_owned(),
        };
        Some(format!("{kept}, --scratch-limit allows {}", format::bytes(limit)))
    }

    /// Volumes around `call`'s at which the selection is a candidate as well, from `low` to `high` at most.
    #[must_use]
    pub fn reach(&self, selection: &Selection, call: Call<'_>, (low, high): (u64, u64)) -> (u64, u64) {
        let may = |bytes| self.refusal(selection, Call { bytes, ..call }).is_none();
        // A volume that does not divide into blocks is padded and keeps more than a larger one that does; a volume and the one before it
        // are not both of them such that nothing is padded.
        let allowed = |bytes: u64| may(bytes) && may(bytes.saturating_sub(1));
        if !allowed(call.bytes) {
            return (call.bytes, call.bytes);
        }
        if allowed(high) {
            return (low, high);
        }
        // But for that, nothing keeps less for more data.
        let (mut within, mut beyond) = (call.bytes, high.max(call.bytes));
        while beyond - within > 1 {
            let middle = within + (beyond - within) / 2;
            if allowed(middle) {
                within = middle;
            } else {
                beyond = middle;
            }
        }
        (low, within)
    }
}

/// The collective in whose place the drop-in runs a selection.
fn replaced(selection: &Selection) -> Option<Collective> {
    match selection {
        Selection::Settings(_) => None,
        Selection::Plugin(plugin) => Some(plugin.row.collective),
        Selection::Mockup(id, _) => {
            let composed = mockup::find(id).map(|row| row.collective);
            composed.or_else(|| closing::find(id).map(|row| row.collective))
        }
        Selection::Algorithm(id, _) => registry::find(id).map(|row| row.collective),
    }
}

/// Most bytes of scratch that calls keep on a rank; `None` if they are unknown.
#[must_use]
pub fn scratch_bytes(selection: &Selection, call: Call<'_>) -> Option<u64> {
    let Call { ranks, bytes, nodes } = call;
    let n_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    match selection {
        Selection::Settings(_) => Some(0),
        Selection::Plugin(row) => row.scratch_bytes(ranks, bytes),
        Selection::Mockup(id, values) => match (mockup::find(id), closing::find(id)) {
            (Some(row), _) => Some(row.scratch(ranks, n_bytes) as u64),
            (None, Some(row)) => Some(row.scratch(ranks, n_bytes, *values.first()?) as u64),
            (None, None) => None,
        },
        Selection::Algorithm(id, parameters) => {
            let row = registry::find(id)?;
            let on = |nodes: &Nodes| {
                let setting = Setting {
                    p_ranks: ranks,
                    n_bytes,
                    parameters,
                    nodes,
                };
                (row.scratch)(&setting) as u64
            };
            match nodes {
                Some(nodes) => Some(on(nodes)),
                // Alone, together, and on two nodes in turn, which is the dearest placement for rows of two levels.
                None => [
                    Nodes::each_alone(ranks),
                    Nodes::one(ranks),
                    Nodes::new(&(0..ranks).map(|rank| rank % 2).collect::<Vec<_>>()),
                ]
                .iter()
                .map(on)
                .max(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::library::find_for;
    use crate::deployment::{PluginRow, with_knob};
    use kilter_protocol::row::{Needs, Parameter, Row, Scratch};

    const MIB: u64 = 1 << 20;

    fn limited(bytes: u64) -> Limits {
        Limits {
            scratch_bytes: Some(bytes),
            ..Limits::default()
        }
    }

    fn call(bytes: u64) -> Call<'static> {
        Call {
            ranks: 8,
            bytes,
            nodes: None,
        }
    }

    fn algorithm(id: &str) -> Selection {
        let row = registry::find(id).unwrap();
        Selection::Algorithm(id.to_owned(), row.default_parameters())
    }

    #[test]
    fn what_keeps_more_than_allowed_is_no_candidate_and_the_reason_has_both_numbers() {
        let limits = limited(MIB);
        let doubling = algorithm("allreduce.recursive_doubling");
        assert_eq!(limits.refusal(&doubling, call(MIB)), None);
        assert_eq!(
            limits.refusal(&doubling, call(MIB + 8)).unwrap(),
            "keeps up to 2 MiB of scratch on a rank, --scratch-limit allows 1 MiB"
        );
        // These run in place, or in the library, and keep no scratch.
        for free in [
            algorithm("allreduce.ring"),
            Selection::Mockup("allreduce.as_reduce_bcast".to_owned(), Vec::new()),
            Selection::Settings(vec![("coll_tuned_allreduce_algorithm".to_owned(), "4".to_owned())]),
        ] {
            assert_eq!(limits.refusal(&free, call(64 * MIB)), None, "{}", free.id());
        }
        let mockup = Selection::Mockup("reduce.as_allreduce".to_owned(), Vec::new());
        assert!(limits.refusal(&mockup, call(2 * MIB)).is_some());
        assert_eq!(Limits::default().refusal(&doubling, call(1 << 40)), None);
    }

    fn of_plugin(scratch: Option<Scratch>) -> Selection {
        Selection::Plugin(PluginRow {
            file: "/p.so".into(),
            row: Row {
                id: "allreduce.mine".to_owned(),
                collective: Collective::Allreduce,
                needs: Needs::default(),
                parameters: vec![Parameter {
                    name: "segment_bytes".to_owned(),
                    min: 1,
                    max: MIB,
                    default: 8192,
                }],
                scratch,
            },
            values: vec![8192],
        })
    }

    #[test]
    fn a_row_of_a_plugin_is_bounded_by_what_it_says_and_left_out_where_it_says_nothing() {
        let limits = limited(MIB);
        let reason = limits.refusal(&of_plugin(None), call(8)).unwrap();
        assert_eq!(
            reason,
            "does not say how much scratch it keeps on a rank, --scratch-limit allows 1 MiB"
        );
        let volume = of_plugin(Some(Scratch {
            volumes: 1,
            ..Scratch::default()
        }));
        assert_eq!(limits.refusal(&volume, call(MIB)), None);
        assert_eq!(
            limits.refusal(&volume, call(2 * MIB)).unwrap(),
            "keeps up to 2 MiB of scratch on a rank, --scratch-limit allows 1 MiB"
        );
        assert_eq!(
            limits.reach(&volume, call(4096), (1024, 8 * MIB)),
            (1024, MIB),
            "its rule ends there"
        );
        let segments = |bytes| {
            let row = of_plugin(Some(Scratch {
                segments: 2,
                ..Scratch::default()
            }));
            limits.refusal(&with_knob(&row, "segment_bytes", bytes), call(64 * MIB))
        };
        assert_eq!(segments(MIB / 2), None);
        assert!(segments(MIB).is_some());
    }

    /// A rule for Gatherv cannot end at a volume, which not every rank of a call knows.
    #[test]
    fn what_runs_at_any_volume_keeps_little_at_any() {
        let refusal = |id: &str| limited(MIB).refusal(&algorithm(id), call(8));
        assert_eq!(refusal("gatherv.linear"), None);
        let reason = refusal("gatherv.binomial").unwrap();
        assert!(
            reason.ends_with("of scratch on a rank, --scratch-limit allows 1 MiB"),
            "{reason}"
        );
    }

    #[test]
    fn a_rule_reaches_no_further_than_the_memory() {
        let doubling = algorithm("allreduce.recursive_doubling");
        let reach = |one: &Selection, high| limited(MIB).reach(one, call(4096), (1024, high));
        assert_eq!(reach(&doubling, 8 * MIB), (1024, MIB));
        assert_eq!(reach(&doubling, 8192), (1024, 8192));
        assert_eq!(reach(&algorithm("allreduce.ring"), 8 * MIB), (1024, 8 * MIB));
        let all = Limits::default().reach(&doubling, call(4096), (0, u64::MAX));
        assert_eq!(all, (0, u64::MAX));
    }

    /// A volume of 1 MiB divides into blocks and keeps 256 KiB, less than the padded volumes just below it.
    #[test]
    fn a_rule_has_no_volume_that_is_padded_beyond_the_memory() {
        let mockup = Selection::Mockup("bcast.as_scatter_allgather".to_owned(), Vec::new());
        let limits = limited(MIB / 2);
        let at = |bytes| Call {
            ranks: 4,
            ..call(bytes)
        };
        assert!(limits.refusal(&mockup, at(MIB)).is_none() && limits.refusal(&mockup, at(MIB - 4)).is_some());
        assert_eq!(limits.reach(&mockup, at(MIB), (MIB / 2, 2 * MIB)), (MIB, MIB));
        let (low, high) = limits.reach(&mockup, at(4096), (2048, 2 * MIB));
        assert_eq!(low, 2048);
        assert!(
            (low..=high)
                .step_by(1000)
                .all(|bytes| limits.refusal(&mockup, at(bytes)).is_none()),
            "{high}"
        );
    }

    #[test]
    fn parameters_of_functions_that_are_left_alone_are_left_alone() {
        let limits = Limits {
            left_alone: vec!["gather".to_owned(), "isend".to_owned()],
            ..Limits::default()
        };
        assert_eq!(limits.leaves("gather").unwrap(), "no fix may touch gather (--leave)");
        assert_eq!(
            (limits.leaves("isend").is_some(), limits.leaves("reduce")),
            (true, None)
        );
        let mvapich2 = find_for("Version: mvapich2-2.3.7").unwrap();
        assert!(limits.leaves_parameter(&mvapich2, "MV2_USE_DIRECT_GATHER"));
        assert!(
            !limits.leaves_parameter(&mvapich2, "MV2_SMP_EAGERSIZE"),
            "of all functions"
        );
        assert!(!Limits::default().leaves_parameter(&mvapich2, "MV2_USE_DIRECT_GATHER"));
    }
}
