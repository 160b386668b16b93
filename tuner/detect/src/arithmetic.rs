//! Arithmetic on the first bytes of payloads: which operators make a result of operands.

use crate::model::trace::{Class, Payload};

/// Set of operators, a bit each.
pub(crate) type Operators = u8;

const SUM: Operators = 1;
const PRODUCT: Operators = 2;
const MAX: Operators = 4;
const MIN: Operators = 8;
const AND: Operators = 16;
const OR: Operators = 32;
const XOR: Operators = 64;
/// Those whose result is on one side of all operands.
pub(crate) const ORDERING: Operators = MAX | MIN;
/// Those whose result may be one of the operands.
pub(crate) const SELECTING: Operators = MAX | MIN | AND | OR;
/// All of them.
pub(crate) const ALL: Operators = 127;

/// Names of operators as MPI has them.
pub(crate) const NAMES: [(Operators, &str); 7] = [
    (SUM, "MPI_SUM"),
    (PRODUCT, "MPI_PROD"),
    (MAX, "MPI_MAX"),
    (MIN, "MPI_MIN"),
    (AND, "MPI_BAND"),
    (OR, "MPI_BOR"),
    (XOR, "MPI_BXOR"),
];

/// Roundings that a result of floating point may be off by, for each operand.
const ROUNDINGS: f64 = 4.0;

/// Form of payloads that can be operands of one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Shape {
    pub(crate) bytes: u64,
    class: Class,
    element_bytes: u32,
}

impl Shape {
    /// Shape of a payload; `None` if nothing can be computed from its first bytes.
    pub(crate) fn of(payload: &Payload) -> Option<Self> {
        let fits = match payload.class {
            Class::Byte => true,
            Class::Integer => [1, 2, 4, 8].contains(&payload.element_bytes),
            Class::Real => [4, 8].contains(&payload.element_bytes),
            Class::Complex => [8, 16].contains(&payload.element_bytes),
            Class::Mixed => false,
        };
        let element_bytes = if payload.class == Class::Byte {
            1
        } else {
            payload.element_bytes
        };
        (fits && payload.bytes >= u64::from(element_bytes)).then_some(Self {
            bytes: payload.bytes,
            class: payload.class,
            element_bytes,
        })
    }

    /// Numbers that the first bytes hold, as pieces of a prefix.
    fn pieces<'p>(&self, prefix: &'p [u8; 16]) -> impl Iterator<Item = &'p [u8]> + use<'p> {
        let width = match self.class {
            Class::Complex => self.element_bytes / 2,
            _ => self.element_bytes,
        };
        let bytes = self.bytes.min(16) as usize;
        prefix[..bytes].chunks_exact(width.max(1) as usize)
    }

    fn is_real(&self) -> bool {
        matches!(self.class, Class::Real | Class::Complex)
    }

    /// Operators among `asked` that make `result` of all operands.
    pub(crate) fn explaining(&self, asked: Operators, operands: &[[u8; 16]], result: &[u8; 16]) -> Operators {
        let mut left = match self.class {
            Class::Byte => asked & (AND | OR | XOR),
            Class::Integer => asked,
            Class::Real => asked & (SUM | PRODUCT | MAX | MIN),
            Class::Complex => asked & SUM,
            Class::Mixed => 0,
        };
        for (at, out) in self.pieces(result).enumerate() {
            let inputs = operands.iter().filter_map(|operand| self.pieces(operand).nth(at));
            left &= if self.is_real() {
                reals(inputs.map(real), real(out), out.len())
            } else {
                integers(inputs.map(integer), integer(out), out.len())
            };
        }
        left
    }

    /// Operators that can make `result` of the operands and of one that is not known, and the numbers that were compared for their order.
    pub(crate) fn allowing(&self, operands: &[[u8; 16]], result: &[u8; 16]) -> (Operators, u32) {
        let mut left = match self.class {
            Class::Byte => return (AND | OR | XOR, 0),
            Class::Complex => return (SUM, 0),
            Class::Mixed => return (0, 0),
            Class::Integer => ALL,
            Class::Real => SUM | PRODUCT | MAX | MIN,
        };
        let mut compared = 0;
        for operand in operands {
            for (input, out) in self.pieces(operand).zip(self.pieces(result)) {
                compared += 1;
                let (above, below) = if self.is_real() {
                    (real(out) >= real(input), real(out) <= real(input))
                } else {
                    (integer(out) >= integer(input), integer(out) <= integer(input))
                };
                left &= !(if above { 0 } else { MAX } | if below { 0 } else { MIN });
            }
        }
        (left, compared)
    }
}

/// Number of four or eight bytes.
fn real(piece: &[u8]) -> f64 {
    match (<[u8; 4]>::try_from(piece), <[u8; 8]>::try_from(piece)) {
        (Ok(bytes), _) => f64::from(f32::from_le_bytes(bytes)),
        (_, Ok(bytes)) => f64::from_le_bytes(bytes),
        _ => f64::NAN,
    }
}

/// Number of up to eight bytes, with its sign.
fn integer(piece: &[u8]) -> i64 {
    let sign = piece.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut bytes = [if sign { 0xff } else { 0 }; 8];
    bytes[..piece.len()].copy_from_slice(piece);
    i64::from_le_bytes(bytes)
}

fn reals(inputs: impl Iterator<Item = f64>, result: f64, width: usize) -> Operators {
    let (mut sum, mut size, mut product, mut count) = (0.0, 0.0, 1.0, 0.0);
    let (mut most, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
    for one in inputs {
        sum += one;
        size += one.abs();
        product *= one;
        most = most.max(one);
        least = least.min(one);
        count += 1.0;
    }
    let epsilon = if width == 4 {
        f64::from(f32::EPSILON)
    } else {
        f64::EPSILON
    };
    let tolerance = ROUNDINGS * count * epsilon;
    let near = |a: f64, b: f64, size: f64| size.is_finite() && (a - b).abs() <= tolerance * size;
    let mut found = 0;
    found |= if near(sum, result, size) { SUM } else { 0 };
    found |= if near(product, result, product.abs()) {
        PRODUCT
    } else {
        0
    };
    found |= if most == result { MAX } else { 0 };
    found |= if least == result { MIN } else { 0 };
    found
}

fn integers(inputs: impl Iterator<Item = i64>, result: i64, width: usize) -> Operators {
    let (mut sum, mut product, mut and, mut or, mut xor) = (0_i64, 1_i64, -1, 0, 0);
    let (mut most, mut least) = (i64::MIN, i64::MAX);
    for one in inputs {
        sum = sum.wrapping_add(one);
        product = product.wrapping_mul(one);
        most = most.max(one);
        least = least.min(one);
        and &= one;
        or |= one;
        xor ^= one;
    }
    // Results that wrapped have the bytes of their width.
    let low = |number: i64| integer(&number.to_le_bytes()[..width.clamp(1, 8)]);
    let pairs = [
        (SUM, low(sum)),
        (PRODUCT, low(product)),
        (MAX, most),
        (MIN, least),
        (AND, and),
        (OR, or),
        (XOR, xor),
    ];
    let fits = |(operator, value): (Operators, i64)| if value == result { operator } else { 0 };
    pairs.into_iter().map(fits).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubles(a: f64, b: f64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&a.to_le_bytes());
        bytes[8..].copy_from_slice(&b.to_le_bytes());
        bytes
    }

    fn shape(class: Class, element_bytes: u32) -> Shape {
        Shape::of(&Payload {
            bytes: 16,
            class,
            element_bytes,
            ..Payload::default()
        })
        .unwrap()
    }

    #[test]
    fn each_operator_is_found_and_no_other() {
        let shape = shape(Class::Real, 8);
        let operands = [doubles(0.1, 4.0), doubles(0.2, -3.0), doubles(0.3, 2.0)];
        for (result, operator) in [
            (doubles(0.6, 3.0), SUM),
            (doubles(0.006, -24.0), PRODUCT),
            (doubles(0.3, 4.0), MAX),
            (doubles(0.1, -3.0), MIN),
            (doubles(0.6, 3.1), 0),
        ] {
            assert_eq!(shape.explaining(ALL, &operands, &result), operator);
        }
    }

    #[test]
    fn integers_wrap_and_have_bits() {
        let shape = shape(Class::Integer, 4);
        let ints = |all: [i32; 4]| {
            let mut bytes = [0; 16];
            for (at, one) in all.iter().enumerate() {
                bytes[at * 4..at * 4 + 4].copy_from_slice(&one.to_le_bytes());
            }
            bytes
        };
        let (a, b) = ([i32::MAX, 12, -7, 5], [2, 10, 3, 9]);
        let each = |f: fn(i32, i32) -> i32| ints([f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]);
        let operands = [ints(a), ints(b)];
        assert_eq!(shape.explaining(ALL, &operands, &each(i32::wrapping_add)), SUM);
        assert_eq!(shape.explaining(ALL, &operands, &each(i32::wrapping_mul)), PRODUCT);
        assert_eq!(shape.explaining(ALL, &operands, &each(|a, b| a & b)), AND);
        assert_eq!(shape.explaining(ALL, &operands, &each(|a, b| a | b)), OR);
        assert_eq!(shape.explaining(ALL, &operands, &each(|a, b| a ^ b)), XOR);
        assert_eq!(shape.explaining(ALL, &operands, &each(i32::min)), MIN);
    }

    #[test]
    fn an_unknown_operand_leaves_an_order() {
        let shape = shape(Class::Real, 8);
        let (sums, operands) = (SUM | PRODUCT, [doubles(1.0, 2.0)]);
        assert_eq!(shape.allowing(&operands, &doubles(1.5, 2.0)), (sums | MAX, 2));
        assert_eq!(shape.allowing(&operands, &doubles(1.5, 1.0)), (sums, 2));
    }
}
