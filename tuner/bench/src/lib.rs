//! Measuring: jobs that are launched, the store of what they said, the programs for it, clocks and budgets. It knows no guideline and
//! proposes nothing.

pub mod allocation;
pub mod budget;
pub mod launch;
pub mod prediction;
pub mod programs;
pub mod progress;
pub mod reference;
pub mod store;
