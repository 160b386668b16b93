//! The operators of the matrix: those of the reference as MPI handles for the calls.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use kilter_algorithms::reference;
use kilter_mpi::{MPI_Datatype, MPI_Op, MpiError, constants};

use crate::elements::{TYPES, Type, at};

/// An operator: name, what it does, where it is from.
pub(crate) struct Operator {
    pub(crate) name: &'static str,
    pub(crate) operator: reference::Operator,
    /// True if it is one of MPI's own.
    pub(crate) predefined: bool,
    /// Names of the types it is defined on.
    pub(crate) types: &'static [&'static str],
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
        operator: reference::Operator::Sum,
        predefined: true,
        types: &["int", "double"],
        make: || Ok(constants::sum()),
    },
    Operator {
        name: "max",
        operator: reference::Operator::Max,
        predefined: true,
        types: &["int", "double"],
        make: || Ok(constants::max()),
    },
    Operator {
        name: "minloc",
        operator: reference::Operator::MinLoc,
        predefined: true,
        types: &["pair"],
        make: || Ok(constants::minloc()),
    },
    Operator {
        name: "user",
        operator: reference::Operator::WrappingSum,
        predefined: false,
        types: &["int", "double", "vector", "struct"],
        make: || create(user, true),
    },
    Operator {
        name: "ordered",
        operator: reference::Operator::Compose,
        predefined: false,
        types: &["int", "double", "pair", "vector", "struct"],
        make: || create(ordered, false),
    },
];

/// Place of the type of the case under way: a user function gets only a handle.
static CURRENT: AtomicUsize = AtomicUsize::new(0);

/// Says which type the user's operators work on.
pub(crate) fn work_on(place: usize) {
    CURRENT.store(place, Ordering::Release);
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
    unsafe { apply(reference::Operator::WrappingSum, input, inout, length) };
}

unsafe extern "C" fn ordered(input: *mut c_void, inout: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: as MPI calls it.
    unsafe { apply(reference::Operator::Compose, input, inout, length) };
}

/// `inout[i] = input[i] o inout[i]`.
///
/// # Safety
/// Two buffers of `length` elements of the current type.
unsafe fn apply(operator: reference::Operator, input: *mut c_void, inout: *mut c_void, length: *mut c_int) {
    let type_: &Type = &TYPES[CURRENT.load(Ordering::Acquire)];
    let fields = type_.fields.len();
    // SAFETY: by this function's contract.
    unsafe {
        for index in 0..usize::try_from(*length).unwrap_or(0) {
            let (a, b) = (at(input, type_, index), at(inout, type_, index));
            let (lower, mut upper) = (type_.load(a), type_.load(b));
            operator.combine_words(&lower[..fields], &mut upper[..fields]);
            type_.store(b, upper);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OPERATORS;
    use crate::elements::TYPES;

    /// Only the types are tested here. The tests of `Operator` in `kilter-algorithms` cover its results and commutativity.
    #[test]
    fn operators_combine_elements_of_every_type_that_they_are_defined_on() {
        for row in &OPERATORS {
            assert!(!row.types.is_empty(), "{}", row.name);
            for name in row.types {
                let type_ = TYPES.iter().find(|type_| type_.name == *name);
                let fields = type_.map_or(0, |type_| type_.fields.len());
                let mut elements = [[0; 2]; 3];
                for (rank, element) in elements.iter_mut().enumerate() {
                    row.operator.words(rank, 7, &mut element[..fields]);
                }
                let combine = |lower: [u32; 2], mut upper: [u32; 2]| {
                    row.operator.combine_words(&lower[..fields], &mut upper[..fields]);
                    upper
                };
                let [a, b, c] = elements;
                assert_eq!(
                    combine(combine(a, b), c),
                    combine(a, combine(b, c)),
                    "{} {name}",
                    row.name
                );
                assert_eq!(
                    combine(a, b) == combine(b, a),
                    row.operator.is_commutative(),
                    "{} {name}",
                    row.name
                );
            }
        }
    }
}
