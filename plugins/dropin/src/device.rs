//! Memory of GPUs: implementations read and write user buffers with the CPU, which ends the program where these lie on a device.
//!
//! The ranks of a communicator agree on what is done about it when the communicator is prepared, by the GPU runtimes that their
//! processes have mapped then: a program that can hold device memory has its runtime mapped. Nothing is asked later where no rank
//! has one. A runtime that is loaded after a communicator's first call on a function with rules is not seen on that communicator.
//!
//! | `KILTER_GPU`        | Where a rank has a runtime mapped                                                          |
//! | ------------------- | ------------------------------------------------------------------------------------------ |
//! | `library` (default) | the communicator's calls are left to the library                                           |
//! | `host`              | the runtime is asked about each buffer, and a call is left to the library if any rank's is not known to lie on the host |
//!
//! No rank can know where another one's buffers lie, so with `host` each call costs a reduction of one number more.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use kilter_abi::Arguments;
use kilter_mpi::environment::{self, Variables};
use kilter_mpi::{MPI_Comm, MPI_Datatype, MpiError, constants, layout};

use crate::maxima::maxima;
use crate::started;
use crate::warning::warn;

/// Policy on GPU memory for a communicator. The ranks agree on the largest value of any rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Policy {
    /// No rank has a runtime mapped.
    Replace,
    /// Each call is replaced if all ranks' buffers lie on the host.
    Ask,
    /// All calls are left to the library.
    Leave,
}

impl Policy {
    /// From a number that ranks exchanged.
    pub(crate) fn of(number: u64) -> Policy {
        match number {
            0 => Policy::Replace,
            1 => Policy::Ask,
            _ => Policy::Leave,
        }
    }
}

/// A runtime of GPUs, and how it is asked where an address lies.
struct Runtime {
    /// Beginning of its shared object's file name.
    object: &'static str,
    /// The function, with a NUL at its end. `None` where it needs what only the program has: Level Zero's
    /// `zeMemGetAllocProperties` wants the context in which the memory was allocated.
    function: Option<&'static CStr>,
    /// True if the function at this address says that memory lies on the host.
    is_on_host: unsafe fn(function: *mut c_void, address: *const c_void) -> bool,
}

static RUNTIMES: [Runtime; 3] = [
    Runtime {
        object: "libcuda.so",
        function: Some(c"cuPointerGetAttribute"),
        is_on_host: is_on_host_for_cuda,
    },
    Runtime {
        object: "libamdhip64.so",
        function: Some(c"hipPointerGetAttributes"),
        is_on_host: is_on_host_for_hip,
    },
    Runtime {
        object: "libze_loader.so",
        function: None,
        is_on_host: is_never_known,
    },
];

/// # Safety
/// `function` is `cuPointerGetAttribute`.
unsafe fn is_on_host_for_cuda(function: *mut c_void, address: *const c_void) -> bool {
    type Get = unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int;
    const MEMORY_TYPE: c_int = 2;
    const HOST: c_uint = 1;
    let mut kind: c_uint = 0;
    // SAFETY: by this function's contract; the attribute is an unsigned int.
    let code = unsafe {
        let get: Get = std::mem::transmute(function);
        get((&raw mut kind).cast(), MEMORY_TYPE, address as u64)
    };
    match code {
        0 => kind == HOST,
        // CUDA_ERROR_INVALID_VALUE: not CUDA's memory. CUDA_ERROR_NOT_INITIALIZED: there is none yet.
        1 | 3 => true,
        _ => false,
    }
}

/// # Safety
/// `function` is `hipPointerGetAttributes`.
unsafe fn is_on_host_for_hip(function: *mut c_void, address: *const c_void) -> bool {
    type Get = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
    // The structure has another layout in each major version, never more than 64 bytes, and the type of memory first. 0 is
    // the host until version 5 and what HIP does not know since 6; the other numbers changed their meaning.
    let mut attributes = [u64::MAX; 32];
    // SAFETY: by this function's contract; the structure fits.
    let code = unsafe {
        let get: Get = std::mem::transmute(function);
        get(attributes.as_mut_ptr().cast(), address)
    };
    match code {
        0 => attributes[0] & u64::from(u32::MAX) == 0,
        // hipErrorInvalidValue: not HIP's memory.
        1 => true,
        _ => false,
    }
}

unsafe fn is_never_known(_: *mut c_void, _: *const c_void) -> bool {
    false
}

/// Paths of the shared objects that this process has mapped and that are a runtime's, with that runtime.
fn mapped() -> Vec<(CString, &'static Runtime)> {
    unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader lends a description; its name is null or a string.
        let name = unsafe { (*object).dlpi_name };
        if !name.is_null() {
            // SAFETY: the name is a string that the loader lends for this call; `found` is the vector that the call below passes.
            let (name, found) = unsafe {
                let found = &mut *found.cast::<Vec<(CString, &'static Runtime)>>();
                (CStr::from_ptr(name.cast::<c_char>()), found)
            };
            if let Some(runtime) = runtime_of(name.to_bytes()) {
                found.push((name.to_owned(), runtime));
            }
        }
        0
    }
    let mut found: Vec<(CString, &'static Runtime)> = Vec::new();
    // SAFETY: the function takes what it is given here, and returns before this one.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    found
}

/// The runtime whose shared object has this path.
fn runtime_of(path: &[u8]) -> Option<&'static Runtime> {
    let file = path.rsplit(|byte| *byte == b'/').next()?;
    RUNTIMES
        .iter()
        .find(|runtime| file.starts_with(runtime.object.as_bytes()))
}

/// A function of a runtime that is mapped.
fn function(path: &CStr, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: both are strings. The object is there already, so that nothing of it runs; it is never closed.
    let found = unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return None;
        }
        libc::dlsym(handle, name.as_ptr())
    };
    (!found.is_null()).then_some(found)
}

/// True if `KILTER_GPU` wants the runtime to be asked.
fn wants_host() -> bool {
    static WANTS: OnceLock<bool> = OnceLock::new();
    *WANTS.get_or_init(|| {
        let words = [("host", true), ("library", false)];
        let wants = Variables(environment::variable).word("KILTER_GPU", &words);
        if let Err(wrong) = &wants {
            let text = format!("{wrong}; taken as library");
            warn(started::found().is_none_or(|started| started.rank == 0), &text);
        }
        wants.ok().flatten().unwrap_or(false)
    })
}

/// This rank's own policy, before the ranks agree.
pub(crate) fn own_policy() -> Policy {
    let mapped = mapped();
    if mapped.is_empty() {
        return Policy::Replace;
    }
    let can_ask =
        |(path, runtime): &(CString, &Runtime)| runtime.function.is_some_and(|name| function(path, name).is_some());
    if wants_host() && mapped.iter().all(can_ask) {
        return Policy::Ask;
    }
    Policy::Leave
}

/// Says once that a communicator's calls are left to the library.
pub(crate) fn say_that_calls_are_left(rank: usize) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let speaks = rank == 0 && !SAID.swap(true, Ordering::Relaxed);
    let text = "a rank of a communicator has a GPU's runtime mapped (libcuda, libamdhip64 or libze_loader), so buffers may lie in its memory; \
                the library's own collectives are used on it (KILTER_GPU=host asks CUDA and HIP about each buffer instead)";
    warn(speaks, text);
}

/// True if the buffers of a call are known to lie in host memory on all ranks.
///
/// # Safety
/// All ranks of the communicator make the call that `arguments` describe.
pub(crate) unsafe fn is_on_host(comm: MPI_Comm, arguments: &Arguments) -> Result<bool, MpiError> {
    let elsewhere = !is_own_on_host(arguments);
    // SAFETY: by this function's contract.
    Ok(unsafe { maxima(comm, [u64::from(elsewhere)]) }? == [0])
}

/// True if this rank's buffers are known to lie in host memory. With displacements or derived types the address of the data is unknown, so
/// the answer is false.
fn is_own_on_host(arguments: &Arguments) -> bool {
    let is_plain = |datatype: MPI_Datatype| datatype == constants::datatype_null() || layout::is_predefined(datatype);
    if !arguments.send_displacements.is_null()
        || !arguments.recv_displacements.is_null()
        || !is_plain(arguments.send_type)
        || !is_plain(arguments.recv_type)
    {
        return false;
    }
    let addresses = [arguments.send, arguments.recv.cast_const()];
    mapped().iter().all(|(path, runtime)| {
        let Some(function) = runtime.function.and_then(|name| function(path, name)) else {
            return false;
        };
        addresses
            .iter()
            .filter(|address| !address.is_null() && **address != constants::in_place())
            // SAFETY: the function is this runtime's; addresses are only asked about.
            .all(|address| unsafe { (runtime.is_on_host)(function, *address) })
    })
}

#[cfg(test)]
mod tests {
    use super::{Policy, runtime_of};

    #[test]
    fn runtimes_are_known_by_their_files() {
        let object = |path: &str| runtime_of(path.as_bytes()).map(|runtime| runtime.object);
        assert_eq!(object("/usr/lib/libcuda.so.1"), Some("libcuda.so"));
        assert_eq!(object("/opt/rocm/lib/libamdhip64.so.6"), Some("libamdhip64.so"));
        assert_eq!(object("libze_loader.so.1"), Some("libze_loader.so"));
        assert_eq!(object("/libcuda.so.1/libmpi.so"), None);
        assert_eq!(object("/usr/lib/libcudart.so.12"), None);
        assert_eq!(object(""), None);
    }

    #[test]
    fn the_most_careful_rank_decides() {
        assert!(Policy::Replace < Policy::Ask && Policy::Ask < Policy::Leave);
        for policy in [Policy::Replace, Policy::Ask, Policy::Leave] {
            assert_eq!(Policy::of(policy as u64), policy);
        }
    }
}
