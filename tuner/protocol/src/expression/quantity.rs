//! Numbers of an expression: products and quotients of whole numbers and of `n`, `p`, `q` and `k`.

use std::fmt;

/// A factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Factor {
    /// A whole number, at least 1.
    Literal(u64),
    /// The total volume in bytes.
    N,
    /// The number of ranks of the whole communicator.
    P,
    /// The number of ranks of the communicator that the call is made on.
    Q,
    /// The number that a guideline fills in: a split factor, or a block size in bytes.
    K,
}

/// A product over a product. Kept as written, so that it reads back as it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Quantity {
    /// Factors above the line; none means 1.
    pub times: Vec<Factor>,
    /// Factors below the line.
    pub over: Vec<Factor>,
}

/// Values of the letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values {
    /// Total volume in bytes.
    pub n_bytes: u64,
    /// Ranks of the whole communicator.
    pub p_ranks: u64,
    /// Ranks of the communicator of the call.
    pub q_ranks: u64,
}

/// A quantity without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{quantity}` {why}")]
pub struct QuantityError {
    /// The quantity.
    pub quantity: Quantity,
    /// The reason.
    pub why: WrongQuantity,
}

/// The reason why a quantity has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongQuantity {
    /// No number was filled in for `k`.
    #[error("has a `k`: fill in a number before it is measured")]
    OpenK,
    /// It is beyond 64 bits.
    #[error("is too large")]
    TooLarge,
    /// Its divisor is 0.
    #[error("divides by zero")]
    DividesByZero,
    /// The quotient is no whole number.
    #[error("is no whole number for n = {n_bytes}, p = {p_ranks}")]
    NotWhole {
        /// The total volume.
        n_bytes: u64,
        /// The ranks of the whole communicator.
        p_ranks: u64,
    },
}

impl Quantity {
    /// A whole number.
    #[must_use]
    pub fn literal(value: u64) -> Quantity {
        Quantity {
            times: vec![Factor::Literal(value)],
            over: Vec::new(),
        }
    }

    /// The number 1: a call that is not repeated.
    #[must_use]
    pub fn one() -> Quantity {
        Quantity::literal(1)
    }

    /// The total volume.
    #[must_use]
    pub fn n() -> Quantity {
        Quantity {
            times: vec![Factor::N],
            over: Vec::new(),
        }
    }

    /// True if it is written as 1.
    #[must_use]
    pub fn is_one(&self) -> bool {
        *self == Quantity::one()
    }

    /// True if it is written as `n`.
    #[must_use]
    pub fn is_n(&self) -> bool {
        *self == Quantity::n()
    }

    /// True if it depends on this letter.
    #[must_use]
    pub fn mentions(&self, factor: Factor) -> bool {
        self.times.contains(&factor) || self.over.contains(&factor)
    }

    /// Replaces `k` by a number.
    #[must_use]
    pub fn with_k(&self, k: u64) -> Quantity {
        let fill = |factors: &[Factor]| {
            factors
                .iter()
                .map(|factor| match factor {
                    Factor::K => Factor::Literal(k),
                    other => *other,
                })
                .collect()
        };
        Quantity {
            times: fill(&self.times),
            over: fill(&self.over),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// A `k` that is still there, a value beyond 64 bits, or a quotient that is no whole number.
    pub fn value(&self, values: Values) -> Result<u64, QuantityError> {
        let wrong = |why: WrongQuantity| QuantityError {
            quantity: self.clone(),
            why,
        };
        let of = |factor: &Factor| match factor {
            Factor::Literal(value) => Ok(*value),
            Factor::N => Ok(values.n_bytes),
            Factor::P => Ok(values.p_ranks),
            Factor::Q => Ok(values.q_ranks),
            Factor::K => Err(wrong(WrongQuantity::OpenK)),
        };
        let product = |factors: &[Factor]| {
            factors.iter().try_fold(1_u128, |product, factor| {
                let value = u128::from(of(factor)?);
                product.checked_mul(value).ok_or_else(|| wrong(WrongQuantity::TooLarge))
            })
        };
        let (times, over) = (product(&self.times)?, product(&self.over)?);
        if over == 0 {
            return Err(wrong(WrongQuantity::DividesByZero));
        }
        if times % over != 0 {
            return Err(wrong(WrongQuantity::NotWhole {
                n_bytes: values.n_bytes,
                p_ranks: values.p_ranks,
            }));
        }
        u64::try_from(times / over).map_err(|_| wrong(WrongQuantity::TooLarge))
    }

    /// Divisor of `n` that makes the quotient whole; 1 if `n` does not occur. A `q` cancels nothing.
    #[must_use]
    pub fn divisor(&self, p_ranks: u64) -> u64 {
        if !self.times.contains(&Factor::N) {
            return 1;
        }
        self.over.iter().fold(1_u64, |product, factor| {
            let value = match factor {
                Factor::Literal(value) => *value,
                Factor::P => p_ranks,
                Factor::N | Factor::Q | Factor::K => 1,
            };
            product.saturating_mul(value.max(1))
        })
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Factor::Literal(value) => write!(f, "{value}"),
            Factor::N => f.write_str("n"),
            Factor::P => f.write_str("p"),
            Factor::Q => f.write_str("q"),
            Factor::K => f.write_str("k"),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, factor) in self.times.iter().enumerate() {
            let sign = if i > 0 { "*" } else { "" };
            write!(f, "{sign}{factor}")?;
        }
        if self.times.is_empty() {
            f.write_str("1")?;
        }
        for factor in &self.over {
            write!(f, "/{factor}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: Values = Values {
        n_bytes: 48,
        p_ranks: 3,
        q_ranks: 2,
    };

    #[test]
    fn values_are_whole_or_refused() {
        let share = Quantity {
            times: vec![Factor::N, Factor::Q],
            over: vec![Factor::P],
        };
        assert_eq!(share.value(VALUES), Ok(32));
        assert_eq!(share.to_string(), "n*q/p");
        assert_eq!((share.divisor(3), Quantity::literal(4).divisor(3)), (3, 1));
        let fifth = Quantity {
            times: vec![Factor::N],
            over: vec![Factor::Literal(5)],
        };
        let error = fifth.value(VALUES).unwrap_err();
        assert_eq!(
            error.why,
            WrongQuantity::NotWhole {
                n_bytes: 48,
                p_ranks: 3
            }
        );
        assert_eq!(error.to_string(), "`n/5` is no whole number for n = 48, p = 3");
        assert!(
            Quantity::n()
                .with_k(2)
                .value(Values { n_bytes: 0, ..VALUES })
                .is_ok_and(|n| n == 0)
        );
        let open = Quantity {
            times: vec![Factor::K],
            over: Vec::new(),
        };
        assert_eq!(open.value(VALUES).unwrap_err().why, WrongQuantity::OpenK);
        assert_eq!(open.with_k(7).value(VALUES), Ok(7));
    }
}
