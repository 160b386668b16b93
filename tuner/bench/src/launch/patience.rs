//! Patience with a silent job: seconds of silence after which it counts as hung.
//!
//! A job may be silent for as long as one call takes. Little is known of the library's own calls, and all of a run rests on them, so that they have
//! the time of [`Limits::stall_seconds`]. A candidate is tried where the default has just shown what the call takes here: one that takes fifty times
//! as long, or ten times the seconds that it has for all of its repetitions, is not worth waiting for.

use kilter_model::plan::{self, DEFAULT};
use kilter_protocol::plan::{Block, Implementation, Item};
use kilter_protocol::report::Start;

use super::ledger::Ledger;
use super::limits::Limits;

/// Interval at which a worker promises signs of life.
pub(super) const HEARTBEAT_SECONDS: f64 = 1.0;

/// A candidate may be silent for so many times the seconds that its block has for an item.
const SHARES: f64 = 10.0;

/// A candidate may be silent for so many times as long as the library's own calls of its block were.
const OWN_TIMES: f64 = 50.0;

/// First messages between hosts make connections, and lost ones are sent again after seconds.
const SEVERAL_HOSTS: f64 = 2.0;

/// Observations of the silences of jobs that went on afterwards.
#[derive(Debug)]
pub(super) struct Patience {
    limits: Limits,
    /// The longest one of the jobs before this one.
    earlier_seconds: f64,
    /// The longest one of this job.
    longest_seconds: f64,
    /// The longest one in the library's own calls of a block, and the block.
    own: Option<(String, f64)>,
}

impl Patience {
    pub(super) fn new(limits: Limits) -> Patience {
        Patience {
            limits,
            earlier_seconds: 0.0,
            longest_seconds: 0.0,
            own: None,
        }
    }

    /// Takes over the longest silence of the jobs before this one.
    pub(super) fn heed_earlier(&mut self, seconds: f64) {
        self.earlier_seconds = seconds;
    }

    /// The longest silence of this job.
    pub(super) fn longest_seconds(&self) -> f64 {
        self.longest_seconds
    }

    /// Learns of a silence that is over; what it was in is in the `ledger`, which knows nothing yet of what ended it.
    pub(super) fn heed(&mut self, silent_seconds: f64, ledger: &Ledger) {
        if ledger.start.is_none() || ledger.all_done() {
            // A start, and the tuner's own time, say nothing of calls.
            return;
        }
        self.longest_seconds = self.longest_seconds.max(silent_seconds);
        let Some((block, item)) = entered_last(ledger) else {
            return;
        };
        if !is_tried(block, item) {
            match &mut self.own {
                Some((known, seconds)) if *known == block.id => *seconds = seconds.max(silent_seconds),
                own => *own = Some((block.id.clone(), silent_seconds)),
            }
        }
    }

    /// Seconds of silence after which the job counts as hung, if it began within `start_seconds` and others took so many processors meanwhile.
    pub(super) fn seconds(&self, ledger: &Ledger, start_seconds: Option<f64>, other_cores: Option<f64>) -> f64 {
        let usual = self.limits.stall_seconds;
        let tried = entered_last(ledger).filter(|(block, item)| is_tried(block, item));
        let (Some(least), Some((block, _))) = (self.limits.candidate_seconds, tried) else {
            return usual;
        };
        let share = block.repetitions.seconds / block.items.len().max(1) as f64;
        let own = self.own.as_ref().filter(|(id, _)| *id == block.id);
        let expected = least
            .max(SHARES * share)
            .max(OWN_TIMES * own.map_or(0.0, |(_, seconds)| *seconds))
            .max(start_seconds.unwrap_or_default());
        let slower = (self.longest_seconds.max(self.earlier_seconds) / HEARTBEAT_SECONDS).max(1.0);
        let shared = 1.0 + other_cores.unwrap_or_default();
        let hosts = match &ledger.start {
            Some(start) if has_several_hosts(start) => SEVERAL_HOSTS,
            _ => 1.0,
        };
        (expected * slower * shared * hosts).min(usual)
    }
}

/// The item without a result that was entered last, with its block.
fn entered_last(ledger: &Ledger) -> Option<(&Block, &Item)> {
    let (block, entered) = ledger.under_way()?;
    let (block, id) = (ledger.asked(block)?, entered.last()?);
    let item = block.items.iter().find(|item| item.id == *id)?;
    Some((block, item))
}

/// True if an item is tried, and not what the library does by itself or what is deployed already.
fn is_tried(block: &Block, item: &Item) -> bool {
    let in_contest = || block.items.iter().any(|item| item.id == DEFAULT);
    let is_other_than_plain = match &item.implementation {
        Implementation::Expression { .. } => !item.settings.is_empty(),
        Implementation::Algorithm { .. } | Implementation::Plugin { .. } => true,
        Implementation::Overlap(_) | Implementation::Schedule(_) | Implementation::Among(_) => false,
    };
    plan::is_candidate(&item.id) && (is_other_than_plain || in_contest())
}

fn has_several_hosts(start: &Start) -> bool {
    start.hosts.iter().any(|host| Some(host) != start.hosts.first())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use kilter_protocol::plan::Repetitions;
    use kilter_protocol::report::Event;

    use super::super::follow::Line;
    use super::super::stand_in;
    use super::*;
    use crate::store::{LaunchPaths, Position, Store};

    /// A job that has started on these hosts and was asked a block of the default and a candidate, of 0.25 s each.
    struct Asked {
        ledger: Ledger,
        patience: Patience,
        _directory: tempfile::TempDir,
    }

    impl Asked {
        fn on(hosts: &[&str], limits: Limits) -> Asked {
            let directory = kilter_fixtures::directory();
            let store = Store::open(&directory.path().join("kilter.db")).unwrap();
            let run = store.begin_or_resume("f", 1, "kilter tune", "library", 2).unwrap();
            let path = |name: &str| directory.path().join(name);
            let paths = LaunchPaths {
                plan: path("plan"),
                report: path("report"),
                log: path("log"),
            };
            let mut ledger = Ledger::new(run.begin_launch("key", 1, "mpirun", &paths).unwrap());
            let mut block = stand_in::block("b");
            block.items[0].id = DEFAULT.to_owned();
            block.items[0].settings.clear();
            block.items[1].settings.clear();
            block.repetitions = Repetitions::fixed(3, 0.5);
            ledger.ask(block, true, false);
            let mut asked = Asked {
                ledger,
                patience: Patience::new(limits),
                _directory: directory,
            };
            asked.hears(Event::Start(Start {
                hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
                ..Start::default()
            }));
            asked
        }

        fn hears(&mut self, event: Event) {
            let end = Position::default();
            let line = Line { event, end };
            self.ledger.take(line, Path::new("report"), Duration::ZERO).unwrap();
        }

        fn enters(&mut self, item: &str) {
            self.hears(Event::Enter {
                block: "b".to_owned(),
                item: item.to_owned(),
            });
        }

        fn heeds(&mut self, silent_seconds: f64) {
            self.patience.heed(silent_seconds, &self.ledger);
        }

        fn seconds(&self) -> f64 {
            self.patience.seconds(&self.ledger, Some(0.5), None)
        }
    }

    fn usual() -> Limits {
        Limits::of_job(None, 2, None)
    }

    #[test]
    fn a_candidate_has_less_time_than_what_the_library_does_by_itself() {
        let mut job = Asked::on(&["a", "a"], usual());
        assert_eq!(job.seconds(), 20.0);
        job.enters(DEFAULT);
        assert_eq!(job.seconds(), 20.0);
        job.enters("right");
        assert_eq!(job.seconds(), 5.0);
    }

    #[test]
    fn a_time_that_the_user_gave_is_that_of_candidates_too() {
        for (given, seconds) in [(None, 5.0), (Some(3.0), 3.0), (Some(20.0), 20.0), (Some(60.0), 60.0)] {
            let mut job = Asked::on(&["a", "a"], Limits::of_job(given, 2, None));
            job.enters(DEFAULT);
            job.enters("right");
            assert_eq!(job.seconds(), seconds, "{given:?}");
        }
    }

    #[test]
    fn what_was_seen_of_the_job_and_of_earlier_ones_makes_it_longer() {
        let entered = |hosts: &[&str], own_seconds: f64| {
            let mut job = Asked::on(hosts, usual());
            job.enters(DEFAULT);
            job.heeds(own_seconds);
            job.enters("right");
            job
        };
        // The library's own call is slow.
        assert_eq!(entered(&["a", "a"], 0.2).seconds(), 10.0);
        assert_eq!(entered(&["a", "a"], 1.0).seconds(), 20.0);
        // Signs of life come late, in this job or in those before it.
        let mut job = entered(&["a", "a"], 0.0);
        job.heeds(1.0);
        assert_eq!(job.seconds(), 5.0);
        job.heeds(3.0);
        assert_eq!(job.seconds(), 15.0);
        assert_eq!(job.patience.longest_seconds(), 3.0);
        job.patience.heed_earlier(3.5);
        assert_eq!((job.seconds(), job.patience.longest_seconds()), (17.5, 3.0));
        job.patience.heed_earlier(100.0);
        assert_eq!(job.seconds(), 20.0);
        // Several hosts, a slow start, and other programs.
        assert_eq!(entered(&["a", "b"], 0.0).seconds(), 10.0);
        let job = entered(&["a", "a"], 0.0);
        let seconds = |start, cores| job.patience.seconds(&job.ledger, start, cores);
        assert_eq!((seconds(Some(8.0), None), seconds(None, Some(1.0))), (8.0, 10.0));
    }

    #[test]
    fn long_blocks_and_many_ranks_have_more_time() {
        let mut job = Asked::on(&["a", "a"], Limits::of_job(None, 3000, None));
        job.enters("right");
        assert_eq!(job.seconds(), 35.0);
        let mut long = stand_in::block("c");
        long.repetitions = Repetitions::fixed(3, 3.0);
        job.patience = Patience::new(usual());
        // A slow call of another block says nothing of this one.
        job.enters(DEFAULT);
        job.heeds(0.9);
        job.ledger.ask(long, true, false);
        job.hears(Event::Enter {
            block: "c".to_owned(),
            item: "left".to_owned(),
        });
        assert_eq!(job.seconds(), 15.0);
    }

    #[test]
    fn a_start_and_the_tuners_own_time_are_no_silence() {
        let mut job = Asked::on(&["a", "a"], usual());
        job.ledger.start = None;
        job.heeds(9.0);
        assert_eq!(job.patience.longest_seconds(), 0.0);
        let mut job = Asked::on(&["a", "a"], usual());
        job.hears(Event::BlockEnd {
            block: "b".to_owned(),
            seconds: 0.1,
            costs: None,
        });
        job.heeds(9.0);
        assert_eq!(job.patience.longest_seconds(), 0.0);
    }

    #[test]
    fn what_is_deployed_and_what_applications_do_are_not_tried() {
        let block = stand_in::block("b");
        let [left, _] = &block.items[..] else {
            panic!("two items")
        };
        assert!(is_tried(&block, left), "a setting");
        let plain = Item {
            settings: Vec::new(),
            ..left.clone()
        };
        assert!(!is_tried(&block, &plain), "the library's own");
    }
}
