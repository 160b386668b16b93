//! Elements of any layout packed, unpacked and copied by the library, in pieces that ints can count.

use std::ffi::{c_int, c_void};

use mpi_sys::{MPI_Aint, MPI_Comm, MPI_Datatype};

use crate::error::pmpi;
use crate::layout::{self, Layout};
use crate::transport::PIECE_BYTES;
use crate::{MpiError, constants};

/// Tag of messages to oneself; on a communicator where nothing is pending any would do.
const SELF_TAG: c_int = 8;

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
        "PMPI_Pack",
        (count, datatype),
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

/// Calls `visit` with the place of a piece in memory, in bytes, its elements, and its bytes when packed. Errors are those of `operation`.
fn for_pieces(
    operation: &'static str,
    (count, datatype): (usize, MPI_Datatype),
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
            operation,
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

/// Elements as the library takes them: those at address 0 by a type that names another place.
struct Elements {
    start: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    /// The type, for as long as it is used.
    _rebased: Option<Rebased>,
}

impl Elements {
    /// Errors are those of `operation`.
    fn new(
        operation: &'static str,
        start: *mut c_void,
        count: usize,
        datatype: MPI_Datatype,
    ) -> Result<Elements, MpiError> {
        let count = MpiError::count(operation, count)?;
        if !start.is_null() {
            return Ok(Elements {
                start,
                count,
                datatype,
                _rebased: None,
            });
        }
        let rebased = Rebased::of(count, datatype)?;
        Ok(Elements {
            start: rebased.base,
            count: 1,
            datatype: rebased.datatype,
            _rebased: Some(rebased),
        })
    }
}

/// `MPI_ERR_COUNT` if the packed form has another length than the caller's.
fn is_whole(operation: &'static str, position: c_int, length: c_int) -> Result<(), MpiError> {
    if position == length {
        Ok(())
    } else {
        Err(MpiError {
            operation,
            code: constants::err_count(),
        })
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
    let length = MpiError::count("PMPI_Pack", packed.len())?;
    let elements = Elements::new("PMPI_Pack", elements.cast_mut(), count, datatype)?;
    let mut position = 0;
    // SAFETY: by this function's contract; at most `length` bytes are written.
    unsafe {
        pmpi!(PMPI_Pack(
            elements.start.cast_const(),
            elements.count,
            elements.datatype,
            packed.as_mut_ptr().cast(),
            length,
            &raw mut position,
            comm
        ))?
    };
    is_whole("PMPI_Pack", position, length)
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
        "PMPI_Unpack",
        (count, datatype),
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
    let length = MpiError::count("PMPI_Unpack", packed.len())?;
    let elements = Elements::new("PMPI_Unpack", elements, count, datatype)?;
    let mut position = 0;
    // SAFETY: by this function's contract.
    unsafe {
        pmpi!(PMPI_Unpack(
            packed.as_ptr().cast(),
            length,
            &raw mut position,
            elements.start,
            elements.count,
            elements.datatype,
            comm
        ))?
    };
    is_whole("PMPI_Unpack", position, length)
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
    let bytes = count.saturating_mul(layout::size(datatype)?);
    let elements = (count, datatype);
    for_pieces("PMPI_Sendrecv", elements, bytes, PIECE_BYTES, |begin, elements, _| {
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
