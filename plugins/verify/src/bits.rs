//! Compares a row's sums of random doubles with the library's, bit by bit. The bits depend on the order of additions.
//!
//! Both results are correct, so differences are counted apart from errors. Calls are repeated with the ranks arriving in different orders, since
//! an implementation may add first what arrives first.

use std::ffi::c_int;

use kilter_algorithms::reference::doubles::{CALLS, lateness, of_bits};

use crate::problem::Problem;

/// Buffers of a call.
pub(crate) struct Doubles {
    pub(crate) send: Vec<f64>,
    pub(crate) recv: Vec<f64>,
}

impl Doubles {
    /// The buffers of `rank` before a call that is not in place.
    pub(crate) fn new(problem: &Problem, rank: usize) -> Doubles {
        Doubles {
            send: (0..problem.send_span).map(|index| random(rank, index)).collect(),
            recv: vec![f64::NAN; problem.recv_span],
        }
    }

    /// The bits of the result.
    fn bits(&self, problem: &Problem) -> Vec<u64> {
        let defined = problem.after.iter().flat_map(|(at, elements)| *at..at + elements.len());
        defined.map(|index| self.recv[index].to_bits()).collect()
    }
}

/// Reason why the bits of a result are not compared.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoBits {
    /// A call failed.
    #[error("returned code {0}")]
    Code(c_int),
    /// The result is not the same in all calls.
    #[error("element {0} differs from call to call")]
    Varies(usize),
}

/// The bits of the result, the same in all of several calls.
///
/// # Errors
/// A call returned an error code, or bits differ from call to call.
pub(crate) fn left(
    problem: &Problem,
    rank: usize,
    mut call: impl FnMut(&mut Doubles) -> c_int,
) -> Result<Vec<u64>, NoBits> {
    let mut first: Option<Vec<u64>> = None;
    let mut outcome = Ok(());
    for number in 0..CALLS {
        std::thread::sleep(lateness(number, rank));
        let mut doubles = Doubles::new(problem, rank);
        let code = call(&mut doubles);
        // All calls are made in any case: the other ranks make them.
        if code != 0 {
            outcome = Err(NoBits::Code(code));
            continue;
        }
        let bits = doubles.bits(problem);
        if let Some(index) = first.as_ref().and_then(|first| first_difference(first, &bits)) {
            outcome = Err(NoBits::Varies(index));
        }
        first.get_or_insert(bits);
    }
    outcome.map(|()| first.unwrap_or_default())
}

/// The first difference between two results, in words.
pub(crate) fn difference(row: &[u64], library: &[u64]) -> Option<String> {
    let index = first_difference(row, library)?;
    let of = |bits: &[u64]| f64::from_bits(bits[index]);
    Some(format!(
        "element {index} is {:?}, the library's {:?}",
        of(row),
        of(library)
    ))
}

fn first_difference(a: &[u64], b: &[u64]) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a != b)
}

/// Element `index` of what `rank` gives, in a stream of its own: which rows add as the library does was found out with these numbers.
fn random(rank: usize, index: usize) -> f64 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for part in [rank, 1, index] {
        state = state.wrapping_add(part as u64 + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^= state >> 32;
    }
    of_bits(state)
}

#[cfg(test)]
mod tests {
    use super::{NoBits, difference, left, random};
    use crate::problem::Problem;

    fn problem() -> Problem {
        Problem {
            send_span: 4,
            recv_span: 4,
            after: vec![(1, vec![[0, 0]; 3])],
            ..Problem::default()
        }
    }

    #[test]
    fn another_order_of_adding_leaves_other_bits() {
        let sum = |ranks: &mut dyn Iterator<Item = usize>| -> Vec<u64> {
            let ranks: Vec<usize> = ranks.collect();
            let of = |index| ranks.iter().fold(0.0, |sum, rank| sum + random(*rank, index));
            (0..97).map(|index| f64::to_bits(of(index))).collect()
        };
        for ranks in 3..9 {
            let (up, down) = (sum(&mut (0..ranks)), sum(&mut (0..ranks).rev()));
            assert!(difference(&up, &down).unwrap().contains("the library's"), "{ranks}");
            assert_eq!(difference(&up, &up), None);
        }
    }

    #[test]
    fn what_is_left_undefined_is_not_compared_and_what_varies_is_found() {
        let mut calls = 0;
        let mut copy = |varying: usize| {
            calls = 0;
            left(&problem(), 2, |doubles| {
                calls += 1;
                doubles.recv.copy_from_slice(&doubles.send);
                doubles.recv[varying] += f64::from(calls);
                0
            })
        };
        assert_eq!(copy(0).unwrap().len(), 3);
        assert_eq!(copy(2).unwrap_err(), NoBits::Varies(1));
        assert_eq!(left(&problem(), 0, |_| 13).unwrap_err(), NoBits::Code(13));
    }
}
