//! Payloads: elements in memory as the bytes of a message, and what is kept of these.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use kilter_mpi::blocks::{Blocks, Pieces};
use kilter_mpi::{MPI_Datatype, constants, layout, packing};
use kilter_protocol::trace::digest::{Chunk, digest};
use kilter_protocol::trace::record::{self, Part, Plain, Role, flag};

use super::act::Side;
use crate::datatype::{self, Element};

/// Elements that lie otherwise in memory than in a message are packed if they have at most so many bytes.
const MOST_PACKED: u64 = 256 << 20;

/// True once a runtime of GPUs is loaded: buffers may lie where the processor cannot read.
static HAS_DEVICES: AtomicBool = AtomicBool::new(false);

/// Looks whether a runtime of GPUs is loaded. Called for each new call site, since programs load such libraries late.
pub(crate) fn look_for_devices() {
    if HAS_DEVICES.load(Ordering::Relaxed) {
        return;
    }
    let runtimes = [c"libcuda.so.1", c"libamdhip64.so", c"libze_loader.so.1"];
    let is_loaded = runtimes.iter().any(|name| {
        // SAFETY: only asks whether it is loaded; the handle, if there is one, keeps it loaded.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        !handle.is_null()
    });
    if is_loaded {
        HAS_DEVICES.store(true, Ordering::Relaxed);
        kilter_mpi::say(format_args!(
            "warning: trace: a runtime of GPUs is loaded; payloads are not hashed from now on, since they may lie on a device"
        ));
    }
}

/// The way from elements to the bytes of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// As they lie in memory.
    Plain,
    /// Packed by the library. Blocks say where the elements lie, if that is regular; of others the type tells.
    Packed(MPI_Datatype, Option<Blocks>),
}

/// Elements in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements {
    pub(crate) address: usize,
    pub(crate) count: u64,
    pub(crate) form: Form,
    pub(crate) element_bytes: u64,
    pub(crate) class: u8,
    /// True if the type is a duplicate that is freed when the operation is complete.
    pub(crate) owns_type: bool,
}

impl Elements {
    /// Those of a side of a message, whose type is plain.
    #[inline(always)]
    pub(crate) fn plain(side: &Side, element: Element) -> Elements {
        Elements {
            address: side.buffer.addr(),
            count: side.count,
            form: Form::Plain,
            element_bytes: element.bytes,
            class: element.class,
            owns_type: false,
        }
    }

    /// Those of a side of a message, of any type.
    ///
    /// # Safety
    /// The type is valid.
    pub(crate) unsafe fn new(side: &Side) -> Elements {
        // SAFETY: by this function's contract.
        unsafe {
            let element = datatype::element(side.datatype);
            let plain = Elements::plain(side, element);
            if element.is_plain {
                return plain;
            }
            let (address, form) = in_blocks(plain.address, side.count, side.datatype);
            Elements { address, form, ..plain }
        }
    }

    /// Bytes of the message.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.element_bytes)
    }

    /// The same elements, whose type the program may free before the operation is complete.
    ///
    /// # Safety
    /// The type is valid.
    #[inline(always)]
    pub(crate) unsafe fn kept(self) -> Elements {
        match self.form {
            Form::Plain => self,
            // SAFETY: by this function's contract.
            Form::Packed(..) => unsafe { self.with_own_type() },
        }
    }

    /// # Safety
    /// The type is valid.
    #[cold]
    unsafe fn with_own_type(mut self) -> Elements {
        if let Form::Packed(datatype, blocks) = self.form
            && !layout::is_predefined(datatype)
        {
            let mut own = constants::datatype_null();
            // SAFETY: a valid type, by this function's contract; one handle is written.
            let code = unsafe { mpi_sys::PMPI_Type_dup(datatype, &raw mut own) };
            if code == 0 {
                self.form = Form::Packed(own, blocks);
                self.owns_type = true;
            } else {
                // Nothing is packed with a type that may be gone.
                self.count = 0;
            }
        }
        self
    }

    /// Frees the duplicate.
    #[inline(always)]
    pub(crate) fn free(&mut self) {
        if let (true, Form::Packed(mut datatype, _)) = (self.owns_type, self.form) {
            self.owns_type = false;
            // SAFETY: this one's own handle, not used again.
            unsafe { mpi_sys::PMPI_Type_free(&raw mut datatype) };
        }
    }
}

/// Address and form of elements of another type than the predefined ones that lie in memory as in a message: those that are one piece are plain.
///
/// # Safety
/// The type is valid.
#[cold]
unsafe fn in_blocks(address: usize, count: u64, datatype: MPI_Datatype) -> (usize, Form) {
    if layout::is_stream(datatype).unwrap_or(false) {
        return (address, Form::Plain);
    }
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: by this function's contract.
    match unsafe { Blocks::of(datatype, count) } {
        Some(one) if one.count == 1 => (address.wrapping_add_signed(one.first), Form::Plain),
        blocks => (address, Form::Packed(datatype, blocks)),
    }
}

/// Parts that few payloads have, in memory that is used again.
#[derive(Default)]
pub(crate) struct Scratch {
    packed: Vec<u8>,
    chunks: Vec<Chunk>,
    blocks: Option<record::Blocks>,
    pieces: Option<Box<record::Pieces>>,
}

impl Scratch {
    /// A part with what [`describe`] has left here.
    pub(crate) fn whole(&mut self, role: Role, plain: &Plain) -> Part {
        Part {
            blocks: self.blocks.take(),
            pieces: self.pieces.take(),
            chunks: std::mem::take(&mut self.chunks),
            ..Part::of_plain(role, plain)
        }
    }

    /// The memory of a part that is written.
    pub(crate) fn reuse(&mut self, part: Part) {
        self.chunks = part.chunks;
        self.chunks.clear();
    }
}

/// Describes a payload of `bytes` bytes that lies in these elements: size, class and what is kept of the content. False if there is more of it than
/// `part` can tell, which is then in `scratch`.
///
/// # Safety
/// The elements may be read, and hold so many bytes.
#[inline(always)]
pub(crate) unsafe fn describe(
    elements: &Elements,
    bytes: u64,
    hash_limit: u64,
    scratch: &mut Scratch,
    part: &mut Plain,
) -> bool {
    part.bytes = bytes;
    part.address = elements.address as u64;
    part.class = elements.class;
    part.element_bytes = u32::try_from(elements.element_bytes).unwrap_or(u32::MAX);
    if let Form::Packed(..) = elements.form {
        // The address taken is that of a copy: the original stays in registers for other calls.
        let mut own = *part;
        // SAFETY: by this function's contract.
        let is_all = unsafe { describe_packed(*elements, bytes, hash_limit, scratch, &mut own) };
        *part = own;
        return is_all;
    }
    let hashed = hashed(elements, bytes, hash_limit);
    let payload = (hashed > 0 && elements.address != 0).then(|| {
        let start: *const u8 = std::ptr::with_exposed_provenance(elements.address);
        // SAFETY: so many bytes may be read, by this function's contract, and lie in memory.
        unsafe { std::slice::from_raw_parts(start, hashed as usize) }
    });
    keep(payload, bytes, &mut scratch.chunks, part);
    scratch.chunks.is_empty()
}

/// Bytes of a payload that are to be hashed.
#[inline(always)]
fn hashed(elements: &Elements, bytes: u64, hash_limit: u64) -> u64 {
    let may_be_read = bytes <= elements.bytes() && !HAS_DEVICES.load(Ordering::Relaxed);
    if may_be_read { bytes.min(hash_limit) } else { 0 }
}

/// Keeps the digest of a payload of so many bytes, or of its first ones.
#[inline(always)]
fn keep(payload: Option<&[u8]>, bytes: u64, chunks: &mut Vec<Chunk>, part: &mut Plain) {
    if let Some(payload) = payload {
        part.set(&digest(payload, chunks));
        if (payload.len() as u64) < bytes {
            part.flags |= flag::HASHED_IN_PART;
        }
    } else if bytes > 0 {
        part.flags |= flag::NOT_HASHED;
    }
}

/// The same of elements that lie otherwise in memory than in a message.
///
/// # Safety
/// As for [`describe`].
#[cold]
unsafe fn describe_packed(
    elements: Elements,
    bytes: u64,
    hash_limit: u64,
    scratch: &mut Scratch,
    part: &mut Plain,
) -> bool {
    let Form::Packed(datatype, blocks) = elements.form else {
        return true;
    };
    part.flags |= flag::PACKED;
    if let Some(blocks) = blocks {
        part.address = elements.address.wrapping_add_signed(blocks.first) as u64;
        scratch.blocks = Some(record::Blocks {
            bytes: blocks.bytes as u64,
            stride: blocks.stride as u64,
        });
    } else if bytes > 0 {
        // SAFETY: the type is valid, by this function's contract.
        if let Some((first, pieces)) = unsafe { in_pieces(datatype) } {
            part.address = elements.address.wrapping_add_signed(first) as u64;
            scratch.pieces = Some(Box::new(pieces));
        }
    }
    let hashed = hashed(&elements, bytes, hash_limit);
    let payload = if hashed > 0 {
        // SAFETY: by this function's contract.
        unsafe { packed(&elements, datatype, hashed, &mut scratch.packed) }
    } else {
        None
    };
    keep(payload, bytes, &mut scratch.chunks, part);
    scratch.blocks.is_none() && scratch.pieces.is_none() && scratch.chunks.is_empty()
}

/// The pieces of an element, and the place of the first one, if they are few.
///
/// # Safety
/// The type is valid.
unsafe fn in_pieces(datatype: MPI_Datatype) -> Option<(isize, record::Pieces)> {
    // SAFETY: by this function's contract.
    let Pieces { pieces, extent } = (unsafe { Pieces::of(datatype) })?;
    let first = pieces.first()?.offset;
    let piece = |piece: &kilter_mpi::blocks::Piece| record::Piece {
        offset: piece.offset.wrapping_sub(first) as i64,
        bytes: piece.bytes as u64,
    };
    let told = record::Pieces {
        pieces: pieces.iter().map(piece).collect(),
        extent: extent as i64,
    };
    Some((first, told))
}

/// The first so many bytes of the message.
///
/// # Safety
/// The elements may be read, and hold so many bytes.
unsafe fn packed<'s>(
    elements: &Elements,
    datatype: MPI_Datatype,
    bytes: u64,
    into: &'s mut Vec<u8>,
) -> Option<&'s [u8]> {
    let size = elements.element_bytes.max(1);
    // The last element may have been received in part.
    let count = bytes.div_ceil(size).min(elements.count);
    let whole = count.checked_mul(size).filter(|bytes| *bytes <= MOST_PACKED)?;
    into.resize(usize::try_from(whole).ok()?, 0);
    let start: *const c_void = std::ptr::with_exposed_provenance(elements.address);
    // SAFETY: the elements are there, by this function's contract; nothing is sent on the communicator.
    unsafe {
        packing::pack(
            start,
            usize::try_from(count).ok()?,
            datatype,
            into,
            constants::comm_self(),
        )
    }
    .ok()?;
    into.get(..usize::try_from(bytes).ok()?)
}
