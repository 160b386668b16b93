//! The functions that are counted or traced. The last line is traced alone.

macro_rules! functions {
    ($($name:ident)*) => {
        /// A function; the variant's name is MPI's without `MPI_`.
        #[allow(non_camel_case_types, reason = "the names are MPI's")]
        #[allow(dead_code, reason = "libraries before MPI 4 have no MPI_Isendrecv")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Function { $($name,)* }

        impl Function {
            /// Names in the order of their numbers.
            pub(crate) const NAMES: &[&str] = &[$(concat!("MPI_", stringify!($name)),)*];
        }
    };
}

functions! {
    Send Ssend Bsend Rsend Recv Mrecv Sendrecv Sendrecv_replace
    Isend Issend Ibsend Irsend Irecv Imrecv Isendrecv Isendrecv_replace
    Send_init Ssend_init Bsend_init Rsend_init Recv_init Start Startall
    Probe Iprobe Mprobe Improbe
    Wait Waitall Waitany Waitsome Test Testall Testany Testsome
    Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw
    Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
    Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw
    Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan
    Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
    Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw
    Comm_dup Comm_dup_with_info Comm_idup Comm_split Comm_split_type Comm_create Comm_create_group Comm_free
    Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent
    Intercomm_create Intercomm_merge
    Request_free Cancel
}

impl Function {
    /// Name of the function with this number, such as `MPI_Send`.
    pub(crate) fn name_of(number: u8) -> &'static str {
        Function::NAMES.get(usize::from(number)).copied().unwrap_or("MPI_?")
    }

    /// True unless the function is traced alone.
    #[inline]
    pub(crate) fn is_counted(self) -> bool {
        (self as u8) < Function::Request_free as u8
    }

    /// True for collectives, blocking or not; making communicators is none.
    #[inline]
    pub(crate) fn is_collective(self) -> bool {
        (Function::Barrier as u8..=Function::Ineighbor_alltoallw as u8).contains(&(self as u8))
    }

    /// True for blocking collectives of all ranks of a communicator, whose waiting is measured.
    #[inline]
    pub(crate) fn is_sampled(self) -> bool {
        (Function::Barrier as u8..=Function::Exscan as u8).contains(&(self as u8))
    }

    /// True for calls that wait until a message is there, and do not receive it.
    #[inline]
    pub(crate) fn probes(self) -> bool {
        matches!(self, Function::Probe | Function::Mprobe)
    }

    /// True for calls that wait for one message and say who sent it.
    #[inline]
    pub(crate) fn waits_for_sender(self) -> bool {
        use Function::{Mprobe, Probe, Recv, Sendrecv, Sendrecv_replace};
        matches!(self, Recv | Sendrecv | Sendrecv_replace | Probe | Mprobe)
    }

    /// True if the function looks whether requests are complete, and does not wait for them.
    #[inline]
    pub(crate) fn is_test(self) -> bool {
        (Function::Test as u8..=Function::Testsome as u8).contains(&(self as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::Function;

    #[test]
    fn names_are_those_of_the_standard() {
        assert_eq!(Function::name_of(Function::Send as u8), "MPI_Send");
        assert_eq!(
            Function::name_of(Function::Intercomm_merge as u8),
            "MPI_Intercomm_merge"
        );
        assert_eq!(Function::name_of(255), "MPI_?");
        assert!(Function::NAMES.len() < 256);
        let names = |is: fn(Function) -> bool, all: &[Function]| all.iter().all(|function| is(*function));
        use Function::{Bcast, Ibarrier, Ineighbor_alltoallw, Test, Testsome};
        assert!(names(Function::is_collective, &[Bcast, Ibarrier, Ineighbor_alltoallw]));
        assert!(names(Function::is_test, &[Test, Testsome]) && !Function::Waitsome.is_test());
        assert!(names(
            Function::is_sampled,
            &[Function::Barrier, Bcast, Function::Exscan]
        ));
        assert!(!Ibarrier.is_sampled() && !Ineighbor_alltoallw.is_sampled() && !Testsome.is_sampled());
        assert!(!Function::Testsome.is_collective() && !Function::Comm_dup.is_collective());
    }
}
