//! Overlap of communication with computation: measuring, drawing, naming and improving it.
//!
//! * [`options`] are those of `kilter overlap`.
//! * [`grid`] has the points of a benchmark.
//! * [`measure`] asks the worker; [`assemble`] makes cells of the answers, and [`noise`] masks those that are noise.
//! * [`adaptive`] draws the same picture from a fifth of the cells; [`band`] tells where it changes, and [`agreement`] tests it.
//! * [`kilter_model::survey`] is a survey; [`kilter_model::reading`] reads a cell.
//! * [`together`] makes one survey of several launches.
//! * [`units`] are the processing units of rank 0's host.
//! * [`classify`] describes the behaviour of a map and of a library.
//! * [`html`] draws heat maps, as a page and as a part of one; [`mod@write`] writes a survey as text and CSV, [`json`] as it is.
//! * [`targets`] judges targets, and [`floor`] tells which cannot be met; [`tuning`] meets them.

pub mod adaptive;
pub mod agreement;
mod asking;
pub mod assemble;
pub mod band;
mod block;
pub mod classify;
mod fill;
pub mod floor;
pub mod grid;
mod heatmap;
pub mod html;
pub mod json;
pub mod measure;
pub mod noise;
pub mod options;
mod palette;
pub mod targets;
pub mod together;
pub mod tuning;
pub mod units;
pub mod write;
