//! Launch of the targets' points.

use std::collections::BTreeMap;

use kilter_bench::launch::session::SessionError;
use kilter_model::change::id;
use kilter_model::deployment::Assignment;
use kilter_model::setup::Setup;
use kilter_model::survey::{Cell, Map, Survey};
use kilter_protocol::fault::FaultKind;
use kilter_protocol::overlap::Benchmark;
use kilter_search::context::Jobs;
use kilter_search::quarantine::Quarantine;

use super::Goals;
use crate::grid::Point;
use crate::measure::Surveyor;

impl Goals {
    /// Makes one launch of the targets' points under `setup`.
    pub(super) fn survey(&self, jobs: &Jobs<'_>, key: &str, setup: &Setup) -> anyhow::Result<Survey> {
        self.survey_at(jobs, &self.points, key, setup)
    }

    /// Makes one launch of these points under `setup`.
    pub(super) fn survey_at(
        &self,
        jobs: &Jobs<'_>,
        points: &BTreeMap<Benchmark, Vec<Point>>,
        key: &str,
        setup: &Setup,
    ) -> anyhow::Result<Survey> {
        let cells: usize = points.values().map(Vec::len).sum();
        jobs.progress.phase("measure overlap targets", cells as u64);
        let mut surveyor = Surveyor::new(jobs, &self.suite, setup, key)?.whatever_it_costs();
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
        jobs: &Jobs<'_>,
        quarantine: &Quarantine,
        key: &str,
        launch: &Setup,
        assignments: &[Assignment],
    ) -> anyhow::Result<Option<Survey>> {
        let id = id(assignments);
        if quarantine.contains(&id) {
            return Ok(None);
        }
        let setup = launch.clone().with(assignments);
        match self.survey(jobs, key, &setup) {
            Ok(survey) => Ok(Some(survey)),
            Err(error) if ends_the_run(&error) => Err(error),
            Err(error) if !assignments.is_empty() => {
                quarantine.add(&id, FaultKind::Refused, &format!("{error:#}"));
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
