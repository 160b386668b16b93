//! Calls of an application: a call mix, or the profile of a run.

use kilter_model::config::mix::Mix;
use kilter_model::layout::Layout;
use kilter_model::options::{OptionError, wrong};
use kilter_profiling::layouts::{self, Share};
use kilter_profiling::{mix, store};
use kilter_render::format::percent;

use crate::cli;

/// An application, read once for all layouts.
#[derive(Debug)]
pub(super) struct Application {
    /// The option that names it.
    option: &'static str,
    mix: Mix,
    /// Its communicators, the dearest first; empty for a call mix.
    shares: Vec<Share>,
}

/// Layouts that are tuned for a profile.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Several layouts to tune in one go; empty for one, whose ranks [`ranks`] gives.
    pub(super) layouts: Vec<Layout>,
    /// The reasons, for the user: a line for each kind of communicators.
    pub(super) said: Vec<String>,
}

/// The application that `--mix` or `--profile` names; `None` for all functions and sizes.
pub(super) fn read<F: cli::Output>(typed: &cli::Measure<F>) -> Result<Option<Application>, OptionError> {
    if let Some(file) = &typed.mix {
        return Ok(Some(Application {
            option: "--mix",
            mix: Mix::load(file).map_err(|error| wrong("--mix", error.to_string()))?,
            shares: Vec::new(),
        }));
    }
    let Some(file) = &typed.profile else { return Ok(None) };
    let profile = store::read(file).map_err(|error| wrong("--profile", error.to_string()))?;
    let name = file.display().to_string();
    let entries = mix::entries(&profile);
    let without_calls = format!(
        "`{name}` has no call that guidelines speak of on more than one rank, so that there is nothing to tune for"
    );
    Ok(Some(Application {
        option: "--profile",
        mix: mix::of(&profile, &entries, &name).ok_or_else(|| wrong("--profile", without_calls))?,
        shares: layouts::shares(&entries),
    }))
}

/// Ranks of the job: as typed, or of the communicators in which the profiled program spends most time; `None` if nobody says.
pub(super) fn ranks<F: cli::Output>(typed: &cli::Measure<F>, application: Option<&Application>) -> Option<usize> {
    let dearest = application.and_then(|one| one.shares.first()).map(|share| share.ranks);
    typed.ranks.or(dearest)
}

impl Application {
    /// Its calls, if any of them is on communicators of so many ranks.
    pub(super) fn calls(&self, ranks: usize) -> Result<Mix, OptionError> {
        if self.mix.on(ranks, None).next().is_none() {
            let sizes: Vec<String> = self.mix.communicator_sizes().iter().map(ToString::to_string).collect();
            let message = format!(
                "{}: no call is on a communicator of {ranks} ranks, only of {}; give one of these to --ranks",
                self.mix.file,
                sizes.join(", ")
            );
            return Err(wrong(self.option, message));
        }
        Ok(self.mix.clone())
    }

    /// The layouts that are worth tuning.
    pub(super) fn choice(&self) -> Choice {
        let tuned = self.shares.iter().filter(|share| share.is_tuned);
        let tuned: Vec<Layout> = tuned.filter_map(|share| share.layout).collect();
        Choice {
            layouts: if tuned.len() > 1 { tuned } else { Vec::new() },
            said: self.shares.iter().map(said).collect(),
        }
    }
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
