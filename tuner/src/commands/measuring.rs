//! Steps of every measuring command around its own work: find the library, open the store, run, write the reports.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use kilter_bench::launch::{self, JobFailure};
use kilter_bench::store::{Run, Store, TakenOver};
use kilter_model::config::guideline;
use kilter_model::config::mix::{Mix, NEGLIGIBLE};
use kilter_model::options::Options;
use kilter_model::plan::Plan;
use kilter_model::report::Report;
use kilter_protocol::plan::Synchronisation;
use kilter_report::{csv, html, json, junit, markdown, terminal};
use kilter_search::context::{Context, Jobs, Measured};
use kilter_search::plugins;

use super::{Status, dry_run, guard, hearing, print, resume_key};
use crate::doctor;
use crate::launcher::{self, InUse};
use crate::reporting;

/// Name of the command that makes jobs and times nothing.
pub(super) const UNTIMED: &str = "which";

/// Runs `work` and writes its report on the guidelines. `further` are the command's own options that change its
/// measurements: an interrupted run is resumed only by a command with the same ones.
pub(super) fn with_report(
    options: &Options,
    command: &str,
    further: &[String],
    work: impl FnOnce(&Context<'_>) -> anyhow::Result<Report>,
) -> anyhow::Result<Status> {
    if options.dry_run {
        let found = find(options)?;
        let plan = Plan::within(&found.guidelines, &options.scope(), options.place());
        print(&dry_run::text(options, command, &plan))?;
        return Ok(Status::Holds);
    }
    let work = |context: &Context<'_>| {
        ensure_work(&context.plan)?;
        work(context)
    };
    with_context(options, command, further, work, |context, report| {
        write(options, &report)?;
        context.jobs.run.record_report(&report)?;
        context.jobs.run.finish()?;
        print(&if options.json {
            json::to_string(&report)?
        } else {
            terminal::with_tables(&report, false)
        })?;
        Ok(Status::of(&report))
    })
}

/// Refuses a run with nothing to verify.
pub(super) fn ensure_work(plan: &Plan) -> anyhow::Result<()> {
    anyhow::ensure!(
        !plan.subjects().is_empty(),
        "no guideline is left to verify: --guidelines, --functions and --mix exclude each other; see `kilter list guidelines`"
    );
    Ok(())
}

/// Writes the reports on the guidelines.
pub(super) fn write(options: &Options, report: &Report) -> anyhow::Result<()> {
    reporting::write(options, "report.json", &json::to_string(report)?)?;
    reporting::write(options, "report.html", &html::render_in(report, &options.out)?)?;
    reporting::write(options, "report.csv", &csv::to_string(report))?;
    if report.command == "tune" {
        reporting::write(options, "not-deployed.csv", &csv::not_deployed(report))?;
    }
    reporting::write(options, "report.md", &markdown::to_string(report))?;
    reporting::write(options, "report.xml", &junit::to_string(report))
}

/// Runs `work` with a library, a store and a run, and then `present` on its result.
pub(super) fn with_context<R>(
    options: &Options,
    command: &str,
    further: &[String],
    work: impl FnOnce(&Context<'_>) -> anyhow::Result<R>,
    present: impl FnOnce(&Context<'_>, R) -> anyhow::Result<Status>,
) -> anyhow::Result<Status> {
    prepare_process()?;
    let found = find(options)?;
    let store = open_store(options)?;
    let context = begin(options, found, &store, command, further)?;
    let result = match work(&context) {
        Ok(result) => result,
        Err(error) => return failed(&context.jobs, error),
    };
    context.jobs.heed_jobs();
    context.progress.finish();
    present(&context, result)
}

/// Opens the database, and says where it is unless it lies beside the reports.
pub(super) fn open_store(options: &Options) -> anyhow::Result<Store> {
    let store = Store::open(&options.db)?;
    let is_beside = options.db.parent().is_some_and(|own| options.out.starts_with(own));
    if !is_beside && !options.quiet {
        eprintln!("kilter: samples are kept in `{}`", options.db.display());
    }
    Ok(store)
}

/// Prepares the whole process, once, before it launches anything.
pub(super) fn prepare_process() -> anyhow::Result<()> {
    launch::process::become_subreaper()?;
    launch::interrupt::install()?;
    Ok(())
}

/// Subject of a run, determined before the store is opened.
pub(super) struct Found {
    in_use: InUse,
    guidelines: Vec<guideline::Guideline>,
}

impl Found {
    /// The guidelines that the options select.
    pub(super) fn guidelines(&self) -> &[guideline::Guideline] {
        &self.guidelines
    }
}

/// Makes the output directory, and finds the library, its programs and the guidelines.
pub(super) fn find(options: &Options) -> anyhow::Result<Found> {
    // A bad output directory must fail before anything is measured.
    std::fs::create_dir_all(&options.out).with_context(|| format!("`{}` cannot be made", options.out.display()))?;
    let in_use = launcher::find(options)?;
    let mut guidelines = guideline::load_embedded()?;
    for file in &options.guideline_files {
        guidelines.push(guideline::load_file(file)?);
    }
    let guidelines = guideline::select(&guidelines, &options.guidelines)?;
    Ok(Found { in_use, guidelines })
}

/// Begins a run, or resumes an interrupted one.
pub(super) fn begin<'a>(
    options: &'a Options,
    found: Found,
    store: &'a Store,
    command: &str,
    further: &[String],
) -> anyhow::Result<Context<'a>> {
    let Found { in_use, guidelines } = found;
    let plan = Plan::within(&guidelines, &options.scope(), options.place());
    let plugins = plugins::load(&options.plugins, &in_use.programs, &in_use.library)?;
    // A plugin that was built anew is another candidate.
    let of_plugins = plugins
        .iter()
        .map(|plugin| format!("{} {}", plugin.file.display(), plugin.digest));
    let further: Vec<String> = further.iter().cloned().chain(of_plugins).collect();
    let fingerprint = resume_key::of(options, command, &further, &in_use.line, &guidelines);
    let seed = options.seed.unwrap_or_else(fresh_seed);
    let command_line = command_line();
    let run = if options.fresh {
        store.begin_anew(&fingerprint, seed, &command_line, &in_use.line, options.ranks)?
    } else {
        store.begin_or_resume(&fingerprint, seed, &command_line, &in_use.line, options.ranks)?
    };
    let template = launcher::template(options, &in_use.library)?;
    let mut context = Context::new(
        options,
        (in_use.library.clone(), in_use.version.clone()),
        (store, run, command_line),
        plan,
        (template, in_use.programs.clone()),
    );
    context = context.with_earlier_failures()?;
    context.plugins = plugins;
    if let Some(remark) = &in_use.remark {
        if remark.contradicts {
            context.progress.warn(&remark.text);
        } else {
            context.progress.note(&remark.text);
        }
    }
    // The calls that are watched every night, or asked after, are no plan of guidelines.
    let follows_plan = command != guard::COMMAND && command != UNTIMED;
    // The plan of a whole machine was shown as a whole.
    if follows_plan && !options.goes_on && !context.plan.subjects().is_empty() {
        context
            .progress
            .note(&dry_run::estimate(options, command, &context.plan));
    }
    say_what_is_measured(&context);
    if let Some(broken) = context.site.library.broken(&context.site.set_by_site()) {
        context.progress.warn(&broken.to_string());
    }
    if command == "tune" {
        hearing::hear(&context);
    }
    // Load that spoils times spoils no answer of `which`.
    if command != UNTIMED {
        for warning in doctor::quick(options, &in_use) {
            context.progress.warn(&warning.text);
        }
    }
    if context.jobs.run.resumed {
        // The last job's report may hold lines that nobody has read; they come first.
        launch::recover(&context.jobs.run)?;
        let taken = context.jobs.run.take_over(context.jobs.most_other_cores())?;
        context.progress.note(&taken_over(&taken, &context.jobs.run));
    }
    if let Some(mix) = options.mix.as_ref().filter(|_| follows_plan) {
        for text in mix_notes(mix, options, &context.plan) {
            context.progress.warn(&text);
        }
    }
    if options.sync == Synchronisation::Barrier {
        context.progress.warn(
            "`--sync barrier` reports times of small operations that are too short; use `--sync round-time` unless it fails here",
        );
    }
    Ok(context)
}

/// Says in which state the library is measured, and warns where the site or the user has decided otherwise.
fn say_what_is_measured(context: &Context<'_>) {
    let Some(measuring) = &context.site.library.measuring else {
        return;
    };
    let Measured { environment, otherwise } = context.site.measured();
    let settings = |all: &BTreeMap<String, String>, wanted: &dyn Fn(&str) -> bool| {
        let set = all.iter().filter(|(name, _)| wanted(name));
        let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
        set.join(" ")
    };
    let is_theirs = |name: &str| otherwise.iter().any(|other| other == name);
    let because = &measuring.because;
    let own = settings(&environment, &|name| !is_theirs(name));
    if !own.is_empty() {
        context.progress.note(&format!("measured under `{own}`: {because}"));
    }
    if !otherwise.is_empty() {
        context.progress.warn(&format!(
            "measured under `{}`, as the site or the environment has it, and not under `{}`: {because}; leave it unset unless jobs are to run so",
            settings(&environment, &is_theirs),
            settings(&measuring.environment, &is_theirs),
        ));
    }
}

/// A resumed run's stock, in words: what it takes over and measures again.
fn taken_over(taken: &TakenOver, run: &Run) -> String {
    let again = match taken.again {
        0 => String::new(),
        again => format!(
            "; {again} blocks are measured again, since other programs took up to {:.1} processors meanwhile",
            taken.other_cores
        ),
    };
    format!(
        "resuming the run of {}: {} blocks of {} launches ({:.0} s) are taken over and cost nothing{again}; --fresh begins anew",
        reporting::date(run.started_unix_seconds),
        taken.blocks,
        taken.launches,
        taken.seconds
    )
}

/// Ends a command whose work failed: as interrupted, or with the error.
pub(super) fn failed(jobs: &Jobs<'_>, error: anyhow::Error) -> anyhow::Result<Status> {
    jobs.progress.finish();
    forget_failure(&jobs.run, &error)?;
    if let Some(signal) = launch::interrupt::received(launch::interrupt::flag()) {
        eprintln!("kilter: interrupted; what was measured is stored, and the same command resumes");
        return Ok(Status::Interrupted(launch::interrupt::exit_status(signal)));
    }
    Err(error)
}

/// Same as [`failed`] for several runs that worked together.
pub(super) fn failed_together(contexts: &[&Context<'_>], error: anyhow::Error) -> anyhow::Result<Status> {
    for context in contexts {
        context.progress.finish();
        forget_failure(&context.jobs.run, &error)?;
    }
    match contexts.last() {
        Some(context) => failed(&context.jobs, error),
        None => Err(error),
    }
}

/// Forgets a failure that ends the command, because the machine may have been repaired before the next one.
fn forget_failure(run: &Run, error: &anyhow::Error) -> anyhow::Result<()> {
    if let Some(failure) = JobFailure::behind(error) {
        run.forget_failures(&failure.place().key)?;
    }
    Ok(())
}

/// Notes on the parts of a call mix about which this run says nothing.
fn mix_notes(mix: &Mix, options: &Options, plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    let nodes = options.layout.map(|layout| layout.nodes);
    let others: Vec<String> = mix
        .communicator_sizes()
        .into_iter()
        .filter(|size| *size != options.ranks)
        .map(|size| size.to_string())
        .collect();
    // With several layouts, the others are about these.
    if !others.is_empty() && options.layout.is_none() {
        notes.push(format!(
            "this run ignores the calls of {} on communicators of {} ranks; run again with --ranks for each",
            mix.file,
            others.join(", ")
        ));
    }
    let (worth, negligible) = mix.by_weight(options.ranks, nodes);
    if let Some(most) = negligible.last() {
        notes.push(format!(
            "{} of {}, of {} at most, hold {:.0} % of the application's time in such calls together or less, and are left as they are",
            match negligible.len() {
                1 => "One function at one size".to_owned(),
                several => format!("{several} functions and sizes"),
            },
            mix.file,
            kilter_render::format::seconds(most.seconds.unwrap_or(0.0)),
            100.0 * NEGLIGIBLE
        ));
    }
    let is_planned = |function: &str| plan.calls.values().any(|called| called.function == function);
    let silent: BTreeSet<&str> = worth
        .iter()
        .map(|calls| calls.function.as_str())
        .filter(|function| !is_planned(function))
        .collect();
    if !silent.is_empty() {
        let names: Vec<&str> = silent.into_iter().collect();
        let names = names.join(", ");
        let is_all = options.guidelines.is_empty() && options.functions.is_empty();
        notes.push(if is_all {
            format!("no guideline has {names} on its left side, so that these calls are not looked at; --guideline-file adds guidelines")
        } else {
            format!("no selected guideline has {names} on its left side; leave out --guidelines and --functions to verify all guidelines")
        });
    }
    notes
}

fn command_line() -> String {
    std::env::args()
        .map(|word| kilter_bench::launch::command::quote(&word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A seed from the clock. Any seed will do, since it is reported and can be given again.
fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    kilter_model::plan::derived_seed(now.as_nanos() as u64, "run") >> 11
}
