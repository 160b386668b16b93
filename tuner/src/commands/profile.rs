//! `kilter profile`: runs a program with the tracer, and prints which MPI calls it made.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use kilter_model::layout::Layout;
use kilter_profiling::profile::Profile;
use kilter_profiling::saved::Predicted;
use kilter_profiling::{counters, gather, html, listing, mix, places, saved, store, summary, text};
use kilter_protocol::calls::{DIRECTORY_VARIABLE, MEMORY_VARIABLE};
use kilter_protocol::sampling;
use kilter_report::compare::operand::Operand;
use kilter_report::layouts::Index;

use super::traced::{self, Programs};
use super::{Status, print};
use crate::cli::{self, Format, ProfileCompare, ProfileFormat, ProfileRun, ProfileShow, Stored};

pub(super) fn run(typed: cli::Profile) -> anyhow::Result<Status> {
    match typed.stored {
        Some(Stored::Show(typed)) => show(&typed),
        Some(Stored::Compare(typed)) => compare(&typed),
        None => record(&typed.run),
    }
}

fn show(typed: &ProfileShow) -> anyhow::Result<Status> {
    let profile = store::read(&typed.file)?;
    if let Some(file) = &typed.html {
        let page = html::render(&summary::of(&profile))?;
        std::fs::write(file, page).with_context(|| format!("--html: `{}` cannot be written", file.display()))?;
        return Ok(Status::Holds);
    }
    let Some(file) = &typed.mix else {
        print(&rendered(&profile, typed.format)?)?;
        return Ok(Status::Holds);
    };
    let mix = mix::text(&profile).with_context(|| {
        format!(
            "`{}` has no call that guidelines speak of, so that there is nothing to tune for",
            typed.file.display()
        )
    })?;
    std::fs::write(file, mix).with_context(|| format!("--mix: `{}` cannot be written", file.display()))?;
    Ok(Status::Holds)
}

fn compare(typed: &ProfileCompare) -> anyhow::Result<Status> {
    let mut predicted = Vec::new();
    for path in &typed.report {
        predicted.extend(predictions(path)?);
    }
    let saved = saved::of(&store::read(&typed.before)?, &store::read(&typed.after)?, &predicted);
    print(&match typed.format {
        Format::Text => saved::text(&saved),
        Format::Json => kilter_render::json::text(&saved)?,
    })?;
    Ok(Status::Holds)
}

/// Predictions of the reports of a tuning: those of a directory, of each layout if there are several; or one report.
fn predictions(path: &Path) -> anyhow::Result<Vec<Predicted>> {
    let index = path.join(Index::FILE);
    if index.is_file() {
        let text = std::fs::read_to_string(&index).with_context(|| format!("--report: `{}`", index.display()))?;
        let layouts = Index::layouts_in(&text).with_context(|| format!("--report: `{}`", index.display()))?;
        return layouts
            .iter()
            .map(|layout| prediction(&path.join(layout.to_string()), Some(*layout)))
            .collect();
    }
    Ok(vec![prediction(path, None)?])
}

fn prediction(path: &Path, layout: Option<Layout>) -> anyhow::Result<Predicted> {
    let file = if path.is_dir() {
        path.join("report.json")
    } else {
        path.to_owned()
    };
    let report = Operand::load(&file, 0, false).context("--report")?.report;
    ensure!(
        report.command == "tune" && !report.savings.is_empty(),
        "--report: `{}` predicts nothing: it was not made by `kilter tune` with --profile or --mix, or nothing was measured with what is deployed",
        file.display()
    );
    Ok(Predicted {
        ranks: report.ranks,
        nodes: layout.map(|layout| layout.nodes),
        savings: report.savings,
    })
}

fn rendered(profile: &Profile, format: ProfileFormat) -> anyhow::Result<String> {
    Ok(match format {
        ProfileFormat::Text => text::text(&summary::of(profile)),
        ProfileFormat::Json => kilter_render::json::text(&summary::of(profile))?,
        ProfileFormat::Listing => listing::text(profile),
        ProfileFormat::Counters => counters::text(profile),
    })
}

/// The interval of samples: as it is given, else none where a colon divides the command into several programs.
fn interval(given: Option<u32>, command: &[String]) -> u32 {
    let usual = if traced::is_of_several_programs(command) {
        0
    } else {
        sampling::INTERVAL
    };
    given.unwrap_or(usual)
}

fn record(typed: &ProfileRun) -> anyhow::Result<Status> {
    ensure!(
        !typed.out.exists(),
        "--out: `{}` is there already; remove it, or give another name",
        typed.out.display()
    );
    let programs = Programs::find(&typed.traced)?;
    let scratch = Scratch::new(typed)?;
    let variables = [
        (
            DIRECTORY_VARIABLE.to_owned(),
            traced::text(&scratch.directory, "--scratch")?,
        ),
        (MEMORY_VARIABLE.to_owned(), typed.memory.to_string()),
        (
            sampling::VARIABLE.to_owned(),
            interval(typed.sample, &typed.traced.command).to_string(),
        ),
    ];
    let status = traced::run(&programs, &typed.traced.command, &variables)?;
    let gathered = gather::gather(&scratch.directory);
    let mut profile = match gathered {
        Ok(profile) => profile,
        Err(error) if status != 0 => {
            return Err(anyhow::Error::new(error).context(format!("the command ended with status {status}")));
        }
        Err(error) => return Err(error.into()),
    };
    profile.command = traced::line(&typed.traced.command);
    profile.status = status;
    places::resolve(&mut profile.sites);
    store::write(&profile, &typed.out)?;
    scratch.remove();
    print(&rendered(&profile, typed.format)?)?;
    eprintln!("kilter: the profile is in `{}`", typed.out.display());
    Ok(Status::Command(u8::try_from(status).unwrap_or(u8::MAX)))
}

/// The directory into which the ranks write. It stays if something fails after ranks have written.
struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    fn new(typed: &ProfileRun) -> anyhow::Result<Scratch> {
        let directory = typed.scratch.clone().unwrap_or_else(|| {
            let mut name = typed.out.clone().into_os_string();
            name.push(".ranks");
            name.into()
        });
        let directory = std::path::absolute(&directory)
            .with_context(|| format!("--scratch: `{}` is no path", directory.display()))?;
        std::fs::create_dir(&directory).with_context(|| {
            format!(
                "--scratch: `{}` cannot be made; it must not be there (counts that an earlier run left may be removed), and the directory \
                 above it must",
                directory.display()
            )
        })?;
        Ok(Scratch { directory })
    }

    fn remove(self) {
        let remove = |path: &Path| std::fs::remove_dir_all(path);
        if let Err(error) = remove(&self.directory) {
            eprintln!(
                "kilter: warning: `{}` cannot be removed: {error}",
                self.directory.display()
            );
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Fails where a rank has left its counts, which are kept.
        let _ = std::fs::remove_dir(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_several_programs_is_not_sampled_unless_it_is_asked_for() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let one = words("mpirun -n 2 ./a");
        let several = words("mpirun -n 2 ./a : -n 2 ./b");
        assert_eq!((interval(None, &one), interval(Some(3), &one)), (sampling::INTERVAL, 3));
        assert_eq!((interval(None, &several), interval(Some(3), &several)), (0, 3));
    }
}
