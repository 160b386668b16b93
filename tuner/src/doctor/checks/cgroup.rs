//! Limit of the control group on processor time, as set by a container or a batch system. Throttled ranks stand still
//! for milliseconds.

use super::super::facts::{Facts, Host};
use super::super::{Check, Judgement};
use super::count;

/// Quota and period in microseconds, version 2: `200000 100000`, or `max 100000`; `{cgroup}` is the reader's own group.
pub(super) const LIMIT: &str = "/sys/fs/cgroup{cgroup}/cpu.max";
/// The limit for a container that sees its own group as the topmost.
pub(super) const LIMIT_AT_THE_TOP: &str = "/sys/fs/cgroup/cpu.max";

pub(super) const CHECK: Check = Check {
    id: "cgroup",
    what: "no limit on processor time",
    quick: true,
    judge,
};

/// Number of processors that the quota is worth; `None` without one.
fn processors(host: &Host) -> Option<f64> {
    let quotas = [LIMIT, LIMIT_AT_THE_TOP].into_iter().filter_map(|path| {
        let (quota, period) = host.text(path)?.split_once(' ')?;
        let (quota, period): (f64, f64) = (quota.parse().ok()?, period.trim().parse().ok()?);
        (period > 0.0).then_some(quota / period)
    });
    quotas.min_by(f64::total_cmp)
}

fn judge(facts: &Facts) -> Judgement {
    let throttled = facts.first(|name, host, ranks| {
        let processors = processors(host)?;
        // The launcher and the tuner need a little as well.
        (processors < ranks as f64 + 0.1).then(|| {
            Judgement::warning(
                format!(
                    "the control group on {name} allows the time of {processors:.1} processors for {}",
                    count(ranks, "rank")
                ),
                "raise the limit of the container or the job (for example `docker run --cpus`), or take it away",
            )
        })
    });
    throttled.unwrap_or_else(|| Judgement::fit("no limit of the control group on processor time is in the way"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_placeholder_is_the_one_that_readers_replace() {
        assert!(super::LIMIT.contains(kilter_protocol::machine::CGROUP));
    }
}
