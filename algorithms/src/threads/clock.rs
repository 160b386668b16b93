//! The model's time.

/// The cost of messages and operations: Hockney's model (Parallel Computing 20(3):389-398, 1994,
/// doi:10.1016/S0167-8191(06)80021-9) with a term for computation. As in LogGP, the part of the start-up time that occupies
/// no port is a term of its own, `latency`.
///
/// A rank has one port in each direction; both work at the same time and while the rank computes. A message of `n`
/// bytes keeps the sender's port busy for `alpha + n * beta` from its start, and the receiver's as long, from `latency`
/// after that start, but not before the receive was posted. Messages are buffered: a sender does not wait for its
/// receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Seconds under way, during which both ports are free for others.
    pub latency: f64,
    /// Seconds per message on each port.
    pub alpha: f64,
    /// Seconds per byte on each port.
    pub beta: f64,
    /// Seconds per byte combined.
    pub gamma: f64,
}

impl Network {
    /// Everything is free.
    pub const FREE: Network = Network {
        latency: 0.0,
        alpha: 0.0,
        beta: 0.0,
        gamma: 0.0,
    };

    fn message(&self, bytes: usize) -> f64 {
        self.alpha + bytes as f64 * self.beta
    }
}

/// Kinds of time that are counted side by side: the network's, and one for each term of [`crate::Cost`] alone.
pub(super) const KINDS: usize = 4;

/// A moment in each kind of time.
pub(super) type Moment = [f64; KINDS];

/// One rank's clocks.
#[derive(Debug, Clone)]
pub(super) struct Clocks {
    networks: [Network; KINDS],
    now: Moment,
    send_port_free: Moment,
    receive_port_free: Moment,
}

impl Clocks {
    pub(super) fn new(network: Network) -> Clocks {
        let free = Network::FREE;
        Clocks {
            networks: [
                network,
                Network { alpha: 1.0, ..free },
                Network { beta: 1.0, ..free },
                Network { gamma: 1.0, ..free },
            ],
            now: [0.0; KINDS],
            send_port_free: [0.0; KINDS],
            receive_port_free: [0.0; KINDS],
        }
    }

    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// Starts to send: when the message starts, and when its sender's port is free again.
    pub(super) fn start_send(&mut self, bytes: usize) -> (Moment, Moment) {
        let mut start = self.now;
        for (kind, start) in start.iter_mut().enumerate() {
            *start = start.max(self.send_port_free[kind]);
            self.send_port_free[kind] = *start + self.networks[kind].message(bytes);
        }
        (start, self.send_port_free)
    }

    /// Waits for what ends at `end`.
    pub(super) fn wait_until(&mut self, end: Moment) {
        for (now, end) in self.now.iter_mut().zip(end) {
            *now = now.max(end);
        }
    }

    /// Waits for a message that started at `start`, for which the receive was posted at `posted`.
    pub(super) fn receive(&mut self, start: Moment, posted: Moment, bytes: usize) {
        for kind in 0..KINDS {
            let network = &self.networks[kind];
            let arrival = (start[kind] + network.latency)
                .max(posted[kind])
                .max(self.receive_port_free[kind]);
            self.receive_port_free[kind] = arrival + network.message(bytes);
        }
        self.wait_until(self.receive_port_free);
    }

    /// Sees others' arrival in shared memory, which costs as much as a message without data.
    pub(super) fn round(&mut self) {
        for (now, network) in self.now.iter_mut().zip(&self.networks) {
            *now += network.latency + network.alpha;
        }
    }

    /// Copies `bytes` bytes into or out of shared memory.
    pub(super) fn copy(&mut self, bytes: usize) {
        for (now, network) in self.now.iter_mut().zip(&self.networks) {
            *now += bytes as f64 * network.beta;
        }
    }

    /// Combines `bytes` bytes.
    pub(super) fn reduce(&mut self, bytes: usize) {
        for (now, network) in self.now.iter_mut().zip(&self.networks) {
            *now += bytes as f64 * network.gamma;
        }
    }
}
