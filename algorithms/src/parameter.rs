//! Tunable parameters of algorithms.

/// An ordered tunable of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in profiles and options, with the unit, such as `segment_bytes`.
    pub name: &'static str,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Value where nothing is said.
    pub default: u64,
    /// Its effect, in a line for people.
    pub summary: &'static str,
}
