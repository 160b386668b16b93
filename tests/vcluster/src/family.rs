//! Families of MPI libraries by what their launchers want: a table each. Words in braces are filled in.

use clap::ValueEnum;

/// MPI libraries that `--mpi` can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mpi {
    /// Open MPI 4
    Openmpi,
    /// Open MPI 4 over UCX
    OpenmpiUcx,
    /// Open MPI 4 over libfabric
    OpenmpiOfi,
    /// Open MPI 5
    #[value(name = "openmpi-5")]
    Openmpi5,
    /// MPICH 4 with Hydra
    Mpich,
    /// Intel MPI 2021
    Intel,
}

/// Names and values.
pub(crate) type Pairs = &'static [(&'static str, &'static str)];

/// A family. `{host}`, `{ppn}`, `{hostfile}`, `{ranks}`, `{agent}`, `{interface}`, `{tmp}`, `{name}` and `{value}` are placeholders.
#[derive(Debug)]
pub(crate) struct Family {
    /// The name in file names.
    pub(crate) name: &'static str,
    /// A line of the host file.
    pub(crate) host_line: &'static str,
    /// Parameters of the library.
    pub(crate) parameters: Pairs,
    /// Variables of every rank that only this library needs.
    pub(crate) environment: Pairs,
    /// Real-time priority of the ranks, if the library gives the processor away wherever it waits: one that spins between its polls
    /// never lets the rank run that it waits for.
    pub(crate) realtime_priority: Option<&'static str>,
    /// Variables of the launcher itself.
    pub(crate) launcher_environment: Pairs,
    /// The launcher's names in PATH.
    pub(crate) launchers: &'static [&'static str],
    /// Its arguments.
    pub(crate) arguments: &'static [&'static str],
    /// Form of a parameter on its command line.
    pub(crate) parameter: &'static [&'static str],
    /// Form of an environment variable for every rank on its command line.
    pub(crate) variable: &'static [&'static str],
}

impl Mpi {
    pub(crate) const fn family(self) -> &'static Family {
        match self {
            Mpi::Openmpi => &OPENMPI,
            Mpi::OpenmpiUcx => &OPENMPI_UCX,
            Mpi::OpenmpiOfi => &OPENMPI_OFI,
            Mpi::Openmpi5 => &OPENMPI_5,
            Mpi::Mpich => &MPICH,
            Mpi::Intel => &INTEL,
        }
    }
}

static OPENMPI: Family = Family {
    name: "openmpi",
    host_line: "{host} slots={ppn}",
    parameters: &[
        // Daemons through the launch agent, each started by mpirun itself.
        ("plm", "rsh"),
        ("plm_rsh_no_tree_spawn", "1"),
        // TCP only: all hosts share this machine's memory, and no host may notice.
        ("pml", "ob1"),
        ("btl", "tcp,self"),
        ("btl_tcp_if_include", "{interface}"),
        ("oob_tcp_if_include", "{interface}"),
        ("mpi_yield_when_idle", "1"),
        ("orte_tmpdir_base", "{tmp}"),
    ],
    environment: &[],
    realtime_priority: Some("10"),
    launcher_environment: &[],
    launchers: &["mpirun.openmpi", "mpirun"],
    #[rustfmt::skip]
    arguments: &[
        "--allow-run-as-root", "--hostfile", "{hostfile}", "-np", "{ranks}", "--map-by", "slot", "--bind-to", "none",
        "--mca", "plm_rsh_agent", "{agent}",
    ],
    parameter: &["--mca", "{name}", "{value}"],
    variable: &["-x", "{name}={value}"],
};

/// The same over UCX, which polls for its peers: with real-time priority a job of four hosts on two cores that takes one second takes up to twenty, or more.
static OPENMPI_UCX: Family = Family {
    name: "openmpi-ucx",
    parameters: &[
        ("plm", "rsh"),
        ("plm_rsh_no_tree_spawn", "1"),
        ("pml", "ucx"),
        ("pml_ucx_tls", "any"),
        ("pml_ucx_devices", "any"),
        ("oob_tcp_if_include", "{interface}"),
        ("mpi_yield_when_idle", "1"),
        ("orte_tmpdir_base", "{tmp}"),
    ],
    environment: &[("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "{interface}")],
    realtime_priority: None,
    ..OPENMPI
};

/// The same over libfabric, whose provider `tcp` reaches other hosts by the device of its variable alone.
static OPENMPI_OFI: Family = Family {
    name: "openmpi-ofi",
    parameters: &[
        ("plm", "rsh"),
        ("plm_rsh_no_tree_spawn", "1"),
        ("pml", "cm"),
        ("mtl", "ofi"),
        ("mtl_ofi_provider_include", "tcp"),
        ("oob_tcp_if_include", "{interface}"),
        ("mpi_yield_when_idle", "1"),
        ("orte_tmpdir_base", "{tmp}"),
    ],
    environment: &[("FI_TCP_IFACE", "{interface}")],
    ..OPENMPI
};

/// Its run-time system is PRRTE, which has parameters of its own.
static OPENMPI_5: Family = Family {
    name: "openmpi-5",
    parameters: &[
        ("pml", "ob1"),
        ("btl", "tcp,self"),
        ("btl_tcp_if_include", "{interface}"),
        ("mpi_yield_when_idle", "1"),
    ],
    launcher_environment: &[
        ("PRTE_MCA_plm_ssh_no_tree_spawn", "1"),
        ("PRTE_MCA_prte_if_include", "{interface}"),
        ("PRTE_MCA_prte_tmpdir_base", "{tmp}"),
    ],
    launchers: &["mpirun"],
    #[rustfmt::skip]
    arguments: &[
        "--allow-run-as-root", "--hostfile", "{hostfile}", "-np", "{ranks}", "--map-by", "slot", "--bind-to", "none",
        "--prtemca", "plm_ssh_agent", "{agent}",
    ],
    ..OPENMPI
};

static MPICH: Family = Family {
    name: "mpich",
    host_line: "{host}:{ppn}",
    parameters: &[("MPIR_CVAR_CH4_NETMOD", "ucx")],
    // TCP only, as above: left alone, UCX finds that "other hosts" share memory with it.
    environment: &[("UCX_TLS", "tcp,self"), ("UCX_NET_DEVICES", "{interface}")],
    realtime_priority: Some("10"),
    launcher_environment: &[],
    launchers: &["mpirun.mpich", "mpiexec.hydra"],
    #[rustfmt::skip]
    arguments: &[
        "-launcher", "ssh", "-launcher-exec", "{agent}", "-iface", "{interface}", "-f", "{hostfile}", "-n", "{ranks}",
    ],
    parameter: &["-genv", "{name}", "{value}"],
    variable: &["-genv", "{name}", "{value}"],
};

static INTEL: Family = Family {
    name: "intel",
    // The number of ranks behind a host is ignored: I_MPI_PERHOST spreads them.
    host_line: "{host}",
    parameters: &[],
    environment: &[
        ("I_MPI_FABRICS", "ofi"),
        ("FI_PROVIDER", "tcp"),
        ("FI_TCP_IFACE", "{interface}"),
        ("I_MPI_PIN", "0"),
    ],
    // Eight ranks on two cores do not get through MPI_Init with it.
    realtime_priority: None,
    launcher_environment: &[("I_MPI_HYDRA_IFACE", "{interface}"), ("I_MPI_PERHOST", "{ppn}")],
    launchers: &["mpiexec.hydra"],
    #[rustfmt::skip]
    arguments: &[
        "-bootstrap", "ssh", "-bootstrap-exec", "{agent}", "-iface", "{interface}", "-f", "{hostfile}", "-n", "{ranks}",
    ],
    ..MPICH
};

/// `text` with its words in braces filled in.
pub(crate) fn filled(text: &str, words: &[(&str, &str)]) -> String {
    words.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_launcher_is_told_in_its_own_words() {
        let host_line = |mpi: Mpi| filled(mpi.family().host_line, &[("host", "vc3"), ("ppn", "2")]);
        assert_eq!(host_line(Mpi::Openmpi), "vc3 slots=2");
        assert_eq!(host_line(Mpi::Openmpi5), "vc3 slots=2");
        assert_eq!(host_line(Mpi::Mpich), "vc3:2");
        assert_eq!(host_line(Mpi::Intel), "vc3");
    }

    #[test]
    fn nothing_in_a_table_is_left_open() {
        let words = [
            "host",
            "ppn",
            "hostfile",
            "ranks",
            "agent",
            "interface",
            "tmp",
            "name",
            "value",
        ]
        .map(|word| (word, "x"));
        for mpi in Mpi::value_variants() {
            let family = mpi.family();
            let pairs = [family.parameters, family.environment, family.launcher_environment].concat();
            let lists = [family.arguments, family.parameter, family.variable, &[family.host_line]].concat();
            for text in pairs.iter().map(|(_, value)| *value).chain(lists) {
                let filled = filled(text, &words);
                assert!(!filled.contains(['{', '}']), "{}: {text}", family.name);
            }
        }
    }
}
