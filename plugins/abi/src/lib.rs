//! The C ABI between the drop-in and algorithm plugins: the Rust form of `include/kilter_plugin.h`, which explains it.
//!
//! A test compiles the header and compares every size and offset.

use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::mem::MaybeUninit;

use mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Op};

/// `KILTER_PLUGIN_MAGIC`.
pub const MAGIC: u64 = 0x314e_4752_544c_4b7f;

/// `KILTER_ABI_VERSION`.
pub const ABI_VERSION: u32 = 2;

/// `KILTER_MPI_IDENTITY` of the MPI library this is built for.
pub const MPI_IDENTITY: u32 = {
    let handle = size_of::<MPI_Comm>();
    let family: u32 = if handle == size_of::<*const c_void>() { 1 } else { 2 };
    family << 16 | handle as u32
};

/// The name of the exported object, with its NUL.
pub const SYMBOL: &[u8] = b"kilter_plugin\0";

/// `KILTER_NEEDS_COMMUTATIVE`.
pub const NEEDS_COMMUTATIVE: u32 = 1;

/// `KILTER_NEEDS_POWER_OF_TWO_RANKS`.
pub const NEEDS_POWER_OF_TWO_RANKS: u32 = 2;

/// `KILTER_NEEDS_EVEN_RANKS`.
pub const NEEDS_EVEN_RANKS: u32 = 4;

/// `KILTER_NEEDS_INT_VOLUME`.
pub const NEEDS_INT_VOLUME: u32 = 8;

/// `KILTER_NEEDS_ONE_NODE`.
pub const NEEDS_ONE_NODE: u32 = 16;

/// `KILTER_NEEDS_PREDEFINED_OPERATOR`.
pub const NEEDS_PREDEFINED_OPERATOR: u32 = 32;

/// `KILTER_UNAVAILABLE`: no code of an MPI library, which are not negative.
pub const UNAVAILABLE: c_int = -1;

/// All bits of needs that this version knows.
pub const NEEDS_KNOWN: u32 = NEEDS_COMMUTATIVE
    | NEEDS_POWER_OF_TWO_RANKS
    | NEEDS_EVEN_RANKS
    | NEEDS_INT_VOLUME
    | NEEDS_ONE_NODE
    | NEEDS_PREDEFINED_OPERATOR;

/// `enum kilter_collective`: names in the order of their numbers.
pub const COLLECTIVES: [&str; 16] = [
    "allgather",
    "allreduce",
    "bcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "barrier",
    "exscan",
    "gatherv",
    "scatterv",
];

/// The number of a collective, by Kilter's name.
#[must_use]
pub fn collective_number(name: &str) -> Option<u32> {
    COLLECTIVES
        .iter()
        .position(|known| *known == name)
        .and_then(|number| u32::try_from(number).ok())
}

/// `kilter_parameter`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// C string.
    pub name: *const c_char,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// Value where nothing is said.
    pub default_value: u64,
}

/// `kilter_context`.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    /// Size of this structure.
    pub struct_size: u32,
    /// This rank.
    pub rank: i32,
    /// Number of ranks.
    pub size: i32,
    /// 0.
    pub reserved: u32,
    /// The private communicator.
    pub comm: MPI_Comm,
    /// The plugin's own.
    pub state: *mut c_void,
    /// The drop-in's own.
    pub host: *mut c_void,
    /// Scratch kept by the drop-in.
    pub grow: Option<unsafe extern "C" fn(context: *mut Context, bytes: usize) -> *mut c_void>,
    /// Carries a call out as it is deployed on this communicator. Hosts built with an earlier header of this version lack it:
    /// [`Context::caller`] reads it.
    pub call: Option<CallDeployed>,
}

/// `kilter_context.call`.
pub type CallDeployed =
    unsafe extern "C" fn(context: *mut Context, under_way: *const Arguments, inner: *const Arguments) -> c_int;

/// The size of a context in the first header of this version.
const SMALLEST_CONTEXT_BYTES: usize = std::mem::offset_of!(Context, call);

impl Context {
    /// The host's function for calls as they are deployed, if the host has it.
    ///
    /// # Safety
    /// `context` is what a host of this version of the ABI lent; it may be shorter than this structure.
    #[inline]
    #[must_use]
    pub unsafe fn caller(context: *const Context) -> Option<CallDeployed> {
        // SAFETY: every context has a size, and one that is longer than the first header's has the field.
        unsafe {
            let has_it = (*context).struct_size as usize >= SMALLEST_CONTEXT_BYTES + size_of::<Option<CallDeployed>>();
            if has_it {
                (&raw const (*context).call).read()
            } else {
                None
            }
        }
    }
}

/// `kilter_arguments`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Arguments {
    /// Size of this structure.
    pub struct_size: u32,
    /// Number of the collective.
    pub collective: u32,
    /// The row that is called.
    pub algorithm: *const Algorithm,
    /// The program's send buffer, or `MPI_IN_PLACE`.
    pub send: *const c_void,
    /// The program's receive buffer, or `MPI_IN_PLACE`.
    pub recv: *mut c_void,
    /// Elements.
    pub send_count: i64,
    /// Elements.
    pub recv_count: i64,
    /// Type of the elements of `send`.
    pub send_type: MPI_Datatype,
    /// Type of the elements of `recv`.
    pub recv_type: MPI_Datatype,
    /// Elements of each rank's block of `send`.
    pub send_counts: *const i64,
    /// Displacement of each rank's block of `send`, in extents of its type.
    pub send_displacements: *const i64,
    /// Elements of each rank's block of `recv`.
    pub recv_counts: *const i64,
    /// Displacement of each rank's block of `recv`, in extents of its type.
    pub recv_displacements: *const i64,
    /// The operator.
    pub op: MPI_Op,
    /// The root.
    pub root: i32,
    /// Total volume `n` in bytes, at least 1; 0 where not all ranks know it, and for a barrier.
    pub bytes: u64,
    /// One value per parameter of the row.
    pub parameters: *const u64,
}

/// `kilter_algorithm`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// C string.
    pub id: *const c_char,
    /// Number of the collective.
    pub collective: u32,
    /// Bits `NEEDS_*`.
    pub needs: u32,
    /// Length of `parameters`.
    pub parameter_count: u32,
    /// 0.
    pub reserved: u32,
    /// The tunables.
    pub parameters: *const Parameter,
    /// The plugin's own.
    pub data: *const c_void,
    /// Carries a call out on this rank.
    pub run: Option<unsafe extern "C" fn(context: *mut Context, arguments: *const Arguments) -> c_int>,
}

/// `kilter_scratch`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scratch {
    /// 1; 0 where the row does not say what it keeps.
    pub is_known: u64,
    /// Whatever the call.
    pub fixed_bytes: u64,
    /// Times the number of ranks.
    pub bytes_per_rank: u64,
    /// Times the total volume.
    pub volumes: u64,
    /// Times a rank's block of it.
    pub blocks: u64,
    /// Times the row's parameter `segment_bytes`.
    pub segments: u64,
}

/// `kilter_plugin_v1`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`ABI_VERSION`].
    pub abi_version: u32,
    /// Size of this structure.
    pub struct_size: u32,
    /// [`MPI_IDENTITY`].
    pub mpi_identity: u32,
    /// 0.
    pub reserved: u32,
    /// C string.
    pub name: *const c_char,
    /// The rows; called once, after the checks.
    pub algorithms: Option<unsafe extern "C" fn(count: *mut u32) -> *const Algorithm>,
    /// Frees a context's state.
    pub release: Option<unsafe extern "C" fn(context: *mut Context)>,
    /// Scratch that each row keeps. Called once, after `algorithms`. Plugins built with an earlier header of this version lack it.
    pub scratch: Option<unsafe extern "C" fn(count: *mut u32) -> *const Scratch>,
}

/// The size of a plugin's object in the first header of this version.
const SMALLEST_BYTES: usize = std::mem::offset_of!(Plugin, scratch);

// SAFETY: a plugin's object is constant and lives as long as the process, and so does all it points to.
unsafe impl Sync for Plugin {}
// SAFETY: a row is constant and lives as long as the process, and so does all it points to.
unsafe impl Sync for Algorithm {}
// SAFETY: as for `Sync`.
unsafe impl Send for Algorithm {}

/// Why an object is no plugin that can be used here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// Not Kilter's.
    #[error("its `kilter_plugin` does not begin with the magic number {MAGIC:#x}: not a plugin of Kilter")]
    Magic,
    /// Another version of the ABI.
    #[error(
        "it has version {0} of the plugin ABI, this drop-in {ABI_VERSION}; build it with this version's kilter_plugin.h"
    )]
    Version(u32),
    /// Built for another MPI library.
    #[error("it was built for {plugin}, this drop-in for {here}; build it with the MPI library that the program uses")]
    MpiLibrary {
        /// The plugin's.
        plugin: MpiIdentity,
        /// The drop-in's.
        here: MpiIdentity,
    },
    /// Shorter than this version of the ABI has it.
    #[error("its `kilter_plugin` has {0} bytes, fewer than the {SMALLEST_BYTES} of this ABI")]
    Size(u32),
}

/// A `KILTER_MPI_IDENTITY`, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiIdentity(pub u32);

impl fmt::Display for MpiIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.0 >> 16 {
            1 => "Open MPI",
            2 => "MPICH or a descendant",
            _ => "an unknown MPI library",
        };
        write!(f, "{family} (handles of {} bytes)", self.0 & 0xFFFF)
    }
}

impl Plugin {
    /// Checks an object before anything of it is called. Reads 24 bytes first, and the rest only where these are right. Gives a copy,
    /// in which fields that the plugin's header did not have yet are null.
    ///
    /// # Errors
    /// The check that failed.
    ///
    /// # Safety
    /// `object` points to at least 24 readable bytes, aligned as a [`Plugin`]; where they are a plugin's, the rest is as the
    /// ABI says and lives as long as the process.
    pub unsafe fn check(object: *const Plugin) -> Result<Plugin, PluginError> {
        // SAFETY: these fields lie in the first 24 bytes.
        let (magic, version, size, identity) = unsafe {
            (
                (*object).magic,
                (*object).abi_version,
                (*object).struct_size,
                (*object).mpi_identity,
            )
        };
        if magic != MAGIC {
            return Err(PluginError::Magic);
        }
        if version != ABI_VERSION {
            return Err(PluginError::Version(version));
        }
        if identity != MPI_IDENTITY {
            let (plugin, here) = (MpiIdentity(identity), MpiIdentity(MPI_IDENTITY));
            return Err(PluginError::MpiLibrary { plugin, here });
        }
        let known = (size as usize).min(size_of::<Plugin>());
        if known < SMALLEST_BYTES {
            return Err(PluginError::Size(size));
        }
        let mut plugin = MaybeUninit::<Plugin>::zeroed();
        // SAFETY: it is a plugin's object of this version and has as many bytes, constant until the process ends; zeros are a null
        // pointer or no function in each field that they do not reach.
        unsafe {
            std::ptr::copy_nonoverlapping(object.cast::<u8>(), plugin.as_mut_ptr().cast::<u8>(), known);
            Ok(plugin.assume_init())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;

    use super::{
        ABI_VERSION, Arguments, Context, MAGIC, MPI_IDENTITY, Plugin, PluginError, SMALLEST_BYTES,
        SMALLEST_CONTEXT_BYTES, Scratch,
    };

    const GOOD: Plugin = Plugin {
        magic: MAGIC,
        abi_version: ABI_VERSION,
        struct_size: size_of::<Plugin>() as u32,
        mpi_identity: MPI_IDENTITY,
        reserved: 0,
        name: c"test".as_ptr(),
        algorithms: None,
        release: None,
        scratch: None,
    };

    fn check(plugin: &Plugin) -> Option<PluginError> {
        // SAFETY: a whole object is passed.
        unsafe { Plugin::check(plugin) }.err()
    }

    #[test]
    fn what_is_another_is_refused_with_the_reason() {
        assert_eq!(check(&GOOD), None);
        assert_eq!(check(&Plugin { magic: 0, ..GOOD }), Some(PluginError::Magic));
        assert_eq!(check(&Plugin { abi_version: 1, ..GOOD }), Some(PluginError::Version(1)));
        assert_eq!(check(&Plugin { struct_size: 8, ..GOOD }), Some(PluginError::Size(8)));
        let other = check(&Plugin {
            mpi_identity: 2 << 16 | 4,
            ..GOOD
        });
        let text = other.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("MPICH") && text.contains("Open MPI"), "{text}");
    }

    /// A plugin's object may end before the field `scratch`. The bytes after the object must not be read as that field.
    #[test]
    fn a_plugin_of_an_earlier_header_says_nothing_of_scratch() {
        unsafe extern "C" fn scratch(_: *mut u32) -> *const Scratch {
            std::ptr::null()
        }
        let now = Plugin {
            scratch: Some(scratch),
            ..GOOD
        };
        let before = Plugin {
            struct_size: SMALLEST_BYTES as u32,
            ..now
        };
        for (plugin, says) in [(&now, true), (&before, false)] {
            // SAFETY: a whole object is passed.
            let checked = unsafe { Plugin::check(plugin) }.unwrap();
            assert_eq!(checked.scratch.is_some(), says);
            assert_eq!((checked.magic, checked.name), (plugin.magic, plugin.name));
        }
    }

    /// A host's context may end before the field `call`.
    #[test]
    fn a_host_of_an_earlier_header_carries_nothing_out() {
        unsafe extern "C" fn call(_: *mut Context, _: *const Arguments, _: *const Arguments) -> c_int {
            0
        }
        let now = Context {
            struct_size: size_of::<Context>() as u32,
            rank: 0,
            size: 1,
            reserved: 0,
            // SAFETY: a handle that nobody uses.
            comm: unsafe { std::mem::zeroed() },
            state: std::ptr::null_mut(),
            host: std::ptr::null_mut(),
            grow: None,
            call: Some(call),
        };
        let before = Context {
            struct_size: SMALLEST_CONTEXT_BYTES as u32,
            ..now
        };
        for (context, has) in [(&now, true), (&before, false)] {
            // SAFETY: a whole context is passed.
            assert_eq!(unsafe { Context::caller(context) }.is_some(), has);
        }
    }

    #[test]
    fn the_version_is_looked_at_before_anything_that_depends_on_it() {
        let other = Plugin {
            abi_version: 7,
            struct_size: 1,
            mpi_identity: 0,
            ..GOOD
        };
        assert_eq!(check(&other), Some(PluginError::Version(7)));
    }
}
