//! Profiles of applications: which MPI calls they make, on which communicators, of which sizes, and what these take.
//!
//! * [`gather`]: the ranks' files as a [`profile::Profile`].
//! * [`members`]: members and names of communicators.
//! * [`split`]: waiting and transfer of sampled calls, on the common time of [`clocks`].
//! * [`places`]: call sites as lines of the source.
//! * [`store`]: the profile as one SQLite file.
//! * [`summary`]: what is shown of it, with the time spent waiting ([`waiting`]) and efficiencies ([`efficiency`]).
//! * [`text`], [`html`], [`listing`]: renderings.
//! * [`pairs`]: receives by their senders.
//! * [`counters`]: what rules of advice read.
//! * [`arrivals`]: the offsets at which ranks come to collective calls.
//! * [`mix`], [`layouts`]: what `kilter tune` tunes for it. [`saved`]: what that has brought.
//!
//! It counts nothing itself: `plugins/tracer` does.

pub mod arrivals;
pub mod clocks;
pub mod counters;
pub mod efficiency;
pub mod gather;
pub mod html;
pub mod layouts;
pub mod listing;
pub mod members;
pub mod mix;
pub mod pairs;
pub mod places;
pub mod profile;
pub mod saved;
pub mod split;
pub mod store;
pub mod summary;
pub mod text;
pub mod waiting;

#[cfg(test)]
mod fixture;
