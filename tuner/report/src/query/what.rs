//! Subjects of a query.

/// Subject of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A line per run.
    Runs,
    /// A line per launch.
    Launches,
    /// A line per cell and phase.
    Cells,
    /// A line per repetition.
    Samples,
    /// A line per implementation that jobs tried while they ran.
    Learnt,
}

/// Columns of samples; the last is unpacked into two, `repetition` (from 1) and `seconds`.
pub(super) const SAMPLE_COLUMNS: [&str; 13] = [
    "run", "launch", "key", "attempt", "time", "library", "ranks", "seed", "block", "item", "function", "bytes",
    "seconds",
];

impl What {
    /// The name as typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            What::Runs => "runs",
            What::Launches => "launches",
            What::Cells => "cells",
            What::Samples => "samples",
            What::Learnt => "learnt",
        }
    }

    pub(super) fn view(self) -> &'static str {
        match self {
            What::Runs => "runs_view",
            What::Launches => "launches_view",
            What::Cells => "verdicts_view",
            What::Samples => "samples_view",
            What::Learnt => "learnt_view",
        }
    }

    /// The columns that a narrow terminal does without, the first of them first; of the others the last go first.
    pub(super) fn least_important(self) -> &'static [&'static str] {
        match self {
            What::Runs => &[
                "command_line",
                "library_string",
                "library",
                "kilter_version",
                "seed",
                "hosts",
                "samples",
                "finished",
            ],
            What::Launches => &[
                "command_line",
                "environment",
                "parameters",
                "library",
                "clock_tick_seconds",
                "seed",
                "hosts",
                "ranks",
                "started",
                "attempt",
            ],
            What::Cells => &[
                "library",
                "started",
                "right_launches",
                "kind",
                "p",
                "right_bytes",
                "launches",
                "ranks",
                "function",
                "fix",
                "run",
                "right_seconds",
                "seconds",
                "p_adjusted",
                "ratio_high",
                "ratio_low",
                "phase",
            ],
            What::Samples => &[
                "library", "seed", "time", "key", "attempt", "block", "ranks", "run", "launch", "function", "bytes",
            ],
            What::Learnt => &[
                "library",
                "started",
                "jobs",
                "nodes",
                "ranks_per_node",
                "to_bytes",
                "median_seconds",
                "calls",
            ],
        }
    }

    pub(super) fn columns(self) -> &'static [&'static str] {
        match self {
            What::Runs => &[
                "id",
                "started",
                "finished",
                "command",
                "library",
                "library_string",
                "hosts",
                "ranks",
                "seed",
                "launches",
                "samples",
                "cells",
                "kilter_version",
                "command_line",
            ],
            What::Launches => &[
                "id",
                "run",
                "key",
                "attempt",
                "outcome",
                "started",
                "seconds",
                "library",
                "hosts",
                "ranks",
                "seed",
                "parameters",
                "environment",
                "clock_tick_seconds",
                "command_line",
            ],
            What::Cells => &[
                "run",
                "started",
                "library",
                "ranks",
                "phase",
                "guideline",
                "expression",
                "kind",
                "function",
                "bytes",
                "right_bytes",
                "verdict",
                "ratio",
                "ratio_low",
                "ratio_high",
                "p",
                "p_adjusted",
                "seconds",
                "right_seconds",
                "launches",
                "right_launches",
                "fix",
            ],
            What::Samples => &SAMPLE_COLUMNS,
            What::Learnt => &[
                "library",
                "ranks",
                "nodes",
                "ranks_per_node",
                "function",
                "bytes",
                "to_bytes",
                "implementation",
                "choice",
                "seconds",
                "median_seconds",
                "calls",
                "jobs",
                "started",
            ],
        }
    }
}
