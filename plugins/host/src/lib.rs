//! The host's side of the plugin ABI: what the drop-in, `kilter-verify` and the worker share, so that a plugin that one of
//! them loads and calls is loaded and called by the others in the same way.
//!
//! * [`plugins`]: loading a plugin, or taking one that is linked, and checking its rows, before anything of it is called; `describe` turns
//!   the ABI's structures into the descriptions that all of Kilter shares.
//! * [`trust`]: whose files are loaded at all.
//! * [`code`]: which build of a plugin, or of the drop-in, is in this process.
//! * [`contexts`]: the contexts of plugins on a private communicator, with the scratch that is kept for them, and calls as they are deployed there.
//! * [`mod@suits`]: whether a call meets the needs of a row.

pub mod code;
mod context;
pub mod contexts;
mod describe;
mod length;
mod numbers;
pub mod plugins;
mod suits;

pub use contexts::{Chosen, Contexts, Deployed, Group};
pub use kilter_profile::trust;
pub use suits::suits;
