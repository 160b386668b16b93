//! Doubles of many magnitudes: another order of additions gives other bits.
//!
//! Both results are correct, so the bits are compared apart from correctness. Calls are repeated with the ranks arriving in different orders,
//! since a library may add first what arrives first.

use std::time::Duration;

use super::mix;

/// Calls of each kind.
pub const CALLS: usize = 3;

/// A quarter of the longest time that a rank comes late.
const LATE_STEP: Duration = Duration::from_micros(50);

/// The delay of `rank` before a call. In call 0 all ranks arrive together. In call 1 the delay grows with `rank % 4`; in later calls it falls.
#[must_use]
pub fn lateness(call: usize, rank: usize) -> Duration {
    let steps = match call {
        0 => 0,
        1 => (rank % 4) as u32,
        _ => 4 - (rank % 4) as u32,
    };
    LATE_STEP * steps
}

/// Element `i` of what `rank` gives.
#[must_use]
pub fn double(rank: usize, i: usize) -> f64 {
    of_bits(mix(((rank as u64) << 40) ^ (i as u64 + 1)))
}

/// The double that random bits make: of either sign, from 2^-16 to 2^16, so that every other order of adding rounds otherwise.
#[must_use]
pub fn of_bits(bits: u64) -> f64 {
    let significand = f64::from_bits(0x3FF0_0000_0000_0000 | bits >> 12);
    let magnitude = 2_f64.powi((bits & 31) as i32 - 16);
    let sign = if bits & 32 == 0 { 1.0 } else { -1.0 };
    sign * significand * magnitude
}

#[cfg(test)]
mod tests {
    use super::double;

    /// With few ranks and few elements, too: what is concluded from equal bits is worth nothing otherwise.
    #[test]
    fn another_order_of_adding_leaves_other_bits() {
        for p_ranks in 3..9 {
            let sum = |order: &mut dyn Iterator<Item = usize>, i| order.fold(0.0, |sum, rank| sum + double(rank, i));
            let differs = (0..8).filter(|i| {
                let (up, down) = (sum(&mut (0..p_ranks), *i), sum(&mut (0..p_ranks).rev(), *i));
                up.to_bits() != down.to_bits()
            });
            assert!(differs.count() > 0, "{p_ranks} ranks");
        }
    }
}
