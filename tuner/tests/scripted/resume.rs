//! A tuner that is killed, and the same command again.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use kilter_bench::store::Store;

use super::*;

/// Copies a directory as it is at this moment.
pub(super) fn copy(from: &Path, to: &Path) {
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

/// This library, and after so many calls of a collective what the disk then holds is kept in another directory: what a killed tuner leaves.
pub(super) fn killed_after(
    (calls, collective): (usize, &str),
    library: ScriptedLibrary,
    from: PathBuf,
    to: PathBuf,
) -> ScriptedLibrary {
    let made = Rc::new(Cell::new(0));
    library.cost(collective, move |_, seconds| {
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

/// A run to its end on this library; and where it was, what it would have left if it had been killed after so many calls of Reduce, with
/// the number of its jobs until then.
pub(super) fn killed(calls: usize, library: ScriptedLibrary, arguments: &str) -> (Run, tempfile::TempDir, u64) {
    let (home, left) = (directory(), directory());
    let place = home.path().join("site");
    let library = killed_after((calls, "reduce"), library, place.clone(), left.path().to_path_buf());
    let run = tune_at(&Site::new(&place, library).unwrap(), arguments);
    std::fs::remove_dir_all(&place).unwrap();
    copy(left.path(), &place);
    let site = Site::new(&place, ScriptedLibrary::new()).unwrap();
    let before = jobs(&site, arguments);
    (run, home, before)
}

#[test]
fn a_killed_run_goes_on_and_measures_nothing_anew() {
    let whole = tune(library(), REDUCE);
    for calls in [5, 40, 70] {
        let (run, home, before) = killed(calls, library(), REDUCE);
        assert_eq!(changes(&run), changes(&whole));
        let site = Site::new(&home.path().join("site"), library()).unwrap();
        assert!(
            before > 0 && before < whole.jobs,
            "killed after {calls} calls and {before} jobs"
        );
        let resumed = tune_at(&site, REDUCE);
        assert_eq!(changes(&resumed), changes(&whole));
        // The one that was under way is begun again, and what it had measured until then runs once more for its end line.
        assert!(
            before + resumed.jobs <= whole.jobs + 2,
            "{before} + {} of {}",
            resumed.jobs,
            whole.jobs
        );
    }
}
