//! Rows that, at some values of their parameters, are another row: one implementation with two names.
//!
//! Profiles, databases and command lines have either name, so both stay rows and are run as they are called. What proposes implementations asks
//! [`plain_name`], so that each is proposed once, by the name that people know.

use crate::patterns::k_nomial::BINOMIAL;
use crate::{bcast, gather, scatter};

/// A row that is another one.
#[derive(Debug)]
pub struct Alias {
    /// The row with parameters.
    pub id: &'static str,
    /// Their values, one per parameter.
    pub parameters: &'static [u64],
    /// The row that sends the same messages, which has no parameters.
    pub plain: &'static str,
}

/// All of them. Reduce has none: its binomial tree is another one than its k-nomial tree of radix 2.
pub static ALIASES: &[Alias] = &[
    of_radix_two(bcast::k_nomial::ID, bcast::binomial::ID),
    of_radix_two(gather::k_nomial::ID, gather::binomial::ID),
    of_radix_two(scatter::k_nomial::ID, scatter::binomial::ID),
];

const RADIX_TWO: &[u64] = &[BINOMIAL as u64];

const fn of_radix_two(id: &'static str, plain: &'static str) -> Alias {
    Alias {
        id,
        parameters: RADIX_TWO,
        plain,
    }
}

/// The row that `id` is at these values of its parameters; `None` where it is none but itself.
#[must_use]
pub fn plain_name(id: &str, parameters: &[u64]) -> Option<&'static str> {
    let is_it = |alias: &&Alias| alias.id == id && alias.parameters == parameters;
    ALIASES.iter().find(is_it).map(|alias| alias.plain)
}
