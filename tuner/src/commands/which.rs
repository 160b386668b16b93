//! `kilter which`: which algorithm ran, how that is known, and what decided it.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use kilter_algorithms::Collective;
use kilter_model::options::Options;
use kilter_profiling::{gather, mix};
use kilter_protocol::calls::DIRECTORY_VARIABLE;
use kilter_protocol::sampling;
use kilter_search::context::Context;
use kilter_which::answer::{Answer, Called};
use kilter_which::{Cell, json, text};

use super::traced::{self, Programs};
use super::{Status, measuring, print};
use crate::cli;
use crate::options::{self, WhichOptions};
use crate::which::{self, Asked};

/// Most calls that one job is asked for, so that the budget is looked at now and then.
const TOGETHER: usize = 8;

pub(super) fn run(typed: cli::Which) -> anyhow::Result<Status> {
    let options = options::which(typed)?;
    if options.command.is_empty() {
        let mut answer = Answer::default();
        let status = answered(&options.common, &options.asked, &mut answer)?;
        return conclude(&options.common, &answer, status);
    }
    of_program(&options)
}

/// Counts the calls of a program, and answers for them, the ones with most seconds first.
fn of_program(options: &WhichOptions) -> anyhow::Result<Status> {
    let common = &options.common;
    let mut answer = Answer {
        program: Some(traced::line(&options.command)),
        ..Answer::default()
    };
    let calls = counted(options)?;
    ensure!(
        !calls.is_empty(),
        "the program makes no collective call on more than one rank that `kilter which` answers for"
    );
    let begun = std::time::Instant::now();
    let mut by_ranks: BTreeMap<usize, Vec<Asked>> = BTreeMap::new();
    for (ranks, asked) in calls {
        by_ranks.entry(ranks).or_default().push(asked);
    }
    let mut sizes: Vec<(usize, Vec<Asked>)> = by_ranks.into_iter().collect();
    let dearest = |asked: &[Asked]| {
        asked
            .iter()
            .filter_map(|one| one.called)
            .map(|called| called.seconds)
            .sum::<f64>()
    };
    sizes.sort_by(|(_, a), (_, b)| dearest(b).total_cmp(&dearest(a)));
    let mut status = Status::Holds;
    for (ranks, asked) in &sizes {
        let left = common.budget_seconds - begun.elapsed().as_secs_f64();
        if left <= 0.0 {
            answer.unanswered += asked.len();
            continue;
        }
        let own = Options {
            ranks: *ranks,
            budget_seconds: left,
            layout: common.layout.filter(|_| *ranks == common.ranks),
            ..common.clone()
        };
        status = answered(&own, asked, &mut answer)?;
        if !matches!(status, Status::Holds) {
            break;
        }
    }
    let seconds = |cell: &Cell| cell.called.map_or(0.0, |called| called.seconds);
    answer.cells.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    conclude(common, &answer, status)
}

/// The collective calls of the program, by ranks of their communicators.
fn counted(options: &WhichOptions) -> anyhow::Result<Vec<(usize, Asked)>> {
    let common = &options.common;
    let programs = Programs::find(&cli::Traced {
        mpirun: Some(common.mpirun.clone()),
        libexec: common.libexec.clone(),
        command: options.command.clone(),
    })?;
    let directory = common.out.join("which.ranks");
    std::fs::create_dir_all(&common.out).with_context(|| format!("`{}` cannot be made", common.out.display()))?;
    // Counts of an earlier run that was cut off.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).with_context(|| format!("`{}` cannot be made", directory.display()))?;
    let variables = [
        (DIRECTORY_VARIABLE.to_owned(), traced::text(&directory, "--out")?),
        (sampling::VARIABLE.to_owned(), "0".to_owned()),
    ];
    let status = traced::run(&programs, &options.command, &variables)?;
    let profile = gather::gather(&directory).with_context(|| format!("the command ended with status {status}"))?;
    // One directory of counts may be left, which the next run removes.
    let _ = std::fs::remove_dir_all(&directory);
    let mut calls = Vec::new();
    for entry in mix::entries(&profile) {
        let (Ok(collective), Some(ranks)) = (entry.calls.function.parse::<Collective>(), entry.calls.ranks) else {
            continue;
        };
        if options.ranks_are_given && ranks != common.ranks {
            continue;
        }
        let asked = Asked {
            collective,
            bytes: entry.calls.bytes.1,
            called: Some(Called {
                calls: entry.calls.count,
                seconds: entry.seconds,
            }),
        };
        calls.push((ranks, asked));
    }
    calls.sort_by(|(_, a), (_, b)| {
        let seconds = |one: &Asked| one.called.map_or(0.0, |called| called.seconds);
        seconds(b).total_cmp(&seconds(a))
    });
    Ok(calls)
}

/// Adds what is found out of calls on one number of ranks.
fn answered(options: &Options, asked: &[Asked], answer: &mut Answer) -> anyhow::Result<Status> {
    let work = |context: &Context<'_>| {
        let mut cells = Vec::new();
        for some in asked.chunks(TOGETHER) {
            if !cells.is_empty() && context.jobs.budget.exhausted() {
                break;
            }
            cells.extend(which::cells(context, some)?);
        }
        Ok(cells)
    };
    measuring::with_context(options, measuring::UNTIMED, &[], work, |context, cells| {
        context.jobs.run.finish()?;
        answer.library = format!("{} {}", context.site.library.name, context.site.version);
        answer.unanswered += asked.len() - cells.len();
        answer.cells.extend(cells);
        answer.warnings.extend(context.progress.warnings());
        Ok(Status::Holds)
    })
}

/// Prints the answer.
fn conclude(options: &Options, answer: &Answer, status: Status) -> anyhow::Result<Status> {
    if !matches!(status, Status::Holds) {
        return Ok(status);
    }
    print(&if options.json {
        json::render(answer)?
    } else {
        text::render(answer)
    })?;
    Ok(match answer.cells.iter().all(|cell| cell.algorithms.is_empty()) {
        true => Status::Unfit,
        false if answer.cells.iter().any(|cell| !cell.not_followed.is_empty()) => Status::Violations,
        false => Status::Holds,
    })
}
