//! Reports: one model, several renderings.
//!
//! [`model::Report`] is what a run knows. Everything else here is a pure function of it: [`json`] for programs, [`html`]
//! for people and the archive, [`terminal`] for the console, [`markdown`] for tickets, [`csv`] for spreadsheets, [`junit`] for
//! continuous integration.
//! [`tables`] are those of PGMPI, for one report or several side by side, as [`sheet`]s that every rendering can print.
//! [`summary`] holds what several of them say, so that they cannot disagree about a count.

pub mod cost_model;
pub mod csv;
pub mod format;
pub mod html;
pub mod json;
pub mod junit;
pub mod looked_better;
pub mod markdown;
pub mod model;
pub mod not_deployed;
pub mod savings;
pub mod sheet;
pub mod summary;
pub mod tables;
pub mod targets;
pub mod terminal;

#[cfg(test)]
pub(crate) mod fixture;
