//! Decides which item is repeated next, and when a block has enough repetitions.
//!
//! It is a pure function of times and voids on which all ranks agree, so that every rank takes the same decision
//! without a message.
//!
//! Every round is a permutation of the items, each of which has a *turn*. The first repetition of a turn is not counted: it finds the caches as
//! another item has left them, and what that was is no property of the item.

use kilter_protocol::plan::Repetitions;
use kilter_protocol::repetitions::{SLOW_SECONDS, TURN};

use crate::order;
use crate::stop::Running;

/// Void repetitions after which an item is given up at the earliest.
const VAIN: u64 = 25;

/// Tries that an item without a valid repetition gets when the time is up.
const LAST_TRIES: u32 = 3;

/// End of a repetition, the same on every rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Outcome {
    /// Latest end over the ranks minus the agreed start.
    Valid {
        /// The time.
        seconds: f64,
    },
    /// A rank missed the start.
    Void,
}

/// The repetitions of one item.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Valid ones in the order they were made, in seconds.
    pub(crate) seconds: Vec<f64>,
    /// Number of void ones.
    pub(crate) void: u32,
    /// This rank's own delays in the counted ones, where the ranks come apart: end minus arrival, summed, in nanoseconds.
    pub(crate) delay_ns: u64,
    /// Repetitions of any kind.
    runs: u64,
    warm_ups_left: u32,
    /// Tries that are left once the time is up.
    last_tries: u32,
    running: Running,
    /// True if the rule wants no more valid ones. It then stays true, because no more are made.
    is_enough: bool,
}

impl Series {
    fn new(warm_ups: u32, rule: &Repetitions) -> Series {
        // Room for all: growing the vector inside the loop would copy it between repetitions.
        let expected = rule.max.clamp(1, 1 << 16) as usize;
        Series {
            seconds: Vec::with_capacity(expected),
            void: 0,
            delay_ns: 0,
            runs: 0,
            warm_ups_left: warm_ups,
            last_tries: LAST_TRIES,
            running: Running::new(rule.stop),
            is_enough: false,
        }
    }

    /// True if the item was repeated at all.
    pub(crate) fn has_run(&self) -> bool {
        self.runs > 0
    }

    fn push(&mut self, seconds: f64, rule: &Repetitions) {
        self.seconds.push(seconds);
        self.running.push(seconds);
        let made = self.seconds.len() as u64;
        self.is_enough = made >= u64::from(rule.max.max(1)) || (rule.is_asked_after(made) && self.running.is_enough());
    }

    fn is_done(&self, out_of_time: bool) -> bool {
        self.is_enough || (out_of_time && (!self.seconds.is_empty() || self.last_tries == 0))
    }

    /// True if so many repetitions were void that more would be in vain. Some calls leave the ranks in a state in which
    /// they cannot start together, and the other items of the block must not pay for that.
    fn is_vain(&self, limit: u64) -> bool {
        let valid = self.runs - u64::from(self.void);
        u64::from(self.void) >= limit.max(valid)
    }
}

/// The repetitions of a block.
#[derive(Debug)]
pub(crate) struct Schedule {
    rule: Repetitions,
    seed: u64,
    round: u64,
    series: Vec<Series>,
    /// Rest of this round, last first.
    queue: Vec<usize>,
    begin_ns: Option<u64>,
    /// Void and valid repetitions of all items, warm-ups among them.
    void: u64,
    valid: u64,
    /// True if the time was up when the last item was named.
    is_last_try: bool,
    /// Seconds from which on an item is too slow to be warmed up.
    slow_seconds: f64,
    /// Repetitions that count in a turn.
    turn: u32,
    /// Those of this turn so far.
    of_turn: u32,
    /// The item that was repeated last.
    last: Option<usize>,
}

impl Schedule {
    /// A block of `items` items.
    pub(crate) fn new(items: usize, warm_ups: u32, rule: Repetitions, seed: u64) -> Schedule {
        Schedule {
            seed,
            round: 0,
            // Not `vec![..; items]`: a clone of an empty vector has no room.
            series: (0..items).map(|_| Series::new(warm_ups, &rule)).collect(),
            rule,
            queue: Vec::with_capacity(items),
            begin_ns: None,
            void: 0,
            valid: 0,
            is_last_try: false,
            slow_seconds: f64::INFINITY,
            turn: 1,
            of_turn: 0,
            last: None,
        }
    }

    /// A schedule for items that were tried out before: an item that takes [`SLOW_SECONDS`] needs no warming up, and any other one has turns of
    /// [`TURN`] repetitions.
    pub(crate) fn of_tried_out(self) -> Schedule {
        Schedule {
            slow_seconds: SLOW_SECONDS,
            turn: TURN,
            ..self
        }
    }

    /// The item to repeat next, `now_ns` being a time that the ranks agree on; `None` when the block has enough, when its time is up (an item
    /// without a valid repetition gets [`LAST_TRIES`] more), or when so many repetitions were void (`max(100, 5 max)`, and no fewer than
    /// were valid) that more would be as vain. An item is given up at its share of that, at least 25.
    pub(crate) fn next(&mut self, now_ns: u64) -> Option<usize> {
        let limit = u64::from(self.rule.max).saturating_mul(5).max(100);
        if self.void >= limit.max(self.valid) {
            return None;
        }
        let begin_ns = *self.begin_ns.get_or_insert(now_ns);
        let out_of_time = now_ns.saturating_sub(begin_ns) as f64 / 1e9 >= self.rule.seconds;
        if out_of_time {
            // No time for warming up: what is still without a repetition gets its one.
            for series in &mut self.series {
                series.warm_ups_left = 0;
            }
        }
        self.is_last_try = out_of_time;
        let share = (limit / (self.series.len() as u64).max(1)).max(VAIN);
        let is_live = |series: &Series| !series.is_done(out_of_time) && !series.is_vain(share);
        while let Some(&item) = self.queue.last() {
            if is_live(&self.series[item]) {
                return Some(item);
            }
            self.queue.pop();
        }
        self.queue
            .extend((0..self.series.len()).filter(|item| is_live(&self.series[*item])));
        order::shuffle(&mut self.queue, self.seed, self.round);
        self.round += 1;
        self.queue.last().copied()
    }

    /// Takes the outcome of the repetition that [`Schedule::next`] last named; a void one will be named again. True if its time counts.
    pub(crate) fn record(&mut self, item: usize, outcome: Outcome) -> bool {
        let series = &mut self.series[item];
        series.runs += 1;
        if self.last.replace(item) != Some(item) {
            // The turn before may have ended early, with an item that has enough.
            self.of_turn = 0;
            if self.turn > 1 && !self.is_last_try {
                series.warm_ups_left = series.warm_ups_left.max(1);
            }
        }
        let mut ends_turn = false;
        let counts = match outcome {
            Outcome::Void => {
                series.void = series.void.saturating_add(1);
                if self.is_last_try {
                    series.last_tries = series.last_tries.saturating_sub(1);
                }
                self.void += 1;
                return false;
            }
            Outcome::Valid { seconds } if series.warm_ups_left > 0 && seconds < self.slow_seconds => {
                series.warm_ups_left -= 1;
                false
            }
            Outcome::Valid { seconds } => {
                series.warm_ups_left = 0;
                series.push(seconds, &self.rule);
                self.of_turn += 1;
                ends_turn = self.of_turn >= self.turn || seconds >= self.slow_seconds;
                true
            }
        };
        self.valid += 1;
        if ends_turn {
            self.of_turn = 0;
            self.queue.pop();
        }
        counts
    }

    /// Adds this rank's own delay in a repetition that counts.
    pub(crate) fn delay(&mut self, item: usize, delay_ns: u64) {
        let sum = &mut self.series[item].delay_ns;
        *sum = sum.saturating_add(delay_ns);
    }

    /// Repetitions of an item so far, of any kind.
    pub(crate) fn runs_of(&self, item: usize) -> u64 {
        self.series[item].runs
    }

    /// Repetitions of any kind.
    pub(crate) fn runs(&self) -> u64 {
        self.void + self.valid
    }

    /// Seconds of all repetitions whose times are known.
    pub(crate) fn own_seconds(&self) -> f64 {
        self.series.iter().flat_map(|series| &series.seconds).sum()
    }

    /// Results, item by item.
    pub(crate) fn into_series(self) -> Vec<Series> {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use kilter_protocol::plan::{StopRules, Window};

    use super::*;

    fn rule(min: u32, max: u32, relative_standard_error: f64, seconds: f64) -> Repetitions {
        Repetitions::until(min, max, relative_standard_error, seconds)
    }

    /// Runs a block whose repetitions take the times of `script` (none: void); returns the items in order and the series.
    fn run(mut schedule: Schedule, mut script: impl FnMut(usize, usize) -> Option<f64>) -> (Vec<usize>, Vec<Series>) {
        let (mut now_ns, mut order) = (5_000_000_000_u64, Vec::new());
        let mut made = vec![0; schedule.series.len()];
        while let Some(item) = schedule.next(now_ns) {
            let time = script(item, made[item]);
            made[item] += 1;
            order.push(item);
            now_ns += (time.unwrap_or(1e-3) * 1e9) as u64;
            schedule.record(item, time.map_or(Outcome::Void, |seconds| Outcome::Valid { seconds }));
        }
        (order, schedule.into_series())
    }

    #[test]
    fn quiet_items_stop_at_min_and_noisy_ones_at_max() {
        let schedule = Schedule::new(2, 0, rule(5, 40, 0.01, 1e9), 1);
        let (order, series) = run(schedule, |item, i| {
            Some(if item == 0 { 1e-3 } else { 1e-3 * (1 + i % 2) as f64 })
        });
        assert_eq!((series[0].seconds.len(), series[1].seconds.len()), (5, 40));
        // Interleaved while both live, then the noisy one alone.
        assert_eq!(order[..10].iter().filter(|item| **item == 0).count(), 5);
        assert!(order[10..].iter().all(|item| *item == 1));
    }

    #[test]
    fn the_stop_is_where_the_standard_error_says() {
        // 1, 3, 1, 3, ...: mean 2, standard deviation sqrt(n/(n-1)), error 1/(2 sqrt(n-1)) <= 0.1 from n = 26 on.
        let schedule = Schedule::new(1, 0, rule(2, 1000, 0.1, 1e9), 1);
        let (_, series) = run(schedule, |_, i| Some(if i % 2 == 0 { 1.0 } else { 3.0 }));
        assert_eq!(series[0].seconds.len(), 26);
    }

    #[test]
    fn the_methods_are_asked_every_step_and_max_ends_in_between() {
        // The error is small enough after 26, as above. The checks come after 2, 12, 22 and 32, so that it ends after
        // 32.
        let rule = Repetitions {
            step: 10,
            ..rule(2, 1000, 0.1, 1e9)
        };
        let one_three = |_, i: usize| Some(if i.is_multiple_of(2) { 1.0 } else { 3.0 });
        let (_, series) = run(Schedule::new(1, 0, rule, 1), one_three);
        assert_eq!(series[0].seconds.len(), 32);
        let (_, series) = run(Schedule::new(1, 0, Repetitions { max: 27, ..rule }, 1), one_three);
        assert_eq!(series[0].seconds.len(), 27);
    }

    #[test]
    fn a_fixed_number_is_made_however_steady_the_times() {
        let (_, series) = run(Schedule::new(2, 2, Repetitions::fixed(17, 1e9), 1), |_, _| Some(1e-3));
        assert!(series.iter().all(|series| series.seconds.len() == 17));
    }

    #[test]
    fn void_repetitions_are_no_part_of_the_statistics() {
        let rule = Repetitions {
            stop: StopRules {
                median: Some(Window {
                    threshold: 0.0,
                    size: 5,
                }),
                ..StopRules::default()
            },
            ..rule(1, 100, 0.0, 1e9)
        };
        let (order, series) = run(Schedule::new(1, 0, rule, 1), |_, i| i.is_multiple_of(2).then_some(1e-3));
        assert_eq!((series[0].seconds.len(), series[0].void, order.len()), (5, 4, 9));
    }

    #[test]
    fn warm_ups_are_made_and_not_counted() {
        let schedule = Schedule::new(1, 2, rule(3, 3, 0.0, 1e9), 1);
        let (order, series) = run(schedule, |_, i| Some(if i < 2 { 1e-4 } else { 1e-6 }));
        assert_eq!(order.len(), 5);
        assert_eq!(series[0].seconds, [1e-6; 3]);
    }

    #[test]
    fn what_is_slow_is_not_warmed_up() {
        let schedule = Schedule::new(1, 2, rule(3, 3, 0.0, 1e9), 1).of_tried_out();
        let (order, series) = run(schedule, |_, _| Some(2e-3));
        assert_eq!((order.len(), series[0].seconds.len()), (3, 3));
        let (order, _) = run(Schedule::new(1, 2, rule(3, 3, 0.0, 1e9), 1), |_, _| Some(2e-3));
        assert_eq!(order.len(), 5, "what was not tried out is warmed up");
        // A first call that sets something up, of an operation of microseconds, counts: the median of three does not mind.
        let schedule = Schedule::new(1, 2, rule(3, 3, 0.0, 1e9), 1).of_tried_out();
        let (_, series) = run(schedule, |_, i| Some(if i == 0 { 3e-3 } else { 1e-6 }));
        assert_eq!(series[0].seconds, [3e-3, 1e-6, 1e-6]);
    }

    #[test]
    fn a_turn_begins_with_a_repetition_that_is_not_counted() {
        let schedule = Schedule::new(2, 0, rule(6, 6, 0.0, 1e9), 2).of_tried_out();
        // Each run of an item has its number as its time, in microseconds.
        let (order, series) = run(schedule, |_, i| Some(1e-6 * (i + 1) as f64));
        // Where the last turn of a round and the first one of the next are of one item, its caches are as it left them.
        let turns: Vec<(usize, usize)> = order
            .chunk_by(|a, b| a == b)
            .map(|turn| (turn[0], turn.len()))
            .collect();
        assert_eq!(turns, [(1, 4), (0, 7), (1, 4)]);
        let numbers = |item: usize| -> Vec<u64> {
            series[item]
                .seconds
                .iter()
                .map(|seconds| (seconds * 1e6).round() as u64)
                .collect()
        };
        assert_eq!(numbers(1), [2, 3, 4, 6, 7, 8]);
        assert_eq!(numbers(0), [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_turn_that_ends_early_takes_nothing_from_the_next_one() {
        // Item 0 has enough after four, the first of its second turn; the others have 60, twenty turns of three.
        let until = rule(4, 60, 0.01, 1e9);
        for seed in 0..8 {
            let (order, series) = run(Schedule::new(3, 0, until, seed).of_tried_out(), |item, i| {
                Some(if item == 0 { 1e-6 } else { 1e-6 * (1 + i % 7) as f64 })
            });
            assert_eq!(series[0].seconds.len(), 4);
            // Turns of one item in successive rounds are one, of which the first repetition is not counted.
            let turns: Vec<&[usize]> = order.chunk_by(|a, b| a == b).collect();
            let mut of_others = turns.iter().filter(|turn| turn[0] != 0);
            assert!(of_others.all(|turn| turn.len() % TURN as usize == 1), "{turns:?}");
        }
    }

    #[test]
    fn an_item_alone_is_made_ready_once() {
        let schedule = Schedule::new(1, 2, rule(9, 9, 0.0, 1e9), 1).of_tried_out();
        let (order, series) = run(schedule, |_, _| Some(1e-6));
        assert_eq!((order.len(), series[0].seconds.len()), (2 + 9, 9));
    }

    #[test]
    fn what_is_slow_has_turns_of_one() {
        let schedule = Schedule::new(2, 2, rule(3, 3, 0.0, 1e9), 1).of_tried_out();
        let (order, _) = run(schedule, |_, _| Some(2e-3));
        assert_eq!(order.len(), 2 * 3);
        assert!(order[..2].contains(&0) && order[..2].contains(&1), "{order:?}");
    }

    #[test]
    fn the_time_ends_a_block_even_where_everything_is_void() {
        // Half a second each: the two seconds are over after four, and each of three items has three more tries.
        let schedule = Schedule::new(3, 2, rule(10, 100, 0.0, 2.0), 1);
        let (mut now_ns, mut tries, mut schedule) = (0, 0, schedule);
        while let Some(item) = schedule.next(now_ns) {
            schedule.record(item, Outcome::Void);
            now_ns += 500_000_000;
            tries += 1;
        }
        assert_eq!(tries, 4 + 3 * 3);
    }

    #[test]
    fn an_item_that_is_valid_in_its_last_tries_has_its_one() {
        let (mut now_ns, mut tries) = (0, 0);
        let mut schedule = Schedule::new(1, 0, rule(10, 100, 0.0, 1.0), 1);
        while let Some(item) = schedule.next(now_ns) {
            tries += 1;
            let outcome = if tries == 4 {
                Outcome::Valid { seconds: 0.4 }
            } else {
                Outcome::Void
            };
            schedule.record(item, outcome);
            now_ns += 400_000_000;
        }
        assert_eq!((tries, schedule.into_series().remove(0).seconds), (4, vec![0.4]));
    }

    #[test]
    fn time_ends_a_block_but_every_item_gets_one() {
        let schedule = Schedule::new(3, 2, rule(10, 100, 0.0, 2.0), 1);
        let (order, series) = run(schedule, |_, _| Some(1.5));
        assert!(series.iter().all(|series| series.seconds.len() == 1), "{series:?}");
        assert_eq!(order.len(), 2 + 3, "two warm-ups, then the time was up");
    }

    #[test]
    fn a_void_repetition_is_repeated_at_once() {
        let schedule = Schedule::new(2, 0, rule(4, 4, 0.0, 1e9), 3);
        let (order, series) = run(schedule, |item, i| (item != 1 || i % 2 == 1).then_some(1.0));
        assert_eq!(
            (series[0].seconds.len(), series[1].seconds.len(), series[1].void),
            (4, 4, 4)
        );
        let first = order.iter().position(|item| *item == 1).unwrap();
        assert_eq!(order[first + 1], 1);
    }

    #[test]
    fn a_block_that_is_always_void_ends() {
        let (order, series) = run(Schedule::new(2, 2, rule(10, 30, 0.0, 1e9), 3), |_, _| None);
        assert_eq!(order.len(), 150);
        assert!(series.iter().all(|series| series.seconds.is_empty()));
        assert_eq!(series.iter().map(|series| series.void).sum::<u32>(), 150);
    }

    #[test]
    fn an_item_that_is_always_void_does_not_cost_the_others_theirs() {
        let (order, series) = run(Schedule::new(9, 2, rule(4, 12, 0.0, 1e9), 3), |item, _| {
            (item != 4).then_some(1e-4)
        });
        for (item, series) in series.iter().enumerate() {
            let expected = if item == 4 { (0, 25) } else { (4, 0) };
            assert_eq!((series.seconds.len(), series.void), expected, "item {item}");
        }
        assert_eq!(order.len(), 25 + 8 * (2 + 4));
    }

    #[test]
    fn a_large_block_on_a_busy_machine_goes_on_while_most_repetitions_are_valid() {
        // One in three is void: 600 valid and 300 void, more than the 100 that end a block in which little succeeds.
        let mut made = 0;
        let (_, series) = run(Schedule::new(200, 0, rule(3, 3, 0.0, 1e9), 3), |_, _| {
            made += 1;
            (made % 3 != 0).then_some(1e-3)
        });
        assert!(series.iter().all(|series| series.seconds.len() == 3));
        assert!(series.iter().map(|series| series.void).sum::<u32>() > 250);
    }

    #[test]
    fn nothing_to_measure_ends_at_once() {
        assert_eq!(Schedule::new(0, 2, rule(10, 30, 0.0, 1e9), 3).next(1), None);
    }
}
