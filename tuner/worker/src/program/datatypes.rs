//! MPI datatypes that describe the layouts of [`crate::layout`], and the user-defined operator.

use std::ffi::{c_int, c_void};

use kilter_mpi::{MPI_Datatype, MPI_Op, MpiError, constants};
use kilter_protocol::expression::Layout;
use kilter_protocol::plan::{Element, Operator};
use mpi::ffi;

use crate::layout::{self, INDEXED, INDEXED_UNIT, VECTOR};

/// The MPI datatype of an element.
pub(crate) fn element_type(element: Element) -> MPI_Datatype {
    match element {
        Element::Byte => constants::byte(),
        Element::Int => constants::int(),
        Element::Float => constants::float(),
        Element::Double => constants::double(),
    }
}

/// The operator of MPI.
pub(crate) fn operator(operator: Operator) -> MPI_Op {
    let [max, min, sum, product, _, and, _, or, _, xor, ..] = *constants::predefined_ops();
    match operator {
        Operator::Sum => sum,
        Operator::Product => product,
        Operator::Max => max,
        Operator::Min => min,
        Operator::And => and,
        Operator::Or => or,
        Operator::Xor => xor,
    }
}

/// Datatypes and operator that an item has made and must free.
#[derive(Debug, Default)]
pub(crate) struct Datatypes {
    made: Vec<((Layout, usize), MPI_Datatype)>,
    op: Option<MPI_Op>,
}

impl Datatypes {
    /// A datatype of which one element is `bytes` bytes of data in this layout, and whose extent is the layout's span.
    pub(crate) fn get(&mut self, layout: Layout, bytes: usize) -> Result<MPI_Datatype, MpiError> {
        if let Some((_, datatype)) = self.made.iter().find(|(key, _)| *key == (layout, bytes)) {
            return Ok(*datatype);
        }
        // SAFETY: the type is made of MPI_BYTE, and committed before it is used.
        let datatype = unsafe {
            let mut datatype = make(layout, bytes)?;
            MpiError::check("MPI_Type_commit", ffi::PMPI_Type_commit(&raw mut datatype))?;
            datatype
        };
        self.made.push(((layout, bytes), datatype));
        Ok(datatype)
    }

    /// An operator of the program's own, with the built-in one's function.
    pub(crate) fn user_operator(&mut self) -> Result<MPI_Op, MpiError> {
        if let Some(op) = self.op {
            return Ok(op);
        }
        let mut op = constants::op_null();
        // SAFETY: `combine` has the type of an MPI_User_function and lives as long as the program.
        let code = unsafe { ffi::PMPI_Op_create(Some(combine), 1, &raw mut op) };
        MpiError::check("MPI_Op_create", code)?;
        self.op = Some(op);
        Ok(op)
    }

    /// Frees everything.
    pub(crate) fn free(self) -> Result<(), MpiError> {
        for (_, mut datatype) in self.made {
            // SAFETY: made and committed here, and used no more.
            MpiError::check("MPI_Type_free", unsafe { ffi::PMPI_Type_free(&raw mut datatype) })?;
        }
        if let Some(mut op) = self.op {
            // SAFETY: made here, and used no more.
            MpiError::check("MPI_Op_free", unsafe { ffi::PMPI_Op_free(&raw mut op) })?;
        }
        Ok(())
    }
}

/// # Safety
/// MPI is initialised.
unsafe fn make(layout: Layout, bytes: usize) -> Result<MPI_Datatype, MpiError> {
    let int = |value: usize| {
        c_int::try_from(value).map_err(|_| MpiError {
            operation: "MPI_Type_vector",
            code: constants::err_count(),
        })
    };
    let byte = constants::byte();
    let mut raw = constants::datatype_null();
    // SAFETY: all tables live through the calls that read them; the types made in between are freed.
    unsafe {
        match layout {
            Layout::Contiguous => {
                let code = ffi::PMPI_Type_contiguous(int(bytes)?, byte, &raw mut raw);
                MpiError::check("MPI_Type_contiguous", code)?;
                return Ok(raw);
            }
            Layout::Vector => {
                let (block, stride) = VECTOR;
                let code = ffi::PMPI_Type_vector(int(bytes / block)?, int(block)?, int(stride)?, byte, &raw mut raw);
                MpiError::check("MPI_Type_vector", code)?;
            }
            Layout::Indexed => {
                let rounds = bytes / INDEXED_UNIT.0;
                let (mut lengths, mut begins) = (Vec::new(), Vec::new());
                for round in 0..rounds {
                    for (begin, length) in INDEXED {
                        lengths.push(int(length)?);
                        begins.push(int(round * INDEXED_UNIT.1 + begin)?);
                    }
                }
                let code = ffi::PMPI_Type_indexed(
                    int(lengths.len())?,
                    lengths.as_ptr(),
                    begins.as_ptr(),
                    byte,
                    &raw mut raw,
                );
                MpiError::check("MPI_Type_indexed", code)?;
            }
            Layout::Struct => {
                let half = bytes / 2;
                let mut parts = [make(Layout::Vector, half)?, make(Layout::Indexed, half)?];
                let begins = [0, int(layout::span(Layout::Vector, half))? as ffi::MPI_Aint];
                let code =
                    ffi::PMPI_Type_create_struct(2, [1, 1].as_ptr(), begins.as_ptr(), parts.as_ptr(), &raw mut raw);
                MpiError::check("MPI_Type_create_struct", code)?;
                for part in &mut parts {
                    MpiError::check("MPI_Type_free", ffi::PMPI_Type_free(part))?;
                }
            }
        }
        let mut resized = constants::datatype_null();
        let extent = int(layout::span(layout, bytes))? as ffi::MPI_Aint;
        let code = ffi::PMPI_Type_create_resized(raw, 0, extent, &raw mut resized);
        MpiError::check("MPI_Type_create_resized", code)?;
        MpiError::check("MPI_Type_free", ffi::PMPI_Type_free(&raw mut raw))?;
        Ok(resized)
    }
}

/// A bitwise OR of bytes, a sum of numbers: the same as the built-in operators.
///
/// # Safety
/// Called by the library with `length` elements of `datatype`.
unsafe extern "C" fn combine(input: *mut c_void, in_out: *mut c_void, length: *mut c_int, datatype: *mut MPI_Datatype) {
    // SAFETY: the library passes valid pointers; vectors of the element that the type names.
    unsafe {
        let (length, datatype) = (usize::try_from(*length).unwrap_or(0), *datatype);
        macro_rules! each {
            ($type:ty, $combine:expr) => {{
                let (input, in_out) = (input.cast::<$type>(), in_out.cast::<$type>());
                for i in 0..length {
                    let combined: $type = $combine(in_out.add(i).read_unaligned(), input.add(i).read_unaligned());
                    in_out.add(i).write_unaligned(combined);
                }
            }};
        }
        if datatype == constants::int() {
            each!(i32, i32::wrapping_add);
        } else if datatype == constants::float() {
            each!(f32, |a: f32, b: f32| a + b);
        } else if datatype == constants::double() {
            each!(f64, |a: f64, b: f64| a + b);
        } else {
            each!(u8, |a: u8, b: u8| a | b);
        }
    }
}
