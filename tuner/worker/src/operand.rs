//! Elements that are combined: the data that each rank gives, their combination, and that of two.

use std::ops::Range;

use kilter_algorithms::reference::closed_form;
use kilter_protocol::plan::{Element, Operand, Operator};

/// Writes the combined data of a range of ranks, of so many and of a slice, from byte `at` on.
pub(crate) fn write_combined(
    operand: Operand,
    ranks: Range<usize>,
    (p_ranks, slice): (usize, usize),
    at: usize,
    to: &mut [u8],
) {
    let Operand { element, operator } = operand;
    if operator.is_bitwise() {
        // Every rank's bits are its own: where one has a bit, no other has it.
        closed_form::write_or_of_bits(&ranks, p_ranks, slice, at, to);
        if operator == Operator::And {
            to.iter_mut().for_each(|byte| *byte = !*byte);
        }
        return;
    }
    let number = |i: usize| match operator {
        Operator::Max => closed_form::bounds_of_small_numbers(ranks.clone(), slice, i).1,
        Operator::Min => closed_form::bounds_of_small_numbers(ranks.clone(), slice, i).0,
        _ => closed_form::sum_of_small_numbers(ranks.clone(), slice, i),
    };
    let twos = |i: usize| closed_form::twos_in_product(ranks.clone(), slice, i);
    let is_product = operator == Operator::Product;
    match element {
        // Integers wrap.
        Element::Byte if is_product => write_elements(at, to, |i| [1_u8.checked_shl(twos(i)).unwrap_or(0)]),
        Element::Int if is_product => write_elements(at, to, |i| 1_i32.checked_shl(twos(i)).unwrap_or(0).to_ne_bytes()),
        Element::Float if is_product => write_elements(at, to, |i| 2_f32.powi(power(twos(i))).to_ne_bytes()),
        Element::Double if is_product => write_elements(at, to, |i| 2_f64.powi(power(twos(i))).to_ne_bytes()),
        Element::Byte => write_elements(at, to, |i| [number(i) as u8]),
        Element::Int => write_elements(at, to, |i| number(i).cast_signed().to_ne_bytes()),
        Element::Float => write_elements(at, to, |i| (number(i) as f32).to_ne_bytes()),
        Element::Double => write_elements(at, to, |i| f64::from(number(i)).to_ne_bytes()),
    }
}

fn power(twos: u32) -> i32 {
    i32::try_from(twos).unwrap_or(i32::MAX)
}

/// Writes elements from byte `at` on, which may lie within one.
fn write_elements<const SIZE: usize>(at: usize, to: &mut [u8], element: impl Fn(usize) -> [u8; SIZE]) {
    let (mut at, mut rest) = (at, to);
    while !rest.is_empty() {
        let begin = at % SIZE;
        let (bytes, behind) = rest.split_at_mut((SIZE - begin).min(rest.len()));
        bytes.copy_from_slice(&element(at / SIZE)[begin..begin + bytes.len()]);
        at += bytes.len();
        rest = behind;
    }
}

/// Combines data with others, element by element.
pub(crate) fn combine(operand: Operand, from: &[u8], to: &mut [u8]) {
    fn each<const SIZE: usize>(from: &[u8], to: &mut [u8], of: impl Fn([u8; SIZE], [u8; SIZE]) -> [u8; SIZE]) {
        let elements = from.as_chunks::<SIZE>().0.iter();
        elements.zip(to.as_chunks_mut().0).for_each(|(a, b)| *b = of(*a, *b));
    }
    match operand.element {
        _ if operand.operator.is_bitwise() => each(from, to, |[a], [b]| [bits(operand.operator, a, b)]),
        Element::Byte => each(from, to, |[a], [b]| {
            [integers(operand.operator, i32::from(a), i32::from(b)) as u8]
        }),
        Element::Int => each(from, to, |a, b| {
            integers(operand.operator, i32::from_ne_bytes(a), i32::from_ne_bytes(b)).to_ne_bytes()
        }),
        Element::Float => each(from, to, |a, b| {
            let [a, b] = [a, b].map(|one| f64::from(f32::from_ne_bytes(one)));
            (reals(operand.operator, a, b) as f32).to_ne_bytes()
        }),
        Element::Double => each(from, to, |a, b| {
            reals(operand.operator, f64::from_ne_bytes(a), f64::from_ne_bytes(b)).to_ne_bytes()
        }),
    }
}

fn bits(operator: Operator, a: u8, b: u8) -> u8 {
    match operator {
        Operator::And => a & b,
        Operator::Xor => a ^ b,
        _ => a | b,
    }
}

fn integers(operator: Operator, a: i32, b: i32) -> i32 {
    match operator {
        Operator::Product => a.wrapping_mul(b),
        Operator::Max => a.max(b),
        Operator::Min => a.min(b),
        _ => a.wrapping_add(b),
    }
}

fn reals(operator: Operator, a: f64, b: f64) -> f64 {
    match operator {
        Operator::Product => a * b,
        Operator::Max => a.max(b),
        Operator::Min => a.min(b),
        _ => a + b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_ranks_give_combines_to_what_both_give() {
        for element in Element::ALL {
            for operator in Operator::ALL.into_iter().filter(|one| one.takes(element)) {
                let operand = Operand { element, operator };
                let of = |ranks: Range<usize>| {
                    let mut bytes = [0; 640];
                    write_combined(operand, ranks, (5, 3), 0, &mut bytes);
                    bytes
                };
                let (first, second) = (of(0..1), of(1..2));
                let mut both = second;
                combine(operand, &first, &mut both);
                assert_eq!(both, of(0..2), "{operand}");
                // Either's data show.
                assert!(both != first && both != second, "{operand}");
                let mut part = [0; 13];
                write_combined(operand, 0..2, (5, 3), 3, &mut part);
                assert_eq!(part, both[3..16], "{operand}: a part that begins within an element");
            }
        }
    }
}
