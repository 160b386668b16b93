//! Ranks that wait let others compute. Tests have more ranks than there are processors, and other tests beside them. Open MPI's ranks yield by
//! themselves where a job has more of them than processors. Those of MPICH and Intel MPI look for messages without a pause, and the rank that they wait
//! for has no processor until their time slice ends. On two processors, 300 allreduces on 4 ranks of MPICH 4.0 compute for 9.6 s without and for 0.3 to
//! 2.4 s with what is here.

use std::path::PathBuf;

use crate::dropin::job::Mpi;

/// Additions to a job for that.
pub(crate) struct Yielding {
    /// A library that is preloaded behind all others.
    pub(crate) behind: Option<PathBuf>,
    /// Variables of its ranks.
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

/// For the ranks of this library.
pub(crate) fn of(mpi: Mpi) -> Yielding {
    let nothing = Yielding {
        behind: None,
        variables: &[],
    };
    match mpi {
        Mpi::Brought("intelmpi-2021") => Yielding {
            variables: &[("I_MPI_THREAD_YIELD", "2")],
            ..nothing
        },
        _ if mpi.is_open_mpi() => nothing,
        // MPICH is compiled without yields, whatever MPIR_CVAR_POLLS_BEFORE_YIELD says.
        _ => Yielding {
            behind: Some(mpi.built(
                "mpicc",
                "yielding.c",
                &["-std=c11", "-O1", "-shared", "-fPIC"],
                "yielding.so",
            )),
            ..nothing
        },
    }
}
