//! Times over ordered parameters, by cost models of what a library or Kilter runs, with a change of protocol where messages become long.

use kilter_algorithms::{Algorithm, Nodes, registry};
use kilter_search::cost_model;
use kilter_search::ordered::{Axis, Point, Scale};

/// The time at a point.
type Seconds = Box<dyn Fn(&[u64]) -> f64>;

/// A scripted landscape.
pub(crate) struct Surface {
    pub(crate) kind: &'static str,
    pub(crate) axes: Vec<Axis>,
    /// Points that the screening measures; the first is the library's own choice.
    pub(crate) screened: Vec<Point>,
    pub(crate) seconds: Seconds,
}

#[derive(Clone, Copy)]
struct Network {
    latency: f64,
    gap: f64,
    byte: f64,
    /// Longer messages ask before they are sent: three times under way.
    eager: f64,
}

const CHOSEN_ON: [Network; 4] = [
    Network {
        latency: 1.2e-6,
        gap: 0.3e-6,
        byte: 0.1e-9,
        eager: 16384.0,
    },
    Network {
        latency: 196e-6,
        gap: 4e-6,
        byte: 8.5e-9,
        eager: 65536.0,
    },
    Network {
        latency: 0.4e-6,
        gap: 0.3e-6,
        byte: 0.15e-9,
        eager: 4096.0,
    },
    Network {
        latency: 5e-6,
        gap: 1e-6,
        byte: 1e-9,
        eager: f64::INFINITY,
    },
];

const HELD_OUT: [Network; 3] = [
    Network {
        latency: 0.9e-6,
        gap: 0.15e-6,
        byte: 0.04e-9,
        eager: 8192.0,
    },
    Network {
        latency: 30e-6,
        gap: 2e-6,
        byte: 0.9e-9,
        eager: 32768.0,
    },
    Network {
        latency: 0.25e-6,
        gap: 0.1e-6,
        byte: 0.3e-9,
        eager: f64::INFINITY,
    },
];

impl Network {
    fn busy(&self, bytes: f64) -> f64 {
        self.gap + bytes * self.byte
    }

    fn under_way(&self, bytes: f64) -> f64 {
        self.latency * if bytes > self.eager { 3.0 } else { 1.0 }
    }
}

/// Every point.
pub(crate) fn every(axes: &[Axis]) -> Vec<Point> {
    axes.iter().fold(vec![Vec::new()], |points: Vec<Point>, axis| {
        let values = axis.values();
        let with = |point: &Point, value: &u64| [point.clone(), vec![*value]].concat();
        points
            .iter()
            .flat_map(|point| values.iter().map(move |value| with(point, value)))
            .collect()
    })
}

/// Surfaces on which constants were chosen, or the ones held out.
pub(crate) fn all(held_out: bool) -> Vec<Surface> {
    let networks: &[Network] = if held_out { &HELD_OUT } else { &CHOSEN_ON };
    let (ranks, sizes) = if held_out {
        ([12, 48, 96], [131_072, 1 << 20, 2 << 20])
    } else {
        ([8, 32, 128], [65_536, 524_288, 4 << 20])
    };
    let mut all = Vec::new();
    for network in networks {
        for p in ranks {
            for n in sizes {
                let call = Call {
                    network: *network,
                    p,
                    n,
                };
                all.extend([call.chains(), call.tree(), call.window(), call.chain()]);
                if p > 8 {
                    all.push(call.two_level());
                    all.extend(SEGMENTED.iter().map(|id| call.own(registry::find(id).unwrap())));
                }
            }
        }
    }
    all
}

/// Rows of Kilter's with segments and no other parameter.
const SEGMENTED: [&str; 4] = [
    "bcast.circulant",
    "bcast.two_tree",
    "reduce.binary",
    "scan.pipelined_chain",
];

#[derive(Clone, Copy)]
struct Call {
    network: Network,
    p: usize,
    n: u64,
}

impl Call {
    fn longest(self) -> u64 {
        self.n.min(1 << 20)
    }

    fn segment(self) -> Axis {
        log2(1024, self.longest())
    }

    /// Screened points of a library's algorithm: one segment, and two lengths; the second parameter at its default.
    fn screened(self, second: &[u64]) -> Vec<Point> {
        let grid = [self.longest(), self.n / 32, self.n / 8];
        grid.iter().map(|bytes| [&[*bytes], second].concat()).collect()
    }

    fn segments(self, bytes: f64) -> f64 {
        (self.n as f64 / bytes).ceil().max(1.0)
    }

    /// Broadcast over so many chains.
    fn chains(self) -> Surface {
        let Call { network, p, .. } = self;
        Surface {
            kind: "chains",
            axes: vec![self.segment(), linear(1, 8)],
            screened: self.screened(&[4]),
            seconds: Box::new(move |point| {
                let (bytes, fan) = (point[0] as f64, (point[1] as f64).min(p as f64 - 1.0));
                let (busy, under_way) = (network.busy(bytes), network.under_way(bytes));
                let length = ((p as f64 - 1.0) / fan).ceil();
                self.segments(bytes) * fan * busy + (length - 1.0) * (under_way + busy) + under_way
            }),
        }
    }

    /// Broadcast over a tree with so many children.
    fn tree(self) -> Surface {
        let Call { network, p, .. } = self;
        Surface {
            kind: "tree",
            axes: vec![self.segment(), linear(2, 8)],
            screened: self.screened(&[4]),
            seconds: Box::new(move |point| {
                let (bytes, fan) = (point[0] as f64, point[1] as f64);
                let (busy, under_way) = (network.busy(bytes), network.under_way(bytes));
                let depth = ((p as f64).ln() / fan.ln()).ceil();
                self.segments(bytes) * fan * busy + (depth - 1.0) * (under_way + fan * busy) + under_way
            }),
        }
    }

    /// Reduction with so many requests in flight: few stall, many crowd the cache.
    fn window(self) -> Surface {
        let Call { network, p, .. } = self;
        Surface {
            kind: "requests",
            axes: vec![self.segment(), log2(1, 64)],
            screened: self.screened(&[64]),
            seconds: Box::new(move |point| {
                let (bytes, requests) = (point[0] as f64, point[1] as f64);
                let (busy, under_way) = (network.busy(bytes), network.under_way(bytes));
                let stalled = (2.0 * under_way + busy) / requests;
                let cache = if requests * bytes > 262_144.0 {
                    0.25 * bytes * network.byte
                } else {
                    0.0
                };
                let crowd = 0.02 * network.gap * requests + cache;
                self.segments(bytes) * (busy.max(stalled) + crowd) + (p as f64).log2().ceil() * (under_way + busy)
            }),
        }
    }

    /// Kilter's two-level broadcast on nodes of eight ranks.
    fn two_level(self) -> Surface {
        let Call { network, p, n } = self;
        let nodes: Vec<usize> = (0..p).map(|rank| rank / 8).collect();
        let nodes = Nodes::new(&nodes);
        let row = registry::find("bcast.two_level").unwrap();
        let [leaders, segment] = row.parameters else {
            unreachable!()
        };
        Surface {
            kind: "two levels",
            axes: vec![log2(leaders.min, leaders.max), log2(segment.min, segment.max.min(n))],
            screened: vec![row.default_parameters(), vec![leaders.default, 4 * segment.default]],
            seconds: Box::new(move |point| {
                let cost = cost_model::cost(row, p, n, point, &nodes);
                cost.seconds(network.under_way(point[1] as f64) + network.gap, network.byte, 0.0)
            }),
        }
    }

    /// A library's chain: one parameter.
    fn chain(self) -> Surface {
        let Call { network, p, .. } = self;
        Surface {
            kind: "chain (one)",
            axes: vec![self.segment()],
            screened: self.screened(&[]),
            seconds: Box::new(move |point| {
                let bytes = point[0] as f64;
                let (busy, under_way) = (network.busy(bytes), network.under_way(bytes));
                self.segments(bytes) * busy + (p as f64 - 2.0) * (under_way + busy) + under_way
            }),
        }
    }

    /// A row of Kilter's with one parameter.
    fn own(self, row: &'static Algorithm) -> Surface {
        let Call { network, p, n } = self;
        let segment = &row.parameters[0];
        let max = segment.max.min(n);
        let nodes = Nodes::each_alone(p);
        Surface {
            kind: "own (one)",
            axes: vec![log2(segment.min, max)],
            screened: vec![vec![segment.default.min(max)], vec![(4 * segment.default).min(max)]],
            seconds: Box::new(move |point| {
                let cost = cost_model::cost(row, p, n, point, &nodes);
                let under_way = network.under_way(point[0] as f64);
                let messages = cost.seconds(network.gap + 0.25 * under_way, network.byte, 0.3 * network.byte);
                messages + (p as f64).log2() * under_way
            }),
        }
    }
}

fn log2(min: u64, max: u64) -> Axis {
    Axis {
        min,
        max,
        start: min,
        scale: Scale::Log2,
    }
}

fn linear(min: u64, max: u64) -> Axis {
    Axis {
        scale: Scale::Linear,
        ..log2(min, max)
    }
}
