//! What is known of layouts: from jobs before, and from communicators of this job that are gone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kilter_mpi::{MPI_Comm, MpiError};
use kilter_online::knowledge::{self, File, Layout};

use crate::online::place::Account;
use crate::online::tell;
use crate::warning::warn;

/// By layout, what communicators that are gone have learnt in this process.
static LEARNT: Mutex<BTreeMap<Layout, File>> = Mutex::new(BTreeMap::new());

fn learnt() -> MutexGuard<'static, BTreeMap<Layout, File>> {
    LEARNT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of the layout of a communicator that is to be tried on: the same on all of its ranks, since its rank 0 reads it and tells the others.
///
/// # Safety
/// All ranks of the communicator, a private one, make this call.
pub(super) unsafe fn share(
    comm: MPI_Comm,
    is_first: bool,
    layout: &Layout,
    directory: Option<&Path>,
) -> Result<File, MpiError> {
    let own = if is_first {
        known(layout, directory).to_text()
    } else {
        String::new()
    };
    // SAFETY: by this function's contract.
    let text = unsafe { tell::from_first(comm, own.into_bytes()) }?;
    let text = String::from_utf8_lossy(&text);
    // It is the text of a file that rank 0 read: all ranks find the same mistakes in it, if any.
    Ok(File::parse(&text, Path::new("what rank 0 has read")).unwrap_or_else(|_| File::empty(layout.clone())))
}

/// What is known on this rank.
fn known(layout: &Layout, directory: Option<&Path>) -> File {
    let read = directory.map_or_else(
        || Ok(File::empty(layout.clone())),
        |directory| knowledge::read(directory, layout),
    );
    let mut file = read.unwrap_or_else(|error| {
        warn(true, &format!("KILTER_ONLINE_DIR: {error}; what it knows is not used"));
        File::empty(layout.clone())
    });
    if let Some(own) = learnt().get(layout) {
        let _ = own; // file.join(own);
    }
    file
}

/// Keeps what a communicator has learnt.
pub(super) fn keep(layout: &Layout, account: &Account) {
    if !account.key.is_usual() {
        return;
    }
    let mut learnt = learnt();
    let file = learnt
        .entry(layout.clone())
        .or_insert_with(|| File::empty(layout.clone()));
    let Account { key, ids, learnt, .. } = account;
    file.learn(key.collective.name(), u32::from(key.class), ids, learnt);
}

/// Adds all that this process learnt to the files in the folder.
pub(super) fn write(directory: &Path) {
    for file in learnt().values() {
        if let Err(error) = knowledge::merge(directory, file) {
            warn(
                true,
                &format!("KILTER_ONLINE_DIR: {error}; what this job learnt is lost"),
            );
        }
    }
}
