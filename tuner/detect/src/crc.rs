//! CRC-32 of joined data from those of the parts, and of a missing part from those of the others.
//!
//! A CRC is a remainder of polynomials over GF(2). Behind it, `n` more bytes multiply it by x^(8n), so that the CRC of `a` and `b` joined is
//! `crc(a) * x^(8 |b|) + crc(b)`. The polynomial of zlib is primitive: x has the order 2^32 - 1, and every power of it an inverse.

/// Polynomial of zlib without its highest power, the lowest bit the highest power.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// Order of x.
const ORDER: u64 = u32::MAX as u64;

/// Product of two remainders.
fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for bit in (0..32).rev() {
        if a & (1 << bit) != 0 {
            product ^= b;
        }
        b = if b & 1 == 0 { b >> 1 } else { (b >> 1) ^ POLYNOMIAL };
    }
    product
}

/// Power of x.
fn power(mut exponent: u64) -> u32 {
    let (mut result, mut square) = (1 << 31, 1 << 30);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    result
}

/// Exponent of x that stands for so many bytes.
fn exponent(bytes: u64) -> u64 {
    (bytes % ORDER) * 8 % ORDER
}

/// CRC of data followed by `behind` of so many bytes.
pub(crate) fn join(crc: u32, behind: u32, bytes: u64) -> u32 {
    multiply(crc, power(exponent(bytes))) ^ behind
}

/// CRC of what stands before `behind` of so many bytes, in data whose CRC is `joined`.
pub(crate) fn before(joined: u32, behind: u32, bytes: u64) -> u32 {
    multiply(joined ^ behind, power(ORDER - exponent(bytes)))
}

/// CRC of what stands, `bytes` long, behind data with the CRC `ahead`, where `joined` is that of both.
pub(crate) fn behind(joined: u32, ahead: u32, bytes: u64) -> u32 {
    joined ^ multiply(ahead, power(exponent(bytes)))
}

/// CRC of parts in their order, each with its CRC and its bytes.
pub(crate) fn join_all(parts: impl IntoIterator<Item = (u32, u64)>) -> u32 {
    parts.into_iter().fold(0, |crc, (next, bytes)| join(crc, next, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crc(data: &[u8]) -> u32 {
        let step = |crc: u32, byte: &u8| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 0 {
                    crc >> 1
                } else {
                    (crc >> 1) ^ POLYNOMIAL
                }
            })
        };
        !data.iter().fold(!0, step)
    }

    #[test]
    fn the_crc_is_that_of_zlib() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn parts_join_and_a_missing_part_follows_from_the_others() {
        let data: Vec<u8> = (0..100_u32).map(|at| (at * 37 % 251) as u8).collect();
        for cut in [0, 1, 8, 50, 99, 100] {
            let (ahead, after) = data.split_at(cut);
            let bytes = after.len() as u64;
            assert_eq!(join(crc(ahead), crc(after), bytes), crc(&data), "{cut}");
            assert_eq!(before(crc(&data), crc(after), bytes), crc(ahead), "{cut}");
            assert_eq!(behind(crc(&data), crc(ahead), bytes), crc(after), "{cut}");
        }
        let parts = data.chunks(7).map(|part| (crc(part), part.len() as u64));
        assert_eq!(join_all(parts), crc(&data));
    }
}
