//! Identifies the build of a shared object that is loaded in this process.
//!
//! The identity comes from the memory that was loaded, not from the file: an update may replace the file while jobs run.

use std::ffi::{c_int, c_void};

/// FNV-1a's prime, for words of eight bytes.
const PRIME: u64 = 0x0100_0000_01b3;

/// A digest of the loaded code and constants of the shared object that `address` lies in, continued from `start`; `start` itself if no object
/// contains the address. It tells builds apart; it is no protection against forgery.
#[must_use]
pub fn digest(address: *const c_void, start: u64) -> u64 {
    let mut wanted = Wanted {
        address: address as usize,
        hash: start,
    };
    // SAFETY: the function is called during this call alone, with `wanted`, and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(look_at), (&raw mut wanted).cast()) };
    wanted.hash
}

struct Wanted {
    address: usize,
    hash: u64,
}

/// Looks at one object; other than 0 ends the search.
unsafe extern "C" fn look_at(info: *mut libc::dl_phdr_info, _: usize, wanted: *mut c_void) -> c_int {
    // SAFETY: the linker describes a loaded object; `wanted` is what `digest` gave.
    unsafe {
        let (info, wanted) = (&*info, &mut *wanted.cast::<Wanted>());
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum));
        let base = info.dlpi_addr as usize;
        let segments = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let place = |header: &libc::Elf64_Phdr| base.wrapping_add(header.p_vaddr as usize);
        let has = |header: &libc::Elf64_Phdr| wanted.address.wrapping_sub(place(header)) < header.p_memsz as usize;
        if !segments().any(has) {
            return 0;
        }
        // Writable segments are left out: the loader has relocated addresses in them, which differ between processes.
        for header in segments().filter(|header| header.p_flags & libc::PF_W == 0 && header.p_flags & libc::PF_R != 0) {
            let bytes = std::slice::from_raw_parts(place(header) as *const u8, header.p_filesz as usize);
            wanted.hash = hash(wanted.hash, bytes);
        }
    }
    1
}

/// FNV-1a by words of eight bytes.
#[must_use]
pub fn hash(start: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(23);
    let hash = words
        .iter()
        .fold(start, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let last = rest.iter().fold(1, |word: u64, byte| word << 8 | u64::from(*byte));
    mix(mix(hash, last), bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_the_length_count() {
        let text: Vec<u8> = (0..37).collect();
        let whole = hash(1, &text);
        for place in 0..text.len() {
            let mut other = text.clone();
            other[place] ^= 1;
            assert_ne!(hash(1, &other), whole, "{place}");
            assert_ne!(hash(1, &text[..place]), whole, "{place}");
        }
        assert_ne!(hash(2, &text), whole);
        assert_eq!(hash(1, &text), whole);
    }

    #[test]
    fn objects_are_told_apart_and_an_address_of_none_changes_nothing() {
        let own = digest(digest as *const c_void, 1);
        let libc = digest(libc::getpid as *const c_void, 1);
        assert!(own != 1 && libc != 1 && own != libc);
        assert_eq!(
            digest(hash as *const c_void, 1),
            own,
            "any address of the object is its name"
        );
        assert_eq!(digest(std::ptr::null(), 1), 1);
    }
}
