//! Time in calls that is no transfer: waiting for other ranks. Where calls of a kind were sampled ([`crate::split`]), their share of waiting is taken for
//! that of all calls of this kind. Elsewhere it is estimated from totals:
//!
//! A collective ends on the last rank to come about when it could have ended without waiting. So the least mean time of any rank for calls of
//! one kind is taken for their transfer, and what another rank spends above it for waiting. A kind is communicator, function, bucket of bytes,
//! class of the datatype and operator. A blocking message or a completing call waits for one rank alone; the shortest call of its kind on any
//! rank is taken for one that did not wait. Calls that begin operations do not wait,
//! nor do calls on communicators of one rank.

use std::collections::BTreeMap;

use kilter_protocol::functions::{Kind, kind};

use crate::profile::{Calls, Profile};

/// The kind that calls must share to be compared.
type Group<'p> = (Option<usize>, &'p str, u8, &'p str, &'p str);

fn group(calls: &Calls) -> Group<'_> {
    (
        calls.communicator,
        &calls.function,
        calls.bucket,
        &calls.datatype,
        &calls.operator,
    )
}

/// Seconds of waiting for each entry of [`Profile::calls`], in its order.
#[must_use]
pub fn seconds(profile: &Profile) -> Vec<f64> {
    // Calls of one kind from several sites are joined: ranks may make them at different ones.
    let mut totals: BTreeMap<(Group<'_>, u32), (u64, f64)> = BTreeMap::new();
    let mut shortest: BTreeMap<Group<'_>, f64> = BTreeMap::new();
    for calls in &profile.calls {
        let total = totals.entry((group(calls), calls.rank)).or_insert((0, 0.0));
        *total = (total.0 + calls.calls, total.1 + calls.seconds);
        let least = shortest.entry(group(calls)).or_insert(f64::INFINITY);
        *least = least.min(calls.shortest);
    }
    let mut least_mean: BTreeMap<Group<'_>, f64> = BTreeMap::new();
    for ((group, _), (calls, seconds)) in &totals {
        let least = least_mean.entry(*group).or_insert(f64::INFINITY);
        *least = least.min(seconds / (*calls).max(1) as f64);
    }
    let alone = |calls: &Calls| {
        let on = calls.communicator.and_then(|number| profile.communicators.get(number));
        on.is_some_and(|communicator| communicator.ranks == 1)
    };
    let of = |calls: &Calls| {
        if alone(calls) {
            return 0.0;
        }
        let sampled = calls.measured.waiting + calls.measured.transfer;
        if sampled > 0.0 {
            return calls.seconds * (calls.measured.waiting / sampled);
        }
        let transfer = match kind(&calls.function) {
            // Ranks wait for disks in calls on files, and not for each other, as far as is known.
            Kind::Begin | Kind::OneSided | Kind::File | Kind::Other => return 0.0,
            Kind::Collective | Kind::Communicator | Kind::Window => least_mean.get(&group(calls)),
            Kind::Message | Kind::Completion | Kind::Epoch => shortest.get(&group(calls)),
        };
        let transfer = transfer.copied().unwrap_or(0.0) * calls.calls as f64;
        (calls.seconds - transfer).clamp(0.0, calls.seconds.max(0.0))
    };
    profile.calls.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn who_comes_first_waits() {
        let profile = fixture::profile();
        let waiting = seconds(&profile);
        let of = |rank: u32, function: &str| {
            let mut all = profile.calls.iter().zip(&waiting);
            let (_, seconds) = all
                .find(|(one, _)| one.rank == rank && one.function == function)
                .unwrap();
            (seconds * 1e6).round() / 1e6
        };
        assert_eq!((of(0, "MPI_Allreduce"), of(1, "MPI_Allreduce")), (0.0, 3.0));
        assert_eq!((of(0, "MPI_Barrier"), of(0, "MPI_Isend")), (0.0, 0.0));
        assert_eq!(of(0, "MPI_Wait"), 0.3, "5 of 0.02 s are transfer");
        assert_eq!(of(1, "MPI_Recv"), 0.25);
    }

    #[test]
    fn samples_go_before_the_estimate() {
        let mut profile = fixture::profile();
        let of = |profile: &Profile, at: usize| seconds(profile)[at];
        let at = profile
            .calls
            .iter()
            .position(|one| one.rank == 1 && one.function == "MPI_Allreduce")
            .unwrap();
        profile.calls[at].measured = crate::split::Measured {
            calls: 10,
            waiting: 0.3,
            transfer: 0.1,
            ..Default::default()
        };
        assert!((of(&profile, at) - 3.0).abs() < 1e-9, "three quarters of 4 s");
        profile.calls[at].measured.waiting = 0.0;
        assert_eq!(of(&profile, at), 0.0);
    }

    #[test]
    fn calls_at_several_places_are_compared_together() {
        let mut profile = fixture::profile();
        // Rank 1 makes half of its calls elsewhere: it waits as long as before.
        let at = profile
            .calls
            .iter()
            .position(|one| one.rank == 1 && one.function == "MPI_Allreduce")
            .unwrap();
        let half = Calls {
            calls: 50,
            seconds: 2.0,
            ..profile.calls[at].clone()
        };
        profile.calls[at] = half.clone();
        profile.calls.push(Calls { site: None, ..half });
        let waiting = seconds(&profile);
        let sum: f64 = profile
            .calls
            .iter()
            .zip(&waiting)
            .filter(|(one, _)| one.rank == 1 && one.function == "MPI_Allreduce")
            .map(|(_, seconds)| seconds)
            .sum();
        assert!((sum - 3.0).abs() < 1e-9, "{sum}");
    }
}
