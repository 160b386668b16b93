//! Numbers that do not exist: JSON has no word for not-a-number and writes `null`.

use serde::{Deserialize, Deserializer};

/// Reads a number; `null` becomes not-a-number.
pub fn null_as_nan<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(input)?.unwrap_or(f64::NAN))
}

/// Reads a pair of numbers; each `null` becomes not-a-number.
pub fn null_pair_as_nan<'de, D: Deserializer<'de>>(input: D) -> Result<(f64, f64), D::Error> {
    let (low, high) = <(Option<f64>, Option<f64>)>::deserialize(input)?;
    Ok((low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN)))
}
