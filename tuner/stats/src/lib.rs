//! Statistics: one file per method, each with its reference, its assumptions and what it does with ties and tiny
//! samples.
//!
//! Everything here is a function of its arguments: no clock, no input or output, no random numbers but those of a fixed
//! seed ([`brunner_munzel`]). A [`sample::Sample`] is checked once, when it is made, so that no method has to ask for
//! NaN or an empty sample.
//!
//! [`crate::verdict`] tells how the methods work together to judge a guideline.

pub mod benjamini_hochberg;
pub mod brunner_munzel;
pub mod describe;
mod evidence;
pub mod hodges_lehmann;
pub mod holm;
pub mod kendall;
pub mod kolmogorov_smirnov;
pub mod median_interval;
pub mod modes;
pub mod nan;
pub mod pairs;
mod rank_distribution;
pub mod rank_sum;
pub mod sample;
pub mod signed_rank;
pub mod two_modes;
pub mod unpaired;
mod untied;
pub mod variance;
pub mod verdict;
pub mod yuen;
