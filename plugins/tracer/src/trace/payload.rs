//! Payloads: elements in memory as the bytes of a message, and what is kept of these.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use kilter_mpi::blocks::{Blocks, Pieces};
use kilter_mpi::{MPI_Datatype, constants, layout};
use kilter_protocol::trace::digest::{Chunk, digest};
use kilter_protocol::trace::record::{self, Part, flag};

use crate::datatype;

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
    /// So many elements from an address.
    ///
    /// # Safety
    /// The type is valid.
    #[inline]
    pub(crate) unsafe fn new(buffer: *const c_void, count: u64, datatype: MPI_Datatype) -> Elements {
        // SAFETY: by this function's contract.
        let element = unsafe { datatype::element(datatype) };
        let is_plain = layout::plain_size(datatype).is_some() || layout::is_stream(datatype).unwrap_or(false);
        let (address, form) = if is_plain {
            (buffer.addr(), Form::Plain)
        } else {
            // SAFETY: by this function's contract.
            unsafe { in_blocks(buffer.addr(), count, datatype) }
        };
        Elements {
            address,
            count,
            form,
            element_bytes: element.bytes,
            class: element.class,
            owns_type: false,
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
    pub(crate) unsafe fn kept(mut self) -> Elements {
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
    pub(crate) fn free(&mut self) {
        if let (true, Form::Packed(mut datatype, _)) = (self.owns_type, self.form) {
            self.owns_type = false;
            // SAFETY: this one's own handle, not used again.
            unsafe { mpi_sys::PMPI_Type_free(&raw mut datatype) };
        }
    }
}

/// Address and form of elements of a derived type: those that are one piece are plain.
///
/// # Safety
/// The type is valid.
unsafe fn in_blocks(address: usize, count: u64, datatype: MPI_Datatype) -> (usize, Form) {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: by this function's contract.
    match unsafe { Blocks::of(datatype, count) } {
        Some(one) if one.count == 1 => (address.wrapping_add_signed(one.first), Form::Plain),
        blocks => (address, Form::Packed(datatype, blocks)),
    }
}

/// Memory that is used again.
#[derive(Default)]
pub(crate) struct Scratch {
    packed: Vec<u8>,
    pub(crate) chunks: Vec<Chunk>,
}

/// Describes a payload of `bytes` bytes that lies in these elements: size, class and what is kept of the content.
///
/// # Safety
/// The elements may be read, and hold so many bytes.
pub(crate) unsafe fn describe(
    elements: &Elements,
    bytes: u64,
    hash_limit: u64,
    scratch: &mut Scratch,
    part: &mut Part,
) {
    part.bytes = bytes;
    part.address = elements.address as u64;
    part.class = elements.class;
    part.element_bytes = u32::try_from(elements.element_bytes).unwrap_or(u32::MAX);
    scratch.chunks.clear();
    if let Form::Packed(datatype, blocks) = elements.form {
        part.flags |= flag::PACKED;
        if let Some(blocks) = blocks {
            part.address = elements.address.wrapping_add_signed(blocks.first) as u64;
            part.blocks = Some(record::Blocks {
                bytes: blocks.bytes as u64,
                stride: blocks.stride as u64,
            });
        } else if bytes > 0 {
            // SAFETY: the type is valid, by this function's contract.
            unsafe { in_pieces(elements.address, datatype, part) };
        }
    }
    if bytes == 0 {
        return;
    }
    let hashed = bytes.min(hash_limit);
    let fits = bytes <= elements.bytes() && usize::try_from(bytes).is_ok();
    if hashed == 0 || !fits || HAS_DEVICES.load(Ordering::Relaxed) {
        part.flags |= flag::NOT_HASHED;
        return;
    }
    if hashed < bytes {
        part.flags |= flag::HASHED_IN_PART;
    }
    let found = match elements.form {
        Form::Plain if elements.address == 0 => None,
        Form::Plain => {
            let start: *const u8 = std::ptr::with_exposed_provenance(elements.address);
            // SAFETY: so many bytes may be read, by this function's contract.
            let payload = unsafe { std::slice::from_raw_parts(start, hashed as usize) };
            Some(digest(payload, &mut scratch.chunks))
        }
        // SAFETY: by this function's contract.
        Form::Packed(datatype, _) => unsafe { packed(elements, datatype, hashed, &mut scratch.packed) }
            .map(|payload| digest(payload, &mut scratch.chunks)),
    };
    match found {
        Some(found) => part.set(&found),
        None => part.flags |= flag::NOT_HASHED,
    }
}

/// Says in which pieces elements lie, if these are few.
///
/// # Safety
/// The type is valid.
unsafe fn in_pieces(address: usize, datatype: MPI_Datatype, part: &mut Part) {
    // SAFETY: by this function's contract.
    let Some(Pieces { pieces, extent }) = (unsafe { Pieces::of(datatype) }) else {
        return;
    };
    let Some(first) = pieces.first().map(|piece| piece.offset) else {
        return;
    };
    let piece = |piece: &kilter_mpi::blocks::Piece| record::Piece {
        offset: piece.offset.wrapping_sub(first) as i64,
        bytes: piece.bytes as u64,
    };
    part.address = address.wrapping_add_signed(first) as u64;
    part.pieces = Some(Box::new(record::Pieces {
        pieces: pieces.iter().map(piece).collect(),
        extent: extent as i64,
    }));
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
        layout::pack(
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
