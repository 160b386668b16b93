//! Rows of a user's plugin.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use kilter_algorithms::Collective;
use kilter_protocol::plan::{Implementation, Item, Root};
use kilter_tests::{mpicc, root};

use crate::worker::job::{Job, block, item};

/// The plugin whose rows lack what they need.
fn unavailable(directory: &Path) -> PathBuf {
    let plugin = directory.join("unavailable.so");
    let include = format!("-I{}", root().join("plugins/abi/include").display());
    let source = root().join("tests/fixtures/unavailable.c").display().to_string();
    let output = plugin.display().to_string();
    mpicc(&[
        "-std=gnu11",
        "-O1",
        "-shared",
        "-fPIC",
        "-DALL_WAYS",
        &include,
        "-o",
        &output,
        &source,
    ]);
    fs::set_permissions(&plugin, Permissions::from_mode(0o755)).unwrap();
    plugin
}

/// The plugin ends the job where a row is called again on a communicator on which it has said so.
fn a_row_that_cannot_run_here_is_refused_by_all_ranks_and_the_rest_goes_on() {
    let mut job = Job::new(3);
    job.header.root = Root::Rotating;
    let plugin = unavailable(job.directory());
    let row = |collective: Collective, bytes, id: &str| Item {
        implementation: Implementation::Plugin {
            file: plugin.display().to_string(),
            id: id.to_owned(),
            parameters: Vec::new(),
        },
        ..item(id, collective, bytes, "")
    };
    let finished = job.run_well(&[
        block(
            "b",
            vec![
                item("library", Collective::Bcast, 96, "bcast(n)"),
                row(Collective::Bcast, 96, "bcast.nowhere"),
                row(Collective::Bcast, 96, "bcast.not_on_the_last_rank"),
                row(Collective::Bcast, 96, "bcast.not_for_long"),
                row(Collective::Bcast, 96, "bcast.everywhere"),
            ],
        ),
        block("c", vec![row(Collective::Barrier, 0, "barrier.nowhere")]),
    ]);
    for (id, on) in [
        ("bcast.nowhere", ""),
        ("bcast.not_on_the_last_rank", "rank 2: "),
        ("bcast.not_for_long", ""),
        ("barrier.nowhere", ""),
    ] {
        let reason = format!("{on}not available: row `{id}` says that it cannot run on this communicator");
        assert_eq!(finished.failure(id), reason);
    }
    assert_eq!(finished.failures().len(), 4);
    assert!(finished.was_repeated("b", "library") && finished.was_repeated("b", "bcast.everywhere"));
}

kilter_tests::cases![a_row_that_cannot_run_here_is_refused_by_all_ranks_and_the_rest_goes_on,];
