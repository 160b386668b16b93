//! Samples as bytes: little-endian f64, 8 bytes each, in the order they were made. Exact: what is replayed equals what was
//! measured, bit for bit.

/// To bytes.
pub(super) fn encode(seconds: &[f64]) -> Vec<u8> {
    seconds.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// From bytes; `None` if the length is not a multiple of 8.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<f64>> {
    let (values, rest) = bytes.as_chunks::<8>();
    rest.is_empty()
        .then(|| values.iter().map(|value| f64::from_le_bytes(*value)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn samples_survive_bit_for_bit(values in proptest::collection::vec(any::<u64>(), 0..20)) {
            let values: Vec<f64> = values.into_iter().map(f64::from_bits).collect();
            let back = decode(&encode(&values)).unwrap();
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back), bits(&values));
        }
    }

    #[test]
    fn a_torn_blob_is_refused() {
        assert_eq!(decode(&[0; 9]), None);
        assert_eq!(decode(&[]), Some(Vec::new()));
    }
}
