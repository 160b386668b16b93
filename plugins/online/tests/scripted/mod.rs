//! Jobs whose times are scripted: ranks with clocks of their own, arms whose true cost is known, and the account that only the script can keep.

use kilter_online::knowledge::Entry;
use kilter_online::{Act, Settings, Site, Step};

/// True mean cost of an arm's call in ns, and what a call really takes.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) arms: u16,
    pub(crate) calls: u64,
    /// Mean of a call of the arm, by number of the call and seed of the run.
    pub(crate) mean: fn(call: u64, arm: u16, seed: u64) -> f64,
    /// Factor of a call's time over its mean.
    pub(crate) noise: fn(&mut Random) -> f64,
    /// Time in ns by which each rank arrives after the first one.
    pub(crate) arrival: fn(call: u64, rank: usize, random: &mut Random) -> f64,
    /// Time in ns that an exchange takes which is adopted in the call: a tenth of it where it is begun, the rest where it is waited for.
    pub(crate) exchange: fn(call: u64) -> f64,
}

pub(crate) const RANKS: usize = 3;

/// A run, seen from the script.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// Arm that runs at the end.
    pub(crate) last: u16,
    pub(crate) settled: Option<u16>,
    /// Calls until it first settled.
    pub(crate) calls_until_settled: Option<u64>,
    pub(crate) epochs_until_settled: Option<u32>,
    /// Most that the expected time was above its bound at any call, in ns: above zero if the bound was broken.
    pub(crate) worst: f64,
    /// The same for the times that were drawn, beside those that the default would have taken with the same luck.
    pub(crate) worst_drawn: f64,
    /// Most that the site's own account was above its bound.
    pub(crate) worst_own: i64,
    /// Time of exchanges, and that of it which the site's account has.
    pub(crate) acts: f64,
    pub(crate) acts_told: i64,
    /// Expected time beyond the default's at the end, and the default's.
    pub(crate) behind: f64,
    pub(crate) default: f64,
    pub(crate) epochs: u32,
    pub(crate) restarts: u32,
    pub(crate) timed: u64,
    /// Expected time over the default's at each point, and its bound.
    pub(crate) curve: Vec<(f64, f64)>,
    pub(crate) learnt: Entry,
}

/// Goes through a job. `points` are calls after which the curve is noted, in rising order.
pub(crate) fn run(scenario: &Scenario, settings: &Settings, seed: u64, known: Option<&Entry>, points: &[u64]) -> Run {
    let mut random = Random::new(seed);
    // Clocks of hosts differ, by less than a call takes.
    let offsets: [f64; RANKS] = std::array::from_fn(|_| 20.0 * random.uniform());
    let mut sites: [Site; RANKS] = std::array::from_fn(|_| Site::new(settings, scenario.arms, known));
    let mut under_way: Option<Vec<i64>> = None;
    let mut run = Run {
        worst: f64::NEG_INFINITY,
        worst_drawn: f64::NEG_INFINITY,
        worst_own: i64::MIN,
        ..Run::default()
    };
    let (mut now, mut drawn, mut drawn_default) = (1e9, 0.0, 0.0);
    for call in 0..scenario.calls {
        let steps: [Step; RANKS] = std::array::from_fn(|rank| sites[rank].step());
        let step = steps[0];
        assert!(
            steps.iter().all(|other| *other == step),
            "{}: ranks differ in call {call}",
            scenario.name
        );
        let mut starts: [f64; RANKS] = std::array::from_fn(|rank| now + (scenario.arrival)(call, rank, &mut random));
        let share_of_act = match step.before {
            Act::Nothing => 0.0,
            Act::Exchange => {
                let mut maxima = sites[0].gives().to_vec();
                for site in &sites[1..] {
                    maxima
                        .iter_mut()
                        .zip(site.gives())
                        .for_each(|(most, own)| *most = (*most).max(*own));
                }
                assert!(under_way.replace(maxima).is_none(), "two exchanges at once");
                0.1
            }
            Act::Adopt => {
                let maxima = under_way.take().expect("an exchange is under way");
                sites.iter_mut().for_each(|site| site.adopt(&maxima));
                run.worst_own = run.worst_own.max(-sites[0].spent().slack_ns);
                0.9
            }
        };
        if step.before != Act::Nothing {
            let took = share_of_act * (scenario.exchange)(call);
            starts = act(&mut sites, step.before, (&starts, &offsets), took);
            run.acts += took;
            run.behind += took;
            drawn += took;
        }
        let mean = (scenario.mean)(call, step.arm.0, seed);
        let default = (scenario.mean)(call, 0, seed);
        let luck = (scenario.noise)(&mut random);
        let last = starts.iter().fold(now, |last, start| last.max(*start));
        let end = last + mean * luck;
        if step.timed {
            run.timed += 1;
            for rank in 0..RANKS {
                // Ranks leave one after the other, and another one is the last each time.
                let share = if call % RANKS as u64 == rank as u64 {
                    1.0
                } else {
                    random.uniform()
                };
                let leaves = last + (end - last) * share;
                sites[rank].timed((starts[rank] + offsets[rank]) as i64, (leaves + offsets[rank]) as i64);
            }
        }
        now = end + 1_000.0;
        run.behind += mean - default;
        run.default += default;
        drawn += mean * luck;
        drawn_default += default * luck;
        let bound = |default: f64| settings.alpha * default + settings.constant_ns as f64;
        run.worst = run.worst.max(run.behind - bound(run.default));
        run.worst_drawn = run.worst_drawn.max(drawn - drawn_default - bound(drawn_default));
        if run.calls_until_settled.is_none() && sites[0].settled().is_some() {
            run.calls_until_settled = Some(call);
            run.epochs_until_settled = Some(sites[0].spent().epochs);
        }
        if points.get(run.curve.len()) == Some(&(call + 1)) {
            run.curve
                .push((1.0 + run.behind / run.default, 1.0 + bound(run.default) / run.default));
        }
        run.last = step.arm.0;
    }
    run.learnt = sites[0].learnt();
    run.settled = run.learnt.settled;
    run.epochs = sites[0].spent().epochs;
    run.acts_told = sites[0].spent().acts_ns;
    run.restarts = sites[0].spent().restarts;
    run
}

/// Tells the sites of an act that takes so long from the last rank's arrival on. Returns the ranks' arrivals at the call, which follows.
fn act(
    sites: &mut [Site; RANKS],
    act: Act,
    (starts, offsets): (&[f64; RANKS], &[f64; RANKS]),
    took: f64,
) -> [f64; RANKS] {
    let end = starts.iter().fold(f64::MIN, |last, start| last.max(*start)) + took;
    for ((site, start), offset) in sites.iter_mut().zip(starts).zip(offsets) {
        site.acted(act, (start + offset) as i64, (end + offset) as i64);
    }
    [end; RANKS]
}

/// SplitMix64, and what is drawn with it.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x1234_5678_9abc_def0)
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Mean 1 and this standard deviation: the sum of four uniforms is as normal as is needed.
    pub(crate) fn near_one(&mut self, sd: f64) -> f64 {
        let sum: f64 = (0..4).map(|_| self.uniform()).sum();
        (1.0 + sd * (sum - 2.0) * 1.732).max(0.2)
    }

    /// Pareto with shape 1.5 and mean 1: no variance.
    pub(crate) fn pareto(&mut self) -> f64 {
        (1.0 - self.uniform()).powf(-1.0 / 1.5) / 3.0
    }
}

/// A number that depends on the call alone, from 0 to 1.
fn hash(call: u64, seed: u64) -> f64 {
    Random::new(call.wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b_0000_0001)).uniform()
}

const US: f64 = 1_000.0;

fn together(_: u64, _: usize, _: &mut Random) -> f64 {
    0.0
}

/// An exchange that is complete when it is waited for.
fn hidden(_: u64) -> f64 {
    0.0
}

fn quiet(random: &mut Random) -> f64 {
    random.near_one(0.03)
}

/// 100 us, one arm a third faster, one as fast, one twice and one ten times as slow.
fn of_arms(arm: u16) -> f64 {
    100.0 * US * [1.0, 1.02, 0.7, 2.0, 10.0][usize::from(arm)]
}

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "one arm 30 % faster",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| of_arms(arm),
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "the default is best",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| 100.0 * US * [1.0, 1.05, 1.1, 1.5, 10.0][usize::from(arm)],
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "all arms ten times slower",
        arms: 4,
        calls: 10_000,
        mean: |_, arm, _| 100.0 * US * if arm == 0 { 1.0 } else { 10.0 },
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "long calls",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| 100.0 * of_arms(arm),
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "noise of 30 %",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| of_arms(arm),
        noise: |random| random.near_one(0.3),
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "Pareto(1.5)",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| of_arms(arm),
        noise: Random::pareto,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "Pareto(1.5), default best",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| 100.0 * US * [1.0, 1.05, 1.1, 1.5, 10.0][usize::from(arm)],
        noise: Random::pareto,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "two modes, by call",
        arms: 5,
        calls: 10_000,
        mean: |call, arm, seed| of_arms(arm) * if hash(call, seed) < 0.5 { 1.0 } else { 3.0 },
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "two modes, in stretches",
        arms: 5,
        calls: 10_000,
        mean: |call, arm, seed| of_arms(arm) * if hash(call / 300, seed) < 0.5 { 1.0 } else { 3.0 },
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "drift to three times",
        arms: 5,
        calls: 10_000,
        mean: |call, arm, _| of_arms(arm) * (1.0 + call as f64 / 5_000.0),
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "the default gets fastest",
        arms: 5,
        calls: 10_000,
        mean: |call, arm, _| of_arms(arm) * if arm == 0 && call >= 4_000 { 0.6 } else { 1.0 },
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "the chosen arm gets slow",
        arms: 5,
        calls: 10_000,
        mean: |call, arm, seed| {
            of_arms(arm)
                * if arm == 2 && call >= 2_000 + (hash(1, seed) * 4_000.0) as u64 {
                    2.5
                } else {
                    1.0
                }
        },
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "late ranks",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| of_arms(arm),
        noise: quiet,
        arrival: |call, rank, random| {
            if call % RANKS as u64 == rank as u64 {
                5_000.0 * US * random.uniform()
            } else {
                0.0
            }
        },
        exchange: hidden,
    },
    Scenario {
        name: "calls alternate",
        arms: 5,
        calls: 10_000,
        mean: |call, arm, _| of_arms(arm) * if call % 2 == 0 { 1.0 } else { 1.5 },
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "rare slow calls of an arm",
        arms: 2,
        calls: 10_000,
        mean: |call, arm, seed| {
            let is_slow = arm == 1 && hash(call, seed) < 0.1;
            100.0 * US * if is_slow { 12.0 } else { [1.0, 0.8][usize::from(arm)] }
        },
        noise: quiet,
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "nothing to choose",
        arms: 4,
        calls: 10_000,
        mean: |_, _, _| 100.0 * US,
        noise: |random| random.near_one(0.1),
        arrival: together,
        exchange: hidden,
    },
    Scenario {
        name: "exchanges of twenty calls",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| of_arms(arm),
        noise: quiet,
        arrival: together,
        exchange: |_| 2_000.0 * US,
    },
    Scenario {
        name: "such exchanges, default best",
        arms: 5,
        calls: 10_000,
        mean: |_, arm, _| 100.0 * US * [1.0, 1.01, 1.02, 1.02, 1.03][usize::from(arm)],
        noise: |random| random.near_one(0.1),
        arrival: together,
        exchange: |_| 2_000.0 * US,
    },
    Scenario {
        name: "exchanges get expensive",
        arms: 4,
        calls: 10_000,
        mean: |_, _, _| 100.0 * US,
        noise: |random| random.near_one(0.1),
        arrival: together,
        exchange: |call| US * if call < 1_000 { 50.0 } else { 2_000.0 },
    },
];
