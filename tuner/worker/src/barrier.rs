//! Checks a barrier on real ranks.

use std::time::Duration;

use kilter_protocol::fault::Fault;
use kilter_protocol::plan::Item;

use crate::among::Members;
use crate::candidate::Candidate;
use crate::clock;
use crate::control::Refusal;
use crate::session::Session;

/// Delay of the last rank while a barrier is checked.
const DELAY: Duration = Duration::from_millis(2);

/// Checks a barrier. It delivers no bytes; it promises that no rank leaves before the last has entered. Called by all ranks.
pub(crate) fn check(session: &Session, item: &Item, candidate: &mut Candidate) -> anyhow::Result<Result<(), Refusal>> {
    let control = &session.control;
    let members = Members::of(item, control).map_err(anyhow::Error::msg)?;
    for late in members.last_and_first() {
        control.exchange_max([0; 4])?;
        if control.rank() == late {
            clock::sleep(DELAY);
        }
        let entered = session.time.now_ns();
        candidate.run()?;
        let left = session.time.now_ns();
        // A rank that takes no part keeps nobody waiting, and waits for nobody.
        let own = if members.has(control.rank()) {
            [entered, u64::MAX - left, 0, 0]
        } else {
            [0; 4]
        };
        let [last_in, first_out, ..] = control.exchange_max(own)?;
        // An item that did not run kept nobody waiting.
        if let Err(refusal) = control.agree(candidate.availability())? {
            return Ok(Err(refusal));
        }
        // Half the delay is left to clocks that agree only roughly.
        let slack = DELAY.as_nanos() as u64 / 2;
        let broken = last_in > (u64::MAX - first_out).saturating_add(slack);
        let result = if broken { Err(Fault::BrokenBarrier) } else { Ok(()) };
        if let Err(refusal) = control.agree(result)? {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}
