//! The ranks of the job as the measuring loop sees them: they agree on a start, wait for it and for their offsets, and carry an item out.

use kilter_protocol::plan::{ArrivalPattern, Repetitions};
use kilter_protocol::repetitions::WARM_UPS;
use kilter_protocol::report::Event;

use crate::clock::Arrival;
use crate::common_time::CommonTime;
use crate::control::Control;
use crate::measure::{Agreed, Machine, Repetition, measure};
use crate::report_file::ReportFile;
use crate::schedule::Schedule;
use crate::session::Session;
use crate::settings;
use crate::sweep::Sweep;

/// Longest time that the empty operation is measured for, in seconds.
const NOISE_SECONDS: f64 = 10.0;

impl Session {
    /// Measures the empty operation: the time that the timer and the synchronisation add to every time. Called by all ranks.
    pub(crate) fn measure_noise(&mut self) -> anyhow::Result<()> {
        let repetitions = self.header.noise_repetitions;
        if repetitions == 0 {
            return Ok(());
        }
        let rule = Repetitions::fixed(repetitions, NOISE_SECONDS);
        let mut schedule = Schedule::new(1, WARM_UPS, rule, 0);
        self.measure(&mut schedule, &[], &[None], |_| Ok(()))?;
        let seconds = schedule.into_series().remove(0).seconds;
        self.tell(Event::Noise { seconds })
    }

    /// Repeats the items of a schedule. `settings` of each item hold while it runs, and its ranks begin apart by its pattern. Called by all ranks.
    pub(crate) fn measure(
        &mut self,
        schedule: &mut Schedule,
        settings: &[settings::Settings],
        patterns: &[Option<&ArrivalPattern>],
        run: impl FnMut(usize) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut ranks = Ranks {
            control: &self.control,
            time: &mut self.time,
            sweep: self.sweep.as_mut(),
            report: self.report.as_mut(),
            held: settings::Held::new(&mut self.variables, settings),
            patterns,
            run,
        };
        measure(&mut ranks, schedule, &mut self.lead)?;
        ranks.held.release()
    }
}

/// The real ranks.
struct Ranks<'a, F> {
    control: &'a Control,
    time: &'a mut CommonTime,
    sweep: Option<&'a mut Sweep>,
    report: Option<&'a mut ReportFile>,
    held: settings::Held<'a>,
    patterns: &'a [Option<&'a ArrivalPattern>],
    run: F,
}

impl<F> Ranks<'_, F> {
    fn exchange(&self, previous: Repetition) -> anyhow::Result<Agreed> {
        let own = [
            self.time.now_ns(),
            previous.end_ns,
            previous.arrival.to_number(),
            previous.needed_ns,
            previous.arrived_ns,
        ];
        let [now_ns, end_ns, arrival, needed_ns, arrived_ns] = self.control.exchange_max(own)?;
        Ok(Agreed {
            now_ns,
            end_ns,
            arrival: Arrival::from_number(arrival),
            needed_ns,
            arrived_ns,
        })
    }
}

impl<F: FnMut(usize) -> anyhow::Result<()>> Machine for Ranks<'_, F> {
    fn prepare(&mut self) {
        if let Some(sweep) = &mut self.sweep {
            sweep.run();
        }
    }

    fn agree(&mut self, previous: Repetition) -> anyhow::Result<Agreed> {
        let agreed = self.exchange(previous)?;
        if self.time.keep(self.control, agreed.now_ns)? {
            // That took time: the start is agreed from now on.
            return self.exchange(previous);
        }
        Ok(agreed)
    }

    fn has_pattern(&self, item: usize) -> bool {
        self.patterns[item].is_some()
    }

    fn repeat(&mut self, item: usize, number: u64, start_ns: u64, lead_ns: u64) -> anyhow::Result<Repetition> {
        // Within the lead; a rank that takes longer is late, and the lead grows.
        self.held.hold(item)?;
        let (rank, ranks) = (self.control.rank(), self.control.p_ranks());
        let offset_ns = self.patterns[item].map_or(0, |pattern| pattern.offset_ns(rank, ranks, number));
        let begun = self.time.begin(start_ns, offset_ns);
        // A late rank takes part all the same: the others are in it already.
        (self.run)(item)?;
        let end_ns = self.time.end_ns(begun);
        if let Some(report) = self.report.as_mut() {
            report.heartbeat()?;
        }
        Ok(Repetition {
            end_ns,
            arrival: begun.arrival,
            needed_ns: begun.needed_ns(lead_ns),
            arrived_ns: begun.arrived_ns,
        })
    }
}
