use super::*;

/// Surroundings with these variables and files, on a host of four CPUs.
fn within<T>(variables: &[(&str, &str)], files: &[(&str, &str)], work: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    let among = |all: &[(&str, &str)], name: &str| {
        let found = all.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    work(&Surroundings {
        variable: &|name| among(variables, name),
        read: &|path| {
            let text = among(files, &path.display().to_string());
            text.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))
        },
        cpus_here: 4,
    })
}

fn found(name: &str, pmi: Option<&str>, variables: &[(&str, &str)]) -> Result<Found, OptionError> {
    within(variables, &[], |surroundings| find(name, pmi, surroundings))
}

const SLURM: [(&str, &str); 3] = [
    ("SLURM_JOB_ID", "7"),
    ("SLURM_JOB_NUM_NODES", "2"),
    ("SLURM_JOB_CPUS_PER_NODE", "16(x2)"),
];

#[test]
fn an_allocation_says_where_ranks_run() {
    let of_slurm = found("slurm", None, &SLURM).unwrap();
    assert!(of_slurm.several_hosts && of_slurm.hostfile.is_none() && of_slurm.agent.is_none());
    assert_eq!(of_slurm.shape.unwrap().cpus, [16, 16]);
    assert_eq!(of_slurm.starts.unwrap().arguments[0], "--mpi=pmix");
    let starts = found("slurm", Some("pmi2"), &SLURM).unwrap().starts.unwrap();
    assert_eq!(starts.arguments[0], "--mpi=pmi2");
    let one = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NUM_NODES", "1")];
    assert!(!found("slurm", None, &one).unwrap().several_hosts);
    let of_pbs = found("pbs", None, &[("PBS_JOBID", "7"), ("PBS_NODEFILE", "/var/spool/7")]).unwrap();
    assert_eq!(of_pbs.hostfile, Some("/var/spool/7".into()));
    assert!(of_pbs.several_hosts && of_pbs.shape.is_none());
    assert_eq!((of_pbs.starts, of_pbs.agent), (None, Some("pbs_tmrsh".into())));
    let of_lsf = found("lsf", None, &[("LSB_JOBID", "7"), ("LSB_DJOB_HOSTFILE", "/h")]).unwrap();
    assert_eq!(
        (of_lsf.hostfile, of_lsf.agent),
        (Some("/h".into()), Some("blaunch".into()))
    );
}

/// The surroundings of a command that was told nothing: its hosts, their room for ranks, and the library's launcher.
#[test]
fn an_allocation_is_read_without_being_told() {
    let around = |variables: &[(&str, &str)], files: &[(&str, &str)]| {
        within(variables, files, |surroundings| around("--ranks", surroundings))
    };
    let slurm = around(&SLURM, &[]).unwrap();
    let shape = slurm.shape.unwrap();
    assert_eq!(
        (shape.cpus.as_slice(), shape.slots.as_slice()),
        (&[16, 16][..], &[16, 16][..])
    );
    assert!(slurm.several_hosts && slurm.starts.is_none());
    assert_eq!(slurm.words, "SLURM_JOB_ID=7");
    // `salloc -N 2` makes room for one task on each.
    let tasks = [&SLURM[..], &[("SLURM_TASKS_PER_NODE", "1(x2)")]].concat();
    assert_eq!(around(&tasks, &[]).unwrap().shape.unwrap().slots, [1, 1]);
    let nodes = ("/nodes", "a\na\nb\nb\n");
    let pbs = around(&[("PBS_JOBID", "7.head"), ("PBS_NODEFILE", "/nodes")], &[nodes]).unwrap();
    assert_eq!(pbs.shape.unwrap().slots, [2, 2]);
    assert_eq!((pbs.hostfile, pbs.starts), (Some("/nodes".into()), None));
    let lsf = around(&[("LSB_JOBID", "7"), ("LSB_DJOB_HOSTFILE", "/nodes")], &[nodes]).unwrap();
    assert_eq!((lsf.agent, lsf.starts), (Some("blaunch".into()), None));
    let counted = ("/pe", "a 4 all.q@a UNDEFINED\nb 4 all.q@b UNDEFINED\n");
    let sge = around(&[("JOB_ID", "7"), ("PE_HOSTFILE", "/pe")], &[counted]).unwrap();
    assert_eq!(sge.shape.unwrap().slots, [4, 4]);
    assert_eq!(sge.hostfile, None, "no launcher reads this form");
    // A variable of this name alone is no allocation.
    assert_eq!(around(&[("JOB_ID", "7")], &[]).unwrap(), Found::default());
    assert_eq!(around(&[], &[]).unwrap(), Found::default());
    let lost = around(&[("PBS_JOBID", "7"), ("PBS_NODEFILE", "/gone")], &[])
        .unwrap_err()
        .to_string();
    assert!(
        lost.contains(
            "--ranks: PBS_JOBID=7 is an allocation, but the host file `/gone` of PBS_NODEFILE cannot be read"
        ),
        "{lost}"
    );
}

#[test]
fn an_allocation_says_which_layouts_it_has() {
    let layouts = |nodes: &str, cores: &str| {
        let all = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NUM_NODES", nodes),
            ("SLURM_JOB_CPUS_PER_NODE", cores),
        ];
        let found = within(&all, &[], layouts);
        found
            .map(|layouts| layouts.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
            .map_err(|error| error.to_string())
    };
    assert_eq!(layouts("8", "16(x8)").unwrap(), "8x1,8x16");
    assert_eq!(layouts("3", "16(x2),4").unwrap(), "3x1,3x4");
    assert_eq!(layouts("1", "4").unwrap(), "1x4");
    assert_eq!(layouts("2", "1(x2)").unwrap(), "2x1");
    assert_eq!(layouts("2", "").unwrap(), "2x1,2x4", "as many as here");
    assert!(layouts("1", "1").unwrap_err().contains("one core"));
    assert!(
        layouts("2", "many")
            .unwrap_err()
            .contains("SLURM_JOB_CPUS_PER_NODE is `many`")
    );
    let outside = within(&[], &[], super::layouts).unwrap_err().to_string();
    assert!(outside.contains("such as SLURM_JOB_ID, is set here"), "{outside}");
}

#[test]
fn outside_of_an_allocation_the_way_into_one_is_named() {
    let error = found("slurm", None, &[]).unwrap_err().to_string();
    assert!(
        error.contains("SLURM_JOB_ID") && error.contains("`kilter batch slurm`"),
        "{error}"
    );
    let error = found("slurm", Some("pmi9"), &[("SLURM_JOB_ID", "7")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("--pmi") && error.contains("pmix, pmi2, cray_shasta, none"),
        "{error}"
    );
    let error = found("jsm", Some("pmix"), &[("LSB_JOBID", "7")])
        .unwrap_err()
        .to_string();
    assert!(error.contains("allowed: none"), "{error}");
}
