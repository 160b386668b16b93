//! How the elements of a datatype lie in memory.

use std::ffi::c_int;

use mpi_sys::{MPI_Aint, MPI_Datatype};

use crate::MpiError;
use crate::error::pmpi;

/// Size and bounds of a datatype, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of data in an element.
    pub size: usize,
    /// Distance from one element to the next.
    pub extent: isize,
    /// Where an element's data begins.
    pub true_lower_bound: isize,
    /// From the beginning to the end of an element's data.
    pub true_extent: isize,
}

impl Layout {
    /// The layout of `datatype`.
    ///
    /// # Errors
    /// The library's.
    // MPI_Aint is `isize` or `c_long`, as the library has it.
    #[allow(clippy::unnecessary_cast)]
    pub fn of(datatype: MPI_Datatype) -> Result<Layout, MpiError> {
        let mut size: c_int = 0;
        let (mut lower_bound, mut extent): (MPI_Aint, MPI_Aint) = (0, 0);
        let (mut true_lower_bound, mut true_extent): (MPI_Aint, MPI_Aint) = (0, 0);
        // SAFETY: each writes the integers given; the library checks the handle.
        unsafe {
            pmpi!(PMPI_Type_size(datatype, &raw mut size))?;
            pmpi!(PMPI_Type_get_extent(datatype, &raw mut lower_bound, &raw mut extent))?;
            pmpi!(PMPI_Type_get_true_extent(
                datatype,
                &raw mut true_lower_bound,
                &raw mut true_extent
            ))?;
        }
        let size = MpiError::count_back("PMPI_Type_size", size)?;
        Ok(Layout {
            size,
            extent: extent as isize,
            true_lower_bound: true_lower_bound as isize,
            true_extent: true_extent as isize,
        })
    }

    /// Whether `n` elements are `n * size` bytes without a hole, in order (the order inside an element is not looked at:
    /// equal bytes are moved, so it does not matter).
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.true_lower_bound == 0 && self.extent == self.true_extent && usize::try_from(self.extent) == Ok(self.size)
    }

    /// Whether each element lies within its own extent, so that element `i` can be moved as the bytes from `i * extent` to
    /// `(i + 1) * extent`.
    #[must_use]
    pub fn is_separable(&self) -> bool {
        self.extent > 0 && self.true_lower_bound >= 0 && self.true_lower_bound + self.true_extent <= self.extent
    }
}
