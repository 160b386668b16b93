//! Loading plugins.

use std::ffi::c_int;
use std::path::{Path, PathBuf};

use kilter_abi::{Algorithm, Arguments, Context, Plugin, PluginError, SYMBOL, Scratch};
use kilter_protocol::row::Row;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::code;
use crate::describe;
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
        /// The length that its headers name.
        needed: u64,
    },
    /// It was built for another version of the ABI or another MPI library.
    #[error("plugin `{path}`: {error}")]
    Incompatible {
        /// The file.
        path: PathBuf,
        /// The difference.
        error: PluginError,
    },
    /// A row violates the ABI.
    #[error("plugin `{path}`, row {row}: {what}")]
    Row {
        /// The file.
        path: PathBuf,
        /// Index of the row, from 0.
        row: usize,
        /// The violation.
        what: &'static str,
    },
    /// Its table of scratch has another number of entries than it has rows.
    #[error("plugin `{path}` says of {said} rows what they keep of scratch, and has {rows}: one entry is for each row")]
    Scratch {
        /// The file.
        path: PathBuf,
        /// Number of entries of the table.
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
    pub rows: Vec<Callable>,
    /// Tells builds of it apart; see [`crate::code`]. 0 where it is part of this program.
    pub code: u64,
}

/// A row of a plugin, which can be called.
pub struct Callable {
    /// Its description.
    pub row: Row,
    /// The ABI's structure.
    pub algorithm: &'static Algorithm,
    /// The function of that.
    pub run: Run,
}

/// `kilter_algorithm.run`.
pub type Run = unsafe extern "C" fn(context: *mut Context, arguments: *const Arguments) -> c_int;

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
    /// A row violates the ABI.
    ///
    /// # Safety
    /// The object is a plugin's of this version of the ABI.
    pub unsafe fn linked(plugin: &'static Plugin) -> Result<Loaded, LoadError> {
        // SAFETY: a plugin's name is null or a C string.
        let name = unsafe { describe::text(plugin.name) }.unwrap_or_default();
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
unsafe fn rows(plugin: &'static Plugin, path: &Path) -> Result<Vec<Callable>, LoadError> {
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
            rows.push(callable(algorithm).map_err(|what| LoadError::Row {
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
                row.row.scratch = describe::scratch(*said);
            }
        }
    }
    Ok(rows)
}

/// Checks a row.
///
/// # Safety
/// Its pointers are null or as the ABI says.
unsafe fn callable(algorithm: &'static Algorithm) -> Result<Callable, &'static str> {
    Ok(Callable {
        // SAFETY: by this function's contract.
        row: unsafe { describe::row(algorithm) }?,
        algorithm,
        run: algorithm.run.ok_or("it has no entry")?,
    })
}

/// Scratch that each of its rows keeps; `None` if the plugin does not say.
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
