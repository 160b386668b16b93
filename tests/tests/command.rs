//! `kilter` from end to end, as people run it: on the MPI libraries of this machine, on simulated ones and on stand-ins.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod apply;
mod builds;
mod check;
mod check_mpich;
mod correctness;
mod doctor;
mod faults;
mod install;
mod libraries;
mod library_info;
mod module_files;
mod noisy_launches;
mod overlap;
mod overlap_on_cluster;
mod resume;
mod rules_file;
mod scripts;
mod simulation;
mod slurm;
mod stand_in_launcher;
mod tune;
mod tune_layouts;
mod tune_limits;
mod tune_mpich;
mod tune_on_cluster;
mod tune_overlap;
mod tune_plugin;
mod tune_refuses;
mod verdicts_on_mpi;

fn main() -> std::process::ExitCode {
    kilter_tests::harness::main(kilter_tests::subjects![
        // With Open MPI alone.
        scripts,
        install,
        apply,
        check,
        faults,
        module_files,
        noisy_launches,
        overlap_on_cluster,
        resume,
        slurm,
        stand_in_launcher,
        tune,
        tune_layouts,
        tune_limits,
        tune_on_cluster,
        tune_overlap,
        tune_plugin,
        tune_refuses,
        verdicts_on_mpi,
        // Those after this one need the builds for further libraries.
        builds,
        check_mpich,
        correctness,
        doctor,
        libraries,
        library_info,
        overlap,
        rules_file,
        simulation,
        tune_mpich,
    ])
}
