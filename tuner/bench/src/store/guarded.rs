//! Nights of `kilter guard`: the state that was accepted, and the nights since in which nothing was found.

use rusqlite::params;

use super::{Run, StoreError, now};

/// Word of a night with which later ones are compared.
const ACCEPTED: &str = "accepted";

/// A stored night.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardedNight {
    /// Its run.
    pub run: i64,
    /// Time of storing, in seconds since 1970.
    pub unix_seconds: f64,
    /// The parts of it that are kept, as JSON.
    pub content: String,
}

/// The newest accepted night, and the nights since with the standing that was asked for, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Guarded {
    /// The accepted night.
    pub accepted: GuardedNight,
    /// The later ones.
    pub since: Vec<GuardedNight>,
}

impl Run {
    /// Keeps a night. `standing` is its word; `is_accepted` makes it what later nights of this library and place are compared with.
    pub fn record_night(
        &self,
        (library, place): (&str, &str),
        standing: &str,
        is_accepted: bool,
        content: &str,
    ) -> Result<(), StoreError> {
        let standing = if is_accepted { ACCEPTED } else { standing };
        self.store
            .connection
            .execute(
                "INSERT OR REPLACE INTO guarded (run, library, place, standing, time, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![self.id, library, place, standing, now(), content],
            )
            .map_err(self.store.context("keep the night"))?;
        Ok(())
    }

    /// The accepted state of a library at a place, and the nights since with this standing; `None` if none was accepted.
    pub fn guarded(&self, (library, place): (&str, &str), standing: &str) -> Result<Option<Guarded>, StoreError> {
        let failed = || self.store.context("read the nights");
        let mut statement = self
            .store
            .connection
            .prepare(
                "SELECT run, time, content, standing FROM guarded WHERE library = ?1 AND place = ?2
                 AND run >= (SELECT max(run) FROM guarded WHERE library = ?1 AND place = ?2 AND standing = ?3)
                 AND standing IN (?3, ?4) ORDER BY run",
            )
            .map_err(failed())?;
        let rows = statement
            .query_map(params![library, place, ACCEPTED, standing], |row| {
                let night = GuardedNight {
                    run: row.get(0)?,
                    unix_seconds: row.get(1)?,
                    content: row.get(2)?,
                };
                Ok(night)
            })
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(failed())?;
        let mut nights = rows.into_iter();
        Ok(nights.next().map(|accepted| Guarded {
            accepted,
            since: nights.collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use crate::store::Store;

    #[test]
    fn the_newest_accepted_night_and_the_silent_ones_behind_it_are_found() {
        let directory = kilter_fixtures::directory();
        let store = Store::open(&directory.path().join("kilter.db")).unwrap();
        let place = ("A", "2 ranks");
        let night = |standing: &str, is_accepted: bool, content: &str| {
            let run = store.begin_anew("guard", 1, "kilter guard", "A 1.0", 2).unwrap();
            run.record_night(place, standing, is_accepted, content).unwrap();
            run
        };
        let run = store.begin_anew("guard", 1, "kilter guard", "A 1.0", 2).unwrap();
        assert_eq!(run.guarded(place, "silent").unwrap(), None);
        night("silent", true, "old");
        night("silent", false, "old silent");
        let accepted = night("differs", true, "new");
        night("differs", false, "loud");
        let last = night("silent", false, "new silent");
        let found = last.guarded(place, "silent").unwrap().unwrap();
        assert_eq!(
            (found.accepted.run, found.accepted.content.as_str()),
            (accepted.id, "new")
        );
        let since: Vec<&str> = found.since.iter().map(|night| night.content.as_str()).collect();
        assert_eq!(since, ["new silent"]);
        assert_eq!(last.guarded(("A", "4 ranks"), "silent").unwrap(), None);
        assert_eq!(last.guarded(("B", "2 ranks"), "silent").unwrap(), None);
    }
}
