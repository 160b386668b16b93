//! Memory that only a GPU's runtime and a library that is aware of it can touch.

use std::path::PathBuf;

use crate::dropin::job::{Deployed, Mpi, Output, rule};

/// A stand-in of CUDA's runtime, with its name: a process is known to have it by that.
fn runtime(mpi: Mpi, deployed: &Deployed) -> PathBuf {
    let options = ["-std=c11", "-shared", "-fPIC", "-DRUNTIME"];
    let built = mpi.built("mpicc", "device_memory.c", &options, "device_runtime");
    deployed.add(&built, "libcuda.so.1");
    deployed.directory.path().join("libcuda.so.1")
}

/// Two calls with all buffers on the host, and between them, where there is a runtime, one with a buffer of rank 1's on a device.
fn run(mpi: Mpi, with_runtime: bool, variables: &[(&str, &str)]) -> Output {
    let deployed = Deployed::for_library(
        mpi,
        vec![rule("allreduce", 3, 1..=u64::MAX, "allreduce.as_reduce_bcast")],
    );
    let program = mpi.built("mpicc", "device_memory.c", &["-std=c11", "-ldl"], "device_memory");
    let options = ["-std=c11", "-shared", "-fPIC", "-DAWARE"];
    let aware = mpi.built("mpicc", "device_memory.c", &options, "device_aware");
    let preload = format!("{}:{}", mpi.library("libkilter.so").display(), aware.display());
    let runtime = runtime(mpi, &deployed);
    let mut command = vec![program.as_path()];
    command.extend(with_runtime.then_some(runtime.as_path()));
    let variables = [&[("LD_PRELOAD", preload.as_str())], variables].concat();
    let output = deployed.run(mpi, &command, 3, &variables);
    assert!(output.ok && output.stdout == "OK\n", "{mpi:?}: {output:?}");
    output
}

fn replaced(output: &Output) -> u64 {
    output.calls().get("allreduce.as_reduce_bcast").copied().unwrap_or(0)
}

fn a_runtime_on_one_rank_leaves_all_to_the_library() {
    for mpi in Mpi::installed() {
        let output = run(mpi, true, &[]);
        assert_eq!(replaced(&output), 0, "{mpi:?}: {}", output.stderr);
        let said = output.lines("kilter: warning: ");
        assert!(
            said.len() == 1 && said[0].contains("KILTER_GPU=host"),
            "{mpi:?}: {}",
            output.stderr
        );
    }
}

fn the_runtime_is_asked_about_each_buffer() {
    for mpi in Mpi::installed() {
        let output = run(mpi, true, &[("KILTER_GPU", "host")]);
        assert_eq!(replaced(&output), 2, "{mpi:?}: {}", output.stderr);
        assert!(
            output.lines("kilter: warning: ").is_empty(),
            "{mpi:?}: {}",
            output.stderr
        );
    }
}

fn nothing_changes_where_no_rank_has_a_runtime() {
    for mpi in Mpi::installed() {
        let output = run(mpi, false, &[]);
        assert_eq!(replaced(&output), 2, "{mpi:?}: {}", output.stderr);
    }
}

kilter_tests::cases![
    a_runtime_on_one_rank_leaves_all_to_the_library,
    the_runtime_is_asked_about_each_buffer,
    nothing_changes_where_no_rank_has_a_runtime,
];
