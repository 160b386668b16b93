//! `kilter tune --whole-machine` on a scripted library.

use std::cell::OnceCell;

use anyhow::Context as _;
use kilter_bench::budget::Budget;
use kilter_bench::launch::Clock;
use kilter_bench::store::Store;
use kilter_model::layout::Layout;
use kilter_model::options::TuneOptions;
use kilter_model::report::Report;
use kilter_predict::{Rules, predict};
use kilter_search::context::Context;
use kilter_tune::Tuned;
use kilter_tune::layouts::prove::prove;
use kilter_tune::layouts::turns::Turns;
use kilter_tune::machine::measure::{Steps, measure};
use kilter_tune::machine::state::State;

use super::site::{Site, tuned};
use crate::commands::whole_machine::{Planned, planned};
use crate::{cli, options, reporting};

/// Result of an allocation.
#[derive(Debug)]
pub struct Allocation {
    /// The plan.
    pub plan: String,
    /// The layouts that were tuned, each with its report.
    pub reports: Vec<(Layout, Report)>,
    /// True if no layout is left to further allocations.
    pub is_complete: bool,
    /// Jobs that were started.
    pub jobs: u64,
}

impl Site {
    /// The plan that `kilter tune --dry-run` shows with these arguments.
    pub fn plan_machine(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let Planned { schedule, state, .. } = self.planned(arguments)?;
        Ok(schedule.text(&state.sizes, &state.functions))
    }

    fn planned(&self, arguments: &[&str]) -> anyhow::Result<Planned> {
        let cli::Command::Tune(typed) = self.typed("tune", arguments)? else {
            anyhow::bail!("`tune` is not read as such");
        };
        let asked = options::whole_machine(&typed)?.context("no whole machine is asked for")?;
        planned(&typed, &asked, State::read(&typed.measure.job.out)?)
    }

    /// `kilter tune` with these arguments, `--whole-machine` or `--layouts=auto` among them, in an allocation of so many seconds.
    pub fn tune_machine(&self, arguments: &[&str]) -> anyhow::Result<Allocation> {
        let Planned {
            options,
            schedule,
            mut state,
        } = self.planned(arguments)?;
        let store = Store::open(&options.common.db)?;
        let contexts: Vec<OnceCell<Context<'_>>> = options.layouts.iter().map(|_| OnceCell::new()).collect();
        let clock = Clock::scripted();
        let steps = OnBench {
            site: self,
            options: &options,
            store: &store,
            contexts: &contexts,
            arguments,
            clock: clock.clone(),
        };
        let seconds = move || clock.elapsed().as_secs_f64();
        let turns = Turns::new(Budget::by_clock(options.common.budget_seconds, seconds));
        let mut measured = measure(&schedule, &mut state, &turns, &steps)?;
        if schedule.elsewhere.is_empty() {
            let map = predict(&measured.observations, &schedule.layouts(), &Rules::default())?;
            prove(&mut measured.members, &self.emitted(), &turns, Some(&map))?;
        }
        let mut jobs = 0;
        let mut reports = Vec::new();
        for member in &measured.members {
            let run = &member.context.jobs.run;
            jobs += run.launch_count()?;
            if measured.is_complete {
                run.finish()?;
            }
            let report = reporting::of_tune(
                &member.context.jobs,
                &member.context.plan,
                &member.context.quarantine,
                &member.tuned,
            );
            reports.push((member.layout, report));
        }
        Ok(Allocation {
            plan: schedule.text(&state.sizes, &state.functions),
            reports,
            is_complete: measured.is_complete,
            jobs,
        })
    }
}

/// Steps on the scripted bench, all layouts on one clock.
struct OnBench<'s, 'a, 'c> {
    site: &'s Site,
    options: &'c TuneOptions,
    store: &'c Store,
    contexts: &'a [OnceCell<Context<'c>>],
    arguments: &'s [&'s str],
    clock: Clock,
}

impl<'a, 'c> Steps<'a, 'c> for OnBench<'_, 'a, 'c> {
    fn begin(&self, layout: Layout) -> anyhow::Result<&'a Context<'c>> {
        let mut each = self.options.layouts.iter().zip(self.contexts);
        let (own, cell) = each
            .find(|(own, _)| own.layout == Some(layout))
            .with_context(|| format!("layout {layout} is none of the plan"))?;
        std::fs::create_dir_all(&own.out).with_context(|| format!("`{}` cannot be made", own.out.display()))?;
        let bench = self.site.bench().on_clock(self.clock.clone());
        // As the resume key, without what another allocation has otherwise.
        let kept: Vec<&str> = self
            .arguments
            .iter()
            .copied()
            .filter(|one| !one.starts_with("--budget") && !one.starts_with("--hostfile"))
            .collect();
        let context = self.site.context(Box::new(bench), own, self.store, &kept)?;
        Ok(cell.get_or_init(|| context))
    }

    fn tune(&self, _layout: Layout, context: &'a Context<'c>) -> anyhow::Result<Tuned> {
        tuned(context, self.options)
    }

    fn keep(&self, state: &State) -> anyhow::Result<()> {
        Ok(state.write(&self.options.common.out)?)
    }
}
