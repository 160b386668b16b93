//! The processing units (hardware threads) of this host that the job may use, as hwloc counts them.
//!
//! Processing units that the host's control groups allow, as far as this process or its parent may run on them: ranks are bound to parts of the
//! job's share, and the launcher that started them is not. Where the job's share is set by a launcher's affinity alone, and that launcher has
//! another one itself, nothing on the host tells it. A quota of processor time is no processing unit.
//!
//! hwloc is found at run time rather than linked. Open MPI and MPICH bring a libhwloc of their own, and the one that is loaded by
//! its soname is that one, never a second of another version in the same process. The crate `hwlocality` would want hwloc's headers
//! or build all of it, with CMake, wherever this program is built, and is a pre-release; `hwloc-calc` would have to be started by a
//! fork of a process in which MPI runs, which some transports do not survive. Eleven functions are used, whose signatures are the
//! same from version 1.11 to 2. Without a libhwloc the kernel's own lists do: they lack nothing that is counted here.

use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_uint, c_void};

use kilter_protocol::cpus;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};

/// hwloc 2, and 1.11.
const LIBRARIES: [&str; 2] = ["libhwloc.so.15", "libhwloc.so.5"];

/// Room for a list of processors; a longer one is not used.
const LIST_BYTES: usize = 64 << 10;

/// Processing units that the job may use on this host, as a list such as `0-3,8`, and the source of the list.
pub(crate) fn granted() -> (String, String) {
    let parent = std::os::unix::process::parent_id();
    by_hwloc(parent).unwrap_or_else(|| (cpus::list(by_kernel(parent)), "the kernel, without hwloc".to_owned()))
}

/// The processors that this process may run on, as the kernel lists them; empty where it does not say.
pub(crate) fn bound() -> String {
    allowed_list("self")
}

/// Processors that the kernel allows a process.
fn allowed_list(process: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// A parent in other control groups may be allowed more than this process.
fn by_kernel(parent: u32) -> BTreeSet<usize> {
    let groups = |process: &str| std::fs::read_to_string(format!("/proc/{process}/cgroup")).ok();
    let mut units = cpus::parse(&bound());
    if groups("self").is_some_and(|own| groups(&parent.to_string()) == Some(own)) {
        units.extend(cpus::parse(&allowed_list(&parent.to_string())));
    }
    units
}

type Topology = *mut c_void;
type Bitmap = *mut c_void;

/// Functions of hwloc, by their names; those whose return value is not needed are declared without one.
struct Hwloc {
    get_api_version: Symbol<unsafe extern "C" fn() -> c_uint>,
    topology_init: Symbol<unsafe extern "C" fn(*mut Topology) -> c_int>,
    topology_load: Symbol<unsafe extern "C" fn(Topology) -> c_int>,
    topology_destroy: Symbol<unsafe extern "C" fn(Topology)>,
    topology_get_allowed_cpuset: Symbol<unsafe extern "C" fn(Topology) -> *const c_void>,
    get_proc_cpubind: Symbol<unsafe extern "C" fn(Topology, libc::pid_t, Bitmap, c_int) -> c_int>,
    bitmap_alloc: Symbol<unsafe extern "C" fn() -> Bitmap>,
    bitmap_free: Symbol<unsafe extern "C" fn(Bitmap)>,
    bitmap_or: Symbol<unsafe extern "C" fn(Bitmap, *const c_void, *const c_void)>,
    bitmap_and: Symbol<unsafe extern "C" fn(Bitmap, *const c_void, *const c_void)>,
    bitmap_list_snprintf: Symbol<unsafe extern "C" fn(*mut c_char, usize, *const c_void) -> c_int>,
}

impl Hwloc {
    /// The first of [`LIBRARIES`] that this host has whole.
    fn find() -> Option<Hwloc> {
        LIBRARIES.into_iter().find_map(|name| {
            // SAFETY: hwloc's initialisers have no precondition, and the name is looked up where the linker looks for libraries.
            let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }.ok()?;
            // SAFETY: the functions have these signatures in every version of these sonames.
            let found = unsafe { Hwloc::of(&library) }.ok();
            // Its components may have been registered with others by now; it stays.
            std::mem::forget(library);
            found
        })
    }

    /// # Safety
    /// `library` is a libhwloc of version 1.11 or 2.
    unsafe fn of(library: &Library) -> Result<Hwloc, libloading::Error> {
        // SAFETY: by this function's contract.
        unsafe {
            Ok(Hwloc {
                get_api_version: library.get(c"hwloc_get_api_version")?,
                topology_init: library.get(c"hwloc_topology_init")?,
                topology_load: library.get(c"hwloc_topology_load")?,
                topology_destroy: library.get(c"hwloc_topology_destroy")?,
                topology_get_allowed_cpuset: library.get(c"hwloc_topology_get_allowed_cpuset")?,
                get_proc_cpubind: library.get(c"hwloc_get_proc_cpubind")?,
                bitmap_alloc: library.get(c"hwloc_bitmap_alloc")?,
                bitmap_free: library.get(c"hwloc_bitmap_free")?,
                bitmap_or: library.get(c"hwloc_bitmap_or")?,
                bitmap_and: library.get(c"hwloc_bitmap_and")?,
                bitmap_list_snprintf: library.get(c"hwloc_bitmap_list_snprintf")?,
            })
        }
    }

    /// `hwloc 2.8`: the version of the interface, since hwloc tells no other.
    fn name(&self) -> String {
        // SAFETY: hwloc declares the function without arguments; the library is never unloaded.
        let version = unsafe { (self.get_api_version)() };
        format!("hwloc {}.{}", version >> 16, version >> 8 & 0xff)
    }
}

fn by_hwloc(parent: u32) -> Option<(String, String)> {
    let hwloc = Hwloc::find()?;
    let mut topology = std::ptr::null_mut();
    // SAFETY: writes a topology, or none.
    if unsafe { (hwloc.topology_init)(&raw mut topology) } != 0 {
        return None;
    }
    // SAFETY: the topology is initialised, is loaded once, and is used here alone until it is destroyed.
    let units = unsafe {
        let units = ((hwloc.topology_load)(topology) == 0).then(|| granted_of(&hwloc, topology, parent));
        (hwloc.topology_destroy)(topology);
        units
    };
    Some((units??, hwloc.name()))
}

/// The list of units allowed to this process or to its parent; `None` if hwloc does not say.
///
/// # Safety
/// The topology is loaded.
unsafe fn granted_of(hwloc: &Hwloc, topology: Topology, parent: u32) -> Option<String> {
    let of = |process: libc::pid_t, set: Bitmap| {
        // Without a flag: of all the process's threads together.
        // SAFETY: the set is allocated, and is written.
        unsafe { (hwloc.get_proc_cpubind)(topology, process, set, 0) == 0 }
    };
    // SAFETY: both sets are allocated here and freed once, and none is used where the allocation failed; the allowed set belongs to
    // the topology, which outlives this function.
    unsafe {
        let allowed = (hwloc.topology_get_allowed_cpuset)(topology);
        let (own, its) = ((hwloc.bitmap_alloc)(), (hwloc.bitmap_alloc)());
        let mut list = None;
        if !allowed.is_null() && !own.is_null() && !its.is_null() && of(libc::getpid(), own) {
            // A parent that cannot be asked, or is gone, adds nothing.
            if libc::pid_t::try_from(parent).is_ok_and(|parent| of(parent, its)) {
                (hwloc.bitmap_or)(own, own, its);
            }
            (hwloc.bitmap_and)(own, own, allowed);
            let mut text = vec![0_u8; LIST_BYTES];
            let length = (hwloc.bitmap_list_snprintf)(text.as_mut_ptr().cast(), text.len(), own);
            list = usize::try_from(length)
                .ok()
                .filter(|length| (1..LIST_BYTES).contains(length))
                .map(|length| String::from_utf8_lossy(&text[..length]).into_owned());
        }
        for set in [own, its].into_iter().filter(|set| !set.is_null()) {
            (hwloc.bitmap_free)(set);
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hwloc_and_the_kernel_grant_the_same_where_nothing_binds_one_thread_apart() {
        let parent = std::os::unix::process::parent_id();
        let kernel = by_kernel(parent);
        assert!(!kernel.is_empty());
        assert!(bound().starts_with(|c: char| c.is_ascii_digit()));
        let (list, by) = granted();
        assert_eq!(cpus::parse(&list), kernel, "{list} by {by}");
    }

    /// The host that the tests run on has the MPI libraries, and they have hwloc.
    #[test]
    fn hwloc_is_asked_where_it_is() {
        let Some(hwloc) = Hwloc::find() else {
            eprintln!("left out: this host has no libhwloc");
            return;
        };
        assert!(hwloc.name().starts_with("hwloc "), "{}", hwloc.name());
        let (list, by) = granted();
        assert_eq!(by, hwloc.name());
        assert!(!cpus::parse(&list).is_empty(), "{list}");
    }
}
