//! Control variables of the library, through `MPI_T`, by name and as text.
//!
//! A value is typed by the variable's MPI datatype; a variable with an enumeration takes a number or a name. What is written
//! takes effect when the library next looks: on Open MPI, the algorithm variables of its collectives act on communicators
//! created afterwards.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_void};

use mpi_sys::{MPI_Datatype, MPI_T_cvar_handle, MPI_T_enum};

use crate::constants;

mod kind;

use kind::{Kind, text};

/// Reason why a control variable could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MpitError {
    /// The library has no such variable (or the component that has it is not loaded).
    #[error("the MPI library has no control variable `{name}` in this process")]
    Unknown {
        /// Requested name.
        name: String,
    },
    /// The library does not let it be written, at all or any more.
    #[error("control variable `{name}` cannot be written while the program runs; set it before the launch")]
    NotWritable {
        /// The variable.
        name: String,
    },
    /// The text is no value of the variable.
    #[error("`{value}` is no value of control variable `{name}`; allowed: {allowed}")]
    BadValue {
        /// The variable.
        name: String,
        /// Value to be written.
        value: String,
        /// Values that the variable takes.
        allowed: String,
    },
    /// The variable has a type, or is bound to an object, that this module cannot handle.
    #[error("control variable `{name}` {what}, which is not supported")]
    Unsupported {
        /// The variable.
        name: String,
        /// The unsupported property.
        what: String,
    },
    /// A call failed for another reason.
    #[error("{operation} failed with code {code} for control variable `{name}`")]
    Library {
        /// The call.
        operation: &'static str,
        /// The variable, or empty.
        name: String,
        /// The code.
        code: c_int,
    },
}

/// The `MPI_T` interface, open from the first use at the latest; closed when dropped. Independent of `MPI_Init`, though more variables may exist after it.
#[derive(Debug)]
pub struct ControlVariables {
    is_open: Cell<bool>,
}

struct Variable {
    index: c_int,
    kind: Kind,
    enumeration: MPI_T_enum,
    scope: c_int,
}

/// A handle, freed when dropped.
struct Handle {
    handle: MPI_T_cvar_handle,
    /// Elements of the variable: 1, or the room for a string.
    count: usize,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle came from `PMPI_T_cvar_handle_alloc` and is not used again.
        unsafe { mpi_sys::PMPI_T_cvar_handle_free(&raw mut self.handle) };
    }
}

impl Drop for ControlVariables {
    fn drop(&mut self) {
        if self.is_open.get() {
            // SAFETY: pairs with the initialisation in `ready`; all handles have been freed, as they live within methods.
            unsafe { mpi_sys::PMPI_T_finalize() };
        }
    }
}

fn check(operation: &'static str, name: &str, code: c_int) -> Result<(), MpitError> {
    if code == 0 {
        Ok(())
    } else {
        Err(MpitError::Library {
            operation,
            name: name.to_owned(),
            code,
        })
    }
}

impl ControlVariables {
    /// Opens the interface when a variable is first asked for: Open MPI loads its components for it, which takes longer than many a job.
    #[must_use]
    pub fn when_asked() -> ControlVariables {
        ControlVariables {
            is_open: Cell::new(false),
        }
    }

    /// Opens the interface.
    pub fn open() -> Result<ControlVariables, MpitError> {
        let variables = ControlVariables::when_asked();
        variables.ready()?;
        Ok(variables)
    }

    /// Opens the interface if it is not open.
    fn ready(&self) -> Result<(), MpitError> {
        if self.is_open.get() {
            return Ok(());
        }
        // Open MPI takes what is asked for here as the level of the whole library, and would forget the one of `MPI_Init_thread`.
        let mut level = mpi_sys::MPI_THREAD_SINGLE as c_int;
        if crate::info::is_running() {
            // SAFETY: MPI is initialised; writes one int.
            let code = unsafe { mpi_sys::PMPI_Query_thread(&raw mut level) };
            check("PMPI_Query_thread", "", code)?;
        }
        let mut provided: c_int = 0;
        // SAFETY: legal at any time, any number of times; writes one int.
        let code = unsafe { mpi_sys::PMPI_T_init_thread(level, &raw mut provided) };
        check("PMPI_T_init_thread", "", code)?;
        self.is_open.set(true);
        Ok(())
    }

    /// The value as text: enumeration values by name, booleans as `true` and `false`.
    pub fn read(&self, name: &str) -> Result<String, MpitError> {
        let variable = self.find(name)?;
        let handle = allocate(&variable, name)?;
        let mut bytes = vec![0_u8; handle.count.max(1) * size_of::<u64>() + 1];
        // SAFETY: the buffer has room for `count` elements of any type known here.
        let code = unsafe { mpi_sys::PMPI_T_cvar_read(handle.handle, bytes.as_mut_ptr().cast()) };
        check("PMPI_T_cvar_read", name, code)?;
        if let (Some(items), Some(value)) = (items(variable.enumeration), variable.kind.integer(&bytes))
            && let Some((_, item)) = items.into_iter().find(|(number, _)| i64::from(*number) == value)
        {
            return Ok(item);
        }
        Ok(variable.kind.to_text(&bytes))
    }

    /// True if the library says that the variable may be written while the program runs.
    pub fn is_writable(&self, name: &str) -> Result<bool, MpitError> {
        Ok(self.find(name)?.is_writable())
    }

    /// The names and numbers of an enumeration, where the variable has one.
    pub fn enumeration(&self, name: &str) -> Result<Option<Vec<(i32, String)>>, MpitError> {
        Ok(items(self.find(name)?.enumeration))
    }

    /// Writes a value.
    pub fn write(&mut self, name: &str, value: &str) -> Result<(), MpitError> {
        let variable = self.find(name)?;
        if !variable.is_writable() {
            return Err(MpitError::NotWritable { name: name.to_owned() });
        }
        let items = items(variable.enumeration);
        let bad = |allowed: String| MpitError::BadValue {
            name: name.to_owned(),
            value: value.to_owned(),
            allowed,
        };
        let number = items
            .iter()
            .flatten()
            .find(|(_, item)| item == value)
            .map(|(number, _)| number.to_string());
        if let (Some(items), None) = (&items, &number)
            && !items.iter().any(|(number, _)| value.trim() == number.to_string())
        {
            return Err(bad(items
                .iter()
                .map(|(number, item)| format!("{number} ({item})"))
                .collect::<Vec<_>>()
                .join(", ")));
        }
        let text = number.as_deref().unwrap_or(value);
        let bytes = variable
            .kind
            .parse(text)
            .ok_or_else(|| bad(variable.kind.allowed().to_owned()))?;
        let handle = allocate(&variable, name)?;
        if variable.kind == Kind::Text && bytes.len() > handle.count.max(1) {
            return Err(bad(format!("text of at most {} bytes", handle.count.saturating_sub(1))));
        }
        // SAFETY: the buffer holds one element of the variable's type, or a string with its end.
        let code = unsafe { mpi_sys::PMPI_T_cvar_write(handle.handle, bytes.as_ptr().cast()) };
        if [
            mpi_sys::MPI_T_ERR_CVAR_SET_NEVER as c_int,
            mpi_sys::MPI_T_ERR_CVAR_SET_NOT_NOW as c_int,
        ]
        .contains(&code)
        {
            return Err(MpitError::NotWritable { name: name.to_owned() });
        }
        if code == mpi_sys::MPI_T_ERR_INVALID as c_int {
            return Err(bad("what the library accepts (it refused this)".to_owned()));
        }
        check("PMPI_T_cvar_write", name, code)
    }

    fn find(&self, name: &str) -> Result<Variable, MpitError> {
        self.ready()?;
        let unknown = || MpitError::Unknown { name: name.to_owned() };
        let c_name = CString::new(name).map_err(|_| unknown())?;
        let mut index: c_int = -1;
        // SAFETY: reads a string, writes one int.
        if unsafe { mpi_sys::PMPI_T_cvar_get_index(c_name.as_ptr(), &raw mut index) } != 0 {
            return Err(unknown());
        }
        let (mut verbosity, mut bind, mut scope): (c_int, c_int, c_int) = (0, 0, 0);
        let (mut name_length, mut description_length): (c_int, c_int) = (0, 0);
        let (mut datatype, mut enumeration): (MPI_Datatype, MPI_T_enum) =
            (constants::datatype_null(), constants::t_enum_null());
        // SAFETY: texts are not asked for (null with length 0); the rest are out-parameters of the types the standard gives.
        let code = unsafe {
            mpi_sys::PMPI_T_cvar_get_info(
                index,
                std::ptr::null_mut(),
                &raw mut name_length,
                &raw mut verbosity,
                &raw mut datatype,
                &raw mut enumeration,
                std::ptr::null_mut(),
                &raw mut description_length,
                &raw mut bind,
                &raw mut scope,
            )
        };
        check("PMPI_T_cvar_get_info", name, code)?;
        if bind != constants::t_bind_no_object() {
            let what = "is bound to an MPI object".to_owned();
            return Err(MpitError::Unsupported {
                name: name.to_owned(),
                what,
            });
        }
        let kind = Kind::of(datatype).ok_or_else(|| MpitError::Unsupported {
            name: name.to_owned(),
            what: "has a datatype outside those that MPI_T may use".to_owned(),
        })?;
        Ok(Variable {
            index,
            kind,
            enumeration,
            scope,
        })
    }
}

impl Variable {
    fn is_writable(&self) -> bool {
        self.scope != constants::t_scope_constant() && self.scope != constants::t_scope_readonly()
    }
}

fn allocate(variable: &Variable, name: &str) -> Result<Handle, MpitError> {
    let mut handle = std::mem::MaybeUninit::<MPI_T_cvar_handle>::zeroed();
    let mut count: c_int = 0;
    // SAFETY: the variable is bound to no object, so none is passed; writes the handle and the count.
    let handle = unsafe {
        let object: *mut c_void = std::ptr::null_mut();
        let code = mpi_sys::PMPI_T_cvar_handle_alloc(variable.index, object, handle.as_mut_ptr(), &raw mut count);
        check("PMPI_T_cvar_handle_alloc", name, code)?;
        handle.assume_init()
    };
    Ok(Handle {
        handle,
        count: usize::try_from(count).unwrap_or(0),
    })
}

/// The items of an enumeration; `None` where there is none.
fn items(enumeration: MPI_T_enum) -> Option<Vec<(i32, String)>> {
    if enumeration == constants::t_enum_null() {
        return None;
    }
    let (mut count, mut name_length): (c_int, c_int) = (0, 0);
    // SAFETY: the enumeration came from the library; its name is not asked for.
    unsafe {
        if mpi_sys::PMPI_T_enum_get_info(enumeration, &raw mut count, std::ptr::null_mut(), &raw mut name_length) != 0 {
            return None;
        }
    }
    let mut items = Vec::new();
    for index in 0..count {
        let (mut value, mut length): (c_int, c_int) = (0, 256);
        let mut name = [0_u8; 256];
        // SAFETY: the buffer has as many bytes as `length` says.
        let code = unsafe {
            let text = name.as_mut_ptr().cast::<c_char>();
            mpi_sys::PMPI_T_enum_get_item(enumeration, index, &raw mut value, text, &raw mut length)
        };
        if code == 0 {
            items.push((value, text(&name)));
        }
    }
    Some(items)
}
