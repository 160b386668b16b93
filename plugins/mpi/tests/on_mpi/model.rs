//! The kinds of elements on which the collectives are called: the reference's, with the handles that MPI has for them.

use std::ffi::{c_int, c_void};

use kilter_algorithms::reference::{Elements, Operator};
use kilter_mpi::constants;
use mpi_sys::{MPI_Datatype, MPI_Op};

/// An element, its MPI type and an operator on it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) datatype: MPI_Datatype,
    pub(crate) op: MPI_Op,
    pub(crate) elements: Elements,
}

/// Maps of two words.
const MAPS: Elements = Elements {
    operator: Operator::Compose,
    bytes: 8,
};

unsafe extern "C" fn compose(input: *mut c_void, inout: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: MPI passes `length` elements of eight bytes in both buffers, which do not overlap.
    let (lower, upper) = unsafe {
        let bytes = usize::try_from(*length).expect("a length is not negative") * MAPS.bytes;
        (
            std::slice::from_raw_parts(input.cast::<u8>(), bytes),
            std::slice::from_raw_parts_mut(inout.cast::<u8>(), bytes),
        )
    };
    MAPS.operator.combine(MAPS.bytes, lower, upper);
}

/// `MPI_INT` with `MPI_SUM`, and pairs with a user's operator that does not commute.
pub(crate) fn kinds() -> [Kind; 2] {
    let (mut pair, mut op) = (constants::datatype_null(), constants::op_null());
    // SAFETY: MPI is initialised; the operator works on the type.
    unsafe {
        mpi_sys::PMPI_Type_contiguous(2, constants::uint32(), &raw mut pair);
        mpi_sys::PMPI_Type_commit(&raw mut pair);
        mpi_sys::PMPI_Op_create(Some(compose), 0, &raw mut op);
    }
    [
        Kind {
            name: "int sum",
            datatype: constants::int(),
            op: constants::sum(),
            elements: Elements {
                operator: Operator::WrappingSum,
                bytes: 4,
            },
        },
        Kind {
            name: "maps composed",
            datatype: pair,
            op,
            elements: MAPS,
        },
    ]
}
