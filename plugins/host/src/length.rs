//! Detects truncated shared objects before `dlopen`.
//!
//! The dynamic linker maps the segments that the program headers name. A truncated file (an interrupted copy, a full disk) ends before them, and
//! the first access beyond its end kills the process with SIGBUS inside `dlopen`, without a message. So the file's length is compared with the
//! program headers first. Files that are not ELF of 64 bits in this machine's byte order are left to the linker, which reports them.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// Length of the header of an ELF file of 64 bits, and of an entry of its table of program headers, in bytes.
const HEADER_BYTES: usize = 64;
const ENTRY_BYTES: usize = 56;

/// If the file is truncated: the bytes that it has, and the bytes that its headers name.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn missing(file: &File) -> std::io::Result<Option<(u64, u64)>> {
    let bytes = file.metadata()?.len();
    let mut header = [0; HEADER_BYTES];
    if !read_all(file, &mut header, 0)? {
        // Shorter than a header: truncated if it begins as an ELF file does.
        return Ok(header.starts_with(b"\x7fELF").then_some((bytes, HEADER_BYTES as u64)));
    }
    let byte_order = if cfg!(target_endian = "little") { 1 } else { 2 };
    if !header.starts_with(&[0x7f, b'E', b'L', b'F', 2, byte_order]) {
        return Ok(None);
    }
    let (table, entry, count) = (
        number::<8>(&header, 32),
        number::<2>(&header, 54),
        number::<2>(&header, 56),
    );
    if entry < ENTRY_BYTES as u64 {
        return Ok(None);
    }
    let mut needed = table.saturating_add(entry * count);
    // A table beyond the end has nothing more to say.
    for place in 0..if table < bytes { count } else { 0 } {
        let mut program = [0; ENTRY_BYTES];
        if !read_all(file, &mut program, table.saturating_add(place * entry))? {
            break;
        }
        let (offset, length) = (number::<8>(&program, 8), number::<8>(&program, 32));
        needed = needed.max(offset.saturating_add(length));
    }
    Ok((bytes < needed).then_some((bytes, needed)))
}

/// Fills the buffer from a place of the file; whether there was as much.
fn read_all(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<bool> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], at.saturating_add(read as u64))? {
            0 => return Ok(false),
            more => read += more,
        }
    }
    Ok(true)
}

/// A number of `N` bytes, up to eight, in this machine's order.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let own = bytes[at..at + N].iter();
    let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if cfg!(target_endian = "little") {
        own.rev().fold(0, join)
    } else {
        own.fold(0, join)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// This test program, cut after so many bytes.
    fn cut(bytes: usize) -> Option<(u64, u64)> {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&whole[..bytes.min(whole.len())]).unwrap();
        missing(&file).unwrap()
    }

    #[test]
    fn a_file_that_ends_before_its_program_headers_say_is_found_wherever_it_ends() {
        assert_eq!(cut(usize::MAX), None);
        for bytes in [4, 63, 64, 100, 4096, 100_000] {
            let (has, needed) = cut(bytes).unwrap();
            assert!(has == bytes as u64 && needed > has, "{bytes}: {has} of {needed}");
        }
    }

    #[test]
    fn what_is_no_elf_file_is_left_to_the_linker() {
        for text in [&b""[..], b"{}", &[b' '; 500]] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text).unwrap();
            assert_eq!(missing(&file).unwrap(), None);
        }
    }

    #[test]
    fn headers_that_name_more_than_there_is_memory_are_no_overflow() {
        let mut file = tempfile::tempfile().unwrap();
        let mut header = [0xFF; 2 * HEADER_BYTES];
        let byte_order = if cfg!(target_endian = "little") { 1 } else { 2 };
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, byte_order]);
        file.write_all(&header).unwrap();
        let (has, needed) = missing(&file).unwrap().unwrap();
        assert!(has == 2 * HEADER_BYTES as u64 && needed == u64::MAX);
    }
}
