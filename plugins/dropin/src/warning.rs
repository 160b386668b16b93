//! Warnings.

/// Prints a warning where this rank is the one to say it.
pub(crate) fn warn(speaks: bool, text: &str) {
    if speaks {
        kilter_mpi::say(format_args!("warning: {text}"));
    }
}
