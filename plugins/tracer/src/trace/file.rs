//! The file of a rank: mapped as a whole where it may grow to, and made longer in large steps.
//!
//! The kernel writes the pages of a shared mapping into the file whatever becomes of the process. Space on the disk is taken before it is written to: a
//! store into a page for which there is none would end the process.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use kilter_protocol::trace::layout::{HEADER_BYTES, SEGMENT_BYTES};

/// Bytes by which the file grows.
const STEP: usize = 8 << 20;

/// The mapped file.
struct Mapped {
    file: File,
    /// Device and number of the file: a program may close what it has not opened, and open another file in its place.
    identity: (u64, u64),
    address: usize,
    length: usize,
    limit: usize,
}

static MAPPED: Mutex<Option<Mapped>> = Mutex::new(None);

/// Makes and maps a file that may have so many bytes, and gives its words.
pub(crate) fn create(path: &Path, limit: usize) -> io::Result<&'static [AtomicU64]> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    // As much as is used, of whole segments.
    let limit = HEADER_BYTES + limit.saturating_sub(HEADER_BYTES) / SEGMENT_BYTES * SEGMENT_BYTES;
    reserve(&file, HEADER_BYTES)?;
    // SAFETY: a new mapping, at an address that the system chooses.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            limit,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let data = file.metadata()?;
    *MAPPED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Mapped {
        identity: (data.dev(), data.ino()),
        file,
        address: address as usize,
        length: HEADER_BYTES,
        limit,
    });
    // SAFETY: the mapping is never removed, and so long; only words below the file's length are touched, all of them atomically.
    Ok(unsafe { std::slice::from_raw_parts(address.cast(), limit / size_of::<AtomicU64>()) })
}

/// Makes the file at least so long; false if the disk is full. Its last segment is mapped at once, which takes less than page by page.
pub(crate) fn grow(bytes: usize) -> bool {
    /// `MADV_POPULATE_WRITE` of Linux 5.14.
    const POPULATE: c_int = 23;
    let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mapped) = mapped.as_mut() else { return false };
    if bytes > mapped.length {
        let is_ours = mapped
            .file
            .metadata()
            .is_ok_and(|data| (data.dev(), data.ino()) == mapped.identity);
        if !is_ours {
            return false;
        }
        let wanted = (mapped.length + STEP).clamp(bytes, mapped.limit.max(bytes));
        mapped.length = match [wanted, bytes]
            .into_iter()
            .find(|length| reserve(&mapped.file, *length).is_ok())
        {
            Some(length) => length,
            None => return false,
        };
    }
    let last = mapped.address + bytes.saturating_sub(SEGMENT_BYTES);
    // SAFETY: pages of the mapping, which are in the file. An older system refuses.
    unsafe { libc::madvise(last as *mut libc::c_void, SEGMENT_BYTES, POPULATE) };
    true
}

fn reserve(file: &File, bytes: usize) -> io::Result<()> {
    let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: an open file.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Cuts off what is not used.
pub(crate) fn cut(bytes: usize) {
    let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mapped) = mapped.as_mut()
        && bytes < mapped.length
        && mapped.file.set_len(bytes as u64).is_ok()
    {
        // Nothing is written any more.
        mapped.length = bytes;
    }
}
