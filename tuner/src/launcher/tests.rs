use clap::Parser as _;
use kilter_model::config::launcher;
use kilter_model::config::library::find_for;
use kilter_model::deployment::Assignment;
use kilter_model::setup::Setup;

use super::*;
use crate::cli::{Cli, Command};

const OPEN_MPI: &str = "mpirun (Open MPI) 4.1.4";
const INTEL: &str = "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1";
const MVAPICH2: &str = "Version: mvapich2-2.3.7";
/// Version line of MVAPICH2's launcher, which has a version of its own.
const HYDRA: &str = "HYDRA build details: Version: 3.2.1";
/// The library's own words: PALS says nothing of it.
const CRAY: &str = "MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)";
const MPT: &str = "MPT: libxmpi.so 'HPE MPT 2.18  10/02/18 04:03:22'";

fn options(arguments: &[&str]) -> Options {
    let words = ["kilter", "check", "--mpirun", "mpirun", "-n", "2"]
        .iter()
        .chain(arguments);
    match Cli::try_parse_from(words).unwrap().command {
        Command::Check(typed) => {
            let mut options = crate::options::measuring(typed.measure).unwrap();
            // Whatever the machine that runs the test has.
            options.slots.clear();
            options
        }
        _ => unreachable!(),
    }
}

/// The command line of a launch under a setting of the library and one of the ranks, without what root needs.
fn line(options: &Options, version: &str, parameter: (&str, &str)) -> String {
    let mut library = find_for(version).unwrap();
    library.launcher.root_arguments.clear();
    let this_host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    let assignment = |(name, value): (&str, &str), environment| Assignment {
        name: name.to_owned(),
        value: value.to_owned(),
        environment,
    };
    let setup = Setup::default().with(&[
        assignment(parameter, false),
        assignment(("LD_PRELOAD", "/opt/a b/libkilter.so"), true),
    ]);
    template(options, &library)
        .unwrap()
        .build(2, &setup.parameters, &setup.environment, &["worker".to_owned()])
        .unwrap()
        .to_string()
        .replace(&format!(" {this_host}"), " THIS_HOST")
}

/// Settings reach the ranks by what each launcher has for it: options, words, its own environment.
#[test]
fn each_library_is_launched_in_its_own_way() {
    let options = options(&[]);
    insta::assert_snapshot!(
        [
            line(&options, OPEN_MPI, ("btl", "tcp,self")),
            line(&options, INTEL, ("I_MPI_ADJUST_BCAST", "0:0-90;7:91-5792;0:5793-2147483647")),
            line(&options, MVAPICH2, ("MV2_INTER_BCAST_TUNING", "1:0-722,5:723-+")),
            line(&options, HYDRA, ("MV2_INTER_BCAST_TUNING", "1:0-722,5:723-+")),
            line(&options, MPT, ("MPI_BUFFER_MAX", "2000")),
            line(&options, CRAY, ("MPICH_SMP_SINGLE_COPY_SIZE", "2048")),
        ]
        .join("\n"),
        @r"
    mpirun --oversubscribe -np 2 --mca btl tcp,self -x 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    mpirun -n 2 -genv I_MPI_ADJUST_BCAST '0:0-90;7:91-5792;0:5793-2147483647' -genv LD_PRELOAD '/opt/a b/libkilter.so' worker
    mpirun -np 2 THIS_HOST THIS_HOST MV2_INTER_BCAST_TUNING=1:0-722,5:723-+ 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    mpirun -n 2 -genv MV2_INTER_BCAST_TUNING 1:0-722,5:723-+ -genv LD_PRELOAD '/opt/a b/libkilter.so' worker
    MPI_BUFFER_MAX=2000 LD_PRELOAD='/opt/a b/libkilter.so' mpirun -n 2 worker
    mpirun -n 2 --env MPICH_SMP_SINGLE_COPY_SIZE=2048 --env 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    "
    );
}

/// Open MPI 5 puts every rank on the first host of the file if it may oversubscribe and is told nothing else.
#[test]
fn a_host_file_comes_with_what_makes_the_launcher_follow_it() {
    let options = options(&["--hostfile", "./hosts"]);
    let line = line(&options, "mpirun (Open MPI) 5.0.11", ("btl", "tcp,self"));
    assert!(line.contains("--hostfile ./hosts --map-by slot -np 2"), "{line}");
}

/// The batch system's launcher knows nothing of the library: everything goes through the ranks' environment.
#[test]
fn a_batch_system_starts_the_ranks_of_any_library() {
    let mut options = options(&["--hostfile", "./hosts"]);
    let mut lines = Vec::new();
    for described in launcher::load_embedded().unwrap() {
        options.starts = described.starts.map(|starts| Starts {
            arguments: starts
                .arguments
                .iter()
                .map(|part| part.replace("{pmi}", "pmix"))
                .collect(),
            ..starts
        });
        for (version, parameter) in [(OPEN_MPI, ("btl", "tcp,self")), (MVAPICH2, ("MV2_SMP_USE_CMA", "0"))] {
            lines.push(format!("{}: {}", described.id, line(&options, version, parameter)));
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @r"
    flux: flux run --ntasks 2 env OMPI_MCA_btl=tcp,self 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    flux: flux run --ntasks 2 env MV2_SMP_USE_CMA=0 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    jsm: jsrun --tasks_per_rs 1 --cpu_per_rs 1 --nrs 2 env OMPI_MCA_btl=tcp,self 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    jsm: jsrun --tasks_per_rs 1 --cpu_per_rs 1 --nrs 2 env MV2_SMP_USE_CMA=0 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    lsf: mpirun --oversubscribe --hostfile ./hosts -np 2 --mca btl tcp,self -x 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    lsf: mpirun -np 2 -hostfile ./hosts MV2_SMP_USE_CMA=0 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    pals: mpiexec --envall -n 2 env OMPI_MCA_btl=tcp,self 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    pals: mpiexec --envall -n 2 env MV2_SMP_USE_CMA=0 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    pbs: mpirun --oversubscribe --hostfile ./hosts -np 2 --mca btl tcp,self -x 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    pbs: mpirun -np 2 -hostfile ./hosts MV2_SMP_USE_CMA=0 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    sge: mpirun --oversubscribe --hostfile ./hosts -np 2 --mca btl tcp,self -x 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    sge: mpirun -np 2 -hostfile ./hosts MV2_SMP_USE_CMA=0 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    slurm: srun --mpi=pmix --kill-on-bad-exit=1 --nodelist ./hosts --ntasks 2 env OMPI_MCA_btl=tcp,self 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    slurm: srun --mpi=pmix --kill-on-bad-exit=1 --nodelist ./hosts --ntasks 2 env MV2_SMP_USE_CMA=0 'LD_PRELOAD=/opt/a b/libkilter.so' worker
    ");
}

/// Each launcher has its own option for the placement of ranks. It is given only if there is more than one node to
/// choose from.
#[test]
fn a_layout_is_asked_for_in_each_launchers_own_way() {
    let on = |arguments: &[&str], layout: &str| Options {
        layout: Some(layout.parse().unwrap()),
        ..options(arguments)
    };
    let placed = |options: &Options, version| line(options, version, ("a", "b")).replace(" worker", "");
    let mut slurm = on(&[], "4x1");
    let described = launcher::find("--launcher", "slurm").unwrap();
    slurm.starts = described.starts;
    insta::assert_snapshot!(
        [
            placed(&on(&["--hostfile", "./hosts"], "2x1"), OPEN_MPI),
            placed(&on(&[], "2x1"), OPEN_MPI),
            placed(&on(&[], "1x2"), OPEN_MPI),
            placed(&on(&["--hostfile", "./hosts"], "1x2"), INTEL),
            placed(&on(&["--hostfile", "./hosts"], "2x1"), MVAPICH2),
            placed(&slurm, OPEN_MPI),
        ]
        .join("\n"),
        @r"
        mpirun --oversubscribe --hostfile ./hosts --map-by ppr:1:node -np 2 --mca a b -x 'LD_PRELOAD=/opt/a b/libkilter.so'
        mpirun --oversubscribe --map-by ppr:1:node -np 2 --mca a b -x 'LD_PRELOAD=/opt/a b/libkilter.so'
        mpirun --oversubscribe -np 2 --mca a b -x 'LD_PRELOAD=/opt/a b/libkilter.so'
        mpirun -f ./hosts -ppn 2 -n 2 -genv a b -genv LD_PRELOAD '/opt/a b/libkilter.so'
        mpirun -np 2 -hostfile ./hosts a=b 'LD_PRELOAD=/opt/a b/libkilter.so'
        srun '--mpi={pmi}' --kill-on-bad-exit=1 --nodes 4 --ntasks-per-node 1 --ntasks 2 env OMPI_MCA_a=b 'LD_PRELOAD=/opt/a b/libkilter.so'
        "
    );
}

/// Open MPI takes a host with more ranks than slots for a crowded one: ranks yield to each other and are not bound. It is told to only where that
/// is so, or where nobody knows.
#[test]
fn over_subscription_is_asked_for_where_ranks_exceed_the_slots() {
    let asks = |slots: &[usize], ranks: usize, layout: Option<&str>| {
        let options = Options {
            slots: slots.to_vec(),
            ranks,
            layout: layout.map(|text| text.parse().unwrap()),
            ..options(&[])
        };
        line(&options, OPEN_MPI, ("a", "b")).contains("--oversubscribe")
    };
    assert!(asks(&[], 2, None), "nobody knows");
    assert!(!asks(&[2], 2, None) && asks(&[2], 4, None));
    assert!(!asks(&[16; 8], 128, Some("8x16")) && !asks(&[16; 8], 16, Some("1x16")));
    assert!(asks(&[1; 8], 16, Some("8x2")) && asks(&[4, 2], 8, Some("2x4")));
    let placed = Options {
        slots: vec![16; 8],
        ranks: 16,
        layout: Some("1x16".parse().unwrap()),
        ..options(&[])
    };
    let line = line(&placed, OPEN_MPI, ("a", "b"));
    assert!(line.starts_with("mpirun --map-by ppr:16:node -np 2 "), "{line}");
}
