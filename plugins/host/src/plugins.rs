//! Loading plugins.

use std::ffi::{CStr, c_char};
use std::path::{Path, PathBuf};

use kilter_abi::{Algorithm, NEEDS_KNOWN, Parameter, Plugin, PluginError, SYMBOL, Scratch};
use kilter_algorithms::Collective;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::code;
use crate::length;
use crate::trust::{self, TrustError};

/// Why a plugin is not used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Not to be trusted, or not there.
    #[error("plugin: {0}")]
    Trust(#[from] TrustError),
    /// The dynamic linker refuses it, or it is no plugin.
    #[error("plugin `{path}` cannot be loaded: {error}")]
    Open {
        /// The file.
        path: PathBuf,
        /// The linker's reason.
        error: String,
    },
    /// It ends before its headers say: loading it would kill the process.
    #[error("plugin `{path}` is cut short: it has {bytes} bytes, and its headers name {needed}; copy it again")]
    CutShort {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
        /// What it needs.
        needed: u64,
    },
    /// Of another version or library.
    #[error("plugin `{path}`: {error}")]
    Incompatible {
        /// The file.
        path: PathBuf,
        /// What differs.
        error: PluginError,
    },
    /// A row is not as the ABI wants it.
    #[error("plugin `{path}`, row {row}: {what}")]
    Row {
        /// The file.
        path: PathBuf,
        /// Its place, from 0.
        row: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// What it says of scratch is not for its rows.
    #[error("plugin `{path}` says of {said} rows what they keep of scratch, and has {rows}: one entry is for each row")]
    Scratch {
        /// The file.
        path: PathBuf,
        /// Number of entries.
        said: usize,
        /// Number of rows.
        rows: usize,
    },
}

/// A plugin in this process; it stays until the process ends.
pub struct Loaded {
    /// A copy of the exported object.
    pub plugin: &'static Plugin,
    /// Its rows, checked.
    pub rows: Vec<Row>,
    /// Tells builds of it apart; see [`crate::code`]. 0 where it is part of this program.
    pub code: u64,
}

/// A row of a plugin.
pub struct Row {
    /// Its id.
    pub id: &'static str,
    /// What it implements.
    pub collective: Collective,
    /// The ABI's structure, with an entry.
    pub algorithm: &'static Algorithm,
    /// Its tunables: name, smallest, largest, default value.
    pub parameters: Vec<(&'static str, [u64; 3])>,
    /// What it keeps of scratch, where it says so.
    pub scratch: Option<Scratch>,
}

/// Loads a plugin and reads its rows. Nothing of it is called before it is known to fit.
///
/// # Errors
/// See [`LoadError`].
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    // The linker opens the file again by its name, since a plugin finds what lies beside it by that; only its owner or root can put another
    // file in its place meanwhile.
    let file = trust::open(path)?;
    trust::above(path)?;
    let unreadable = |error| TrustError::Open {
        path: path.to_owned(),
        error,
    };
    if let Some((bytes, needed)) = length::missing(&file).map_err(unreadable)? {
        return Err(LoadError::CutShort {
            path: path.to_owned(),
            bytes,
            needed,
        });
    }
    drop(file);
    let failed = |error: libloading::Error| LoadError::Open {
        path: path.to_owned(),
        error: chain(&error),
    };
    // SAFETY: initialisers of a shared object run; its owner is the user or root, and nobody else could write it.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(failed)?;
    // SAFETY: the symbol is an object; only its address is taken here.
    let object: *const Plugin = unsafe { *library.get::<*const Plugin>(SYMBOL).map_err(failed)? };
    // SAFETY: an object of this name has the ABI's header; the library stays (it is forgotten below).
    let plugin = unsafe { Plugin::check(object) }.map_err(|error| LoadError::Incompatible {
        path: path.to_owned(),
        error,
    })?;
    let plugin: &'static Plugin = Box::leak(Box::new(plugin));
    std::mem::forget(library);
    // SAFETY: version, size and MPI identity have been checked.
    let rows = unsafe { rows(plugin, path) }?;
    let code = code::digest(object.cast(), 1);
    Ok(Loaded { plugin, rows, code })
}

impl Loaded {
    /// A plugin that is part of this program, under its own name in errors.
    ///
    /// # Errors
    /// A row is not as the ABI wants it.
    ///
    /// # Safety
    /// The object is a plugin's of this version of the ABI.
    pub unsafe fn linked(plugin: &'static Plugin) -> Result<Loaded, LoadError> {
        // SAFETY: a plugin's name is null or a C string.
        let name = unsafe { text(plugin.name) }.unwrap_or_default();
        Ok(Loaded {
            plugin,
            // SAFETY: by this function's contract.
            rows: unsafe { rows(plugin, Path::new(name)) }?,
            code: 0,
        })
    }
}

/// The rows of a plugin, checked.
///
/// # Safety
/// The plugin's functions are those of the ABI.
unsafe fn rows(plugin: &'static Plugin, path: &Path) -> Result<Vec<Row>, LoadError> {
    let mut rows = Vec::new();
    // SAFETY: by this function's contract; the array lives as long as the process.
    unsafe {
        let mut count = 0;
        let table = plugin
            .algorithms
            .map_or(std::ptr::null(), |algorithms| algorithms(&raw mut count));
        let table: &'static [Algorithm] = if table.is_null() {
            &[]
        } else {
            std::slice::from_raw_parts(table, count as usize)
        };
        for (place, algorithm) in table.iter().enumerate() {
            rows.push(row(algorithm).map_err(|what| LoadError::Row {
                path: path.to_owned(),
                row: place,
                what,
            })?);
        }
        if let Some(said) = scratch(plugin) {
            if said.len() != rows.len() {
                return Err(LoadError::Scratch {
                    path: path.to_owned(),
                    said: said.len(),
                    rows: rows.len(),
                });
            }
            for (row, said) in rows.iter_mut().zip(said) {
                row.scratch = (said.is_known != 0).then_some(*said);
            }
        }
    }
    Ok(rows)
}

/// What its rows keep of scratch; `None` where it does not say.
///
/// # Safety
/// The plugin's functions are those of the ABI.
unsafe fn scratch(plugin: &Plugin) -> Option<&'static [Scratch]> {
    let mut count = 0;
    // SAFETY: by this function's contract.
    let table = unsafe { plugin.scratch?(&raw mut count) };
    if table.is_null() {
        return None;
    }
    // SAFETY: an array of so many, which lives as long as the process.
    Some(unsafe { std::slice::from_raw_parts(table, count as usize) })
}

/// Checks a row.
///
/// # Safety
/// Its pointers are null or as the ABI says.
unsafe fn row(algorithm: &'static Algorithm) -> Result<Row, &'static str> {
    // SAFETY: by this function's contract.
    let id = unsafe { text(algorithm.id) }.ok_or("its id is no text")?;
    let name = kilter_abi::COLLECTIVES.get(algorithm.collective as usize).copied();
    let collective: Collective = name
        .and_then(|name| name.parse().ok())
        .ok_or("its collective is unknown")?;
    if id.split_once('.').is_none_or(|(before, _)| before != collective.name()) {
        return Err("its id does not begin with its collective and a dot");
    }
    if algorithm.needs & !NEEDS_KNOWN != 0 {
        return Err("it needs what this drop-in does not know");
    }
    if algorithm.run.is_none() {
        return Err("it has no entry");
    }
    let list: &'static [Parameter] = if algorithm.parameter_count == 0 || algorithm.parameters.is_null() {
        &[]
    } else {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts(algorithm.parameters, algorithm.parameter_count as usize) }
    };
    if list.len() != algorithm.parameter_count as usize {
        return Err("its parameters are missing");
    }
    let mut parameters = Vec::with_capacity(list.len());
    for &Parameter {
        name,
        min,
        max,
        default_value,
    } in list
    {
        // SAFETY: by this function's contract.
        let name = unsafe { text(name) }.ok_or("a parameter's name is no text")?;
        if !(min..=max).contains(&default_value) {
            return Err("a parameter's default lies out of its range");
        }
        parameters.push((name, [min, max, default_value]));
    }
    Ok(Row {
        id,
        collective,
        algorithm,
        parameters,
        scratch: None,
    })
}

/// # Safety
/// Null, or a C string that lives as long as the process.
unsafe fn text(pointer: *const c_char) -> Option<&'static str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: by this function's contract.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
