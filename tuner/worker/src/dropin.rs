//! Counts of the calls that a loaded drop-in carried out.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_ulonglong, c_void};

/// Callback of the drop-in for one implementation: its id and the number of its runs on this rank.
type Visit = unsafe extern "C" fn(id: *const c_char, calls: c_ulonglong, data: *mut c_void);

/// The drop-in's exported function: calls `visit` for each implementation of its profile.
type Calls = unsafe extern "C" fn(visit: Option<Visit>, data: *mut c_void) -> c_int;

/// The counts of this rank, by implementation id; empty where no drop-in is loaded or it follows no profile.
pub(crate) fn calls() -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    // SAFETY: looks up a name in what is loaded; only the drop-in exports it, with this type.
    let calls = unsafe {
        let symbol: *mut c_void = libc::dlsym(libc::RTLD_DEFAULT, c"kilter_dropin_calls".as_ptr());
        if symbol.is_null() {
            return counts;
        }
        std::mem::transmute::<*mut c_void, Calls>(symbol)
    };
    // SAFETY: `add` is given the counts that it expects; nothing is kept.
    unsafe { calls(Some(add), (&raw mut counts).cast()) };
    counts
}

/// Adds to the counts that `data` points to; rules with the same implementation come one by one.
///
/// # Safety
/// `id` is a C string and `data` points to a `BTreeMap<String, u64>` that nothing else uses meanwhile.
unsafe extern "C" fn add(id: *const c_char, calls: c_ulonglong, data: *mut c_void) {
    // SAFETY: by this function's contract.
    let (id, counts) = unsafe { (CStr::from_ptr(id), &mut *data.cast::<BTreeMap<String, u64>>()) };
    let count = counts.entry(id.to_string_lossy().into_owned()).or_default();
    *count = count.saturating_add(calls);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_one_implementation_add_up() {
        let mut counts = BTreeMap::<String, u64>::new();
        for (id, calls) in [(c"reduce.ring", 12), (c"scan.pipelined_chain", 1), (c"reduce.ring", 3)] {
            // SAFETY: C strings, and a map of the type that is expected.
            unsafe { add(id.as_ptr(), calls, (&raw mut counts).cast()) };
        }
        let expected = [("reduce.ring".to_owned(), 15), ("scan.pipelined_chain".to_owned(), 1)];
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn without_a_dropin_there_are_none() {
        assert!(calls().is_empty());
    }
}
