//! The host's side of the plugin ABI: what the drop-in, `kilter-verify` and the worker share, so that a plugin that one of
//! them loads and calls is loaded and called by the others in the same way.
//!
//! * [`plugins`]: loading a plugin, or taking one that is linked, and checking its rows, before anything of it is called; `describe` turns
//!   the ABI's structures into the descriptions that all of Kilter shares.
//! * [`trust`]: whose files are loaded at all.
//! * [`code`]: which build of a plugin, or of the drop-in, is in this process.
//! * [`Hosted`]: a context of a plugin on a private communicator, with the scratch that is kept for it.

pub mod code;
mod context;
mod describe;
mod length;
pub mod plugins;

pub use context::Hosted;
pub use kilter_profile::trust;
