//! The element types of the matrix: how each lies in memory, and its MPI handle.
//!
//! An element is one or two numbers of 32 bits; a `double` holds one exactly. Bytes of an element that belong to no field are
//! holes, which no collective may touch in a receive buffer.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Datatype, MpiError, constants};

/// The values of an element's fields; those of one field use the first.
pub(crate) type Element = [u32; 2];

/// A number within an element, at a byte offset.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    Int(usize),
    Double(usize),
}

impl Field {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        match self {
            Field::Int(at) => at..at + 4,
            Field::Double(at) => at..at + 8,
        }
    }

    /// # Safety
    /// `element` points to memory of an element with this field.
    unsafe fn load(self, element: *const u8) -> u32 {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Field::Int(at) => element.add(at).cast::<u32>().read_unaligned(),
                // Sums of values of 32 bits that a wrong row makes may be any number: saturation is as wrong.
                Field::Double(at) => element.add(at).cast::<f64>().read_unaligned() as u32,
            }
        }
    }

    /// # Safety
    /// As for `load`.
    unsafe fn store(self, element: *mut u8, value: u32) {
        // SAFETY: by this function's contract.
        unsafe {
            match self {
                Field::Int(at) => element.add(at).cast::<u32>().write_unaligned(value),
                Field::Double(at) => element.add(at).cast::<f64>().write_unaligned(f64::from(value)),
            }
        }
    }
}

/// A type of the matrix: name, extent, fields, handle.
pub(crate) struct Type {
    pub(crate) name: &'static str,
    pub(crate) extent: usize,
    pub(crate) fields: &'static [Field],
    make: fn() -> Result<MPI_Datatype, MpiError>,
}

impl Type {
    /// Bytes of data of an element.
    pub(crate) fn size(&self) -> usize {
        self.fields.iter().map(|field| field.range().len()).sum()
    }

    /// True if its first data lies behind its lower bound.
    pub(crate) fn begins_with_a_hole(&self) -> bool {
        self.fields.iter().all(|field| field.range().start > 0)
    }

    /// Its handle.
    pub(crate) fn handle(&self) -> Result<MPI_Datatype, MpiError> {
        (self.make)()
    }

    /// # Safety
    /// `element` points to memory of an element.
    pub(crate) unsafe fn load(&self, element: *const u8) -> Element {
        let mut values = [0; 2];
        for (value, field) in values.iter_mut().zip(self.fields) {
            // SAFETY: by this function's contract.
            *value = unsafe { field.load(element) };
        }
        values
    }

    /// # Safety
    /// `element` points to memory of an element.
    pub(crate) unsafe fn store(&self, element: *mut u8, values: Element) {
        for (value, field) in values.iter().zip(self.fields) {
            // SAFETY: by this function's contract.
            unsafe { field.store(element, *value) };
        }
    }
}

/// All of them; cases name them by place.
pub(crate) static TYPES: [Type; 5] = [
    Type {
        name: "int",
        extent: 4,
        fields: &[Field::Int(0)],
        make: || Ok(constants::int()),
    },
    Type {
        name: "double",
        extent: 8,
        fields: &[Field::Double(0)],
        make: || Ok(constants::double()),
    },
    Type {
        name: "pair",
        extent: 16,
        fields: &[Field::Double(0), Field::Int(8)],
        make: || Ok(constants::double_int()),
    },
    Type {
        name: "vector",
        extent: 16,
        fields: &[Field::Int(0), Field::Int(8)],
        make: vector,
    },
    Type {
        name: "struct",
        extent: 32,
        fields: &[Field::Int(4), Field::Double(16)],
        make: structure,
    },
];

/// Two integers with a hole behind each.
fn vector() -> Result<MPI_Datatype, MpiError> {
    let mut strided = constants::datatype_null();
    // SAFETY: one handle is written.
    let code = unsafe { mpi_sys::PMPI_Type_vector(2, 1, 2, constants::int(), &raw mut strided) };
    MpiError::check("PMPI_Type_vector", code)?;
    resized(strided, 16)
}

/// A hole, an integer, a hole, a double, a hole.
fn structure() -> Result<MPI_Datatype, MpiError> {
    let (lengths, offsets): ([c_int; 2], [mpi_sys::MPI_Aint; 2]) = ([1, 1], [4, 16]);
    let types = [constants::int(), constants::double()];
    let mut fields = constants::datatype_null();
    // SAFETY: three lists of two, one handle is written.
    let code = unsafe {
        mpi_sys::PMPI_Type_create_struct(2, lengths.as_ptr(), offsets.as_ptr(), types.as_ptr(), &raw mut fields)
    };
    MpiError::check("PMPI_Type_create_struct", code)?;
    resized(fields, 32)
}

fn resized(mut inner: MPI_Datatype, extent: mpi_sys::MPI_Aint) -> Result<MPI_Datatype, MpiError> {
    let mut outer = constants::datatype_null();
    // SAFETY: handles of this function's own, written and freed once.
    unsafe {
        MpiError::check(
            "PMPI_Type_create_resized",
            mpi_sys::PMPI_Type_create_resized(inner, 0, extent, &raw mut outer),
        )?;
        MpiError::check("PMPI_Type_free", mpi_sys::PMPI_Type_free(&raw mut inner))?;
        MpiError::check("PMPI_Type_commit", mpi_sys::PMPI_Type_commit(&raw mut outer))?;
    }
    Ok(outer)
}

/// Elements of a buffer as a user function of MPI gets them.
pub(crate) fn at(buffer: *mut c_void, type_: &Type, index: usize) -> *mut u8 {
    buffer.cast::<u8>().wrapping_add(index * type_.extent)
}
