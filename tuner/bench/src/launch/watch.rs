//! Observed cost of a command's jobs, and what ran beside them.

use std::cell::RefCell;

/// Number of the last jobs that tell how the machine is now.
const RECENT: usize = 16;

/// A finished job.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ended {
    /// Its key.
    pub key: String,
    /// Wall seconds of the job.
    pub seconds: f64,
    /// Seconds from its launch until its start line was seen, if it was: a file system may show it late.
    pub start_seconds: Option<f64>,
    /// Processors that other programs took meanwhile, if known.
    pub other_cores: Option<f64>,
    /// Longest silence after which it went on, in seconds.
    pub silent_seconds: f64,
    /// Blocks left unanswered because its time was over.
    pub unanswered: usize,
    /// The failure, if it did not start and was started again.
    pub started_again: Option<String>,
}

/// The finished jobs of a command.
#[derive(Debug, Default)]
pub struct Watch {
    ended: RefCell<Vec<Ended>>,
    told: RefCell<usize>,
}

/// Effect of other programs on the launches of a command.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OtherLoad {
    /// Number of launches for which it is known.
    pub launches: usize,
    /// Number of launches beside which others took more than they may.
    pub beside: usize,
    /// Most processors that others took in one of them.
    pub most_cores: f64,
    /// Median wall seconds of launches beside others over that of the rest; 0 if either is missing.
    pub slower: f64,
    /// Blocks that were left out because their launch had to end.
    pub unanswered: usize,
}

impl Watch {
    /// Adds a finished job.
    pub fn ended(&self, job: Ended) {
        self.ended.borrow_mut().push(job);
    }

    /// Jobs that ended since the last call.
    pub fn news(&self) -> Vec<Ended> {
        let ended = self.ended.borrow();
        let told = self.told.replace(ended.len());
        ended[told..].to_vec()
    }

    /// Median seconds from a launch until its start line was seen; `None` before the first.
    #[must_use]
    pub fn start_seconds(&self) -> Option<f64> {
        median(self.ended.borrow().iter().filter_map(|job| job.start_seconds).collect())
    }

    /// Longest silence of a job after which it went on, among the last ones: a machine has busy hours, and quiet ones.
    #[must_use]
    pub fn silent_seconds(&self) -> f64 {
        let ended = self.ended.borrow();
        let last = ended.iter().rev().take(RECENT);
        last.map(|job| job.silent_seconds).fold(0.0, f64::max)
    }

    /// Summary of all launches; others may take `most_cores`.
    #[must_use]
    pub fn other_load(&self, most_cores: f64) -> OtherLoad {
        let ended = self.ended.borrow();
        let known = || ended.iter().filter_map(|job| Some((job.other_cores?, job.seconds)));
        let of = |busy: bool| known().filter(move |(cores, _)| (*cores > most_cores) == busy);
        let seconds = |busy| median(of(busy).map(|(_, seconds)| seconds).collect());
        let slower = match (seconds(true), seconds(false)) {
            (Some(beside), Some(alone)) if alone > 0.0 => beside / alone,
            _ => 0.0,
        };
        OtherLoad {
            launches: known().count(),
            beside: of(true).count(),
            most_cores: known().map(|(cores, _)| cores).fold(0.0, f64::max),
            slower,
            unanswered: ended.iter().map(|job| job.unanswered).sum(),
        }
    }
}

/// The median; of two values in the middle the upper one.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(seconds: f64, other_cores: f64) -> Ended {
        Ended {
            other_cores: Some(other_cores),
            seconds,
            ..Ended::default()
        }
    }

    #[test]
    fn what_others_did_is_said_of_the_launches_beside_them() {
        let watch = Watch::default();
        assert_eq!(watch.other_load(0.25), OtherLoad::default());
        for (seconds, cores) in [(2.0, 0.1), (2.2, 0.0), (8.8, 1.9), (8.0, 1.5)] {
            watch.ended(job(seconds, cores));
        }
        watch.ended(Ended {
            unanswered: 7,
            ..Ended::default()
        });
        let load = watch.other_load(0.25);
        assert_eq!((load.launches, load.beside, load.most_cores), (4, 2, 1.9));
        assert_eq!((load.slower, load.unanswered), (4.0, 7));
        assert_eq!(watch.news().len(), 5);
        assert_eq!(watch.news(), []);
        assert_eq!(watch.start_seconds(), None);
        for start_seconds in [Some(0.5), None, Some(15.0), Some(0.7)] {
            watch.ended(Ended {
                start_seconds,
                ..Ended::default()
            });
        }
        assert_eq!(watch.start_seconds(), Some(0.7));
        let silent = |silent_seconds| {
            watch.ended(Ended {
                silent_seconds,
                ..Ended::default()
            });
        };
        silent(9.0);
        (1..RECENT).for_each(|_| silent(1.5));
        assert_eq!(watch.silent_seconds(), 9.0);
        silent(1.5);
        assert_eq!(watch.silent_seconds(), 1.5);
    }
}
