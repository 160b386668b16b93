//! Building blocks of every rendering: numbers as text, tables, quoting, axes, JSON. It knows nothing of MPI or of reports.

pub mod format;
pub mod json;
pub mod quoting;
pub mod scale;
pub mod sheet;
pub mod table;
