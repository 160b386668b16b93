//! Collectives written by hand: found in a trace of messages by what they achieve, whatever the order and the routes of the messages.
//!
//! A collective is told by its postcondition on data: who held which bytes before, and who holds them after. `matching` joins sends and
//! receives, `provenance` follows bytes through forwarding, splitting and joining, `flows` says where each piece of data began and went,
//! and `postconditions` asks of these flows, and of nothing else, what was achieved. `safety` says if a blocking collective could replace
//! the messages.
//!
//! [`typical`] takes the messages of one occurrence as a schedule that can be carried out again. [`text`] and [`html`] render the answer in the same
//! `words`; the page has a `picture` of that occurrence.
//!
//! The crate is pure: it reads a [`Trace`] and gives a [`Detection`]. It opens no file, prints nothing and knows no MPI library.

mod arena;
mod arithmetic;
mod crc;
mod detect;
mod epochs;
mod filters;
mod findings;
#[cfg(test)]
mod fixture;
mod flows;
pub mod html;
mod joined;
pub mod json;
mod matching;
pub mod model;
mod picture;
mod postconditions;
mod provenance;
mod ranks;
mod safety;
pub mod text;
pub mod typical;
mod words;

pub use detect::detect;
pub use model::finding::{Detection, Finding};
pub use model::trace::Trace;
