//! Prices of messages and local work on this machine, as measured: LogGP's latency, gap and cost per byte (Alexandrov, Ionescu, Schauser,
//! Scheiman: LogGP: Incorporating Long Messages into the LogP Model, SPAA 1995, doi:10.1145/215399.215427), each at several sizes, since eager
//! and rendezvous messages and caches differ. Pure.
//!
//! A message of `m` bytes arrives after `one_way(m)`, half of a round trip. Consecutive messages follow at `gap(m)`, the time that one of them
//! keeps its sender and its receiver busy. The rest, `one_way(m) - gap(m)`, is the time under way, in which both are free for others.

use kilter_algorithms::Nodes;
use kilter_stats::median_interval::median_interval;
use kilter_stats::sample::Sample;

/// Fewer times are no price, but where times are exact: the interval of one would have no width, and look certain.
pub const LEAST_TIMES: usize = 5;

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// A measured price, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// The median.
    pub seconds: f64,
    /// The interval of the median.
    pub interval: (f64, f64),
}

impl Price {
    /// Costs nothing.
    pub const FREE: Price = Price {
        seconds: 0.0,
        interval: (0.0, 0.0),
    };

    /// The median of `times` in seconds; `None` for fewer than `least`, or if one of them is no time.
    #[must_use]
    pub fn of(times: &[f64], least: usize) -> Option<Price> {
        if times.len() < least.max(1) || times.iter().any(|seconds| !seconds.is_finite() || *seconds < 0.0) {
            return None;
        }
        let sample = Sample::new(times.to_vec()).ok()?;
        Some(Price {
            seconds: sample.median(),
            interval: median_interval(&sample, CONFIDENCE),
        })
    }

    /// The price multiplied by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Price {
        let Price { seconds, interval } = self;
        Price {
            seconds: factor * seconds,
            interval: (factor * interval.0, factor * interval.1),
        }
    }

    /// Sum of two prices.
    #[must_use]
    pub fn plus(self, other: Price) -> Price {
        Price {
            seconds: self.seconds + other.seconds,
            interval: (self.interval.0 + other.interval.0, self.interval.1 + other.interval.1),
        }
    }

    /// The difference, and nothing below zero.
    #[must_use]
    pub fn less(self, other: Price) -> Price {
        Price {
            seconds: (self.seconds - other.seconds).max(0.0),
            interval: (
                (self.interval.0 - other.interval.1).max(0.0),
                (self.interval.1 - other.interval.0).max(0.0),
            ),
        }
    }

    /// The lesser of both.
    #[must_use]
    fn at_most(self, other: Price) -> Price {
        Price {
            seconds: self.seconds.min(other.seconds),
            interval: (
                self.interval.0.min(other.interval.0),
                self.interval.1.min(other.interval.1),
            ),
        }
    }
}

/// Distance between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// On one node.
    Within,
    /// On two nodes.
    Between,
}

impl Distance {
    /// Both.
    pub const ALL: [Distance; 2] = [Distance::Within, Distance::Between];

    /// The one between any two ranks; `None` where some share a node and others do not, or there is one rank alone.
    #[must_use]
    pub fn of_all(nodes: &Nodes) -> Option<Distance> {
        let mut sizes = (0..nodes.count()).map(|node| nodes.members(node).len());
        if nodes.count() == 1 {
            return (nodes.members(0).len() > 1).then_some(Distance::Within);
        }
        sizes.all(|ranks| ranks == 1).then_some(Distance::Between)
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Distance::Within => "within a node",
            Distance::Between => "between nodes",
        }
    }
}

/// Times of one item done once and done several times. The difference holds nothing of how a repetition begins and ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnceAndMore {
    /// Once.
    pub once: Price,
    /// Time of [`OnceAndMore::count`] times.
    pub more: Price,
    /// The number of times, 2 or more.
    pub count: u64,
}

impl OnceAndMore {
    /// Price of one, in seconds.
    #[must_use]
    pub fn each(&self) -> Price {
        self.more
            .less(self.once)
            .times(1.0 / self.count.saturating_sub(1).max(1) as f64)
    }
}

/// Times of one size of messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Messages {
    /// Bytes of a message.
    pub bytes: u64,
    /// Messages and their answers, one after the other.
    pub round_trips: OnceAndMore,
    /// Messages behind each other, then a round trip of a byte.
    pub stream: OnceAndMore,
}

/// Price of a message of some size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OfSize {
    bytes: u64,
    one_way: Price,
    gap: Price,
}

/// Prices of messages at one distance.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Ascending sizes, at least one.
    sizes: Vec<OfSize>,
}

impl Level {
    /// A level from measured times; `None` without any.
    #[must_use]
    pub fn of(measured: &[Messages]) -> Option<Level> {
        let mut sizes: Vec<OfSize> = measured
            .iter()
            .map(|times| {
                let one_way = times.round_trips.each().times(0.5);
                OfSize {
                    bytes: times.bytes,
                    one_way,
                    gap: times.stream.each().at_most(one_way),
                }
            })
            // A message that takes no time was not measured well enough.
            .filter(|size| size.one_way.seconds > 0.0)
            .collect();
        sizes.sort_by_key(|size| size.bytes);
        (!sizes.is_empty()).then_some(Level { sizes })
    }

    /// Half of a round trip of the smallest message.
    #[must_use]
    pub fn latency(&self) -> Price {
        self.sizes[0].one_way
    }

    /// Gap between two of the smallest messages.
    #[must_use]
    pub fn gap(&self) -> Price {
        self.sizes[0].gap
    }

    /// Time under way of a message of so many bytes, in which neither end is busy.
    #[must_use]
    pub fn under_way(&self, bytes: f64) -> Price {
        let one_way = self.at(bytes, |size| size.one_way);
        one_way.less(self.at(bytes, |size| size.gap))
    }

    /// Gap for each byte of a message of so many bytes.
    #[must_use]
    pub fn byte(&self, bytes: f64) -> Price {
        if bytes <= self.sizes[0].bytes as f64 {
            return Price::FREE;
        }
        self.at(bytes, |size| size.gap).less(self.gap()).times(1.0 / bytes)
    }

    /// Linear between the sizes that were measured, and on from the last two.
    fn at(&self, bytes: f64, price: impl Fn(&OfSize) -> Price) -> Price {
        let next = self.sizes.partition_point(|size| (size.bytes as f64) < bytes);
        if next == 0 || self.sizes.len() == 1 {
            return price(&self.sizes[0]);
        }
        let next = next.min(self.sizes.len() - 1);
        let (low, high) = (&self.sizes[next - 1], &self.sizes[next]);
        let share = (bytes - low.bytes as f64) / (high.bytes - low.bytes) as f64;
        if share <= 1.0 {
            price(low).times(1.0 - share).plus(price(high).times(share))
        } else {
            price(high).plus(price(high).less(price(low)).times(share - 1.0))
        }
    }
}

/// Time of rank 0 alone for so many bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Local {
    /// Bytes.
    pub bytes: u64,
    /// Copying them.
    pub copy: OnceAndMore,
    /// Copying them and combining the copy with them.
    pub copy_and_combine: OnceAndMore,
}

/// All prices of a machine under one setup.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    /// Messages between ranks of one node, where two ranks share one.
    pub within: Option<Level>,
    /// Messages between ranks of two nodes, where there are two.
    pub between: Option<Level>,
    /// Local work, ascending by bytes.
    pub local: Vec<Local>,
}

impl Prices {
    /// The prices of messages at a distance.
    #[must_use]
    pub fn level(&self, distance: Distance) -> Option<&Level> {
        match distance {
            Distance::Within => self.within.as_ref(),
            Distance::Between => self.between.as_ref(),
        }
    }

    /// Combining a byte, in messages of so many; `None` where it was not measured.
    #[must_use]
    pub fn combine(&self, bytes: f64) -> Option<Price> {
        let local = self.local_near(bytes)?;
        let combine = local.copy_and_combine.each().less(local.copy.each());
        Some(combine.times(1.0 / local.bytes as f64))
    }

    /// Copying a byte, likewise.
    #[must_use]
    pub fn copy(&self, bytes: f64) -> Option<Price> {
        let local = self.local_near(bytes)?;
        Some(local.copy.each().times(1.0 / local.bytes as f64))
    }

    fn local_near(&self, bytes: f64) -> Option<&Local> {
        let distance = |local: &&Local| ((local.bytes as f64).ln() - bytes.max(1.0).ln()).abs();
        let measured = self.local.iter().filter(|local| local.bytes > 0);
        measured.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}
