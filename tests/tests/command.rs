//! `kilter` from end to end, as people run it: on the MPI libraries of this machine, on simulated ones and on stand-ins.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod apply;
mod builds;
mod check;
mod check_mpich;
mod correctness;
mod doctor;
mod faults;
mod guard;
mod install;
mod libraries;
mod library_in_use;
mod library_info;
mod module_files;
mod noisy_launches;
mod operators;
mod overlap;
mod overlap_on_cluster;
mod packaging;
mod pals;
mod resume;
mod rules_file;
mod scripts;
mod simulation;
mod slurm;
mod stand_in_launcher;
mod transports;
mod tune;
mod tune_layouts;
mod tune_limits;
mod tune_mpich;
mod tune_on_cluster;
mod tune_overlap;
mod tune_plugin;
mod tune_refuses;
mod verdicts_on_mpi;
mod which;

fn main() -> std::process::ExitCode {
    kilter_tests::harness::main(kilter_tests::subjects![
        // With Open MPI alone, and little that rests on times.
        scripts,
        packaging,
        slurm,
        pals,
        module_files,
        faults,
        resume,
        check,
        // Those after this one need the builds for further libraries. The drop-in's tests run beside them, whose ranks compute.
        builds,
        // Installs what is built, twice, and compares.
        install,
        correctness,
        doctor,
        libraries,
        library_in_use,
        library_info,
        rules_file,
        operators,
        simulation,
        which,
        // Times measured here are judged.
        apply,
        check_mpich,
        noisy_launches,
        overlap,
        overlap_on_cluster,
        stand_in_launcher,
        transports,
        tune,
        tune_layouts,
        tune_limits,
        tune_mpich,
        tune_on_cluster,
        guard,
        tune_overlap,
        tune_plugin,
        tune_refuses,
        verdicts_on_mpi,
    ])
}
