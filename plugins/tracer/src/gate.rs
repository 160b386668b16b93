//! How many of a thread's polls are not timed until the next one that is, and how deep the thread is in MPI, in one word.
//!
//! The exported functions compare it with 0: above it a poll may go the short way (`short`). One addition tells both that an untimed poll has begun.

/// A call of MPI that the thread is in. Fewer polls than this are ever left.
const CALL: i64 = 1 << 20;

/// Polls left that are not timed, less [`CALL`] for each call of MPI that the thread is in; 0 at its start.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate(i64);

impl Gate {
    /// At a thread's start.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    pub(crate) const START: Gate = Gate(0);

    /// Added to the word on going into a poll that is not timed.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const INTO_UNTIMED: i64 = -CALL - 1;

    /// Added to the word on leaving a call.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const OUT: i64 = CALL;

    /// Goes into a call of MPI. True for the program's own call, false for one within another.
    #[inline(always)]
    pub(crate) fn enter(&mut self) -> bool {
        let is_outermost = self.0 >= 0;
        self.0 -= CALL;
        is_outermost
    }

    /// Leaves a call of MPI.
    #[inline(always)]
    pub(crate) fn leave(&mut self) {
        self.0 += CALL;
    }

    /// True in the program's own call, and not in one within it.
    #[inline(always)]
    pub(crate) fn is_in_outermost(self) -> bool {
        (-CALL..0).contains(&self.0)
    }

    /// Polls left that are not timed.
    #[inline(always)]
    pub(crate) fn left(self) -> u32 {
        // The remainder is never negative, and below 2^20.
        (self.0 & (CALL - 1)) as u32
    }

    /// Takes one of the polls left.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        self.0 -= 1;
    }

    /// Leaves so many polls untimed, where none is left.
    #[inline(always)]
    pub(crate) fn leave_untimed(&mut self, polls: u32) {
        self.0 += i64::from(polls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_call_is_told_from_those_within_it_whatever_is_left() {
        for left in [0, 1, 511] {
            let mut gate = Gate::START;
            gate.leave_untimed(left);
            for _ in 0..2 {
                assert!(!gate.is_in_outermost());
                assert!(gate.enter() && gate.is_in_outermost());
                assert!(!gate.enter() && !gate.enter() && !gate.is_in_outermost());
                assert_eq!(gate.left(), left);
                gate.leave();
                gate.leave();
                assert!(gate.is_in_outermost());
                gate.leave();
                assert_eq!(gate.left(), left);
            }
        }
    }

    #[test]
    fn it_is_above_0_only_outside_of_mpi_with_polls_left() {
        let mut gate = Gate::START;
        assert!(gate.0 <= 0, "none is left");
        gate.leave_untimed(2);
        assert!(gate.0 > 0);
        gate.enter();
        assert!(gate.0 <= 0, "in a call");
        gate.pass();
        gate.leave();
        assert_eq!((gate.0 > 0, gate.left()), (true, 1));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_exported_functions_add_what_the_methods_do() {
        let [mut by_methods, mut by_sums] = [Gate(7), Gate(7)];
        by_methods.enter();
        by_methods.pass();
        by_sums.0 += Gate::INTO_UNTIMED;
        assert_eq!(by_sums, by_methods);
        by_methods.leave();
        by_sums.0 += Gate::OUT;
        assert_eq!(by_sums, by_methods);
        assert_eq!(by_sums, Gate(6));
    }
}
