//! Export to OTF2, the archive of Score-P, Scalasca, Vampir and their kin (Eschweiler and others, Open Trace Format 2: The Next Generation of Scalable
//! Trace Formats and Support Libraries, ParCo 2011).
//!
//! [`model`] and [`records`] say what the archive holds, and [`library`] has libotf2 write it: the library is loaded when it is asked for, so that nobody else needs it.

mod library;
mod model;
mod records;
mod writer;

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::trace::Trace;
use library::Library;

/// Name of the files in the archive's directory.
pub const NAME: &str = "traces";

/// Reason why no archive was written.
#[derive(Debug, Error)]
pub enum Otf2Error {
    /// No file of libotf2 could be loaded.
    #[error(
        "libotf2 cannot be loaded ({said}); install it (Debian: libopen-trace-format2-10; else https://www.vi-hps.org), or name its file by --otf2-library"
    )]
    NotFound {
        /// The words of the loader on the last file that was tried.
        said: String,
    },
    /// A library that lacks a function.
    #[error("`{library}` has no `{function}`; OTF2 1.4 or later has it: name another file by --otf2-library")]
    Lacks {
        /// The library.
        library: String,
        /// The function.
        function: &'static str,
    },
    /// The directory holds something.
    #[error("--otf2: `{}` is not empty; name a directory that does not exist yet", .0.display())]
    NotEmpty(PathBuf),
    /// A path that C cannot have.
    #[error("--otf2: `{}` has a byte 0 in it; name another directory", .0.display())]
    Path(PathBuf),
    /// A call of the library failed.
    #[error("{function} of libotf2 says: {said}; `{}` is not complete", .directory.display())]
    Call {
        /// The function.
        function: &'static str,
        /// Its words.
        said: String,
        /// The archive.
        directory: PathBuf,
    },
}

/// Writes a trace into a directory that does not exist yet or is empty, by the given file of libotf2 or the one of the system.
///
/// # Errors
/// A library that is not there, a directory that is in use, an error of the library's.
pub fn write(trace: &Trace, directory: &Path, library: Option<&Path>) -> Result<(), Otf2Error> {
    let is_empty = std::fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty {
        return Err(Otf2Error::NotEmpty(directory.to_path_buf()));
    }
    let library = Library::load(library)?;
    writer::write(trace, &model::definitions(trace), &library, directory)
}
