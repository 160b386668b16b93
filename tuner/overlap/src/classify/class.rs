//! Classes of behaviour, and their words in files.

use serde::Serialize;

/// Class of behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Good everywhere: a thread or the network card does the work.
    Overlaps,
    /// Neither good nor bad everywhere.
    OverlapsInPart,
    /// Good nowhere.
    NoOverlap,
    /// Good up to a size: beyond it a rendezvous needs a call of the library.
    RendezvousThreshold,
    /// Good from a size on: smaller messages are copied by the call that begins them.
    LargeOnly,
    /// Good for short computation, which ends before an answer has come.
    ShortComputation,
    /// Both [`Class::RendezvousThreshold`] and [`Class::ShortComputation`].
    ThresholdAndShortComputation,
    /// Good for large messages and short computation: the first chunk of a pipelined copy is overlapped.
    PipelinedCopy,
    /// Uniform within stretches of sizes or times, in another way than the above.
    Stepwise,
    /// Good and bad cells without a shape.
    Mixed,
    /// A zone that is slower than communication and computation one after the other.
    SlowerThanSerial,
    /// Computing threads keep a blocking call from being scheduled.
    SchedulerPenalty,
    /// Computing threads slow blocking calls down, but by less than a scheduler would.
    ThreadsDisturb,
    /// Computing threads do no harm.
    ThreadsHarmless,
    /// Too few cells above the noise.
    TooLittle,
    /// Only the library's sender side overlaps.
    SenderOnly,
    /// Only the library's receiver side overlaps.
    ReceiverOnly,
    /// Either side of the library overlaps while the other one waits, but not both at once.
    OneSideAtATime,
}

impl Class {
    /// Word in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Class::Overlaps => "overlaps",
            Class::OverlapsInPart => "overlaps-in-part",
            Class::NoOverlap => "no-overlap",
            Class::RendezvousThreshold => "rendezvous-threshold",
            Class::LargeOnly => "large-only",
            Class::ShortComputation => "short-computation",
            Class::ThresholdAndShortComputation => "threshold-and-short-computation",
            Class::PipelinedCopy => "pipelined-copy",
            Class::Stepwise => "stepwise",
            Class::Mixed => "mixed",
            Class::SlowerThanSerial => "slower-than-serial",
            Class::SchedulerPenalty => "scheduler-penalty",
            Class::ThreadsDisturb => "threads-disturb",
            Class::ThreadsHarmless => "threads-harmless",
            Class::TooLittle => "too-little",
            Class::SenderOnly => "sender-only",
            Class::ReceiverOnly => "receiver-only",
            Class::OneSideAtATime => "one-side-at-a-time",
        }
    }
}
