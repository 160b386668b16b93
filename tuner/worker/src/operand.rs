//! Elements that are combined: the data that each rank gives, their combination, and that of two.

use std::ops::Range;

use kilter_algorithms::reference::closed_form;
use kilter_protocol::plan::{Element, Operand, Operator};

/// Byte `i` of the combined data of a range of ranks, of so many and of a slice.
pub(crate) fn combined(operand: Operand, ranks: Range<usize>, (p_ranks, slice): (usize, usize), i: usize) -> u8 {
    let size = operand.bytes() as usize;
    let bounds = |ranks| closed_form::bounds_of_small_numbers(ranks, slice, i / size);
    // Every rank's bits are its own: where one has a bit, no other has it.
    let bits = |ranks| closed_form::or_of_bits(ranks, p_ranks, slice, i);
    let number = match operand.operator {
        Operator::Or | Operator::Xor => return bits(ranks),
        Operator::And => return !bits(ranks),
        Operator::Sum => f64::from(closed_form::sum_of_small_numbers(ranks, slice, i / size)),
        Operator::Max => f64::from(bounds(ranks).1),
        Operator::Min => f64::from(bounds(ranks).0),
        Operator::Product => return product(operand.element, ranks, slice, i),
    };
    match operand.element {
        Element::Byte => number as u8,
        Element::Int => (number as i32).to_ne_bytes()[i % size],
        Element::Float => (number as f32).to_ne_bytes()[i % size],
        Element::Double => number.to_ne_bytes()[i % size],
    }
}

fn product(element: Element, ranks: Range<usize>, slice: usize, i: usize) -> u8 {
    let size = element.bytes() as usize;
    let twos = closed_form::twos_in_product(ranks, slice, i / size);
    let power = i32::try_from(twos).unwrap_or(i32::MAX);
    match element {
        // Integers wrap.
        Element::Byte => 1_u8.checked_shl(twos).unwrap_or(0),
        Element::Int => 1_i32.checked_shl(twos).unwrap_or(0).to_ne_bytes()[i % size],
        Element::Float => 2_f32.powi(power).to_ne_bytes()[i % size],
        Element::Double => 2_f64.powi(power).to_ne_bytes()[i % size],
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
                let of = |ranks: Range<usize>| -> Vec<u8> {
                    (0..640).map(|i| combined(operand, ranks.clone(), (5, 3), i)).collect()
                };
                let (first, second) = (of(0..1), of(1..2));
                let mut both = second.clone();
                combine(operand, &first, &mut both);
                assert_eq!(both, of(0..2), "{operand}");
                // Either's data show.
                assert!(both != first && both != second, "{operand}");
            }
        }
    }
}
