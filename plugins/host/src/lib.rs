//! The host's side of the plugin ABI: what the drop-in, `kilter-verify` and the worker share, so that a plugin that one of
//! them loads and calls is loaded and called by the others in the same way.
//!
//! * [`plugins`]: loading a plugin and checking its rows, before anything of it is called.
//! * [`trust`]: whose files are loaded at all.
//! * [`code`]: which build of a plugin, or of the drop-in, is in this process.
//! * [`Hosted`]: a context of a plugin on a private communicator, with the scratch that is kept for it.

pub mod code;
mod context;
mod length;
pub mod plugins;

pub use context::Hosted;
pub use kilter_profile::trust;
