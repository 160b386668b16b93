//! Load by other programs. It is read before the job, whose own ranks are load, too.

use super::super::facts::Facts;
use super::super::{Check, Judgement};

/// Load averages over 1, 5 and 15 minutes.
pub(in crate::doctor) const AVERAGE: &str = "/proc/loadavg";

/// Share of all processors' time that others may take without a warning.
const BUSY: f64 = 0.1;

pub(super) const CHECK: Check = Check {
    id: "load",
    what: "nothing else runs",
    quick: true,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let busy = facts.first(|name, host, _| {
        let moment = host.moment?;
        let names: Vec<String> = host
            .processes
            .iter()
            .filter(|(_, share)| *share >= 0.05)
            .take(3)
            .map(|(name, share)| format!("{name} {:.0} %", share * 100.0))
            .collect();
        let who = if names.is_empty() {
            String::new()
        } else {
            format!(" ({})", names.join(", "))
        };
        (moment.busy > BUSY).then(|| {
            Judgement::warning(
                format!(
                    "other programs take {:.0} % of the processors of {name}{who}",
                    moment.busy * 100.0
                ),
                "end them or wait for them, or reserve the host for the measurement",
            )
        })
    });
    if let Some(busy) = busy {
        return busy;
    }
    let recent = facts.first(|name, host, _| {
        let average: f64 = host.text(AVERAGE)?.split_whitespace().next()?.parse().ok()?;
        let share = average / host.processors()? as f64;
        // Without a reading of the moment itself, the last minute counts.
        let limit = if host.moment.is_some() { 1.0 } else { 0.5 };
        (share > limit).then(|| (name.to_owned(), average, host.moment.is_some()))
    });
    match recent {
        Some((name, average, true)) => Judgement::note(format!(
            "{name} is idle now, but its load average over the last minute is {average:.1}"
        )),
        Some((name, average, false)) => Judgement::warning(
            format!("the load average of {name} over the last minute is {average:.1}"),
            "end what runs there or wait for it, or reserve the host for the measurement",
        ),
        None if facts
            .occupied()
            .any(|(_, host, _)| host.moment.is_some() || host.text(AVERAGE).is_some()) =>
        {
            Judgement::fit("nothing else is busy")
        }
        None => Judgement::unknown("the load cannot be read"),
    }
}
