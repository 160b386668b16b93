//! Knowledge of layouts: from jobs before, and from communicators of this job that are gone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kilter_mpi::{MPI_Comm, MpiError};
use kilter_online::Settings;
use kilter_online::knowledge::{self, File, Layout};

use crate::sites::place::Account;
use crate::tell;
use crate::wanted::Wanted;
use crate::warning::warn;

/// A layout as this process has seen it.
#[derive(Default)]
struct Seen {
    /// Communicators on which anything was tried.
    communicators: u64,
    /// Knowledge of jobs before, once it was read.
    before: Option<File>,
    /// Knowledge of those that are gone.
    learnt: Option<File>,
}

static SEEN: Mutex<BTreeMap<Layout, Seen>> = Mutex::new(BTreeMap::new());

fn seen() -> MutexGuard<'static, BTreeMap<Layout, Seen>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The beginning of a communicator's sites: the same on all of its ranks.
pub(super) struct Shared {
    /// Knowledge of its layout: its rank 0 reads it and tells the others.
    pub(super) known: File,
    /// The budget. A process that makes many communicators of one layout does not lose the constant on each: half as much on each further one, so
    /// that it is at most twice the constant on all of them.
    pub(super) settings: Settings,
}

/// # Safety
/// All ranks of the communicator, a private one, make this call.
pub(super) unsafe fn share(
    comm: MPI_Comm,
    is_first: bool,
    layout: &Layout,
    wanted: &Wanted,
) -> Result<Shared, MpiError> {
    let before = {
        let mut seen = seen();
        let of_layout = seen.entry(layout.clone()).or_default();
        of_layout.communicators += 1;
        of_layout.communicators - 1
    };
    let own = if is_first {
        known(layout, wanted.directory.as_deref()).to_text()
    } else {
        String::new()
    };
    // SAFETY: by this function's contract.
    let (text, most_before) = unsafe { tell::from_first(comm, own.into_bytes(), before) }?;
    let text = String::from_utf8_lossy(&text);
    let mut settings = wanted.settings.clone();
    settings.constant_ns = u32::try_from(most_before)
        .ok()
        .and_then(|halves| settings.constant_ns.checked_shr(halves))
        .unwrap_or(0);
    Ok(Shared {
        // It is the text of a file that rank 0 read: all ranks find the same mistakes in it, if any.
        known: File::parse(&text, Path::new("what rank 0 has read")).unwrap_or_else(|_| File::empty(layout.clone())),
        settings,
    })
}

/// Knowledge on this rank. The file is read once: programs may make thousands of communicators.
fn known(layout: &Layout, directory: Option<&Path>) -> File {
    let mut seen = seen();
    let Seen { before, learnt, .. } = seen.entry(layout.clone()).or_default();
    let before = before.get_or_insert_with(|| {
        let nothing = || File::empty(layout.clone());
        let Some(directory) = directory else { return nothing() };
        knowledge::read(directory, layout).unwrap_or_else(|error| {
            warn(true, &format!("KILTER_ONLINE_DIR: {error}; what it knows is not used"));
            nothing()
        })
    });
    let mut file = before.clone();
    if let Some(learnt) = learnt {
        file.join(learnt);
    }
    file
}

/// Keeps what a communicator has learnt.
pub(super) fn keep(layout: &Layout, account: &Account) {
    if !account.key.is_usual() {
        return;
    }
    let mut seen = seen();
    let of_layout = seen.entry(layout.clone()).or_default();
    let file = of_layout.learnt.get_or_insert_with(|| File::empty(layout.clone()));
    let Account { key, ids, learnt, .. } = account;
    file.learn(key.collective.name(), u32::from(key.class), ids, learnt);
}

/// Adds all that this process learnt to the files in the folder.
pub(super) fn write(directory: &Path) {
    for file in seen().values().filter_map(|seen| seen.learnt.as_ref()) {
        if let Err(error) = knowledge::merge(directory, file) {
            warn(
                true,
                &format!("KILTER_ONLINE_DIR: {error}; what this job learnt is lost"),
            );
        }
    }
}
