//! The operators of the matrix: as MPI handles for the calls, and as functions of two elements for the reference.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use kilter_mpi::{MPI_Datatype, MPI_Op, MpiError, constants};

use crate::elements::{Element, TYPES, Type, at};

/// An operator: name, whether it is commutative, which contributions it gets, what it does.
pub(crate) struct Operator {
    pub(crate) name: &'static str,
    pub(crate) commutative: bool,
    /// True if it is one of MPI's own.
    pub(crate) predefined: bool,
    /// Names of the types it is defined on.
    pub(crate) types: &'static [&'static str],
    /// Makes contributions of any 32 bits such that results are exact.
    pub(crate) prepare: fn(Element) -> Element,
    /// `a` of lower ranks than `b`.
    pub(crate) combine: fn(Element, Element) -> Element,
    make: fn() -> Result<MPI_Op, MpiError>,
}

impl Operator {
    /// Its handle.
    pub(crate) fn handle(&self) -> Result<MPI_Op, MpiError> {
        (self.make)()
    }
}

/// All of them; cases name them by place.
pub(crate) static OPERATORS: [Operator; 5] = [
    Operator {
        name: "sum",
        commutative: true,
        predefined: true,
        types: &["int", "double"],
        prepare: |[a, b]| [a % 1000, b % 1000],
        combine: |a, b| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])],
        make: || Ok(constants::sum()),
    },
    Operator {
        name: "max",
        commutative: true,
        predefined: true,
        types: &["int", "double"],
        prepare: |[a, b]| [a % 1000, b % 1000],
        combine: |a, b| [a[0].max(b[0]), a[1].max(b[1])],
        make: || Ok(constants::max()),
    },
    Operator {
        name: "minloc",
        commutative: true,
        predefined: true,
        types: &["pair"],
        // Few values, so that ties are common.
        prepare: |[a, b]| [a % 3, b % 1000],
        combine: |a, b| a.min(b),
        make: || Ok(constants::minloc()),
    },
    Operator {
        name: "user",
        commutative: true,
        predefined: false,
        types: &["int", "double", "vector", "struct"],
        prepare: |element| element,
        combine: |a, b| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])],
        make: || create(user, true),
    },
    Operator {
        name: "ordered",
        commutative: false,
        predefined: false,
        types: &["int", "double", "pair", "vector", "struct"],
        prepare: |[a, b]| [a | 1, b | 1],
        combine: |a, b| [compose(a[0], b[0]), compose(a[1], b[1])],
        make: || create(ordered, false),
    },
];

/// Place of the type of the case under way: a user function gets only a handle.
static CURRENT: AtomicUsize = AtomicUsize::new(0);

/// Says which type the user's operators work on.
pub(crate) fn work_on(place: usize) {
    CURRENT.store(place, Ordering::Release);
}

/// Affine maps `t -> a t + b` modulo 2^16, `a` in the low half: every contribution and every exchange of two shows.
fn compose(x: u32, y: u32) -> u32 {
    let (a, b, c, d) = (x & 0xFFFF, x >> 16, y & 0xFFFF, y >> 16);
    let factor = a.wrapping_mul(c) & 0xFFFF;
    let term = a.wrapping_mul(d).wrapping_add(b) & 0xFFFF;
    term << 16 | factor
}

type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut MPI_Datatype);

fn create(function: UserFunction, commutative: bool) -> Result<MPI_Op, MpiError> {
    let mut op = constants::op_null();
    // SAFETY: the function lives as long as the process; one handle is written.
    let code = unsafe { mpi_sys::PMPI_Op_create(Some(function), c_int::from(commutative), &raw mut op) };
    MpiError::check("PMPI_Op_create", code)?;
    Ok(op)
}

unsafe extern "C" fn user(input: *mut c_void, inout: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: as MPI calls it.
    unsafe {
        apply(
            |a, b| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])],
            input,
            inout,
            length,
        )
    };
}

unsafe extern "C" fn ordered(input: *mut c_void, inout: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: as MPI calls it.
    unsafe { apply(|a, b| [compose(a[0], b[0]), compose(a[1], b[1])], input, inout, length) };
}

/// `inout[i] = input[i] o inout[i]`.
///
/// # Safety
/// Two buffers of `length` elements of the current type.
unsafe fn apply(combine: fn(Element, Element) -> Element, input: *mut c_void, inout: *mut c_void, length: *mut c_int) {
    let type_: &Type = &TYPES[CURRENT.load(Ordering::Acquire)];
    // SAFETY: by this function's contract.
    unsafe {
        for index in 0..usize::try_from(*length).unwrap_or(0) {
            let (a, b) = (at(input, type_, index), at(inout, type_, index));
            type_.store(b, combine(type_.load(a), type_.load(b)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{OPERATORS, compose};

    #[test]
    fn operators_are_associative_and_commutative_as_they_say() {
        let elements = [[3, 70_001], [0xFFFF_FFFF, 12], [1 << 16 | 5, 7]];
        for operator in &OPERATORS {
            let [a, b, c] = elements.map(operator.prepare);
            let o = operator.combine;
            assert_eq!(o(o(a, b), c), o(a, o(b, c)), "{}", operator.name);
            assert_eq!(o(a, b) == o(b, a), operator.commutative, "{}", operator.name);
        }
        assert_ne!(compose(3, 5), compose(3, 7));
    }
}
