//! Performance variables that hold a number for each rank of `MPI_COMM_WORLD`, through `MPI_T`, by name: what this rank has sent to
//! each other, where a library counts that.

use std::ffi::{CStr, CString, c_int};
use std::mem::MaybeUninit;

use mpi_sys::{MPI_Datatype, MPI_T_enum, MPI_T_pvar_handle, MPI_T_pvar_session};

use crate::constants;
use crate::forgotten;
use crate::mpit::{ControlVariables, MpitError};

/// Reason why counters cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CountersError {
    /// The interface cannot be opened.
    #[error(transparent)]
    Interface(#[from] MpitError),
    /// The library has no such variable (or the component that has it is not loaded).
    #[error("the MPI library has no performance variable `{name}` in this process")]
    Unknown {
        /// Requested name.
        name: String,
    },
    /// It is no number for each rank.
    #[error("performance variable `{name}` {what}, which is not supported")]
    Unsupported {
        /// The variable.
        name: String,
        /// The unsupported property.
        what: String,
    },
    /// A call failed for another reason.
    #[error("{operation} failed with code {code} for performance variable `{name}`")]
    Library {
        /// The call.
        operation: &'static str,
        /// The variable, or empty.
        name: String,
        /// The code.
        code: c_int,
    },
}

/// Open counters, which count from now on; closed when dropped, before `MPI_Finalize`.
#[derive(Debug)]
pub struct Counters {
    session: MPI_T_pvar_session,
    counters: Vec<Counter>,
    /// Keeps the interface open; dropped after everything that needs it.
    _interface: ControlVariables,
}

#[derive(Debug)]
struct Counter {
    name: String,
    handle: MPI_T_pvar_handle,
    /// Numbers, one for each rank.
    ranks: usize,
    /// Size of a number.
    bytes: usize,
}

impl Drop for Counters {
    fn drop(&mut self) {
        for counter in &mut self.counters {
            // SAFETY: the handle came from this session and is not used again.
            unsafe { mpi_sys::PMPI_T_pvar_handle_free(self.session, &raw mut counter.handle) };
        }
        // SAFETY: all its handles have been freed.
        unsafe { mpi_sys::PMPI_T_pvar_session_free(&raw mut self.session) };
    }
}

fn check(operation: &'static str, name: &str, code: c_int) -> Result<(), CountersError> {
    if code == 0 {
        Ok(())
    } else {
        Err(CountersError::Library {
            operation,
            name: name.to_owned(),
            code,
        })
    }
}

impl Counters {
    /// Opens the variables of these names after MPI is initialised. An error if one is missing, is no number for each
    /// rank, or cannot be read now.
    pub fn open(names: &[String]) -> Result<Counters, CountersError> {
        let interface = ControlVariables::open()?;
        let mut session = MaybeUninit::<MPI_T_pvar_session>::zeroed();
        // SAFETY: the interface is open; writes the session.
        let session = unsafe {
            check(
                "PMPI_T_pvar_session_create",
                "",
                mpi_sys::PMPI_T_pvar_session_create(session.as_mut_ptr()),
            )?;
            session.assume_init()
        };
        let mut counters = Counters {
            session,
            counters: Vec::with_capacity(names.len()),
            _interface: interface,
        };
        for name in names {
            counters.add(name)?;
        }
        // A variable may exist and still not be counted.
        counters.read()?;
        Ok(counters)
    }

    fn add(&mut self, name: &str) -> Result<(), CountersError> {
        let unknown = || CountersError::Unknown { name: name.to_owned() };
        let unsupported = |what: &str| CountersError::Unsupported {
            name: name.to_owned(),
            what: what.to_owned(),
        };
        let c_name = CString::new(name).map_err(|_| unknown())?;
        let index = index_of(&c_name)
            .or_else(|| forgotten::register_again().then(|| index_of(&c_name))?)
            .ok_or_else(unknown)?;
        let about = About::of(index, name)?;
        if about.bind != constants::t_bind_comm() {
            return Err(unsupported("is bound to no communicator"));
        }
        let bytes = bytes_of(about.datatype).ok_or_else(|| unsupported("holds no unsigned integers"))?;
        let mut world = constants::comm_world();
        let mut handle = MaybeUninit::<MPI_T_pvar_handle>::zeroed();
        let mut ranks: c_int = 0;
        // SAFETY: the variable is bound to a communicator, of which the address is passed; writes the handle and the count.
        let handle = unsafe {
            let object = (&raw mut world).cast();
            let code =
                mpi_sys::PMPI_T_pvar_handle_alloc(self.session, index, object, handle.as_mut_ptr(), &raw mut ranks);
            check("PMPI_T_pvar_handle_alloc", name, code)?;
            handle.assume_init()
        };
        self.counters.push(Counter {
            name: name.to_owned(),
            handle,
            ranks: usize::try_from(ranks).unwrap_or(0),
            bytes,
        });
        if about.continuous == 0 {
            // SAFETY: a handle of this session.
            check("PMPI_T_pvar_start", name, unsafe {
                mpi_sys::PMPI_T_pvar_start(self.session, handle)
            })?;
        }
        Ok(())
    }

    /// Values of the counters, in the order of their names: a number for each rank.
    pub fn read(&self) -> Result<Vec<Vec<u64>>, CountersError> {
        self.counters.iter().map(|counter| self.read_one(counter)).collect()
    }

    fn read_one(&self, counter: &Counter) -> Result<Vec<u64>, CountersError> {
        // As many 64-bit words as ranks suffice for either size.
        let mut words = vec![0_u64; counter.ranks.max(1)];
        // SAFETY: the buffer has room for a number for each rank; the handle is one of this session.
        let code = unsafe { mpi_sys::PMPI_T_pvar_read(self.session, counter.handle, words.as_mut_ptr().cast()) };
        check("PMPI_T_pvar_read", &counter.name, code)?;
        words.truncate(counter.ranks);
        if counter.bytes == size_of::<u64>() {
            return Ok(words);
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (numbers, _) = bytes.as_chunks::<4>();
        let numbers = numbers.iter().take(counter.ranks);
        Ok(numbers.map(|number| u64::from(u32::from_ne_bytes(*number))).collect())
    }
}

fn index_of(name: &CStr) -> Option<c_int> {
    let mut index: c_int = -1;
    // SAFETY: reads a string, writes one int.
    let code = unsafe { mpi_sys::PMPI_T_pvar_get_index(name.as_ptr(), constants::t_pvar_class_size(), &raw mut index) };
    (code == 0).then_some(index)
}

/// Properties of a variable as the library reports them.
struct About {
    datatype: MPI_Datatype,
    bind: c_int,
    continuous: c_int,
}

impl About {
    fn of(index: c_int, name: &str) -> Result<About, CountersError> {
        let mut about = About {
            datatype: constants::datatype_null(),
            bind: 0,
            continuous: 0,
        };
        let mut enumeration: MPI_T_enum = constants::t_enum_null();
        let (mut verbosity, mut class, mut read_only, mut atomic): (c_int, c_int, c_int, c_int) = (0, 0, 0, 0);
        let (mut name_length, mut description_length): (c_int, c_int) = (0, 0);
        // SAFETY: texts are not asked for (null with length 0); the rest are out-parameters of the types the standard gives.
        let code = unsafe {
            mpi_sys::PMPI_T_pvar_get_info(
                index,
                std::ptr::null_mut(),
                &raw mut name_length,
                &raw mut verbosity,
                &raw mut class,
                &raw mut about.datatype,
                &raw mut enumeration,
                std::ptr::null_mut(),
                &raw mut description_length,
                &raw mut about.bind,
                &raw mut read_only,
                &raw mut about.continuous,
                &raw mut atomic,
            )
        };
        check("PMPI_T_pvar_get_info", name, code)?;
        Ok(about)
    }
}

/// Size of a number of this type, where it is one that counts.
fn bytes_of(datatype: MPI_Datatype) -> Option<usize> {
    let types = [
        (constants::unsigned(), size_of::<std::ffi::c_uint>()),
        (constants::unsigned_long(), size_of::<std::ffi::c_ulong>()),
        (constants::unsigned_long_long(), size_of::<std::ffi::c_ulonglong>()),
        (constants::uint32(), size_of::<u32>()),
        (constants::uint64(), size_of::<u64>()),
    ];
    let (_, bytes) = types.into_iter().find(|(known, _)| *known == datatype)?;
    Some(bytes)
}
