//! Stores the batch system's allocation in which each launch was made.

use rusqlite::params;

use super::{LaunchRecord, Run, StoreError};

impl Run {
    /// Allocation of the newest attempt that started, for each of these keys.
    pub fn allocations(&self, keys: &[String]) -> Result<Vec<Option<String>>, StoreError> {
        let sql = "SELECT allocation FROM launches WHERE run = ?1 AND key = ?2 AND start_json IS NOT NULL ORDER BY id DESC LIMIT 1";
        let of = |key: &String| {
            let mut found = self.store.connection.prepare_cached(sql)?;
            let rows: Result<Vec<Option<String>>, _> =
                found.query_map(params![self.id, key], |row| row.get(0))?.collect();
            Ok(rows?.into_iter().next().flatten())
        };
        let all: Result<Vec<Option<String>>, rusqlite::Error> = keys.iter().map(of).collect();
        all.map_err(self.store.context("read allocations"))
    }
}

impl LaunchRecord {
    /// Stores the allocation in which it is made.
    pub fn made_in(&self, allocation: &str) -> Result<(), StoreError> {
        self.note("allocation", allocation)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kilter_protocol::report::Event;

    use crate::store::{LaunchPaths, Position, Store};

    #[test]
    fn launches_know_their_allocation() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let run = store.begin_or_resume("one", 1, "kilter check", "library", 2).unwrap();
        let paths = LaunchPaths {
            plan: "p".into(),
            report: "r".into(),
            log: "l".into(),
        };
        let start = r#"{"library":"x","ranks":2,"hosts":["a"],"clock_tick_seconds":2e-8,"variables":{},"environment":{},"malloc_maps_from_bytes":null}"#;
        let start = Event::Start(serde_json::from_str(start).unwrap());
        let launch = |key: &str, attempt: u32, allocation: Option<&str>, starts: bool| {
            let mut record = run.begin_launch(key, attempt, "mpirun", &paths).unwrap();
            if let Some(allocation) = allocation {
                record.made_in(allocation).unwrap();
            }
            if starts {
                let position = Position { offset: 10, line: 1 };
                record
                    .record(&start, &[], true, position, Duration::from_secs(1))
                    .unwrap();
            }
        };
        launch("before/0", 1, Some("SLURM_JOB_ID=1"), true);
        // Cut off, and made again in the next job; a later attempt never started.
        launch("before/1", 1, Some("SLURM_JOB_ID=1"), true);
        launch("before/1", 2, Some("SLURM_JOB_ID=2"), true);
        launch("before/1", 3, Some("SLURM_JOB_ID=3"), false);
        launch("before/2", 1, None, true);
        let keys = ["before/0", "before/1", "before/2", "before/3"].map(str::to_owned);
        let name = |text: &str| Some(text.to_owned());
        assert_eq!(
            run.allocations(&keys).unwrap(),
            [name("SLURM_JOB_ID=1"), name("SLURM_JOB_ID=2"), None, None]
        );
    }
}
