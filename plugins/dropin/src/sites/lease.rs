//! Calls that a site grants ahead: as long as it is settled, a call decrements a number, and the site hears of all of them together.

use std::cell::Cell;
use std::ptr::NonNull;

use kilter_online::{Arm, Site};

/// The calls left, by arm: those of the arm on which the site has settled, and none of any other one.
pub(super) struct Lease {
    left: Box<[Cell<u64>]>,
    /// The arm of the grant and its calls, before any was taken.
    granted: Cell<Option<(Arm, u64)>>,
}

impl Lease {
    /// None is granted yet.
    pub(super) fn new(arms: u16) -> Lease {
        Lease {
            left: (0..arms).map(|_| Cell::new(0)).collect(),
            granted: Cell::new(None),
        }
    }

    /// The number of calls left of an arm, in its place for as long as the lease lives: a call that finds it above 0 takes one off and runs the arm.
    pub(super) fn left(&self, arm: Arm) -> Option<NonNull<Cell<u64>>> {
        self.left.get(usize::from(arm.0)).map(NonNull::from)
    }

    /// True if the next call is one that was granted to this arm.
    pub(super) fn has(&self, arm: Arm) -> bool {
        self.left.get(usize::from(arm.0)).is_some_and(|left| left.get() > 0)
    }

    /// Grants the calls for which the site has settled, if it has.
    #[inline]
    pub(super) fn grant(&self, site: &Site) {
        let Some((arm, calls)) = site.settled_for() else { return };
        if let Some(left) = self.left.get(usize::from(arm.0)) {
            left.set(calls);
            self.granted.set(Some((arm, calls)));
        }
    }

    /// Ends the grant and tells the site of the calls that were made by it. Returns their number.
    #[inline]
    pub(super) fn end(&self, site: &mut Site) -> u64 {
        let Some((arm, calls)) = self.granted.take() else {
            return 0;
        };
        let left = self.left.get(usize::from(arm.0));
        let made = calls - left.map_or(calls, |left| left.replace(0));
        site.pass(made);
        made
    }
}

#[cfg(test)]
mod tests {
    use kilter_online::Settings;

    use super::*;

    /// Takes a call as a prepared one does.
    fn takes(lease: &Lease, arm: Arm) -> bool {
        // SAFETY: the lease lives.
        let left = lease.left(arm).map(|left| unsafe { left.as_ref() });
        left.is_some_and(|left| {
            let rest = left.get().checked_sub(1);
            rest.inspect(|rest| left.set(*rest)).is_some()
        })
    }

    #[test]
    fn calls_are_granted_to_the_arm_that_stands_and_told_together() {
        let mut site = Site::new(&Settings::default(), 3, None).trusting(Arm(2));
        let (mut slow, lease) = (site.clone(), Lease::new(3));
        assert!(!takes(&lease, Arm(2)), "nothing is granted yet");
        lease.grant(&site);
        assert!(lease.has(Arm(2)) && !lease.has(Arm(1)) && !takes(&lease, Arm(1)) && !lease.has(Arm(7)));
        for _ in 0..5 {
            assert!(takes(&lease, Arm(2)));
            slow.step();
        }
        assert_eq!(lease.end(&mut site), 5);
        assert!(!lease.has(Arm(2)), "the grant has ended");
        assert_eq!(lease.end(&mut site), 0);
        assert_eq!(format!("{site:?}"), format!("{slow:?}"));
    }

    #[test]
    fn a_grant_ends_where_the_site_looks_again() {
        let site = Site::new(&Settings::default(), 2, None).trusting(Arm(1));
        let (_, calls) = site.settled_for().unwrap();
        let lease = Lease::new(2);
        lease.grant(&site);
        assert_eq!((0..1000).take_while(|_| takes(&lease, Arm(1))).count() as u64, calls);
        let mut site = site;
        assert_eq!(lease.end(&mut site), calls);
        lease.grant(&site);
        assert!(!lease.has(Arm(1)), "the next call is timed");
        assert!(site.step().timed);
    }

    #[test]
    fn a_site_that_explores_grants_nothing() {
        let lease = Lease::new(2);
        lease.grant(&Site::new(&Settings::default(), 2, None));
        assert!(!lease.has(Arm(0)) && !lease.has(Arm(1)));
    }
}
