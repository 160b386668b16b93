//! Overlap of communication and computation: how it is measured, seen, named and made better.
//!
//! * [`options`]: what can be asked for.
//! * [`grid`]: where a benchmark is measured.
//! * [`measure`]: questions to the worker; [`assemble`] makes cells of the answers, [`noise`] says what of them is none.
//! * [`adaptive`]: the same picture from a fifth of the cells; [`band`] says where it changes, [`agreement`] puts it to the test.
//! * [`kilter_model::survey`]: what a survey found; [`kilter_model::reading`]: what a cell says, or that it is noise.
//! * [`together`]: several launches as one survey.
//! * [`units`]: what can compute on rank 0's host.
//! * [`classify`]: what a map and a library do, in words.
//! * [`html`]: heat maps, as a page and as a part of one; [`mod@write`]: a survey as text and CSV, [`json`]: as it is.
//! * [`targets`]: whether targets are met, and [`floor`]: which cannot be; [`tuning`]: how they are met.

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
