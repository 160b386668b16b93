//! Launch of the targets' points.

use std::collections::BTreeMap;

use kilter_bench::launch::session::SessionError;
use kilter_model::change::id;
use kilter_model::deployment::Assignment;
use kilter_model::setup::Setup;
use kilter_model::survey::{Cell, Map, Survey};
use kilter_protocol::overlap::Benchmark;
use kilter_search::context::Context;

use super::Goals;
use crate::grid::Point;
use crate::measure::Surveyor;

impl Goals {
    /// Makes one launch of the targets' points under `setup`.
    pub(super) fn survey(&self, context: &Context<'_>, key: &str, setup: &Setup) -> anyhow::Result<Survey> {
        self.survey_at(context, &self.points, key, setup)
    }

    /// Makes one launch of these points under `setup`.
    pub(super) fn survey_at(
        &self,
        context: &Context<'_>,
        points: &BTreeMap<Benchmark, Vec<Point>>,
        key: &str,
        setup: &Setup,
    ) -> anyhow::Result<Survey> {
        let cells: usize = points.values().map(Vec::len).sum();
        context.progress.phase("measure overlap targets", cells as u64);
        let mut surveyor = Surveyor::new(context, &self.suite, setup, key)?.whatever_it_costs();
        let mut maps = Vec::new();
        for (benchmark, points) in points {
            let mut cells: Vec<Cell> = surveyor.points(*benchmark, points)?.into_iter().flatten().collect();
            cells.sort_by_key(|cell| (cell.bytes, cell.threads, cell.computation_ns));
            maps.push(Map {
                benchmark: *benchmark,
                cells,
                failed: surveyor.take_failed(),
            });
        }
        surveyor.finish(maps)
    }

    /// Same as [`Goals::survey`] under further settings; `None` if they do not take effect or the job fails, which puts
    /// them into quarantine.
    pub(super) fn candidate(
        &self,
        context: &Context<'_>,
        key: &str,
        launch: &Setup,
        assignments: &[Assignment],
    ) -> anyhow::Result<Option<Survey>> {
        let id = id(assignments);
        if context.quarantine.contains(&id) {
            return Ok(None);
        }
        let setup = launch.clone().with(assignments);
        match self.survey(context, key, &setup) {
            Ok(survey) => Ok(Some(survey)),
            Err(error) if ends_the_run(&error) => Err(error),
            Err(error) if !assignments.is_empty() => {
                context.quarantine.add(&id, "could not be run", &format!("{error:#}"));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// True if an error has nothing to do with the launched settings: an interruption by the user, or the database.
pub(super) fn ends_the_run(error: &anyhow::Error) -> bool {
    let ends = |cause: &SessionError| matches!(cause, SessionError::Interrupted { .. } | SessionError::Store(_));
    error.chain().any(|cause| cause.downcast_ref().is_some_and(ends))
}
