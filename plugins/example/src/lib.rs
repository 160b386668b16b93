//! A plugin in Rust: one broadcast, along a chain of ranks, in segments. `c/kilter_plugin.c` is the same in C, and `README.md` says
//! how to write one's own from either.
//!
//! Rank `root + i` receives each segment from rank `root + i - 1` and sends it on to rank `root + i + 1`, so that segments follow
//! each other: `p - 2 + s` rounds for `s` segments, where a segment has `n / s` bytes.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use kilter_abi::{ABI_VERSION, Algorithm, Arguments, Context, MAGIC, MPI_IDENTITY, Parameter, Plugin, Scratch};
use kilter_mpi::{MpiError, constants, packing};

const TAG: c_int = 1;

/// The object that makes a shared library a plugin.
#[unsafe(export_name = "kilter_plugin")]
pub static PLUGIN: Plugin = Plugin {
    magic: MAGIC,
    abi_version: ABI_VERSION,
    struct_size: size_of::<Plugin>() as u32,
    mpi_identity: MPI_IDENTITY,
    reserved: 0,
    name: c"example".as_ptr(),
    algorithms: Some(algorithms),
    // The scratch that the host keeps is all the state there is.
    release: None,
    scratch: Some(scratch),
};

const PARAMETERS: &[Parameter] = &[Parameter {
    name: c"segment_bytes".as_ptr(),
    min: 1,
    max: 1 << 30,
    default_value: 8192,
}];

static ROWS: [Algorithm; 1] = [Algorithm {
    id: c"bcast.example_chain".as_ptr(),
    collective: 2,
    needs: 0,
    parameter_count: PARAMETERS.len() as u32,
    reserved: 0,
    parameters: PARAMETERS.as_ptr(),
    data: std::ptr::null(),
    run: Some(run),
}];

/// Scratch that each row takes from `grow`. The chain takes the whole volume, for a packed copy.
static SCRATCH: [Scratch; 1] = [Scratch {
    is_known: 1,
    fixed_bytes: 0,
    bytes_per_rank: 0,
    volumes: 1,
    blocks: 0,
    segments: 0,
}];

unsafe extern "C" fn scratch(count: *mut u32) -> *const Scratch {
    // SAFETY: by the ABI, the host lends a number to write.
    unsafe { *count = SCRATCH.len() as u32 };
    SCRATCH.as_ptr()
}

unsafe extern "C" fn algorithms(count: *mut u32) -> *const Algorithm {
    // SAFETY: by the ABI, the host lends a number to write.
    unsafe { *count = ROWS.len() as u32 };
    ROWS.as_ptr()
}

/// `kilter_algorithm.run` of the chain. A panic or an error ends the job with a message: other ranks may be waiting for this one, so neither
/// may return from this function on one rank alone.
unsafe extern "C" fn run(context: *mut Context, arguments: *const Arguments) -> c_int {
    // SAFETY: by the ABI, both are valid and lent for the call.
    let (lent, arguments) = unsafe { (&mut *context, &*arguments) };
    let (rank, comm) = (lent.rank, lent.comm);
    let reason = match catch_unwind(AssertUnwindSafe(|| chain(lent, arguments))) {
        Ok(Ok(())) => return 0,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it panicked, see the message above".to_owned(),
    };
    kilter_mpi::say(format_args!(
        "error: bcast.example_chain on rank {rank}: {reason}; ending the job"
    ));
    // SAFETY: MPI is running, as a collective was called.
    unsafe { kilter_mpi::abort(comm, 1) }
}

/// Carries the broadcast out.
fn chain(context: &mut Context, arguments: &Arguments) -> Result<(), MpiError> {
    assert!(
        std::env::var_os("KILTER_EXAMPLE_PANIC").is_none(),
        "KILTER_EXAMPLE_PANIC is set"
    );
    let too_large = MpiError {
        operation: "a broadcast of more than 2^31 - 1 bytes; give its rule a smaller max_bytes",
        code: constants::err_count(),
    };
    let (p, rank, root) = (context.size, context.rank, arguments.root);
    let place = (rank - root + p) % p;
    let (before, after) = ((rank - 1 + p) % p, (rank + 1) % p);
    let (n, count) = match (c_int::try_from(arguments.bytes), usize::try_from(arguments.recv_count)) {
        (Ok(n), Ok(count)) => (n as usize, count),
        _ => return Err(too_large),
    };
    // SAFETY: by the ABI, one value for each parameter of the row.
    let wanted = unsafe { *arguments.parameters };
    let segment = usize::try_from(wanted).unwrap_or(n).clamp(1, n.max(1));
    let grow = context.grow;
    // SAFETY: `grow` is the host's, and its scratch is this call's until it ends.
    let scratch = grow.map_or(std::ptr::null_mut(), |grow| unsafe { grow(context, n) });
    if scratch.is_null() {
        return Err(MpiError {
            operation: "allocating scratch",
            code: constants::err_no_mem(),
        });
    }
    // The type may be derived, and another one on each rank: travel as packed bytes.
    // SAFETY: the host gave at least `n` bytes.
    let packed = unsafe { std::slice::from_raw_parts_mut(scratch.cast::<u8>(), n) };
    let comm = context.comm;
    if place == 0 {
        // SAFETY: by the ABI, the program's buffer has as many elements.
        unsafe { packing::pack(arguments.recv, count, arguments.recv_type, packed, comm)? };
    }
    for part in packed.chunks_mut(segment) {
        let (address, length) = (part.as_mut_ptr().cast::<c_void>(), part.len() as c_int);
        if place > 0 {
            let mut status = std::mem::MaybeUninit::<mpi_sys::MPI_Status>::zeroed();
            // SAFETY: the part has this length, and the rank before sends as much.
            let code = unsafe {
                mpi_sys::PMPI_Recv(
                    address,
                    length,
                    constants::packed(),
                    before,
                    TAG,
                    comm,
                    status.as_mut_ptr(),
                )
            };
            MpiError::check("PMPI_Recv", code)?;
        }
        if place < p - 1 {
            // SAFETY: the part has this length.
            let code = unsafe { mpi_sys::PMPI_Send(address, length, constants::packed(), after, TAG, comm) };
            MpiError::check("PMPI_Send", code)?;
        }
    }
    if place > 0 {
        // SAFETY: by the ABI, the program's buffer has room for as many elements.
        unsafe { packing::unpack(packed, arguments.recv, count, arguments.recv_type, comm)? };
    }
    Ok(())
}
