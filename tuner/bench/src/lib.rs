//! Measuring: launched jobs, the store of their reports, their programs, clocks and budgets. It knows no guideline and
//! proposes nothing.

pub mod allocation;
pub mod budget;
pub mod launch;
pub mod prediction;
pub mod programs;
pub mod progress;
pub mod reference;
pub mod store;
