//! Building blocks of every rendering: numbers as text, tables, quoting, axes. It knows nothing of MPI or of reports.

pub mod format;
pub mod quoting;
pub mod scale;
pub mod sheet;
pub mod table;
