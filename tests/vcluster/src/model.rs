//! The network model, in virtual time: what happens to a packet is a function of the packets before it and the clock
//! that the caller passes in.
//!
//! A cut-through switch with one full-duplex port per host, unbounded buffers and no loss. For a packet of L bytes on
//! the wire from host i to host j, with latency l, overhead o and rate R:
//!
//! ```text
//! start   = max(now, injection_free[i])          one packet at a time leaves a host
//! injection_free[i] = start + o + L/R
//! arrival = start + o + l                        its first bit reaches the port of host j
//! delivery_free[j]  = max(arrival, delivery_free[j]) + o + L/R
//! ```
//!
//! It is delivered when `delivery_free[j]` is reached: the port of the receiver serialises too, which is what makes
//! incast cost what it costs. An idle network delivers after 2o + l + L/R.
//! This is LogGP (Alexandrov et al., SPAA 1995, doi:10.1145/215399.215427) with L = l, o = o, G = 1/R and g = o + L/R.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::quantity::{Delay, Nanos, Rate, Slow};

/// The constants of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Rate of every port, in each direction.
    pub(crate) rate: Rate,
    /// Time of the first bit from port to port.
    pub(crate) latency: Delay,
    /// Time that a port is kept by a packet besides its serialisation, at both ends.
    pub(crate) overhead: Delay,
    /// A host with a longer way to everyone and from everyone.
    pub(crate) slow: Option<Slow>,
}

impl Link {
    /// Time of the first bit between the ports of two hosts.
    fn latency_between(&self, from: usize, to: usize) -> Nanos {
        let is_at = |slow: &Slow| slow.host == from || slow.host == to;
        let longer = self.slow.filter(is_at).map_or(0, |slow| slow.delay.nanos);
        self.latency.nanos + longer
    }
}

/// Packets in flight; `P` is what the caller wants back at delivery.
pub(crate) struct Model<P> {
    link: Link,
    injection_free: Vec<Nanos>,
    delivery_free: Vec<Nanos>,
    events: BinaryHeap<Event<P>>,
    scheduled: u64,
}

/// A packet that has reached its receiver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Delivery<P> {
    pub(crate) to: usize,
    /// Time at which it should have been handed over.
    pub(crate) due: Nanos,
    pub(crate) payload: P,
}

#[derive(Clone, Copy)]
enum Stage {
    /// The first bit reaches the receiver's port, which may be busy.
    Arrives,
    /// The last bit has left the receiver's port.
    Delivered,
}

struct Event<P> {
    at: Nanos,
    /// Breaks ties: what was scheduled first happens first, so packets never overtake each other.
    order: u64,
    stage: Stage,
    to: usize,
    serialisation: Nanos,
    payload: P,
}

impl<P> Model<P> {
    pub(crate) fn new(hosts: usize, link: Link) -> Self {
        Self {
            link,
            injection_free: vec![0; hosts],
            delivery_free: vec![0; hosts],
            events: BinaryHeap::new(),
            scheduled: 0,
        }
    }

    /// A packet of `wire_bytes` leaves host `from` at `now`, once, for everyone in `to`.
    pub(crate) fn send(
        &mut self,
        now: Nanos,
        from: usize,
        wire_bytes: usize,
        to: impl IntoIterator<Item = (usize, P)>,
    ) {
        let serialisation = self.link.rate.serialisation(wire_bytes);
        let started = now.max(self.injection_free[from]) + self.link.overhead.nanos;
        self.injection_free[from] = started + serialisation;
        for (host, payload) in to {
            self.schedule(
                started + self.link.latency_between(from, host),
                Stage::Arrives,
                host,
                serialisation,
                payload,
            );
        }
    }

    /// Time of the next event; `None` while nothing is in flight.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        self.events.peek().map(|event| event.at)
    }

    /// The next packet whose delivery is due at `now`; call until `None`.
    pub(crate) fn deliver(&mut self, now: Nanos) -> Option<Delivery<P>> {
        while self.next_event().is_some_and(|at| at <= now) {
            let Event {
                at,
                stage,
                to,
                serialisation,
                payload,
                ..
            } = self.events.pop()?;
            match stage {
                Stage::Arrives => {
                    let done = at.max(self.delivery_free[to]) + self.link.overhead.nanos + serialisation;
                    self.delivery_free[to] = done;
                    self.schedule(done, Stage::Delivered, to, serialisation, payload);
                }
                Stage::Delivered => return Some(Delivery { to, due: at, payload }),
            }
        }
        None
    }

    /// Packets between their injection and their delivery.
    pub(crate) fn in_flight(&self) -> usize {
        self.events.len()
    }

    fn schedule(&mut self, at: Nanos, stage: Stage, to: usize, serialisation: Nanos, payload: P) {
        self.scheduled += 1;
        self.events.push(Event {
            at,
            order: self.scheduled,
            stage,
            to,
            serialisation,
            payload,
        });
    }
}

// The heap's greatest element is the earliest event.
impl<P> Ord for Event<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<P> PartialOrd for Event<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Event<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Event<P> {}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: Nanos = 200_000;

    fn network(hosts: usize, overhead: &str) -> Model<u32> {
        let link = Link {
            rate: "1Gbit".parse().unwrap(),
            latency: Delay { nanos: LATENCY },
            overhead: overhead.parse().unwrap(),
            slow: None,
        };
        Model::new(hosts, link)
    }

    /// Runs until nothing is in flight, waking exactly when the model asks for it.
    fn drain(model: &mut Model<u32>) -> Vec<(u32, usize, Nanos)> {
        let mut delivered = Vec::new();
        while let Some(now) = model.next_event() {
            while let Some(Delivery { to, due, payload }) = model.deliver(now) {
                assert!(due <= now);
                delivered.push((payload, to, due));
            }
        }
        delivered
    }

    #[test]
    fn a_slow_host_is_far_from_everyone_each_way() {
        let mut model = network(3, "0us");
        model.link.slow = Some("1:300us".parse().unwrap());
        let far = 1_000 + LATENCY + 300_000 + 8_000;
        model.send(1_000, 0, 1_000, [(1, 7), (2, 8)]);
        assert_eq!(drain(&mut model), [(8, 2, far - 300_000), (7, 1, far)]);
        let mut model = network(3, "0us");
        model.link.slow = Some("1:300us".parse().unwrap());
        model.send(1_000, 1, 1_000, [(2, 9)]);
        assert_eq!(drain(&mut model), [(9, 2, far)]);
        assert!("1".parse::<Slow>().is_err() && "x:1us".parse::<Slow>().is_err() && "1:1".parse::<Slow>().is_err());
    }

    #[test]
    fn an_idle_network_costs_latency_and_one_serialisation() {
        let mut model = network(2, "0us");
        model.send(1_000, 0, 1_000, [(1, 7)]);
        assert_eq!(drain(&mut model), [(7, 1, 1_000 + LATENCY + 8_000)]);
    }

    #[test]
    fn nothing_is_delivered_before_it_is_due() {
        let mut model = network(2, "0us");
        model.send(0, 0, 1_000, [(1, 7)]);
        assert_eq!(model.deliver(LATENCY + 7_999), None);
        assert_eq!(model.in_flight(), 1);
        assert!(model.deliver(LATENCY + 8_000).is_some());
        assert_eq!(model.in_flight(), 0);
    }

    #[test]
    fn a_sender_injects_one_packet_at_a_time() {
        let mut model = network(3, "0us");
        model.send(0, 0, 1_000, [(1, 1)]);
        model.send(0, 0, 500, [(2, 2)]);
        // The second starts after the 8 us of the first, to another receiver.
        assert_eq!(
            drain(&mut model),
            [(1, 1, LATENCY + 8_000), (2, 2, LATENCY + 8_000 + 4_000)]
        );
    }

    #[test]
    fn incast_is_serialised_at_the_receiver() {
        let mut model = network(4, "0us");
        for from in 1..4 {
            model.send(0, from, 1_000, [(0, from as u32)]);
        }
        let expected: Vec<_> = (1..4).map(|k| (k as u32, 0, LATENCY + 8_000 * k as Nanos)).collect();
        assert_eq!(drain(&mut model), expected);
    }

    #[test]
    fn different_pairs_do_not_disturb_each_other() {
        let mut model = network(4, "0us");
        model.send(0, 0, 1_000, [(1, 1)]);
        model.send(0, 2, 1_000, [(3, 2)]);
        model.send(0, 1, 1_000, [(0, 3)]);
        assert!(drain(&mut model).iter().all(|(_, _, due)| *due == LATENCY + 8_000));
    }

    #[test]
    fn overhead_is_paid_at_both_ends_and_keeps_the_ports() {
        let mut model = network(2, "10us");
        model.send(0, 0, 1_000, [(1, 1)]);
        model.send(0, 0, 1_000, [(1, 2)]);
        let first = LATENCY + 2 * 10_000 + 8_000;
        assert_eq!(drain(&mut model), [(1, 1, first), (2, 1, first + 18_000)]);
    }

    #[test]
    fn a_broadcast_is_injected_once() {
        let mut model = network(3, "0us");
        model.send(0, 0, 1_000, [(1, 1), (2, 2)]);
        assert_eq!(drain(&mut model), [(1, 1, LATENCY + 8_000), (2, 2, LATENCY + 8_000)]);
    }

    #[test]
    fn a_late_caller_gets_everything_in_order_with_the_times_of_the_model() {
        let mut model = network(3, "0us");
        for k in 0..20 {
            model.send(0, k % 2, 100, [(2, k as u32)]);
        }
        let mut delivered = Vec::new();
        while let Some(delivery) = model.deliver(Nanos::MAX) {
            delivered.push((delivery.payload, delivery.due));
        }
        let expected: Vec<_> = (0..20).map(|k| (k, LATENCY + 800 * (Nanos::from(k) + 1))).collect();
        assert_eq!(delivered, expected);
    }

    #[test]
    fn a_stream_runs_at_the_rate() {
        let mut model = network(2, "0us");
        for k in 0..16 {
            model.send(0, 0, 65_536, [(1, k)]);
        }
        let last = drain(&mut model).last().map(|(_, _, due)| *due);
        assert_eq!(last, Some(LATENCY + 16 * 524_288));
    }
}
