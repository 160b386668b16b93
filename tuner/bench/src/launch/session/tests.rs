//! Sessions with a stand-in for the worker.

mod answers;
mod by_time;
mod endings;
mod failures;
mod leaving;
mod resumed;
mod signals;

use kilter_protocol::fault::{Fault, FaultKind};
use kilter_protocol::plan::PlanLine;

use super::super::proc_table::Family;
use super::super::process::TAG_VARIABLE;
use super::super::stand_in::{block, seconds, spec};
use super::*;
use crate::store::Store;

/// A directory with a database; what was there before goes on.
struct Site {
    directory: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        Site {
            directory: kilter_fixtures::directory(),
        }
    }

    fn store(&self) -> Store {
        Store::open(&self.directory.path().join("kilter.db")).unwrap()
    }

    fn run(&self) -> Run {
        run(&self.store())
    }

    fn session<'r>(&self, run: &'r Run, behaviour: &str) -> Session<'r> {
        Session::new(run, Path::new("worker"), self.directory.path(), spec("key", behaviour)).interrupted_by(quiet())
    }

    fn sql<T: rusqlite::types::FromSql>(&self, sql: &str) -> Vec<T> {
        let connection = rusqlite::Connection::open(self.directory.path().join("kilter.db")).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    /// Blocks that the worker of this attempt was asked.
    fn asked(&self, attempt: u32) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.path().join(format!("run1-key-{attempt}.plan.jsonl")));
        text.unwrap_or_default()
            .lines()
            .filter_map(|line| match serde_json::from_str(line).unwrap() {
                PlanLine::Block(block) => Some(block.id),
                _ => None,
            })
            .collect()
    }

    /// Fails if any process of any launch is left.
    fn nobody_is_left(&self) {
        for tag in self.sql::<String>("SELECT tag FROM launches") {
            let members = Family::new(None, format!("{TAG_VARIABLE}={tag}")).members();
            assert!(members.is_empty(), "{members:?}");
        }
    }
}

fn run(store: &Store) -> Run {
    store
        .begin_or_resume("fingerprint", 42, "kilter check", "library", 2)
        .unwrap()
}

/// Never raised.
fn quiet() -> &'static Flag {
    static QUIET: Flag = Flag::new(0);
    &QUIET
}

/// The same for each case, at the same time: they mostly wait for limits.
fn at_once<T: Send>(cases: impl IntoIterator<Item = T>, test: impl Fn(T) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || test(case));
        }
    });
}

fn blocks(ids: &[&str]) -> Vec<Block> {
    ids.iter().map(|id| block(id)).collect()
}

fn expected(id: &str) -> BlockOutcome {
    let samples = |item| {
        (
            String::from(item),
            ItemSamples {
                seconds: seconds(id, item),
                void: 1,
            },
        )
    };
    let read_back = |item| (String::from(item), vec![("segment".to_owned(), "7".to_owned())]);
    BlockOutcome {
        samples: [samples("left"), samples("right")].into(),
        failed: [].into(),
        repeating: None,
        read_back: [read_back("left"), read_back("right")].into(),
        seconds: 0.25,
    }
}

fn failure(error: SessionError) -> JobFailure {
    match error {
        SessionError::Job(failure) => failure,
        other => panic!("{other}"),
    }
}
