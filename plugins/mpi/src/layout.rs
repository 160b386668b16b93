//! Memory layout of a datatype's elements.

use std::ffi::{c_int, c_void};

use mpi_sys::{MPI_Aint, MPI_Comm, MPI_Datatype};

use crate::envelope::Envelope;
use crate::error::pmpi;
use crate::transport::PIECE_BYTES;
use crate::{MpiError, constants, predefined};

/// Tag of messages to oneself; on a communicator where nothing is pending any would do.
const SELF_TAG: c_int = 8;

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

/// Packs `count` elements into exactly `packed.len()` bytes; `MPI_ERR_COUNT` if the packed form has another length.
///
/// # Safety
/// `elements` holds `count` elements of `datatype`.
pub unsafe fn pack(
    elements: *const c_void,
    count: usize,
    datatype: MPI_Datatype,
    packed: &mut [u8],
    comm: MPI_Comm,
) -> Result<(), MpiError> {
    // SAFETY: `elements` points to `count` elements, by this function's contract.
    unsafe { pack_in_pieces(elements, count, datatype, packed, comm, PIECE_BYTES) }
}

/// Same as [`pack`], with at most `piece_bytes` bytes, or one element, in a call of the library, which takes ints.
///
/// # Safety
/// As for [`pack`].
pub unsafe fn pack_in_pieces(
    elements: *const c_void,
    count: usize,
    datatype: MPI_Datatype,
    mut packed: &mut [u8],
    comm: MPI_Comm,
    piece_bytes: usize,
) -> Result<(), MpiError> {
    for_pieces(
        count,
        datatype,
        packed.len(),
        piece_bytes,
        |begin, elements_of_piece, bytes| {
            let (piece, rest) = std::mem::take(&mut packed).split_at_mut(bytes);
            packed = rest;
            let elements = elements.wrapping_byte_offset(begin);
            // SAFETY: the piece lies within the `count` elements that the caller vouches for.
            unsafe { pack_piece(elements, elements_of_piece, datatype, piece, comm) }
        },
    )
}

/// Calls `visit` with where a piece begins in memory, in bytes, its elements, and its bytes when packed.
fn for_pieces(
    count: usize,
    datatype: MPI_Datatype,
    packed_bytes: usize,
    piece_bytes: usize,
    mut visit: impl FnMut(isize, usize, usize) -> Result<(), MpiError>,
) -> Result<(), MpiError> {
    if packed_bytes <= piece_bytes && c_int::try_from(count).is_ok() {
        return visit(0, count, packed_bytes);
    }
    let Layout { size, extent, .. } = Layout::of(datatype)?;
    if count.checked_mul(size) != Some(packed_bytes) {
        return Err(MpiError {
            operation: "PMPI_Pack",
            code: constants::err_count(),
        });
    }
    let most = (piece_bytes / size.max(1)).clamp(1, PIECE_BYTES);
    for first in (0..count).step_by(most) {
        let elements = most.min(count - first);
        visit(first.cast_signed() * extent, elements, elements * size)?;
    }
    Ok(())
}

/// Elements that begin at `MPI_BOTTOM`, whose type has absolute addresses: one element from an address that is not null. MPICH takes a null
/// buffer of `PMPI_Pack` and `PMPI_Unpack` for a mistake, although it takes it in messages.
struct Rebased {
    /// Any address but null.
    base: *mut c_void,
    /// The elements, as they lie from there.
    datatype: MPI_Datatype,
}

impl Rebased {
    fn of(count: c_int, datatype: MPI_Datatype) -> Result<Rebased, MpiError> {
        let base: *mut c_void = std::ptr::dangling_mut::<u64>().cast();
        let back = (base.addr() as MPI_Aint).wrapping_neg();
        let mut rebased = constants::datatype_null();
        // SAFETY: one block is described, and one handle written; the library checks the type.
        unsafe {
            pmpi!(PMPI_Type_create_hindexed(
                1,
                &raw const count,
                &raw const back,
                datatype,
                &raw mut rebased
            ))?;
        }
        let rebased = Rebased {
            base,
            datatype: rebased,
        };
        let mut handle = rebased.datatype;
        // SAFETY: a handle that was just made.
        unsafe { pmpi!(PMPI_Type_commit(&raw mut handle))? };
        Ok(rebased)
    }
}

impl Drop for Rebased {
    fn drop(&mut self) {
        // SAFETY: this one's own handle; a type that cannot be freed is all there is to lose.
        unsafe { mpi_sys::PMPI_Type_free(&raw mut self.datatype) };
    }
}

/// # Safety
/// `elements` holds `count` elements of `datatype`.
unsafe fn pack_piece(
    elements: *const c_void,
    count: usize,
    datatype: MPI_Datatype,
    packed: &mut [u8],
    comm: MPI_Comm,
) -> Result<(), MpiError> {
    let (count, length) = (
        MpiError::count("PMPI_Pack", count)?,
        MpiError::count("PMPI_Pack", packed.len())?,
    );
    let rebased = if elements.is_null() {
        Some(Rebased::of(count, datatype)?)
    } else {
        None
    };
    let (elements, count, datatype) = rebased.as_ref().map_or((elements, count, datatype), |rebased| {
        (rebased.base.cast_const(), 1, rebased.datatype)
    });
    let mut position = 0;
    // SAFETY: by this function's contract; at most `length` bytes are written.
    unsafe {
        pmpi!(PMPI_Pack(
            elements,
            count,
            datatype,
            packed.as_mut_ptr().cast(),
            length,
            &raw mut position,
            comm
        ))?
    };
    if position == length {
        Ok(())
    } else {
        Err(MpiError {
            operation: "PMPI_Pack",
            code: constants::err_count(),
        })
    }
}

/// Unpacks `packed` into `count` elements; `MPI_ERR_COUNT` if the packed form has another length.
///
/// # Safety
/// `elements` has room for `count` elements of `datatype`.
pub unsafe fn unpack(
    packed: &[u8],
    elements: *mut c_void,
    count: usize,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(), MpiError> {
    // SAFETY: `elements` has room for `count` elements, by this function's contract.
    unsafe { unpack_in_pieces(packed, elements, count, datatype, comm, PIECE_BYTES) }
}

/// Same as [`unpack`], with at most `piece_bytes` bytes, or one element, in a call of the library, which takes ints.
///
/// # Safety
/// As for [`unpack`].
pub unsafe fn unpack_in_pieces(
    mut packed: &[u8],
    elements: *mut c_void,
    count: usize,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
    piece_bytes: usize,
) -> Result<(), MpiError> {
    for_pieces(
        count,
        datatype,
        packed.len(),
        piece_bytes,
        |begin, elements_of_piece, bytes| {
            let (piece, rest) = packed.split_at(bytes);
            packed = rest;
            let elements = elements.wrapping_byte_offset(begin);
            // SAFETY: the piece lies within the room for `count` elements that the caller vouches for.
            unsafe { unpack_piece(piece, elements, elements_of_piece, datatype, comm) }
        },
    )
}

/// # Safety
/// `elements` has room for `count` elements of `datatype`.
unsafe fn unpack_piece(
    packed: &[u8],
    elements: *mut c_void,
    count: usize,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<(), MpiError> {
    let (count, length) = (
        MpiError::count("PMPI_Unpack", count)?,
        MpiError::count("PMPI_Unpack", packed.len())?,
    );
    let rebased = if elements.is_null() {
        Some(Rebased::of(count, datatype)?)
    } else {
        None
    };
    let (elements, count, datatype) = rebased.as_ref().map_or((elements, count, datatype), |rebased| {
        (rebased.base, 1, rebased.datatype)
    });
    let mut position = 0;
    // SAFETY: by this function's contract.
    unsafe {
        pmpi!(PMPI_Unpack(
            packed.as_ptr().cast(),
            length,
            &raw mut position,
            elements,
            count,
            datatype,
            comm
        ))?
    };
    if position == length {
        Ok(())
    } else {
        Err(MpiError {
            operation: "PMPI_Unpack",
            code: constants::err_count(),
        })
    }
}

/// Copies `count` elements and leaves the holes between them as they are.
///
/// # Safety
/// Both buffers hold `count` elements and do not overlap; nothing is pending on `comm`, whose rank `rank` this is.
pub unsafe fn copy_elements(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    datatype: MPI_Datatype,
    (comm, rank): (MPI_Comm, usize),
) -> Result<(), MpiError> {
    let bytes = count.saturating_mul(size(datatype)?);
    for_pieces(count, datatype, bytes, PIECE_BYTES, |begin, elements, _| {
        let (from, to) = (from.wrapping_byte_offset(begin), to.wrapping_byte_offset(begin));
        // SAFETY: these are elements of the whole.
        unsafe { copy_piece(from, to, elements, datatype, (comm, rank)) }
    })
}

/// # Safety
/// As for [`copy_elements`].
unsafe fn copy_piece(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    datatype: MPI_Datatype,
    (comm, rank): (MPI_Comm, usize),
) -> Result<(), MpiError> {
    let count = MpiError::count("PMPI_Sendrecv", count)?;
    let me = MpiError::count("PMPI_Sendrecv", rank)?;
    let mut status = std::mem::MaybeUninit::zeroed();
    // SAFETY: by this function's contract.
    unsafe {
        pmpi!(PMPI_Sendrecv(
            from,
            count,
            datatype,
            me,
            SELF_TAG,
            to,
            count,
            datatype,
            me,
            SELF_TAG,
            comm,
            status.as_mut_ptr(),
        ))
    }
}
