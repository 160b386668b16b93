//! Starts of one job: failures of the moment are no reason to give it up.

use super::limits::Limits;

/// Starts of one job that failed so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Starts {
    ended: usize,
    has_hung: bool,
}

impl Starts {
    /// A job that ends before it starts is started so often again, where jobs are known to start. Each takes about as long as a start, and such
    /// failures come in groups: under `srun`, two of 180 launches in a row.
    const AGAIN: usize = 3;
    /// The same where no job has started yet: a command that can start nothing is given up soon.
    const AGAIN_AT_FIRST: usize = 1;

    /// Limits of the next start.
    #[must_use]
    pub fn limits(&self, limits: Limits) -> Limits {
        if self.has_hung {
            limits
        } else {
            limits.of_first_launch()
        }
    }

    /// True if a start that failed is made again. One that hung takes all the time that it is given, so that it is made again only where jobs are
    /// known to start, and once.
    pub fn again(&mut self, limits: &Limits, hung: bool) -> bool {
        let jobs_start = limits.first_start_seconds.is_some();
        if hung {
            jobs_start && !std::mem::replace(&mut self.has_hung, true)
        } else {
            self.ended += 1;
            self.ended
                <= if jobs_start {
                    Starts::AGAIN
                } else {
                    Starts::AGAIN_AT_FIRST
                }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUNG: bool = true;

    #[test]
    fn before_any_job_has_started_little_is_tried() {
        let limits = Limits::of_job(None, 2, None);
        let mut starts = Starts::default();
        assert_eq!(starts.limits(limits), limits);
        assert!(!starts.again(&limits, HUNG));
        assert_eq!([(); 2].map(|()| starts.again(&limits, !HUNG)), [true, false]);
    }

    #[test]
    fn where_jobs_start_one_that_hangs_is_followed_by_one_with_more_time() {
        let limits = Limits::of_job(None, 2, Some(0.5));
        let mut starts = Starts::default();
        assert!(starts.again(&limits, !HUNG));
        assert_eq!(starts.limits(limits).start_seconds, 10.0);
        assert!(starts.again(&limits, HUNG));
        assert_eq!(starts.limits(limits).start_seconds, 20.0);
        assert!(!starts.again(&limits, HUNG));
        assert_eq!([(); 3].map(|()| starts.again(&limits, !HUNG)), [true, true, false]);
    }
}
