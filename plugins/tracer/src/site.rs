//! Call sites: return addresses, and the modules in which they lie.

use std::ffi::{CStr, c_void};

/// Module, offset and nearest symbol of an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Place {
    pub(crate) module: String,
    pub(crate) offset: u64,
    pub(crate) symbol: String,
}

/// The place of an address; empty if it is in no module.
pub(crate) fn place(address: usize) -> Place {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // The call lies before the address to which it returns.
    let within = address.saturating_sub(1) as *const c_void;
    // SAFETY: any address may be asked for.
    if unsafe { libc::dladdr(within, &raw mut found) } == 0 {
        return Place::default();
    }
    let text = |text: *const std::ffi::c_char| {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: a C string of the dynamic linker.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    let module = text(found.dli_fname);
    Place {
        // The program itself has the name by which it was started.
        module: std::fs::canonicalize(&module).map_or(module, |path| path.to_string_lossy().into_owned()),
        offset: (address as u64).wrapping_sub(found.dli_fbase as u64),
        symbol: text(found.dli_sname),
    }
}

/// True if an address is in a library of Kilter's: the drop-in, a plugin of ours, the progress thread.
#[cold]
pub(crate) fn is_own(address: usize) -> bool {
    let module = place(address).module;
    let file = module.rsplit('/').next().unwrap_or_default();
    file.starts_with("libkilter.so") || file.starts_with("libkilter_")
}

#[cfg(test)]
mod tests {
    use super::{is_own, place};

    #[test]
    fn the_module_of_an_address_is_found() {
        let here = place as *const () as usize + 1;
        let found = place(here);
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        assert_eq!(found.module, own.display().to_string());
        assert!(found.offset > 0);
        assert!(!is_own(here));
        assert_eq!(place(1), super::Place::default());
    }
}
