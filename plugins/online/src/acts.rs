//! The acts of selection beside the calls: what they take, as the next exchange tells, and what is laid aside for it until then.
//!
//! An exchange is begun in one call and adopted in a later one, which may also compare clocks. Ranks take the times of both acts as they do of calls, from
//! the last rank's arrival to the last rank's end, and send them along with the next epoch.

use crate::epoch::{VOID, cost};

/// Integers of an exchange that are not about calls: the start and the end of either act.
pub(crate) const INTEGERS: usize = 4;

/// An act, by its place among these integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timed {
    /// The beginning of an exchange.
    Begun = 0,
    /// Its adoption; before the first one, the making of the site.
    Adopted = 2,
}

/// Writes a rank's readings of the common clock before and after an act into its part of the next exchange.
pub(crate) fn give(gives: &mut [i64], act: Timed, (started_ns, ended_ns): (i64, i64)) {
    let Some(first) = gives.len().checked_sub(INTEGERS) else {
        return;
    };
    let place = first + act as usize;
    // Or a reading would look like an act that was not timed.
    gives[place] = started_ns.min(VOID - 1);
    gives[place + 1] = ended_ns.min(VOID - 1);
}

/// Time of acts that an exchange tells of, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// The exchange before took so long.
    Exchange(u64),
    /// The making of the site took so long, which happens once.
    Making(u64),
}

impl Told {
    pub(crate) fn ns(self) -> i128 {
        let (Told::Exchange(ns) | Told::Making(ns)) = self;
        i128::from(ns)
    }
}

/// The acts of a site, as far as exchanges have told of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Acts {
    /// Time of both acts of the latest exchange, and of the dearest one.
    latest: Option<(u64, u64)>,
    /// Time of all acts.
    all_ns: u64,
}

impl Acts {
    /// Takes what an exchange tells of the acts before it.
    pub(crate) fn told(&mut self, maxima: &[i64]) -> Told {
        let own = maxima
            .len()
            .checked_sub(INTEGERS)
            .map_or(&[][..], |first| &maxima[first..]);
        let took = |act: Timed| cost(own.get(act as usize..act as usize + 2)?);
        let (begun, adopted) = (took(Timed::Begun), took(Timed::Adopted));
        let both = begun.unwrap_or(0).saturating_add(adopted.unwrap_or(0));
        self.all_ns = self.all_ns.saturating_add(both);
        if begun.is_none() {
            return Told::Making(both);
        }
        let dearest = self.latest.map_or(0, |(_, dearest)| dearest - dearest / 8);
        self.latest = Some((both, both.max(dearest)));
        Told::Exchange(both)
    }

    /// Time that is laid aside for an exchange: twice what the last one took, and the dearest one at least, which is forgotten by an eighth per exchange. One that
    /// was never told is taken for a call of the default, which moves data among the same ranks.
    pub(crate) fn reserve(&self, default_ns: Option<u64>) -> i128 {
        match self.latest {
            None => i128::from(default_ns.unwrap_or(0)),
            Some((latest, dearest)) => (2 * i128::from(latest)).max(i128::from(dearest)),
        }
    }

    /// Time of all acts that were told.
    pub(crate) fn all_ns(&self) -> u64 {
        self.all_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(acts: &mut Acts, begun: Option<i64>, adopted: Option<i64>) -> Told {
        // An epoch of one call, and then the acts.
        let mut gives = [VOID; 2 + INTEGERS];
        for (act, ns) in [(Timed::Begun, begun), (Timed::Adopted, adopted)] {
            if let Some(ns) = ns {
                give(&mut gives, act, (1_000, 1_000 + ns));
            }
        }
        assert_eq!(gives[..2], [VOID; 2], "calls have their own places");
        acts.told(&gives)
    }

    #[test]
    fn what_is_laid_aside_follows_what_was_told() {
        let mut acts = Acts::default();
        assert_eq!((acts.reserve(None), acts.reserve(Some(70))), (0, 70));
        // The making of a site counts, and says nothing of exchanges.
        assert_eq!(told(&mut acts, None, Some(9_000)), Told::Making(9_000));
        assert_eq!(acts.reserve(Some(70)), 70);
        assert_eq!(told(&mut acts, Some(30), Some(170)), Told::Exchange(200));
        assert_eq!(acts.reserve(Some(70)), 400);
        assert_eq!(told(&mut acts, Some(1), Some(39)), Told::Exchange(40));
        assert_eq!(acts.reserve(Some(70)), 175, "the dearest is forgotten by an eighth");
        assert_eq!(acts.all_ns(), 9_240);
    }

    #[test]
    fn acts_that_no_rank_or_not_every_rank_timed_take_nothing() {
        let mut acts = Acts::default();
        assert_eq!(told(&mut acts, None, None).ns(), 0);
        assert_eq!(acts.told(&[1, 2]).ns(), 0);
        assert_eq!(acts.told(&[5, VOID, 5, 9]).ns(), 4);
        assert_eq!(acts.reserve(Some(7)), 7, "no exchange was told");
    }
}
