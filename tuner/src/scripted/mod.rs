//! A scripted library, and commands that tune it: the whole loop in a second, without MPI.
//!
//! A scenario sets the costs and faults of calls, and looks at the report:
//!
//! ```
//! use kilter::scripted::{ScriptedLibrary, Site};
//!
//! # fn main() -> anyhow::Result<()> {
//! let library = ScriptedLibrary::new()
//!     .setting("x", "0", &["1", "16"])
//!     .cost("reduce", |call, usual| if call.bytes == 4096 && call.is("x", "0") { 4.0 * usual } else { usual });
//! # let directory = std::env::temp_dir().join(format!("kilter-scripted-{}", std::process::id()));
//! let site = Site::new(&directory, library)?;
//! let run = site.tune(&["--guidelines", "GL8", "--sizes", "1024,4096"])?;
//! assert!(run.report.changes.iter().any(|change| change.name == "x"));
//! # std::fs::remove_dir_all(directory)?;
//! # Ok(())
//! # }
//! ```

mod call;
mod files;
mod functions;
mod library;
mod machine;
mod playing;
mod site;

pub use call::{Call, Settings};
pub use library::ScriptedLibrary;
pub use machine::Allocation;
pub use site::{Run, Site};
