//! Successive elimination: which challengers are still open, what was found when each met the incumbent, and who takes part next.

use crate::epoch::Epoch;
use crate::evidence::Evidence;
use crate::record::{Beside, Record};
use crate::span::Span;

/// A challenger that is not faster by this many thousandths gives up: less is not worth a change.
const RELEVANT_PERMILLE: u64 = 20;
/// Pairs after which a challenger that has not won gives up.
const MOST_PAIRS: u32 = 512;
/// Calls that a challenger is asked for without a single one being timed.
const MOST_UNHEARD: u32 = 7;
/// Pairs after which sums say something: a challenger does not win before.
const ENOUGH_FOR_MEANS: u32 = 40;
/// A challenger gives up that is faster mostly and dearer in all, after so many pairs.
const ENOUGH_OF_MEANS: u32 = 160;
/// A challenger gives up that is slower by so many times in more than three quarters of its pairs, so many at least.
const FAR_PAIRS: u32 = 3;
const FAR_TIMES: u64 = 3;
/// Chance of a wrong verdict in an exploration: one hundredth and a half, see `weight`.
const ONE_IN: u64 = 100;
/// Calls of the first epoch, which only the default takes part in.
const FIRST: u32 = 4;
/// Blocks of an epoch without a challenger.
const BLOCKS_OF_DEFAULT: u32 = 2;
pub(crate) const BLOCKS_OF_WATCH: u32 = 8;

/// Which arms are compared, and what is known of them.
#[derive(Debug, Clone)]
pub(crate) struct Exploration {
    arms: Vec<Challenger>,
    duels: Vec<Duel>,
}

#[derive(Debug, Clone, Copy)]
struct Challenger {
    is_open: bool,
    /// Calls of its next batch.
    size: u32,
    asked: u32,
    heard: u64,
    /// Medians over the default's, in thousandths, by epoch.
    ratios: Option<Span>,
}

/// One arm against another, in the blocks that timed both.
#[derive(Debug, Clone, Copy)]
struct Duel {
    /// It is faster.
    faster: Evidence,
    /// It is faster by a relevant share.
    relevantly: Evidence,
    /// Pairs in which it was far slower.
    far: u32,
    counted: (u64, u64),
}

/// The next epoch, or the wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// An epoch of these arms, each in so many blocks.
    Epoch(Vec<(u16, u32)>),
    /// No challenger can be paid before so much is free.
    Until(i128),
}

/// Facts that a plan follows from, beside the exploration itself.
#[derive(Debug)]
pub(crate) struct Means<'a> {
    pub(crate) records: &'a [Record],
    pub(crate) incumbent: u16,
    /// The default's time for a call, once it is known.
    pub(crate) default_ns: Option<u64>,
    pub(crate) free: i128,
    pub(crate) epoch_calls: u32,
}

enum Outcome {
    Open,
    Won,
    GaveUp,
}

impl Exploration {
    /// All arms but the default challenge it.
    pub(crate) fn new(arms: u16) -> Exploration {
        let challenger = |arm| Challenger {
            is_open: arm > 0,
            size: 1,
            asked: 0,
            heard: 0,
            ratios: None,
        };
        let duel = Duel {
            faster: Evidence::NONE,
            relevantly: Evidence::NONE,
            far: 0,
            counted: (0, 0),
        };
        Exploration {
            arms: (0..arms).map(challenger).collect(),
            duels: vec![duel; usize::from(arms) * usize::from(arms)],
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        !self.arms.iter().any(|arm| arm.is_open)
    }

    pub(crate) fn ratios(&self, arm: u16) -> Option<Span> {
        self.arms.get(usize::from(arm)).and_then(|arm| arm.ratios)
    }

    /// Counted times of an arm and of the default in the blocks that timed both, and their number.
    pub(crate) fn beside_default(&self, arm: u16) -> Beside {
        let duel = self.duel(arm, 0);
        Beside {
            own: duel.counted.0,
            default: duel.counted.1,
            calls: u64::from(duel.relevantly.trials()),
        }
    }

    /// Takes what an epoch found. Arms that were timed for the first time in this job (`new`) are heard and not compared.
    pub(crate) fn learn(&mut self, epoch: &Epoch, new: &[bool]) {
        let count = self.arms.len();
        let default = epoch.batch(0);
        for (arm, challenger) in self.arms.iter_mut().enumerate() {
            let arm_number = number(arm);
            let asked = u32::try_from(epoch.asked(arm_number)).unwrap_or(u32::MAX);
            let batch = epoch.batch(arm_number);
            let is_new = new.get(arm).copied().unwrap_or_default();
            if asked > 0 {
                challenger.asked = challenger.asked.saturating_add(asked);
                challenger.size = if is_new { 1 } else { asked.saturating_mul(2) };
            }
            challenger.heard += batch.map_or(0, |batch| batch.calls);
            if let (Some(batch), Some(default)) = (batch, default)
                && batch.calls.min(default.calls) >= 4
            {
                challenger.ratios = Span::with(challenger.ratios, permille(batch.median, default.median));
            }
        }
        for first in 0..count {
            for second in (0..count).filter(|second| *second != first) {
                if new.get(first) == Some(&true) || new.get(second) == Some(&true) {
                    continue;
                }
                for pair in epoch.pairs((number(first), number(second))) {
                    self.duels[first * count + second].add(pair);
                }
            }
        }
    }

    /// The incumbent from now on. Challengers that lost to it, and incumbents that lost, are out.
    pub(crate) fn judge(&mut self, mut incumbent: u16) -> u16 {
        loop {
            let open: Vec<u16> = (0..self.arms.len())
                .map(number)
                .filter(|arm| self.is_open(*arm))
                .collect();
            let (mut best, mut out): (Option<u16>, Vec<u16>) = (None, Vec::new());
            for arm in open {
                match self.outcome(arm, incumbent) {
                    Outcome::Open => {}
                    Outcome::GaveUp => out.push(arm),
                    Outcome::Won => {
                        let better = |other: u16| {
                            let (own, others) =
                                (self.duel(arm, incumbent).counted, self.duel(other, incumbent).counted);
                            u128::from(own.0) * u128::from(others.1) < u128::from(others.0) * u128::from(own.1)
                        };
                        if best.is_none_or(better) {
                            best = Some(arm);
                        }
                    }
                }
            }
            let Some(winner) = best else {
                out.into_iter().for_each(|arm| self.close(arm));
                return incumbent;
            };
            self.close(winner);
            incumbent = winner;
        }
    }

    /// The next epoch. Challengers that were asked least come first; each gets twice as many calls as before, or as many as can be paid.
    pub(crate) fn plan(&self, means: &Means) -> Plan {
        let Some(default_ns) = means.default_ns else {
            return Plan::Epoch(vec![(0, FIRST)]);
        };
        let fixed: &[u16] = if means.incumbent == 0 {
            &[0]
        } else {
            &[0, means.incumbent]
        };
        let mut open: Vec<u16> = (0..self.arms.len())
            .map(number)
            .filter(|arm| self.is_open(*arm))
            .collect();
        open.sort_by_key(|arm| (self.arms[usize::from(*arm)].asked, *arm));
        let most = (means.epoch_calls / u32::try_from(fixed.len() + open.len()).unwrap_or(u32::MAX)).max(1);
        let reserve = |arm: u16, calls: u32| means.records[usize::from(arm)].reserve(u64::from(calls), default_ns);
        let (mut left, mut chosen) = (means.free, Vec::new());
        for arm in &open {
            let mut calls = self.arms[usize::from(*arm)].size.min(most);
            while calls > 0 && reserve(*arm, calls) > left {
                calls /= 2;
            }
            if calls > 0 {
                left -= reserve(*arm, calls);
                chosen.push((*arm, calls));
            }
        }
        if chosen.is_empty() {
            return Plan::Until(open.iter().map(|arm| reserve(*arm, 1)).min().unwrap_or(0));
        }
        let blocks = chosen
            .iter()
            .map(|(_, calls)| *calls)
            .max()
            .unwrap_or(0)
            .max(BLOCKS_OF_DEFAULT);
        let mut arms: Vec<(u16, u32)> = fixed.iter().map(|arm| (*arm, blocks)).collect();
        arms.extend(chosen);
        Plan::Epoch(within(arms, means.epoch_calls))
    }

    /// An epoch of the default and the incumbent alone.
    pub(crate) fn without_challengers(incumbent: u16, blocks: u32, epoch_calls: u32) -> Vec<(u16, u32)> {
        if incumbent == 0 {
            vec![(0, blocks.min(epoch_calls))]
        } else {
            vec![
                (0, blocks.min(epoch_calls / 2)),
                (incumbent, blocks.min(epoch_calls / 2)),
            ]
        }
    }

    fn outcome(&self, arm: u16, incumbent: u16) -> Outcome {
        let challenger = self.arms[usize::from(arm)];
        let duel = self.duel(arm, incumbent);
        let pairs = duel.faster.trials();
        let is_cheap = pairs >= ENOUGH_FOR_MEANS && duel.counted.0 <= duel.counted.1;
        if is_cheap && duel.faster.shows_more(self.weight()) {
            return Outcome::Won;
        }
        let is_far = pairs >= FAR_PAIRS && 4 * u64::from(duel.far) > 3 * u64::from(pairs);
        let is_dear = pairs >= ENOUGH_OF_MEANS && duel.faster.shows_more(self.weight());
        let is_unheard = challenger.asked >= MOST_UNHEARD && challenger.heard == 0;
        if duel.relevantly.shows_less(self.weight())
            || is_far
            || is_dear
            || is_unheard
            || duel.relevantly.trials() >= MOST_PAIRS
        {
            return Outcome::GaveUp;
        }
        Outcome::Open
    }

    /// Evidence that decides. Each pair of arms has three bets: one is faster, and each relevantly so. With `n` arms they are
    /// `3 n (n - 1) / 2`, each wrong with a chance of one over this.
    fn weight(&self) -> u64 {
        let arms = self.arms.len() as u64;
        ONE_IN * (arms * arms.saturating_sub(1)).max(1)
    }

    fn is_open(&self, arm: u16) -> bool {
        self.arms[usize::from(arm)].is_open
    }

    fn close(&mut self, arm: u16) {
        self.arms[usize::from(arm)].is_open = false;
    }

    fn duel(&self, arm: u16, other: u16) -> &Duel {
        &self.duels[usize::from(arm) * self.arms.len() + usize::from(other)]
    }
}

impl Duel {
    fn add(&mut self, (own, other): (u64, u64)) {
        let (own_wide, other_wide) = (u128::from(own), u128::from(other));
        if own != other {
            self.faster.add(own < other);
        }
        self.relevantly
            .add(own_wide * 1000 < other_wide * u128::from(1000 - RELEVANT_PERMILLE));
        self.far += u32::from(own_wide >= other_wide * u128::from(FAR_TIMES));
        self.counted.0 = self.counted.0.saturating_add(own);
        self.counted.1 = self.counted.1.saturating_add(other);
    }
}

/// As many of these arms as an epoch has room for, the first ones first.
fn within(arms: Vec<(u16, u32)>, epoch_calls: u32) -> Vec<(u16, u32)> {
    let mut room = epoch_calls;
    arms.into_iter()
        .map(|(arm, blocks)| {
            let blocks = blocks.min(room);
            room -= blocks;
            (arm, blocks)
        })
        .filter(|(_, blocks)| *blocks > 0)
        .collect()
}

/// A time over another one, in thousandths.
pub(crate) fn permille(time: u64, other: u64) -> u64 {
    u64::try_from(u128::from(time) * 1000 / u128::from(other.max(1))).unwrap_or(u64::MAX)
}

fn number(arm: usize) -> u16 {
    u16::try_from(arm).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::VOID;
    use crate::order::{self, Slot};

    /// An epoch of these arms, each in so many blocks, whose calls take what their arm costs (0: not timed).
    fn learn(exploration: &mut Exploration, arms: &[(u16, u32)], costs: &[i64]) {
        let slots: Vec<Slot> = order::slots(arms, 1);
        let cost = |slot: &Slot| costs[usize::from(slot.arm)];
        let maxima: Vec<i64> = slots
            .iter()
            .flat_map(|slot| if cost(slot) == 0 { [VOID, VOID] } else { [0, cost(slot)] })
            .collect();
        exploration.learn(&Epoch::new(&slots, &maxima), &vec![false; costs.len()]);
    }

    fn means(records: &[Record], incumbent: u16, free: i128) -> Means<'_> {
        Means {
            records,
            incumbent,
            default_ns: Some(100),
            free,
            epoch_calls: 32,
        }
    }

    #[test]
    fn the_default_is_measured_first_and_challengers_as_far_as_they_can_be_paid() {
        let exploration = Exploration::new(4);
        let records = vec![Record::default(); 4];
        let unknown = Means {
            default_ns: None,
            ..means(&records, 0, 0)
        };
        assert_eq!(exploration.plan(&unknown), Plan::Epoch(vec![(0, 4)]));
        // An arm that was never timed may cost ten times the default: 900 ns have to be free.
        assert_eq!(exploration.plan(&means(&records, 0, 899)), Plan::Until(900));
        let two = exploration.plan(&means(&records, 0, 2_000));
        assert_eq!(two, Plan::Epoch(vec![(0, 2), (1, 1), (2, 1)]));
    }

    #[test]
    fn batches_double_up_to_an_equal_share_of_the_epoch() {
        let mut exploration = Exploration::new(3);
        let records = vec![Record::default(); 3];
        let mut sizes = Vec::new();
        for _ in 0..6 {
            let Plan::Epoch(arms) = exploration.plan(&means(&records, 0, i128::from(u32::MAX))) else {
                panic!("it is paid");
            };
            let total: u32 = arms.iter().map(|(_, calls)| *calls).sum();
            assert!(total <= 32, "{arms:?}");
            sizes.push(arms[1].1);
            learn(&mut exploration, &arms, &[100, 99, 101]);
        }
        assert_eq!(sizes, [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn the_fastest_of_those_that_won_is_the_incumbent_and_slow_ones_give_up() {
        let mut exploration = Exploration::new(5);
        let arms = [(0, 6), (1, 6), (2, 6), (3, 6), (4, 6)];
        for _ in 0..6 {
            learn(&mut exploration, &arms, &[100, 70, 60, 99, 500]);
        }
        assert_eq!(exploration.judge(0), 0, "36 pairs are too few");
        assert!(!exploration.is_open(4), "five times slower");
        learn(&mut exploration, &arms, &[100, 70, 60, 99, 500]);
        assert_eq!(exploration.judge(0), 2);
        assert!(exploration.is_over());
        assert_eq!(exploration.ratios(2).unwrap().high(), 600);
    }

    #[test]
    fn an_arm_that_is_faster_mostly_and_dearer_in_all_does_not_win() {
        let mut exploration = Exploration::new(2);
        for _ in 0..19 {
            learn(&mut exploration, &[(0, 8), (1, 8)], &[100, 90]);
            learn(&mut exploration, &[(0, 1), (1, 1)], &[100, 1_500]);
            assert_eq!(exploration.judge(0), 0);
        }
        assert!(exploration.is_over(), "after 160 pairs it gives up");
    }

    #[test]
    fn an_arm_of_which_nothing_is_heard_gives_up() {
        let mut exploration = Exploration::new(2);
        learn(&mut exploration, &[(0, 8), (1, 6)], &[100, 0]);
        assert_eq!((exploration.judge(0), exploration.is_over()), (0, false));
        learn(&mut exploration, &[(0, 8), (1, 1)], &[100, 0]);
        assert_eq!((exploration.judge(0), exploration.is_over()), (0, true));
    }
}
