//! The construction of a datatype, as the library tells it, for types made with large counts as well.
//!
//! MPI 4 has constructors whose counts are `MPI_Count`. `MPI_Type_get_envelope` is an error for the types that they make, and errors of datatypes are
//! fatal: MPICH 4.0 to 5.0 end the program. `MPI_Type_get_envelope_c` answers for every type, so that it is asked where the library has it.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use mpi_sys::{MPI_Count, MPI_Datatype};

use crate::constants;
use crate::error::{MpiError, pmpi};

/// Construction of a datatype: the arguments that it was made with, by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Integers.
    pub integers: usize,
    /// Addresses.
    pub addresses: usize,
    /// Counts beyond integers. With any, `MPI_Type_get_contents` must not be asked.
    pub large_counts: usize,
    /// Datatypes.
    pub types: usize,
    /// The constructor.
    pub combiner: c_int,
}

type GetEnvelope = unsafe extern "C" fn(
    MPI_Datatype,
    *mut MPI_Count,
    *mut MPI_Count,
    *mut MPI_Count,
    *mut MPI_Count,
    *mut c_int,
) -> c_int;

impl Envelope {
    /// Asks the library.
    ///
    /// # Errors
    /// The library's, where it returns errors.
    ///
    /// # Safety
    /// The type is valid.
    pub unsafe fn of(datatype: MPI_Datatype) -> Result<Envelope, MpiError> {
        let number = |number: MPI_Count| usize::try_from(number).unwrap_or(usize::MAX);
        let mut combiner: c_int = 0;
        if let Some(get) = for_large_counts() {
            let mut counts: [MPI_Count; 4] = [0; 4];
            let [integers, addresses, large, types] = counts.each_mut();
            // SAFETY: four counts and an int are written; the type is valid by this function's contract.
            let code = unsafe { get(datatype, integers, addresses, large, types, &raw mut combiner) };
            MpiError::check("PMPI_Type_get_envelope_c", code)?;
            let [integers, addresses, large_counts, types] = counts.map(number);
            return Ok(Envelope {
                integers,
                addresses,
                large_counts,
                types,
                combiner,
            });
        }
        let mut counts: [c_int; 3] = [0; 3];
        let [integers, addresses, types] = counts.each_mut();
        // SAFETY: four ints are written; the type is valid by this function's contract.
        unsafe {
            pmpi!(PMPI_Type_get_envelope(
                datatype,
                integers,
                addresses,
                types,
                &raw mut combiner
            ))?;
        }
        let [integers, addresses, types] = counts.map(|one| number(one.into()));
        Ok(Envelope {
            integers,
            addresses,
            large_counts: 0,
            types,
            combiner,
        })
    }

    /// True for a predefined type.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.combiner == constants::combiner_named()
    }
}

/// True for a predefined type; false for one of which the library does not tell.
///
/// # Safety
/// The type is valid.
pub unsafe fn is_named(datatype: MPI_Datatype) -> bool {
    // SAFETY: by this function's contract.
    unsafe { Envelope::of(datatype) }.is_ok_and(|envelope| envelope.is_named())
}

/// The function that answers for all types, if the library has it: one of MPI 4 has, whatever library this was built with.
fn for_large_counts() -> Option<GetEnvelope> {
    static FOUND: OnceLock<Option<GetEnvelope>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // SAFETY: looks a symbol up; the name ends with a NUL.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"PMPI_Type_get_envelope_c".as_ptr()) };
        // SAFETY: the standard says its type.
        (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, GetEnvelope>(found) })
    })
}
