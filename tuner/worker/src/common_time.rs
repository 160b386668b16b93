//! One time for all ranks, whatever clocks they have. A repetition's start is agreed on, waited for and measured in it.

use anyhow::bail;
use kilter_mpi::MpiError;
use kilter_protocol::plan::{ClockFault, Header, Synchronisation, Wait};
use kilter_protocol::report::Synchronised;

use crate::clock::{self, Arrival};
use crate::control::Control;
use crate::line::Line;
use crate::round_time::RoundTime;
use crate::shared_clock::{self, Offset};

/// The common time, on one rank.
#[derive(Debug)]
pub(crate) struct CommonTime {
    method: Synchronisation,
    wait: Wait,
    /// Line from the host's clock to the rank's; they differ only if a test made the clock wrong.
    fault: Option<Line>,
    /// From the rank's clock to the common time, where they differ.
    model: Option<Line>,
    round_time: RoundTime,
    /// The invented line of rank 0's clock, for tests.
    truth: Option<Line>,
}

/// A repetition that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    /// Way in which the ranks begin together.
    pub(crate) arrival: Arrival,
    /// Nanoseconds before the start at which this rank was ready, negative if it was late; 0 with a barrier, which has no start.
    spare_ns: i64,
    /// The agreed start minus the actual one, in nanoseconds, where only the local duration counts; else 0.
    shift_ns: i64,
    /// Time at which this rank began, in nanoseconds of the common time; with a barrier counted from the agreed start.
    pub(crate) arrived_ns: u64,
}

impl Begun {
    /// The part of a lead of `lead_ns` that this rank needed, in nanoseconds.
    #[inline]
    pub(crate) fn needed_ns(&self, lead_ns: u64) -> u64 {
        lead_ns.saturating_add_signed(self.spare_ns.saturating_neg())
    }
}

impl CommonTime {
    /// Chooses the method and learns the models that it needs. Called by all ranks.
    ///
    /// # Errors
    /// The library's; a shared clock is asked for where the ranks have none.
    pub(crate) fn establish(control: &Control, header: &Header, wait: Wait) -> anyhow::Result<CommonTime> {
        let fault = |rank: usize| header.clock_faults.iter().find(|fault| fault.rank == rank).map(wrong);
        let mut time = CommonTime {
            method: header.sync,
            wait,
            fault: fault(control.rank()),
            model: None,
            round_time: RoundTime::default(),
            truth: (!header.clock_faults.is_empty()).then(|| fault(0).unwrap_or(Line::IDENTITY)),
        };
        if clock::SIMULATED {
            // It is one by construction, and asking hundreds of ranks takes long.
            time.method = Synchronisation::SharedClock;
        } else if matches!(header.sync, Synchronisation::Auto | Synchronisation::SharedClock) {
            time.method = time.shared_or_not(control)?;
        }
        if time.method == Synchronisation::RoundTime {
            let fault = time.fault;
            time.model = Some(time.round_time.learn(control, &|| own_ns(fault))?);
        }
        Ok(time)
    }

    /// The host's clock, for one rank.
    #[cfg(test)]
    pub(crate) fn of_host(wait: Wait) -> CommonTime {
        CommonTime {
            method: Synchronisation::SharedClock,
            wait,
            fault: None,
            model: None,
            round_time: RoundTime::default(),
            truth: None,
        }
    }

    /// Finds out if the ranks share a clock; if they do not but must, an error on rank 0.
    fn shared_or_not(&self, control: &Control) -> anyhow::Result<Synchronisation> {
        let offsets = shared_clock::ask_all(control, || own_ns(self.fault))?;
        let other = offsets.iter().find(|offset| !offset.is_within_tolerance());
        if let (Some(offset), Synchronisation::SharedClock) = (other, self.method) {
            bail!(
                "the clock of rank {} is {} us away from rank 0's (round trip {} us): the ranks share no clock, as on several \
                 hosts; choose `--sync round-time` or `auto`",
                offset.rank,
                offset.offset_ns / 1000,
                offset.round_trip_ns / 1000
            );
        }
        let [differ, ..] = control.exchange_max([u64::from(other.is_some()), 0, 0, 0])?;
        Ok(if differ == 0 {
            Synchronisation::SharedClock
        } else {
            Synchronisation::RoundTime
        })
    }

    /// Now, in nanoseconds of the common time.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        common_ns(self.fault, self.model)
    }

    /// Waits for the start and then for this rank's offset from it; with a barrier, which has let the ranks go already, for the offset alone.
    #[inline]
    pub(crate) fn begin(&self, start_ns: u64, offset_ns: u64) -> Begun {
        let planned_ns = start_ns.saturating_add(offset_ns);
        if self.method == Synchronisation::Barrier {
            let shift_ns = start_ns.wrapping_sub(self.now_ns()).cast_signed();
            let late_ns = match offset_ns {
                0 => 0,
                _ => lateness_ns(clock::wait_until(clock::now_ns() + offset_ns, self.wait)),
            };
            return Begun {
                arrival: Arrival::IN_TIME,
                spare_ns: 0,
                shift_ns,
                arrived_ns: planned_ns.saturating_add(late_ns),
            };
        }
        let mut host_ns = planned_ns.cast_signed();
        for line in [self.model, self.fault].into_iter().flatten() {
            host_ns = line.invert(host_ns);
        }
        let (arrival, spare_ns) = clock::wait_until(host_ns.max(0).cast_unsigned(), self.wait);
        Begun {
            arrival,
            // The lead has to reach to the start; what the offset adds says nothing of it.
            spare_ns: spare_ns.saturating_sub_unsigned(offset_ns),
            shift_ns: 0,
            arrived_ns: planned_ns.saturating_add(lateness_ns((arrival, spare_ns))),
        }
    }

    /// The end of a repetition that has begun, in nanoseconds of the common time; with a barrier, the agreed start plus the local time.
    #[inline]
    pub(crate) fn end_ns(&self, begun: Begun) -> u64 {
        self.now_ns().wrapping_add_signed(begun.shift_ns)
    }

    /// Keeps the ranks' models true; whether that took time. `now_ns` is agreed. Called by all ranks.
    #[inline]
    pub(crate) fn keep(&mut self, control: &Control, now_ns: u64) -> anyhow::Result<bool> {
        if self.method != Synchronisation::RoundTime || !self.round_time.is_due(now_ns) {
            return Ok(false);
        }
        let fault = self.fault;
        self.model = Some(self.round_time.check(control, &|| own_ns(fault))?);
        Ok(true)
    }

    /// Asks all ranks for the common time. Returns the facts, with the differences only on rank 0. Called by all ranks.
    pub(crate) fn survey(&self, control: &Control) -> Result<Synchronised, MpiError> {
        let offsets = match self.method {
            Synchronisation::Barrier => Vec::new(),
            _ if clock::SIMULATED => Vec::new(),
            _ => shared_clock::ask_all(control, || self.now_ns())?,
        };
        let skew = self.model.map_or(0.0, |line| line.skew.abs());
        let own = [self.true_error_ns(), (skew * 1e15) as u64, 0, 0];
        let [true_error_ns, skew, ..] = control.exchange_max(own)?;
        let (residual_ns, bound_ns) = worst(&offsets);
        Ok(Synchronised {
            method: self.method,
            residual_seconds: residual_ns as f64 / 1e9,
            bound_seconds: bound_ns as f64 / 1e9,
            drift_ppm_max: skew as f64 / 1e9,
            checks: self.round_time.checks,
            relearnt: self.round_time.relearnt,
            true_error_seconds: self.truth.map(|_| true_error_ns as f64 / 1e9),
        })
    }

    /// The error of the common time, where a test knows it: all processes of the host read one clock.
    fn true_error_ns(&self) -> u64 {
        let Some(truth) = self.truth else { return 0 };
        let host_ns = clock::now_ns().cast_signed();
        let mut common_ns = host_ns;
        for line in [self.fault, self.model].into_iter().flatten() {
            common_ns = line.apply(common_ns);
        }
        common_ns.abs_diff(truth.apply(host_ns))
    }
}

/// Nanoseconds by which a rank began after the time that it waited for.
#[inline]
fn lateness_ns((arrival, spare_ns): (Arrival, i64)) -> u64 {
    match arrival {
        Arrival::Waited { late_ns } => late_ns,
        Arrival::Missed => spare_ns.min(0).unsigned_abs(),
    }
}

/// Largest difference, and half the longest round trip, in nanoseconds.
fn worst(offsets: &[Offset]) -> (u64, u64) {
    let residual_ns = offsets.iter().map(|offset| offset.offset_ns.unsigned_abs()).max();
    let round_trip_ns = offsets.iter().map(|offset| offset.round_trip_ns).max();
    (residual_ns.unwrap_or(0), round_trip_ns.unwrap_or(0).div_ceil(2))
}

/// The rank's own clock.
#[inline]
fn own_ns(fault: Option<Line>) -> u64 {
    common_ns(fault, None)
}

#[inline]
fn common_ns(fault: Option<Line>, model: Option<Line>) -> u64 {
    let now_ns = clock::now_ns();
    if fault.is_none() && model.is_none() {
        return now_ns;
    }
    let mut now_ns = now_ns.cast_signed();
    for line in [fault, model].into_iter().flatten() {
        now_ns = line.apply(now_ns);
    }
    now_ns.max(0).cast_unsigned()
}

/// A wrong clock as a line from the host's.
fn wrong(fault: &ClockFault) -> Line {
    Line {
        from_ns: 0,
        to_ns: (fault.offset_seconds * 1e9) as i64,
        skew: fault.drift_ppm * 1e-6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(method: Synchronisation, fault: Option<Line>, model: Option<Line>) -> CommonTime {
        CommonTime {
            method,
            fault,
            model,
            ..CommonTime::of_host(Wait::Spin)
        }
    }

    #[test]
    fn a_start_in_the_common_time_is_waited_for_on_the_hosts_clock() {
        let fault = wrong(&ClockFault {
            rank: 1,
            offset_seconds: 3.0,
            drift_ppm: 50.0,
        });
        let model = Line {
            from_ns: 3_000_000_000,
            to_ns: 7_000_000_000,
            skew: -50e-6,
        };
        let time = time(Synchronisation::RoundTime, Some(fault), Some(model));
        // In this order: what lies between the two only makes the wait seem longer.
        let (host_ns, before_ns) = (clock::now_ns(), time.now_ns());
        let begun = time.begin(before_ns + 2_000_000, 0);
        assert!(
            clock::now_ns() - host_ns >= 1_990_000,
            "it did not wait on the host's clock"
        );
        assert!(time.end_ns(begun) >= before_ns + 2_000_000 - 2);
        assert_eq!(time.begin(before_ns, 0).arrival, Arrival::Missed);
    }

    #[test]
    fn with_a_barrier_only_the_local_duration_counts() {
        let time = time(Synchronisation::Barrier, None, None);
        // A start of another rank's clock, long over: nobody is late, and the end is the start plus some microseconds.
        let begun = time.begin(1_000, 0);
        assert!(begun.arrival.is_in_time(Wait::Spin, 0), "{:?}", begun.arrival);
        let end_ns = time.end_ns(begun);
        assert!((1_000..1_000_000_000).contains(&end_ns), "{end_ns}");
    }

    #[test]
    fn a_rank_with_an_offset_arrives_by_that_much_later_and_needs_no_longer_lead() {
        for method in [Synchronisation::SharedClock, Synchronisation::Barrier] {
            let time = time(method, None, None);
            let start_ns = time.now_ns() + 3_000_000;
            let begun = time.begin(start_ns, 2_000_000);
            assert!(begun.arrived_ns >= start_ns + 2_000_000, "{method:?}: {begun:?}");
            let end_ns = time.end_ns(begun);
            assert!(end_ns >= begun.arrived_ns, "{method:?}: it ended before it began");
            // The wait began some 3 ms before the start, and not 5.
            assert!(begun.spare_ns <= 3_000_000, "{method:?}: {begun:?}");
        }
    }

    #[test]
    fn the_worst_difference_and_the_longest_round_trip_are_told() {
        let offset = |offset_ns, round_trip_ns| Offset {
            rank: 1,
            offset_ns,
            round_trip_ns,
        };
        assert_eq!(worst(&[offset(30, 900), offset(-70, 401)]), (70, 450));
        assert_eq!(worst(&[]), (0, 0));
    }
}
