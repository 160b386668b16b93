//! Limits of waiting for a job.

/// Limits of waiting, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Time from the launch to the start line.
    pub start_seconds: f64,
    /// The same of a first launch, where jobs are known to start here: one that hangs is ended then, and started again with the limit above.
    pub first_start_seconds: Option<f64>,
    /// Time without any line, once started.
    pub stall_seconds: f64,
    /// Least time of that for a candidate, where it may be shorter; `None` where the user gave the time.
    pub candidate_seconds: Option<f64>,
    /// Time from the end line to the end of the launcher.
    pub finish_seconds: f64,
}

impl Limits {
    /// Seconds without any line, once started, where the user gave none.
    pub const STALL_SECONDS: f64 = 20.0;
    /// Least seconds without any line for a candidate: fifty times what most calls have for all their repetitions in a block.
    const CANDIDATE_SECONDS: f64 = 5.0;
    /// Seconds that a start may take beside those of silence, as long as no job has started.
    const UNKNOWN_START_SECONDS: f64 = 20.0;
    /// Seconds that each rank adds to a start: 3,000 ranks get two and a half minutes more.
    const START_SECONDS_PER_RANK: f64 = 0.05;
    /// A start may take so many times as long as the usual one here: file systems and launchers have slow minutes.
    const STARTS: f64 = 10.0;
    /// A start that another one follows gets so much of these times.
    const FIRST_START: f64 = 0.5;
    /// Seconds of silence that each rank adds: rank 0 says nothing within a call, and one call of thousands of ranks takes long.
    const SILENT_SECONDS_PER_RANK: f64 = 0.01;

    /// Those of a job of so many ranks, where `given` seconds of silence are allowed on a few, or as many as Kilter decides, and a job usually starts
    /// within `usual_start_seconds`, if any has started.
    #[must_use]
    pub fn of_job(given: Option<f64>, ranks: usize, usual_start_seconds: Option<f64>) -> Limits {
        let stall_seconds = given.unwrap_or(Limits::STALL_SECONDS);
        // Whole seconds, which errors and reports name.
        let of_ranks = |seconds: f64| (seconds * ranks as f64).floor();
        let silent_of_ranks = of_ranks(Limits::SILENT_SECONDS_PER_RANK);
        let stall_of_job = stall_seconds + silent_of_ranks;
        let start = |share: f64, usual: f64| {
            let seconds = share * stall_seconds + of_ranks(Limits::START_SECONDS_PER_RANK);
            seconds.max((share * Limits::STARTS * usual).ceil())
        };
        let (start_seconds, first_start_seconds) = match usual_start_seconds {
            Some(usual) => (start(1.0, usual), Some(start(Limits::FIRST_START, usual))),
            None => (start(1.0, 0.0) + Limits::UNKNOWN_START_SECONDS, None),
        };
        Limits {
            start_seconds,
            first_start_seconds,
            stall_seconds: stall_of_job,
            candidate_seconds: match given {
                Some(_) => None,
                None => Some(Limits::CANDIDATE_SECONDS + silent_of_ranks),
            },
            finish_seconds: stall_of_job,
        }
    }

    /// Those of a first launch.
    #[must_use]
    pub fn of_first_launch(self) -> Limits {
        Limits {
            start_seconds: self.first_start_seconds.unwrap_or(self.start_seconds),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            start_seconds: 30.0,
            first_start_seconds: None,
            stall_seconds: Limits::STALL_SECONDS,
            candidate_seconds: None,
            finish_seconds: 10.0,
        }
    }
}
