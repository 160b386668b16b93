//! Transport of the messages: it tells a cluster that is measured over the wrong network, and hosts that are not hosts.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::time;

/// Upper bound of a round trip through shared memory, if each rank has a processor.
const MEMORY_NS: u64 = 20_000;
/// Lower bound of a round trip through any network.
const NETWORK_NS: u64 = 800;

pub(super) const CHECK: Check = Check {
    id: "transport",
    what: "messages go the way they should",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let Some(job) = &facts.job else {
        return Judgement::unknown("no job was started");
    };
    let set: Vec<String> = job
        .variables
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let set = if set.is_empty() {
        String::new()
    } else {
        format!(" ({})", set.join(", "))
    };
    let Some(first) = job.ranks.first() else {
        return Judgement::unknown("there are no ranks");
    };
    let quickest = |same: bool| {
        let others = job
            .ranks
            .iter()
            .skip(1)
            .filter(move |place| (place.host == first.host) == same);
        others.map(|place| place.round_trip_ns).min()
    };
    let seconds = |ns: u64| time(ns as f64 / 1e9);
    let spread = facts
        .first(|_, host, ranks| host.processors().map(|processors| ranks <= processors))
        .unwrap_or(false);
    match (quickest(true), quickest(false)) {
        (Some(near), _) if spread && near > MEMORY_NS => Judgement::warning(
            format!(
                "a message between ranks of one host takes {} there and back, as over a network{set}",
                seconds(near)
            ),
            "let the library use shared memory within a host: look at --mca, --env and the site's settings for what excludes it",
        ),
        (_, Some(far)) if far < NETWORK_NS => Judgement::warning(
            format!(
                "a message between hosts takes {} there and back, which is no network{set}",
                seconds(far)
            ),
            "exclude shared memory between these hosts (Open MPI: --mca btl=tcp,self; MPICH with UCX: --env UCX_TLS=tcp,self)",
        ),
        (near, far) => {
            let parts: Vec<String> = [("within a host", near), ("between hosts", far)]
                .into_iter()
                .filter_map(|(where_, ns)| Some(format!("{} {where_}", seconds(ns?))))
                .collect();
            if parts.is_empty() {
                return Judgement::unknown(format!("one rank sends no messages{set}"));
            }
            Judgement::fit(format!("a message takes {} there and back{set}", parts.join(", ")))
        }
    }
}
