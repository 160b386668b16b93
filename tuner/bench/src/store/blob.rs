//! Samples as bytes. They are exact: a replay gives the measured values bit for bit.
//!
//! The first byte says how the values follow, in the order they were made:
//!
//! * 9 or 12: every value is an integer over 10^9 or 10^12 (a clock counts nanoseconds). The smallest integer, then what each
//!   value is above it, as variable-length integers (7 bits a byte, least significant first, the high bit set but in the last).
//! * 0: little-endian f64, 8 bytes each. For values that no such integer gives back bit for bit.
//!
//! No value at all is no byte at all. Real samples take 1.7 bytes each (`docs/method/store.md`); a general compressor behind it gained
//! 6 % of that and is not worth a dependency.

const RAW: u8 = 0;

/// Integers above this are not exact in f64.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Packs the values.
pub(super) fn encode(seconds: &[f64]) -> Vec<u8> {
    if seconds.is_empty() {
        return Vec::new();
    }
    [9, 12]
        .into_iter()
        .find_map(|digits| Some(pack(digits, &integers(digits, seconds)?)))
        .unwrap_or_else(|| raw(seconds))
}

/// Unpacks the values; `None` if the bytes are torn.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<f64>> {
    let Some((form, rest)) = bytes.split_first() else {
        return Some(Vec::new());
    };
    match *form {
        RAW => decode_raw(rest),
        digits @ (9 | 12) => unpack(digits, rest),
        _ => None,
    }
}

/// Little-endian f64, as version 1 of the schema stored samples; `None` if the length is not a multiple of 8.
pub(super) fn decode_raw(bytes: &[u8]) -> Option<Vec<f64>> {
    let (values, rest) = bytes.as_chunks::<8>();
    rest.is_empty()
        .then(|| values.iter().map(|value| f64::from_le_bytes(*value)).collect())
}

fn scale(digits: u8) -> f64 {
    10_f64.powi(i32::from(digits))
}

/// The integers that give the values back bit for bit when divided by 10^`digits`; `None` if a value has none.
fn integers(digits: u8, seconds: &[f64]) -> Option<Vec<u64>> {
    let scale = scale(digits);
    seconds
        .iter()
        .map(|value| {
            let integer = (value * scale).round();
            // Through u64, so that a negative zero is told from zero.
            let back = integer as u64 as f64 / scale;
            ((0.0..=LARGEST).contains(&integer) && back.to_bits() == value.to_bits()).then_some(integer as u64)
        })
        .collect()
}

fn pack(digits: u8, integers: &[u64]) -> Vec<u8> {
    let smallest = integers.iter().copied().min().unwrap_or(0);
    let mut bytes = vec![digits];
    put(&mut bytes, smallest);
    for integer in integers {
        put(&mut bytes, integer - smallest);
    }
    bytes
}

fn unpack(digits: u8, mut bytes: &[u8]) -> Option<Vec<f64>> {
    let scale = scale(digits);
    let smallest = take(&mut bytes)?;
    let mut seconds = Vec::new();
    while !bytes.is_empty() {
        let integer = smallest.checked_add(take(&mut bytes)?)?;
        seconds.push(integer as f64 / scale);
    }
    Some(seconds)
}

fn raw(seconds: &[f64]) -> Vec<u8> {
    std::iter::once(RAW)
        .chain(seconds.iter().flat_map(|value| value.to_le_bytes()))
        .collect()
}

fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    proptest! {
        #[test]
        fn any_values_survive_bit_for_bit(values in proptest::collection::vec(any::<u64>(), 0..20)) {
            let values: Vec<f64> = values.into_iter().map(f64::from_bits).collect();
            prop_assert_eq!(bits(&decode(&encode(&values)).unwrap()), bits(&values));
        }

        #[test]
        fn clock_readings_survive_and_are_small(base in 0_u64..1 << 40, above in proptest::collection::vec(0_u64..16_000, 1..50)) {
            let values: Vec<f64> = above.iter().map(|ns| (base + ns) as f64 / 1e9).collect();
            let bytes = encode(&values);
            prop_assert_eq!(bits(&decode(&bytes).unwrap()), bits(&values));
            prop_assert!(bytes.len() <= 1 + 7 + 2 * values.len(), "{} bytes for {}", bytes.len(), values.len());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn the_shortest_form_that_is_exact_is_taken() {
        for (values, form) in [
            (vec![1.5e-6, 2.0, 0.0], 9),
            (vec![1.5e-6, 2.005e-9], 12),
            (vec![1.0, 0.1 + 0.2], RAW),
            (vec![-0.0], RAW),
            (vec![-1e-9], RAW),
            (vec![f64::NAN, f64::INFINITY], RAW),
            (vec![1e9], RAW),
        ] {
            let bytes = encode(&values);
            assert_eq!(bytes[0], form, "{values:?}");
            assert_eq!(bits(&decode(&bytes).unwrap()), bits(&values));
        }
        assert!(encode(&[]).is_empty());
    }

    #[test]
    fn torn_blobs_are_refused() {
        let whole = encode(&[1.0e-6, 9.9e-6]);
        assert_eq!(decode(&whole[..whole.len() - 1]), None);
        assert_eq!(decode(&[0; 9]).map(|values| values.len()), Some(1));
        assert_eq!(decode(&[0; 8]), None);
        assert_eq!(decode(&[9]), None);
        assert_eq!(decode(&[7, 1]), None);
        assert_eq!(
            decode(&[9, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
            None
        );
    }
}
