//! A tuner that is killed, and the same command again.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kilter_bench::store::Store;

use super::*;

/// Copies a directory as it is at this moment.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn library() -> ScriptedLibrary {
    slow_reduce(|call| call.algorithm == 2).setting("x", "0", &["1"])
}

/// The same, and after so many calls of Reduce what the disk then holds is kept in another directory: what a killed tuner leaves.
fn killed_after(calls: usize, from: PathBuf, to: PathBuf) -> ScriptedLibrary {
    let made = Rc::new(Cell::new(0));
    library().cost("reduce", move |_, seconds| {
        made.set(made.get() + 1);
        if made.get() == calls {
            copy(&from, &to);
        }
        seconds
    })
}

/// Jobs that a command with these arguments has started until now.
fn jobs(site: &Site, arguments: &str) -> u64 {
    let store = Store::open(&site.database()).unwrap();
    store.newest(arguments).unwrap().unwrap().launch_count().unwrap()
}

#[test]
fn a_killed_run_goes_on_and_measures_nothing_anew() {
    let whole = tune(library(), REDUCE);
    for calls in [5, 40, 70] {
        let (home, left) = (directory(), directory());
        let place = home.path().join("site");
        let killed = killed_after(calls, place.clone(), left.path().to_path_buf());
        let run = tune_at(&Site::new(&place, killed).unwrap(), REDUCE);
        assert_eq!(changes(&run), changes(&whole));
        std::fs::remove_dir_all(&place).unwrap();
        std::fs::rename(left.path(), &place).unwrap();
        let site = Site::new(&place, library()).unwrap();
        let before = jobs(&site, REDUCE);
        assert!(
            before > 0 && before < whole.jobs,
            "killed after {calls} calls and {before} jobs"
        );
        let resumed = tune_at(&site, REDUCE);
        assert_eq!(changes(&resumed), changes(&whole));
        // The one that was under way is begun again.
        assert!(
            before + resumed.jobs <= whole.jobs + 1,
            "{before} + {} of {}",
            resumed.jobs,
            whole.jobs
        );
    }
}
