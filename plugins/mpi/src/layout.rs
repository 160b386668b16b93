//! Memory layout of a datatype's elements.

use std::ffi::c_int;

use mpi_sys::{MPI_Aint, MPI_Datatype};

use crate::envelope::Envelope;
use crate::error::pmpi;
use crate::{MpiError, constants, predefined};

/// Size and bounds of a datatype, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of data in an element.
    pub size: usize,
    /// Distance from one element to the next.
    pub extent: isize,
    /// Start of an element's data.
    pub true_lower_bound: isize,
    /// Length from the start to the end of an element's data.
    pub true_extent: isize,
}

impl Layout {
    /// The layout of `datatype`.
    #[inline]
    pub fn of(datatype: MPI_Datatype) -> Result<Layout, MpiError> {
        predefined::find(datatype).map_or_else(|| Layout::ask(datatype), Ok)
    }

    /// The layout as the library tells it, remembered if the type is predefined.
    // MPI_Aint is `isize` or `c_long`, as the library has it.
    #[allow(clippy::unnecessary_cast)]
    #[cold]
    fn ask(datatype: MPI_Datatype) -> Result<Layout, MpiError> {
        let (mut lower_bound, mut extent): (MPI_Aint, MPI_Aint) = (0, 0);
        let (mut true_lower_bound, mut true_extent): (MPI_Aint, MPI_Aint) = (0, 0);
        // SAFETY: each writes the integers given; the library checks the handle.
        unsafe {
            pmpi!(PMPI_Type_get_extent(datatype, &raw mut lower_bound, &raw mut extent))?;
            pmpi!(PMPI_Type_get_true_extent(
                datatype,
                &raw mut true_lower_bound,
                &raw mut true_extent
            ))?;
        }
        let layout = Layout {
            size: ask_size(datatype)?,
            extent: extent as isize,
            true_lower_bound: true_lower_bound as isize,
            true_extent: true_extent as isize,
        };
        predefined::remember(datatype, layout);
        Ok(layout)
    }

    /// True if `n` elements are `n * size` bytes without a hole. The order of the parts of an element does not matter
    /// here; see [`is_stream`].
    #[inline]
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.true_lower_bound == 0 && self.extent == self.true_extent && usize::try_from(self.extent) == Ok(self.size)
    }

    /// True if each element lies within its own extent, so that element `i` can be moved as the bytes from `i * extent`
    /// to `(i + 1) * extent`.
    #[inline]
    #[must_use]
    pub fn is_separable(&self) -> bool {
        self.extent > 0 && self.true_lower_bound >= 0 && self.true_lower_bound + self.true_extent <= self.extent
    }
}

/// Bytes of data in an element of `datatype`; `MPI_ERR_COUNT` if the library cannot tell.
#[inline]
pub fn size(datatype: MPI_Datatype) -> Result<usize, MpiError> {
    Layout::of(datatype).map(|layout| layout.size)
}

fn ask_size(datatype: MPI_Datatype) -> Result<usize, MpiError> {
    let mut size: mpi_sys::MPI_Count = 0;
    // SAFETY: writes an integer; the library checks the handle.
    unsafe { pmpi!(PMPI_Type_size_x(datatype, &raw mut size))? };
    usize::try_from(size).map_err(|_| MpiError {
        operation: "PMPI_Type_size_x",
        code: constants::err_count(),
    })
}

/// True if elements in memory are the same bytes as when packed: dense, and with the parts of an element in the order
/// in which messages carry them. False if it would take long to find out.
pub fn is_stream(datatype: MPI_Datatype) -> Result<bool, MpiError> {
    if let Some(layout) = predefined::find(datatype) {
        return Ok(layout.is_dense());
    }
    let mut datatype = datatype;
    let mut owned = false;
    loop {
        let inner = if Layout::of(datatype)?.is_dense() {
            inner_type(datatype)?
        } else {
            Inner::Unknown
        };
        if owned {
            // SAFETY: a derived type that `inner_type` got a handle of, not used again.
            unsafe { pmpi!(PMPI_Type_free(&raw mut datatype))? };
        }
        match inner {
            Inner::Predefined => return Ok(true),
            Inner::Unknown => return Ok(false),
            Inner::Type { handle, derived } => (datatype, owned) = (handle, derived),
        }
    }
}

/// Composition of an element.
enum Inner {
    /// It is a predefined type.
    Predefined,
    /// Elements of one type behind each other.
    Type { handle: MPI_Datatype, derived: bool },
    /// Something else.
    Unknown,
}

fn inner_type(datatype: MPI_Datatype) -> Result<Inner, MpiError> {
    // SAFETY: the library checks the handle.
    let envelope = unsafe { Envelope::of(datatype) }?;
    if envelope.is_named() {
        return Ok(Inner::Predefined);
    }
    let repeats = [
        constants::combiner_dup(),
        constants::combiner_contiguous(),
        constants::combiner_resized(),
    ]
    .contains(&envelope.combiner);
    if !repeats || envelope.types != 1 || envelope.large_counts > 0 {
        return Ok(Inner::Unknown);
    }
    let mut integer_list = vec![0; envelope.integers];
    let mut address_list: Vec<MPI_Aint> = vec![0; envelope.addresses];
    let mut handle = constants::datatype_null();
    // SAFETY: the lists are as long as the envelope says; one type is written.
    unsafe {
        let (integer_list, address_list) = (integer_list.as_mut_ptr(), address_list.as_mut_ptr());
        pmpi!(PMPI_Type_get_contents(
            datatype,
            envelope.integers as c_int,
            envelope.addresses as c_int,
            1,
            integer_list,
            address_list,
            &raw mut handle
        ))?;
    }
    Ok(Inner::Type {
        handle,
        // SAFETY: the library made the handle.
        derived: !unsafe { Envelope::of(handle) }?.is_named(),
    })
}

/// Bytes of an element of a predefined type that lies in memory as it is packed; `None` where that takes longer to find out.
#[inline]
#[must_use]
pub fn plain_size(datatype: MPI_Datatype) -> Option<usize> {
    Some(predefined::plain_size(datatype)).filter(|size| *size > 0)
}

/// True for the handle of a predefined type, which is never freed. False if nobody has asked for the layout of the
/// type.
#[must_use]
pub fn is_predefined(datatype: MPI_Datatype) -> bool {
    predefined::find(datatype).is_some()
}
