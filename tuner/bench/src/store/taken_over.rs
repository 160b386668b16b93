//! Decides which results a resumed run takes over, and which it measures again.

use rusqlite::params;

use super::cached::Cached as _;
use super::{LaunchRecord, Run, StoreError};

/// Stock of an interrupted run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TakenOver {
    /// Launches that measured blocks to their end.
    pub launches: usize,
    /// Blocks whose results the store has.
    pub blocks: usize,
    /// Wall seconds of these launches.
    pub seconds: f64,
    /// Blocks to be measured again, because their launches ran beside other programs.
    pub again: usize,
    /// Most processors that other programs took in one of those.
    pub other_cores: f64,
}

impl Run {
    /// Counts the stored results. Results of launches beside which other programs took more than `most_cores`
    /// processors in the mean are no longer answers; their samples stay in the database.
    pub fn take_over(&self, most_cores: f64) -> Result<TakenOver, StoreError> {
        let context = || self.store.context("take over what was measured");
        let connection = &self.store.connection;
        // Failures, too: a job that hung beside a compilation may not hang alone.
        let beside = "run = ?1 AND launch IN (SELECT id FROM launches WHERE run = ?1 AND other_cores > ?2)";
        let other_cores: Option<f64> = connection
            .row(
                "SELECT max(other_cores) FROM launches WHERE run = ?1 AND other_cores > ?2 AND id IN (SELECT launch FROM blocks WHERE run = ?1)",
                params![self.id, most_cores],
                |row| row.get(0),
            )
            .map_err(context())?;
        let again = connection
            .change(
                &format!("DELETE FROM blocks WHERE {beside}"),
                params![self.id, most_cores],
            )
            .map_err(context())?;
        let (launches, blocks, seconds) = connection
            .row(
                "SELECT count(*), coalesce(sum(number), 0), coalesce(sum(seconds), 0.0) FROM
                     (SELECT launches.seconds AS seconds, count(*) AS number FROM blocks JOIN launches ON launches.id = launch
                      WHERE blocks.run = ?1 AND state = 'done' GROUP BY launch)",
                [self.id],
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get(2)?)),
            )
            .map_err(context())?;
        Ok(TakenOver {
            launches: usize::try_from(launches).unwrap_or(0),
            blocks: usize::try_from(blocks).unwrap_or(0),
            seconds,
            again,
            other_cores: other_cores.unwrap_or(0.0),
        })
    }

    /// Most processors that other programs took in an observed launch of this run, and the number of launches in which
    /// it was more than `most_cores`.
    pub fn other_load(&self, most_cores: f64) -> Result<(f64, usize), StoreError> {
        let sql = "SELECT coalesce(max(other_cores), 0.0), count(CASE WHEN other_cores > ?2 THEN 1 END) FROM launches WHERE run = ?1";
        let row = self.store.connection.row(sql, params![self.id, most_cores], |row| {
            Ok((row.get::<_, f64>(0)?, row.get::<_, i64>(1)?))
        });
        let (most, count) = row.map_err(self.store.context("read what else ran"))?;
        Ok((most, usize::try_from(count).unwrap_or(0)))
    }

    /// Number of launches of this run that did not start, and that started when launched again.
    pub fn started_again(&self) -> Result<usize, StoreError> {
        let sql = "SELECT count(*) FROM launches AS ended WHERE ended.run = ?1 AND ended.outcome = 'did not start' AND EXISTS (
                       SELECT 1 FROM launches AS later WHERE later.run = ended.run AND later.key = ended.key
                           AND later.attempt > ended.attempt AND later.start_json IS NOT NULL)";
        let count = self
            .store
            .connection
            .row(sql, [self.id], |row| row.get::<_, i64>(0))
            .map_err(self.store.context("count the launches that did not start"))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }
}

impl LaunchRecord {
    /// Stores the number of processors that other programs took during the launch. It is stored again while the launch
    /// goes on, because the tuner may be killed.
    pub fn ran_beside(&self, other_cores: f64) -> Result<(), StoreError> {
        self.note("other_cores", other_cores)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kilter_protocol::report::Event;

    use super::*;
    use crate::store::{LaunchPaths, Position, Store};

    /// Makes a launch with one finished block beside so much load.
    fn launch(run: &Run, key: &str, other_cores: f64) {
        let paths = LaunchPaths {
            plan: "p".into(),
            report: "r".into(),
            log: "l".into(),
        };
        let mut record = run.begin_launch(key, 1, "mpirun", &paths).unwrap();
        let end = Event::BlockEnd {
            block: "b".to_owned(),
            seconds: 1.0,
            costs: None,
        };
        record
            .record(&end, &[], true, Position::default(), Duration::from_secs(2))
            .unwrap();
        record.ran_beside(other_cores).unwrap();
        record.close("ended", Duration::from_secs(3)).unwrap();
    }

    #[test]
    fn what_ran_beside_other_programs_is_measured_again_and_the_rest_taken_over() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let run = store.begin_or_resume("one", 1, "kilter check", "library", 2).unwrap();
        assert_eq!(run.take_over(0.5).unwrap(), TakenOver::default());
        launch(&run, "check/0", 0.1);
        launch(&run, "check/1", 1.7);
        launch(&run, "check/2", 0.0);
        assert_eq!(run.other_load(0.5).unwrap(), (1.7, 1));
        let taken = run.take_over(0.5).unwrap();
        let expected = TakenOver {
            launches: 2,
            blocks: 2,
            seconds: 6.0,
            again: 1,
            other_cores: 1.7,
        };
        assert_eq!(taken, expected);
        assert!(run.finished_block("check/0", "b").unwrap().is_some());
        assert!(run.finished_block("check/1", "b").unwrap().is_none());
        // It is said once: what is gone is gone.
        assert_eq!(run.take_over(0.5).unwrap().again, 0);
    }

    #[test]
    fn a_job_that_hung_beside_other_programs_is_tried_again() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let run = store.begin_or_resume("one", 1, "kilter check", "library", 2).unwrap();
        let paths = LaunchPaths {
            plan: "p".into(),
            report: "r".into(),
            log: "l".into(),
        };
        for (key, other_cores) in [("alone", 0.0), ("beside", 2.0)] {
            let record = run.begin_launch(key, 1, "mpirun", &paths).unwrap();
            record.record_failure("b", &[], "hung", "{}").unwrap();
            record.ran_beside(other_cores).unwrap();
        }
        assert_eq!(run.take_over(0.5).unwrap().again, 1);
        assert!(run.stored_failure("alone", "b").unwrap().is_some());
        assert!(run.stored_failure("beside", "b").unwrap().is_none());
    }

    #[test]
    fn a_run_that_was_begun_anew_hides_the_one_before_also_when_it_is_finished() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let begin = || store.begin_or_resume("one", 1, "kilter check", "library", 2).unwrap();
        let first = begin();
        let fresh = store.begin_anew("one", 1, "kilter check", "library", 2).unwrap();
        assert!(!fresh.resumed && fresh.id != first.id);
        let resumed = begin();
        assert_eq!((resumed.id, resumed.resumed), (fresh.id, true));
        fresh.finish().unwrap();
        let next = begin();
        assert!(!next.resumed, "the run that was left is not taken up again");
    }
}
