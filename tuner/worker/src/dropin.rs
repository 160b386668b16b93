//! How often the drop-in ran what, where one is loaded.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

/// The drop-in's exported counter: writes lines `IMPLEMENTATION CALLS`, cut to `capacity` bytes and without a NUL, and returns how
/// many bytes there are to write.
type Calls = unsafe extern "C" fn(buffer: *mut c_char, capacity: usize) -> usize;

/// The counts of this rank, by implementation id; empty where no drop-in is loaded.
pub(crate) fn calls() -> BTreeMap<String, u64> {
    // SAFETY: looks up a name in what is loaded; only the drop-in exports it, with this type.
    let calls = unsafe {
        let symbol: *mut c_void = libc::dlsym(libc::RTLD_DEFAULT, c"kilter_dropin_calls".as_ptr());
        if symbol.is_null() {
            return BTreeMap::new();
        }
        std::mem::transmute::<*mut c_void, Calls>(symbol)
    };
    // SAFETY: a null buffer without capacity takes nothing; the second call has as many bytes as it says.
    let text = unsafe {
        let mut text = vec![0_u8; calls(std::ptr::null_mut(), 0)];
        let written = calls(text.as_mut_ptr().cast(), text.len());
        text.truncate(written);
        text
    };
    parse(&String::from_utf8_lossy(&text))
}

fn parse(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (id, calls) = line.rsplit_once(' ')?;
            Some((id.to_owned(), calls.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{calls, parse};

    #[test]
    fn lines_become_counts() {
        let counts = parse("reduce.ring 12\nlibrary 3\n\nnonsense\n");
        assert_eq!(
            counts.into_iter().collect::<Vec<_>>(),
            [("library".to_owned(), 3), ("reduce.ring".to_owned(), 12)]
        );
        assert!(calls().is_empty(), "no drop-in is loaded into a test");
    }
}
