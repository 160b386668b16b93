//! Elements that are combined: the data that each rank gives, their combination, and the sum of two.

use std::ops::Range;

use kilter_algorithms::reference::closed_form;
use kilter_protocol::plan::Element;

/// Byte `i` of the combined data of a range of ranks, of so many and of a slice.
pub(crate) fn combined(element: Element, ranks: Range<usize>, (p_ranks, slice): (usize, usize), i: usize) -> u8 {
    let size = element.bytes() as usize;
    let sum = || closed_form::sum_of_small_numbers(ranks.clone(), slice, i / size);
    match element {
        Element::Byte => closed_form::or_of_bits(ranks, p_ranks, slice, i),
        Element::Int => sum().to_ne_bytes()[i % size],
        Element::Float => (sum() as f32).to_ne_bytes()[i % size],
        Element::Double => f64::from(sum()).to_ne_bytes()[i % size],
    }
}

/// Combines data with others, element by element.
pub(crate) fn combine(element: Element, from: &[u8], to: &mut [u8]) {
    fn each<const SIZE: usize>(from: &[u8], to: &mut [u8], of: impl Fn([u8; SIZE], [u8; SIZE]) -> [u8; SIZE]) {
        let elements = from.as_chunks::<SIZE>().0.iter();
        elements.zip(to.as_chunks_mut().0).for_each(|(a, b)| *b = of(*a, *b));
    }
    match element {
        Element::Byte => each(from, to, |[a], [b]| [a | b]),
        Element::Int => each(from, to, |a, b| {
            i32::from_ne_bytes(a).wrapping_add(i32::from_ne_bytes(b)).to_ne_bytes()
        }),
        Element::Float => each(from, to, |a, b| {
            (f32::from_ne_bytes(a) + f32::from_ne_bytes(b)).to_ne_bytes()
        }),
        Element::Double => each(from, to, |a, b| {
            (f64::from_ne_bytes(a) + f64::from_ne_bytes(b)).to_ne_bytes()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_ranks_give_combines_to_what_both_give() {
        for element in Element::ALL {
            let of = |ranks: Range<usize>| -> Vec<u8> {
                (0..64).map(|i| combined(element, ranks.clone(), (5, 3), i)).collect()
            };
            let (first, mut both) = (of(0..1), of(1..2));
            combine(element, &first, &mut both);
            assert_eq!(both, of(0..2), "{element:?}");
        }
    }
}
