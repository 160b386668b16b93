//! The switch's counters, and the page on which it reports them.

use std::fmt::Write as _;

use nix::sys::resource::{UsageWho, getrusage};

use crate::{quantity::Nanos, state::Cluster};

/// Counters since the cluster came up; lateness since the last page.
pub(crate) struct Counters {
    description: String,
    hosts: Vec<Sent>,
    unroutable: u64,
    refused: u64,
    delivered: u64,
    late_sum: Nanos,
    late_max: Nanos,
}

#[derive(Clone, Copy, Default)]
struct Sent {
    packets: u64,
    wire_bytes: u64,
}

impl Counters {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self {
            description: cluster.to_string(),
            hosts: vec![Sent::default(); cluster.hosts],
            unroutable: 0,
            refused: 0,
            delivered: 0,
            late_sum: 0,
            late_max: 0,
        }
    }

    pub(crate) fn sent(&mut self, host: usize, wire_bytes: usize) {
        self.hosts[host].packets += 1;
        self.hosts[host].wire_bytes += wire_bytes as u64;
    }

    /// A packet to an address that nobody has.
    pub(crate) fn unroutable(&mut self) {
        self.unroutable += 1;
    }

    /// A packet was handed over `late` nanoseconds after it was due, or its host refused it.
    pub(crate) fn delivered(&mut self, late: Nanos, accepted: bool) {
        self.delivered += 1;
        self.refused += u64::from(!accepted);
        self.late_sum += late;
        self.late_max = self.late_max.max(late);
    }

    /// The page, `key = value`. Times in microseconds; lateness starts anew with each page.
    pub(crate) fn page(&mut self, in_flight: usize) -> String {
        let packets: u64 = self.hosts.iter().map(|host| host.packets).sum();
        let wire_bytes: u64 = self.hosts.iter().map(|host| host.wire_bytes).sum();
        let late_mean = self.late_sum as f64 / self.delivered.max(1) as f64 / 1e3;
        let late_max = self.late_max as f64 / 1e3;
        let mut page = self.description.clone();
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "packets = {packets}\nwire_bytes = {wire_bytes}\nin_flight = {in_flight}\nunroutable = {}\nrefused = {}\n\
             late_mean_us = {late_mean:.2}\nlate_max_us = {late_max:.1}\n",
            self.unroutable, self.refused,
        );
        if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
            let micros = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
            let cpu = micros(usage.user_time()) + micros(usage.system_time());
            let _ = writeln!(page, "cpu_us_per_packet = {:.2}", cpu / packets.max(1) as f64);
        }
        (self.delivered, self.late_sum, self.late_max) = (0, 0, 0);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_starts_anew_with_each_page() {
        let cluster = "hosts = 2\nrate = 1Gbit\nlatency = 0us\noverhead = 0us\n"
            .parse()
            .unwrap();
        let mut counters = Counters::new(&cluster);
        counters.sent(1, 90);
        counters.delivered(3_000, true);
        counters.delivered(1_000, false);
        let page = counters.page(5);
        for line in [
            "hosts = 2",
            "packets = 1",
            "wire_bytes = 90",
            "in_flight = 5",
            "refused = 1",
            "late_mean_us = 2.00",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "'{line}' is missing in\n{page}"
            );
        }
        assert!(counters.page(0).contains("late_max_us = 0.0"));
    }
}
