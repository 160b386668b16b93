//! Lower bound of every algorithm on a network of known latency and bandwidth. Pure.

use kilter_algorithms::Collective;
use serde::Serialize;

/// A network of hosts whose links carry data in both directions at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Network {
    /// Seconds until a message of no length arrives.
    pub latency_seconds: f64,
    /// Seconds per byte and direction on a host's link.
    pub seconds_per_byte: f64,
    /// Hosts; the ranks are spread over them evenly.
    pub hosts: usize,
}

impl Network {
    /// Least time of a call on `n` bytes in total, in seconds: the latency once, and the data that must leave or enter
    /// one host.
    ///
    /// Bytes per host are the lower bounds of Chan et al. 2007 (doi:10.1002/cpe.1206, table 1) with hosts in place of nodes. Their term of
    /// `ceil(log2 p)` latencies is left out: if a sender is free as soon as its message is on the way, a tree of any depth must take only one
    /// latency. Communication inside a host and arithmetic take no time. `None` if no data must cross the network.
    #[must_use]
    pub fn lower_bound_seconds(&self, collective: Collective, n_bytes: u64, ranks: usize) -> Option<f64> {
        if self.hosts < 2 {
            return None;
        }
        let (n, hosts) = (n_bytes as f64, self.hosts as f64);
        let others = (hosts - 1.0) / hosts;
        let bytes = match collective {
            Collective::Barrier | Collective::ReduceLocal => 0.0,
            // The root, or the last host, has to get or to give everything once; a combination is as long as a contribution.
            Collective::Bcast | Collective::Reduce | Collective::Scan | Collective::Exscan => n,
            // Everything but a host's own.
            Collective::Allgather
            | Collective::Allgatherv
            | Collective::Gather
            | Collective::Gatherv
            | Collective::Scatter
            | Collective::Scatterv => n * others,
            // Each block is combined from all hosts, and stays with its host.
            Collective::ReduceScatter | Collective::ReduceScatterBlock => n * others,
            Collective::Allreduce => 2.0 * n * others,
            // Each rank of a host has n bytes, of which it keeps those for its own host.
            Collective::Alltoall | Collective::Alltoallv => n * (ranks as f64 / hosts) * others,
        };
        Some(self.latency_seconds + bytes * self.seconds_per_byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: Network = Network {
        latency_seconds: 200e-6,
        seconds_per_byte: 8e-9,
        hosts: 8,
    };

    fn microseconds(collective: Collective, n_bytes: u64, ranks: usize) -> f64 {
        let seconds = GIGABIT
            .lower_bound_seconds(collective, n_bytes, ranks)
            .expect("eight hosts");
        (seconds * 1e6).round()
    }

    #[test]
    fn bounds_by_hand() {
        assert_eq!(microseconds(Collective::Barrier, 0, 8), 200.0);
        // 262,144 bytes take 2097 us on a link.
        assert_eq!(microseconds(Collective::Bcast, 262_144, 8), 2297.0);
        assert_eq!(microseconds(Collective::Gather, 262_144, 8), 2035.0);
        assert_eq!(microseconds(Collective::Allreduce, 262_144, 8), 3870.0);
        assert_eq!(microseconds(Collective::Alltoall, 262_144, 16), 3870.0);
        let one = Network { hosts: 1, ..GIGABIT };
        assert_eq!(one.lower_bound_seconds(Collective::Bcast, 8, 4), None);
    }

    /// No algorithm of the registry beats it on the model that counts its messages.
    #[test]
    fn no_cost_function_is_below_it() {
        use kilter_algorithms::{Nodes, Setting, registry};
        let n_bytes = 8 * 65_536;
        for row in registry::algorithms() {
            let parameters = row.default_parameters();
            let cost = (row.cost)(&Setting {
                p_ranks: 8,
                n_bytes,
                parameters: &parameters,
                nodes: &Nodes::each_alone(8),
            });
            let bytes_seconds = cost.bytes_sent * GIGABIT.seconds_per_byte;
            let bound = GIGABIT
                .lower_bound_seconds(row.collective, n_bytes as u64, 8)
                .expect("eight hosts");
            assert!(
                bytes_seconds >= bound - GIGABIT.latency_seconds - 1e-9,
                "{}: {bytes_seconds} s on the links, at least {bound} s",
                row.id
            );
        }
    }
}
