//! `kilter rollback`: undoes the latest apply.

use anyhow::Context as _;
use kilter_emit::apply::session;

use super::Status;
use super::apply::{carry_out, finish, hold, scope};
use crate::cli::Rollback;

pub(super) fn run(typed: &Rollback) -> anyhow::Result<Status> {
    let scope = scope(&typed.place)?;
    let journal = scope.journal()?;
    let _held = hold(&typed.place, &journal)?;
    if let Some(unfinished) = session::unfinished(&journal)? {
        // That was the latest `apply`.
        finish(&typed.place, &unfinished)?;
        return Ok(Status::Holds);
    }
    let prepared = session::rollback(&journal)?.with_context(|| {
        format!(
            "nothing to take back: `{}` has no apply in force; --user, --system and --prefix PATH have journals of their own",
            journal.directory.display()
        )
    })?;
    if carry_out(&typed.place, &prepared, "Take this back?")? {
        eprintln!("kilter: taken back");
    }
    Ok(Status::Holds)
}
