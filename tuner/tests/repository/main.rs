//! What holds for the repository as a whole: who may depend on whom, how long files are, what runs, and where links lead.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::path::{Path, PathBuf};

mod circles;
mod edges;
mod examples;
mod features;
mod metadata;
mod pages;
mod sizes;

/// The top of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
