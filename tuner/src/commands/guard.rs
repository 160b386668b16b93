//! `kilter guard`: what changed since the accepted state.

use std::path::Path;

use anyhow::Context as _;
use kilter_guard::{Night, Standing, html, json, junit, text};
use kilter_model::options::Options;
use kilter_search::context::Context;

use super::{Status, measuring, print};
use crate::guard::hints::{self, Hints};
use crate::guard::{self, gathering};
use crate::options::Guarding;
use crate::{cli, options};

/// Its name in the database.
pub(super) const COMMAND: &str = "guard";

pub(super) fn run(typed: cli::Guard) -> anyhow::Result<Status> {
    let Guarding {
        common,
        asked,
        junit,
        html: page,
        hints,
    } = options::guarding(typed)?;
    if let Some(directory) = &hints {
        return write_hints(&common, directory);
    }
    let work = |context: &Context<'_>| {
        let (site, programs) = (&context.site, &context.jobs.programs);
        let warn = |text: &str| context.progress.warn(text);
        let facts = gathering::facts(&common, (&site.library, &site.version), programs, &warn)?;
        guard::night(context, facts, &asked)
    };
    let result = measuring::with_context(&common, COMMAND, &[], work, |context, night| {
        context.jobs.run.finish()?;
        if let Some(path) = &junit {
            write(path, &junit::render(&night))?;
        }
        if let Some(path) = &page {
            write(path, &html::render(&night)?)?;
        }
        print(&if common.json {
            json::render(&night)?
        } else {
            text::render(&night)
        })?;
        Ok(status(&night))
    });
    if let (Err(error), Some(path)) = (&result, &junit) {
        write(path, &junit::failed(&format!("{error:#}")))?;
    }
    result
}

/// The exit status.
fn status(night: &Night) -> Status {
    match night.standing() {
        Standing::Silent => Status::Holds,
        Standing::Differs => Status::Violations,
        Standing::Unchecked => Status::Unfit,
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("`{}` cannot be written", path.display()))
}

/// Options of the command line that the hints leave out, and give as absolute paths.
const REPLACED: [&str; 3] = ["--install-hints", "--out", "--db"];

/// Writes what calls this command, as it was typed.
fn write_hints(options: &Options, directory: &Path) -> anyhow::Result<Status> {
    let own = std::env::current_exe().map_or_else(|_| "kilter".to_owned(), |path| path.display().to_string());
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let mut command = vec![own];
    command.extend(kept(&typed, &REPLACED));
    command.extend(["--out".to_owned(), options.out.display().to_string()]);
    command.extend(["--db".to_owned(), options.db.display().to_string()]);
    let hints = Hints {
        command,
        budget_seconds: options.budget_seconds,
        nodes: options
            .layout
            .map_or_else(|| options.slots.len().max(1), |layout| layout.nodes),
    };
    let names = hints::write(&hints, directory)?;
    let lines = names.iter().map(|name| directory.join(name).display().to_string());
    print(&lines.collect::<Vec<_>>().join("\n"))?;
    Ok(Status::Holds)
}

/// The words without these options and their values.
fn kept(words: &[String], without: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if !without.contains(&name) {
            kept.push(word.clone());
        } else if name == word {
            words.next();
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_leave_out_what_they_say_themselves() {
        let words = [
            "guard",
            "-n",
            "2",
            "--out",
            "here",
            "--db=x.db",
            "--install-hints",
            "d",
            "--per-node",
        ];
        let words = words.map(str::to_owned);
        assert_eq!(kept(&words, &REPLACED), ["guard", "-n", "2", "--per-node"]);
    }
}
