//! Selection of collectives in a running job: what is tried when, and when a choice is made, within a stated budget.
//!
//! A [`Site`] is one communicator layout, one collective and one class of sizes. All ranks of a communicator keep the same
//! site: [`Site::step`] is a function of the calls so far and of what was adopted, which is the same on all of them. No rank sends
//! anything here; the caller carries [`Site::gives`] to the other ranks by one reduction with MAX, and hands the result to
//! [`Site::adopt`]. It times these acts as it does calls ([`Site::acted`]), and the budget has to pay for them. The method and its bound are told in `docs/method/online.md`.
//!
//! * [`Settings`]: the budget, as typed and checked.
//! * [`Site`]: the state machine.
//! * [`Clock`]: the common time of ranks whose clocks run apart.
//! * [`knowledge`]: what jobs learnt, as a file for each layout.

mod account;
mod acts;
mod clock;
mod epoch;
mod evidence;
mod exploration;
pub mod knowledge;
mod order;
mod record;
mod settings;
mod site;
mod span;

pub use clock::Clock;
pub use epoch::last_ended;
pub use settings::{Settings, SettingsError};
pub use site::Site;

/// One of the implementations that a site may run. Arm 0 is the library's own collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arm(pub u16);

impl Arm {
    /// The library's own collective.
    pub const DEFAULT: Arm = Arm(0);
}

/// The course of one call: the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Implementation to run. Where it is not legal for this very call, the default runs and [`Site::timed`] is not called.
    pub arm: Arm,
    /// True if the call is timed: [`Site::timed`] follows it.
    pub timed: bool,
    /// The act before the call.
    pub before: Act,
}

/// The cost of selection at a site: times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Time that the untouched library would have taken for the calls that are accounted for, by the default's own measured time.
    pub default_ns: i64,
    /// Time beyond that; below zero if the site is ahead.
    pub behind_ns: i64,
    /// Time of that for exchanges, comparisons of clocks and the making of the site, as far as exchanges have told it.
    pub acts_ns: i64,
    /// Time that may still be lost: below zero if the bound is broken.
    pub slack_ns: i64,
    /// Epochs so far.
    pub epochs: u32,
    /// Explorations that began anew, since what was watched had changed.
    pub restarts: u32,
}

/// Act before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// None.
    Nothing,
    /// Begin the exchange of the epoch that ended: [`Site::gives`] is reduced with MAX over the ranks.
    Exchange,
    /// Wait for the exchange, then call [`Site::adopt`].
    Adopt,
}
