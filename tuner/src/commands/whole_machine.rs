//! `kilter tune --whole-machine` and `--layouts auto`: layouts of the whole machine by a plan, over as many allocations as it takes.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use anyhow::Context as _;
use kilter_bench::budget::Budget;
use kilter_bench::store::Store;
use kilter_model::config::guideline;
use kilter_model::layout::Layout;
use kilter_model::options::{TuneOptions, absolute};
use kilter_model::plan::Plan;
use kilter_predict::{Rules, predict};
use kilter_search::context::Context;
use kilter_tune::Tuned;
use kilter_tune::layouts::turns::Turns;
use kilter_tune::machine::effort::{EFFORTS, Effort};
use kilter_tune::machine::measure::{Steps, measure};
use kilter_tune::machine::schedule::Schedule;
use kilter_tune::machine::state::State;
use kilter_tune::machine::{Machine, grid};

use super::tune_layouts::{self, Over};
use super::{Status, measuring, print, tune_loop};
use crate::options::{self, WholeMachine};
use crate::{cli, reporting};

pub(super) fn run(typed: cli::Tune, asked: &WholeMachine) -> anyhow::Result<Status> {
    let out = absolute("--out", &typed.measure.job.out)?;
    let is_fresh = typed.measure.fresh;
    let known = if is_fresh { None } else { State::read(&out)? };
    let Planned {
        options,
        schedule,
        mut state,
    } = planned(&typed, asked, known)?;
    let text = format!("{}: {}", asked.words, schedule.text(&state.sizes, &state.functions));
    if options.common.dry_run {
        let json = || serde_json::to_string_pretty(&schedule.to_json(&state.sizes, &state.functions));
        print(&if options.common.json { json()? } else { text })?;
        return Ok(Status::Holds);
    }
    if !options.common.quiet {
        eprintln!("kilter: {text}");
    }
    measuring::prepare_process()?;
    // Before anything is measured.
    std::fs::create_dir_all(&out).with_context(|| format!("`{}` cannot be made", out.display()))?;
    kilter_emit::staging::check(&out.join("emit"))?;
    let store = measuring::open_store(&options.common)?;
    let contexts: Vec<OnceCell<Context<'_>>> = options.layouts.iter().map(|_| OnceCell::new()).collect();
    let steps = OfCommand {
        options: &options,
        store: &store,
        contexts: &contexts,
        further: [tune_loop::key_of(&options), "whole machine".to_owned()],
    };
    let turns = Turns::new(Budget::new(options.common.budget_seconds));
    let measured = match measure(&schedule, &mut state, &turns, &steps) {
        Ok(measured) => measured,
        Err(error) => {
            let begun: Vec<&Context<'_>> = contexts.iter().filter_map(OnceCell::get).collect();
            return measuring::failed_together(&begun, error);
        }
    };
    let rules = Rules {
        floor: options.common.effect_floor,
        ..Rules::default()
    };
    let map = predict(&measured.observations, &schedule.layouts(), &rules)?;
    let over = Over {
        map: Some(&map),
        is_complete: measured.is_complete,
    };
    let mut members = measured.members;
    let status = if schedule.elsewhere.is_empty() {
        tune_layouts::proven(&options, &mut members, &turns, &over)?
    } else {
        let names: Vec<String> = schedule.elsewhere.iter().map(Layout::to_string).collect();
        eprintln!(
            "kilter: `emit` stays as it is: the files of all layouts are proven in an allocation that has room for {} as well",
            names.join(", ")
        );
        tune_layouts::reported(&options, &members, (None, Vec::new()), &over, &BTreeMap::new())?
    };
    if measured.is_complete {
        State::remove(&out)?;
    } else {
        eprintln!(
            "kilter: the machine is not done; the same command goes on in a further allocation, with what it has time for"
        );
    }
    Ok(status)
}

/// A plan, with the options of all layouts in it.
pub(crate) struct Planned {
    pub(crate) options: TuneOptions,
    pub(crate) schedule: Schedule,
    pub(crate) state: State,
}

/// The plan with the most sizes and functions for which the ends of the machine have room; with those of the allocation before, if there was one.
pub(crate) fn planned(typed: &cli::Tune, asked: &WholeMachine, known: Option<State>) -> anyhow::Result<Planned> {
    if let Some(state) = known {
        return planned_with(typed, asked.machine, state);
    }
    if !asked.chooses_effort {
        let state = State::new(typed.measure.sizes.clone(), typed.measure.functions.clone());
        return planned_with(typed, asked.machine, state);
    }
    let mut last = None;
    for Effort { sizes, functions } in EFFORTS {
        let functions = functions.iter().map(|&name| name.to_owned()).collect();
        let planned = planned_with(typed, asked.machine, State::new(sizes.to_owned(), functions))?;
        let has_room = planned.schedule.has_its_ends();
        last = Some(planned);
        if has_room {
            break;
        }
    }
    last.context("there is no effort to choose among")
}

fn planned_with(typed: &cli::Tune, machine: Machine, state: State) -> anyhow::Result<Planned> {
    let all = grid::layouts(machine).into_iter().map(|(layout, _)| layout.to_string());
    let typed = cli::Tune {
        layouts: Some(all.collect::<Vec<_>>().join(",")),
        whole_machine: false,
        measure: cli::Measure {
            sizes: state.sizes.clone(),
            functions: state.functions.clone(),
            ..typed.measure.clone()
        },
        ..typed.clone()
    };
    let mut options = options::tuning(typed)?;
    for own in options.layouts.iter_mut().chain([&mut options.common]) {
        own.goes_on = true;
    }
    let mut guidelines = guideline::load_embedded()?;
    for file in &options.common.guideline_files {
        guidelines.push(guideline::load_file(file)?);
    }
    let guidelines = guideline::select(&guidelines, &options.common.guidelines)?;
    let sides = |layout: Layout| {
        let own = options.layouts.iter().find(|own| own.layout == Some(layout));
        own.map_or(0, |own| {
            Plan::within(&guidelines, &own.scope(), own.place()).subjects().len()
        })
    };
    let schedule = Schedule::new(machine, &state, options.common.budget_seconds, sides);
    Ok(Planned {
        options,
        schedule,
        state,
    })
}

/// Steps of the command.
struct OfCommand<'a, 'c> {
    options: &'c TuneOptions,
    store: &'c Store,
    contexts: &'a [OnceCell<Context<'c>>],
    further: [String; 2],
}

impl<'a, 'c> Steps<'a, 'c> for OfCommand<'a, 'c> {
    fn begin(&self, layout: Layout) -> anyhow::Result<&'a Context<'c>> {
        let mut each = self.options.layouts.iter().zip(self.contexts);
        let (own, cell) = each
            .find(|(own, _)| own.layout == Some(layout))
            .with_context(|| format!("layout {layout} is none of the plan"))?;
        let found = measuring::find(own)?;
        let context = measuring::begin(own, found, self.store, "tune", &self.further)?;
        measuring::ensure_work(&context.plan)?;
        Ok(cell.get_or_init(|| context))
    }

    fn tune(&self, layout: Layout, context: &'a Context<'c>) -> anyhow::Result<Tuned> {
        let tuned = tune_loop::tuned(context, self.options).with_context(|| format!("layout {layout}"))?;
        context.progress.finish();
        // Until all layouts are verified together: what its own files bring about.
        let report = reporting::of_tune(&context.jobs, &context.plan, &context.quarantine, &tuned);
        measuring::write(context.site.options, &report)?;
        Ok(tuned)
    }

    fn keep(&self, state: &State) -> anyhow::Result<()> {
        Ok(state.write(&self.options.common.out)?)
    }
}
