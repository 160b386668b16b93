//! What an application calls: a call mix, or the profile of a run.

use std::path::Path;

use kilter_model::config::mix::Mix;
use kilter_model::layout::Layout;
use kilter_model::options::{OptionError, wrong};
use kilter_profiling::layouts::{self, Share};
use kilter_profiling::profile::Profile;
use kilter_profiling::{mix, store};
use kilter_render::format::percent;

use crate::cli;

/// Number of ranks where nobody says otherwise.
const RANKS: usize = 2;

/// Ranks of the job: as typed, or of the communicators in which the profiled program spends most time.
pub(super) fn ranks(typed: &cli::Measure) -> Result<usize, OptionError> {
    if let Some(ranks) = typed.ranks {
        return Ok(ranks);
    }
    let Some(file) = &typed.profile else { return Ok(RANKS) };
    Ok(shares(file)?.first().map_or(RANKS, |share| share.ranks))
}

/// The calls that count, on communicators of so many ranks; `None` for all functions and sizes.
pub(super) fn calls(typed: &cli::Measure, ranks: usize) -> Result<Option<Mix>, OptionError> {
    let (option, mix) = match (&typed.mix, &typed.profile) {
        (Some(file), _) => {
            let mix = Mix::load(file).map_err(|error| wrong("--mix", error.to_string()))?;
            ("--mix", mix)
        }
        (None, Some(file)) => {
            let mix = mix::of(&profile(file)?, &file.display().to_string());
            ("--profile", mix.ok_or_else(|| without_calls(file))?)
        }
        (None, None) => return Ok(None),
    };
    if mix.on(ranks, None).next().is_none() {
        let sizes: Vec<String> = mix.communicator_sizes().iter().map(ToString::to_string).collect();
        let message = format!(
            "{}: no call is on a communicator of {ranks} ranks, only of {}; give one of these to --ranks",
            mix.file,
            sizes.join(", ")
        );
        return Err(wrong(option, message));
    }
    Ok(Some(mix))
}

/// What is tuned for a profile.
#[derive(Debug, PartialEq)]
pub(super) struct Choice {
    /// Several layouts to tune in one go; empty for one, whose ranks [`ranks`] gives.
    pub(super) layouts: Vec<Layout>,
    /// What was chosen, for the user: a line for each kind of communicators.
    pub(super) said: Vec<String>,
}

/// The layouts of a profile that are worth tuning.
pub(super) fn choice(file: &Path) -> Result<Choice, OptionError> {
    let shares = shares(file)?;
    let tuned: Vec<Layout> = shares
        .iter()
        .filter(|share| share.is_tuned)
        .filter_map(|share| share.layout)
        .collect();
    Ok(Choice {
        layouts: if tuned.len() > 1 { tuned } else { Vec::new() },
        said: shares.iter().map(said).collect(),
    })
}

fn said(share: &Share) -> String {
    let on = match share.layout {
        Some(layout) => format!(" ({layout})"),
        None => " (places not known, or not alike on all nodes)".to_owned(),
    };
    format!(
        "communicators of {} ranks{on} take {} of the time in calls that guidelines speak of: {}",
        share.ranks,
        percent(share.share),
        if share.is_tuned { "tuned" } else { "left out" }
    )
}

fn shares(file: &Path) -> Result<Vec<Share>, OptionError> {
    let shares = layouts::shares(&mix::entries(&profile(file)?));
    if shares.is_empty() {
        return Err(without_calls(file));
    }
    Ok(shares)
}

fn without_calls(file: &Path) -> OptionError {
    wrong(
        "--profile",
        format!(
            "`{}` has no call that guidelines speak of on more than one rank, so that there is nothing to tune for",
            file.display()
        ),
    )
}

fn profile(file: &Path) -> Result<Profile, OptionError> {
    store::read(file).map_err(|error| wrong("--profile", error.to_string()))
}
