//! A round of a collective: all ranks begin at one time, and the end of the last rank counts.
//!
//! No rank is ready before the others here, as the receiver of a message is. A rank that began by the time of a message before rank 0 would have
//! its data there when rank 0 begins, and rank 0's time would lack the network's latency: for an allgather of 4 KiB between two hosts, 200 us
//! apart, rank 0 saw 48 us.

use kilter_protocol::plan::Wait;

use super::item::Prepared;
use crate::clock::Arrival;
use crate::schedule::Outcome;
use crate::session::Session;

/// Carries out one round; its time from the agreed start to the latest end, the same on every rank. Called by all ranks.
pub(super) fn round(session: &mut Session, prepared: &Prepared) -> anyhow::Result<Outcome> {
    let mut now_ns = agree(session)?;
    if session.time.keep(&session.control, now_ns)? {
        // The exchange took time, so that the start is agreed from now on.
        now_ns = agree(session)?;
    }
    let lead_ns = session.lead.ns();
    let start_ns = now_ns + lead_ns;
    let begun = session.time.begin(start_ns, 0);
    // A late rank takes part all the same: the others are in it already.
    prepared.collective()?;
    let own = [
        session.time.end_ns(begun),
        begun.arrival.to_number(),
        begun.needed_ns(lead_ns),
        0,
    ];
    let [end_ns, arrival, needed_ns, _] = session.control.exchange_max(own)?;
    let took_ns = end_ns.saturating_sub(start_ns);
    let arrival = Arrival::from_number(arrival);
    let in_time = session.lead.learn(arrival, took_ns, needed_ns);
    // If ranks share cores, one that waited in time begins when another's computation lets it; that belongs to the
    // measurement. No rank's loss of the processor voids a round, because with many ranks somebody always loses it.
    let shares = session.wait == Wait::Sleep && arrival != Arrival::Missed;
    if !in_time && !shares {
        return Ok(Outcome::Void);
    }
    Ok(Outcome::Valid {
        seconds: took_ns as f64 / 1e9,
    })
}

/// The latest time at which a rank has come here.
fn agree(session: &Session) -> anyhow::Result<u64> {
    let [now_ns, ..] = session.control.exchange_max([session.time.now_ns(), 0, 0, 0])?;
    Ok(now_ns)
}
