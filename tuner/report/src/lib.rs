//! Reports: one model, several renderings.
//!
//! [`kilter_model::report::Report`] is what a run knows. Everything else here is a pure function of it: [`json`] for programs, [`html`]
//! for people and the archive, [`terminal`] for the console, [`markdown`] for tickets, [`csv`] for spreadsheets, [`junit`] for
//! continuous integration. [`sections`] has a file for each section, with its HTML, text, Markdown and part of the JSON.
//! [`tables`] are those of PGMPI, for one report or several side by side, as sheets ([`kilter_render::sheet`]) that every rendering can print.
//! [`summary`] holds what several of them say, so that they cannot disagree about a count.
//!
//! [`compare`] puts two reports or stored runs side by side, [`query`] reads the store back, [`layouts`] is the page that leads to the reports of
//! several layouts.

pub mod compare;
pub mod csv;
pub mod html;
pub mod json;
pub mod junit;
pub mod layouts;
pub mod markdown;
mod marks;
pub mod query;
pub mod sections;
pub mod summary;
pub mod tables;
pub mod terminal;
mod words;
