//! Functions of MPI: the one list of names. The numbers of the tracer, the kinds in profiles and the collectives in traces follow from it.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Kind of a function, by which times are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A collective that waits for other ranks: its time without waiting is the least of all ranks.
    Collective,
    /// A blocking send or receive.
    Message,
    /// A call that begins an operation and does not wait for it.
    Begin,
    /// A call that completes operations, or looks whether they are complete, or whether a message is there.
    Completion,
    /// A call that makes or frees communicators.
    Communicator,
    /// A call that reads or writes memory of another rank, or begins to.
    OneSided,
    /// A call that opens or closes the time in which a rank may reach the memory of others, or completes what it did there.
    Epoch,
    /// A collective call that makes, frees or fences windows.
    Window,
    /// A call on a file.
    File,
    /// Any other.
    Other,
}

macro_rules! functions {
    ($($kind:ident { $($name:ident)* })*; $own:ident = $text:literal) => {
        /// A function; the variant's name is MPI's without `MPI_`, but for the last one's, which is the tracer's own.
        #[allow(non_camel_case_types, reason = "the names are MPI's")]
        #[allow(missing_docs, reason = "the standard says what each is")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Function { $($($name,)*)* $own }

        impl Function {
            /// All, in the order of their numbers.
            pub const ALL: &[Function] = &[$($(Function::$name,)*)* Function::$own];

            /// Names in the order of their numbers.
            pub const NAMES: &[&str] = &[$($(concat!("MPI_", stringify!($name)),)*)* $text];

            /// The kind.
            #[inline]
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self {
                    $($(Function::$name)|* => Kind::$kind,)*
                    Function::$own => Kind::Other,
                }
            }
        }
    };
}

// The three lists of collectives have one order.
functions! {
    Message { Send Ssend Bsend Rsend Recv Mrecv Sendrecv Sendrecv_replace }
    Begin {
        Isend Issend Ibsend Irsend Irecv Imrecv Isendrecv Isendrecv_replace
        Send_init Ssend_init Bsend_init Rsend_init Recv_init Start Startall
    }
    Completion {
        Probe Iprobe Mprobe Improbe
        Wait Waitall Waitany Waitsome Test Testall Testany Testsome
    }
    Collective {
        Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Alltoallw
        Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan
        Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw
    }
    Begin {
        Ibarrier Ibcast Igather Igatherv Iscatter Iscatterv Iallgather Iallgatherv Ialltoall Ialltoallv Ialltoallw
        Ireduce Iallreduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan
        Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv Ineighbor_alltoallw
    }
    Begin {
        Barrier_init Bcast_init Gather_init Gatherv_init Scatter_init Scatterv_init Allgather_init Allgatherv_init
        Alltoall_init Alltoallv_init Alltoallw_init
        Reduce_init Allreduce_init Reduce_scatter_init Reduce_scatter_block_init Scan_init Exscan_init
        Neighbor_allgather_init Neighbor_allgatherv_init Neighbor_alltoall_init Neighbor_alltoallv_init Neighbor_alltoallw_init
    }
    Communicator {
        Comm_dup Comm_dup_with_info Comm_idup Comm_split Comm_split_type Comm_create Comm_create_group Comm_free
        Cart_create Cart_sub Graph_create Dist_graph_create Dist_graph_create_adjacent
        Intercomm_create Intercomm_merge
    }
    OneSided {
        Put Get Accumulate Get_accumulate Fetch_and_op Compare_and_swap
        Rput Rget Raccumulate Rget_accumulate
    }
    Epoch {
        Win_start Win_complete Win_post Win_wait Win_test Win_lock Win_unlock Win_lock_all Win_unlock_all
        Win_flush Win_flush_all Win_flush_local Win_flush_local_all Win_sync
    }
    Window { Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_fence Win_free }
    File {
        File_open File_close File_sync File_set_view File_set_size File_preallocate
        File_read File_read_all File_read_at File_read_at_all File_read_shared File_read_ordered
        File_write File_write_all File_write_at File_write_at_all File_write_shared File_write_ordered
        File_iread File_iread_all File_iread_at File_iread_at_all File_iread_shared
        File_iwrite File_iwrite_all File_iwrite_at File_iwrite_at_all File_iwrite_shared
        File_read_all_begin File_read_all_end File_read_at_all_begin File_read_at_all_end
        File_read_ordered_begin File_read_ordered_end
        File_write_all_begin File_write_all_end File_write_at_all_begin File_write_at_all_end
        File_write_ordered_begin File_write_ordered_end
    }
    Other { Request_free Cancel };
    Send_to_self = "kilter_send_to_self"
}

/// Number of collectives in each of their three lists.
const COLLECTIVES: u8 = Function::Ibarrier as u8 - Function::Barrier as u8;

impl Function {
    /// The function of this name, with or without `MPI_`.
    #[must_use]
    pub fn named(name: &str) -> Option<Function> {
        static BY_NAME: LazyLock<HashMap<&str, Function>> = LazyLock::new(|| {
            let all = Function::ALL.iter();
            all.map(|function| (function.name().trim_start_matches("MPI_"), *function))
                .collect()
        });
        BY_NAME.get(name.strip_prefix("MPI_").unwrap_or(name)).copied()
    }

    /// Name, such as `MPI_Send`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Function::name_of(self as u8)
    }

    /// Name of the function with this number.
    #[must_use]
    pub fn name_of(number: u8) -> &'static str {
        Function::NAMES.get(usize::from(number)).copied().unwrap_or("MPI_?")
    }

    /// The blocking form of a collective, blocking or not, begun or prepared: `Bcast` for `Ibcast` and `Bcast_init`; making communicators is
    /// none.
    #[must_use]
    pub fn collective(self) -> Option<Function> {
        let at = (self as u8).checked_sub(Function::Barrier as u8)?;
        let blocking = usize::from(Function::Barrier as u8 + at % COLLECTIVES);
        (at < 3 * COLLECTIVES).then(|| Function::ALL[blocking])
    }

    /// The form of a collective that begins it and does not wait: `Ibcast` for `Bcast`.
    #[must_use]
    pub fn non_blocking(self) -> Option<Function> {
        let begun = self.collective()? as u8 + COLLECTIVES;
        Function::ALL.get(usize::from(begun)).copied()
    }

    /// True for collectives, in any form, with a length for each block.
    #[must_use]
    pub fn varies(self) -> bool {
        use Function::{
            Allgatherv, Alltoallv, Alltoallw, Gatherv, Neighbor_allgatherv, Neighbor_alltoallv, Neighbor_alltoallw,
            Reduce_scatter, Scatterv,
        };
        let of_neighbours = [Neighbor_allgatherv, Neighbor_alltoallv, Neighbor_alltoallw];
        let of_all = [Allgatherv, Alltoallv, Alltoallw, Gatherv, Reduce_scatter, Scatterv];
        self.collective()
            .is_some_and(|blocking| of_all.contains(&blocking) || of_neighbours.contains(&blocking))
    }

    /// True for collectives, in any form, in which one rank gives or gets what the others do not.
    #[must_use]
    pub fn has_root(self) -> bool {
        use Function::{Bcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
        matches!(
            self.collective(),
            Some(Bcast | Gather | Gatherv | Scatter | Scatterv | Reduce)
        )
    }

    /// True for blocking collectives in which every rank needs something of all others. `MPI_Reduce_scatter` is none: a rank may ask for
    /// nothing.
    #[must_use]
    pub fn waits_for_all(self) -> bool {
        use Function::{
            Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Alltoallw, Barrier, Reduce_scatter_block,
        };
        matches!(
            self,
            Allgather | Allgatherv | Allreduce | Alltoall | Alltoallv | Alltoallw | Barrier | Reduce_scatter_block
        )
    }

    /// True for blocking collectives in which a rank waits for the ranks before it, and for no others.
    #[must_use]
    pub fn waits_in_order(self) -> bool {
        matches!(self, Function::Scan | Function::Exscan)
    }

    /// True for collectives that are done or begun by the call; making communicators is none.
    #[inline]
    #[must_use]
    pub fn is_collective(self) -> bool {
        (Function::Barrier as u8..Function::Barrier_init as u8).contains(&(self as u8))
    }

    /// True for blocking collectives of all ranks of a communicator.
    #[inline]
    #[must_use]
    pub fn is_blocking_collective_of_all(self) -> bool {
        (Function::Barrier as u8..=Function::Exscan as u8).contains(&(self as u8))
    }

    /// True if calls are counted by their requests instead of bytes.
    #[must_use]
    pub fn counts_requests(self) -> bool {
        self.kind() == Kind::Completion || self.starts_prepared()
    }

    /// True if calls have a number of bytes.
    #[must_use]
    pub fn has_bytes(self) -> bool {
        let kind = self.kind();
        !self.counts_requests() && !matches!(kind, Kind::Communicator | Kind::Epoch | Kind::Window)
    }

    /// True for calls that start what was prepared before.
    #[must_use]
    pub fn starts_prepared(self) -> bool {
        matches!(self, Function::Start | Function::Startall)
    }

    /// True for calls that send, or begin or prepare to.
    #[must_use]
    pub fn is_send(self) -> bool {
        use Function::{
            Bsend_init, Ibsend, Irsend, Isend, Isendrecv, Isendrecv_replace, Issend, Rsend_init, Send_init, Ssend_init,
        };
        let begins = matches!(self, Isend | Issend | Ibsend | Irsend | Isendrecv | Isendrecv_replace);
        let prepares = matches!(self, Send_init | Ssend_init | Bsend_init | Rsend_init);
        let blocks = self.kind() == Kind::Message && !matches!(self, Function::Recv | Function::Mrecv);
        begins || prepares || blocks
    }

    /// True for sends that return only when the message is on its way or in a buffer of the library. The length of such a call shows what it
    /// waited for; that of one that also receives does not.
    #[must_use]
    pub fn waits_to_send(self) -> bool {
        matches!(self, Function::Send | Function::Ssend | Function::Rsend)
    }

    /// True for calls that return when the message that they receive is there.
    #[must_use]
    pub fn waits_to_receive(self) -> bool {
        use Function::{Mrecv, Recv, Sendrecv, Sendrecv_replace};
        matches!(self, Recv | Mrecv | Sendrecv | Sendrecv_replace)
    }

    /// True for calls that prepare an operation, and start none.
    #[must_use]
    pub fn prepares(self) -> bool {
        let of_messages = Function::Send_init as u8..=Function::Recv_init as u8;
        let of_collectives = Function::Barrier_init as u8..=Function::Neighbor_alltoallw_init as u8;
        of_messages.contains(&(self as u8)) || of_collectives.contains(&(self as u8))
    }

    /// True for calls that wait until a message is there, and do not receive it.
    #[inline]
    #[must_use]
    pub fn waits_to_probe(self) -> bool {
        matches!(self, Function::Probe | Function::Mprobe)
    }

    /// True for calls that wait for one message and say who sent it.
    #[inline]
    #[must_use]
    pub fn waits_for_sender(self) -> bool {
        use Function::{Mprobe, Probe, Recv, Sendrecv, Sendrecv_replace};
        matches!(self, Recv | Sendrecv | Sendrecv_replace | Probe | Mprobe)
    }

    /// True if the function looks whether requests are complete, and does not wait for them.
    #[inline]
    #[must_use]
    pub fn is_test(self) -> bool {
        (Function::Test as u8..=Function::Testsome as u8).contains(&(self as u8))
    }

    /// True if the function looks for something, does not wait for it, and may find nothing.
    #[inline]
    #[must_use]
    pub fn may_find_nothing(self) -> bool {
        self.is_test() || matches!(self, Function::Iprobe | Function::Improbe)
    }
}

/// Kind of the function of this name.
#[must_use]
pub fn kind(name: &str) -> Kind {
    Function::named(name).map_or(Kind::Other, Function::kind)
}

#[cfg(test)]
mod tests {
    use super::Function::*;
    use super::*;

    #[test]
    fn numbers_and_names_belong_together() {
        assert_eq!(Function::name_of(Send as u8), "MPI_Send");
        assert_eq!(Function::name_of(Intercomm_merge as u8), "MPI_Intercomm_merge");
        assert_eq!(Function::name_of(255), "MPI_?");
        assert!(Function::ALL.len() < 256);
        for (number, function) in (0..).zip(Function::ALL) {
            assert_eq!(*function as u8, number);
            assert_eq!(Function::named(function.name()), Some(*function));
        }
        assert_eq!(Function::named("Ibcast"), Some(Ibcast));
        assert_eq!((Function::named("MPI_?"), kind("MPI_?")), (None, Kind::Other));
    }

    /// The three lists are in one order.
    #[test]
    fn begun_and_prepared_collectives_have_their_blocking_form() {
        let mut forms = 0;
        for function in Function::ALL {
            let name = function.name().trim_start_matches("MPI_");
            let Some(collective) = function.collective() else {
                assert_ne!(function.kind(), Kind::Collective, "{name}");
                continue;
            };
            forms += 1;
            let blocking = collective.name().trim_start_matches("MPI_");
            assert_eq!(collective.kind(), Kind::Collective);
            match name.strip_suffix("_init") {
                Some(prepared) => assert_eq!((prepared, function.prepares()), (blocking, true)),
                None if function.kind() == Kind::Begin => assert_eq!(name, format!("I{}", blocking.to_lowercase())),
                None => assert_eq!(name, blocking),
            }
            assert_eq!(function.is_collective(), !function.prepares(), "{name}");
            let begun = function.non_blocking().map(Function::name);
            assert_eq!(begun, Some(&*format!("MPI_I{}", blocking.to_lowercase())), "{name}");
        }
        assert_eq!(forms, 66);
    }

    #[test]
    fn what_a_call_waits_for_is_told_by_its_function() {
        let all = |is: fn(Function) -> bool| -> Vec<Function> {
            Function::ALL.iter().copied().filter(|function| is(*function)).collect()
        };
        assert_eq!(all(Function::waits_to_send), [Send, Ssend, Rsend]);
        assert_eq!(
            all(Function::waits_to_receive),
            [Recv, Mrecv, Sendrecv, Sendrecv_replace]
        );
        assert_eq!(all(Function::waits_in_order), [Scan, Exscan]);
        let for_all = all(Function::waits_for_all);
        assert!(for_all.iter().all(|function| function.is_blocking_collective_of_all()));
        let not_for_all: Vec<Function> = all(Function::is_blocking_collective_of_all);
        let not_for_all = not_for_all.iter().filter(|function| !for_all.contains(function));
        // Those with a root wait for it or are it, and two are in order.
        let with_a_root = not_for_all.filter(|function| !function.has_root() && !function.waits_in_order());
        assert!(with_a_root.eq(&[Reduce_scatter]));
        assert!(Ibcast.has_root() && Scatterv_init.has_root() && !Comm_dup.has_root() && !Ibarrier.has_root());
    }

    /// A letter at the end is no sign: `Recv` and `MPI_Reduce_scatter`.
    #[test]
    fn collectives_with_a_length_for_each_block_are_told_by_name() {
        for function in Function::ALL.iter().copied() {
            let blocking = function.collective().map_or("", Function::name);
            let by_letter = blocking.ends_with(['v', 'w']) || function.collective() == Some(Reduce_scatter);
            assert_eq!(function.varies(), by_letter, "{function:?}");
        }
        assert!(Gatherv.varies() && Igatherv.varies() && Gatherv_init.varies());
        assert!(!Gather.varies() && !Recv.varies() && !Sendrecv.varies());
    }

    #[test]
    fn groups_are_those_of_the_standard() {
        let names = |is: fn(Function) -> bool, all: &[Function]| all.iter().all(|function| is(*function));
        assert!(names(Function::is_collective, &[Bcast, Ibarrier, Ineighbor_alltoallw]));
        assert!(!Testsome.is_collective() && !Comm_dup.is_collective());
        assert!(names(Function::is_test, &[Test, Testsome]) && !Waitsome.is_test());
        assert!(names(Function::may_find_nothing, &[Testany, Iprobe, Improbe]) && !Probe.may_find_nothing());
        assert!(names(
            Function::is_blocking_collective_of_all,
            &[Barrier, Bcast, Exscan]
        ));
        assert!(!Ibarrier.is_blocking_collective_of_all() && !Neighbor_allgather.is_blocking_collective_of_all());
        assert!(names(
            Function::is_send,
            &[Send, Bsend, Sendrecv, Isend, Issend, Isendrecv, Rsend_init]
        ));
        assert!(
            !names(|one| !one.is_send(), &[Send])
                && names(|one| !one.is_send(), &[Recv, Mrecv, Irecv, Imrecv, Recv_init, Put])
        );
        assert!(names(Function::counts_requests, &[Waitall, Iprobe, Start, Startall]) && !Isend.counts_requests());
        assert!(names(
            Function::has_bytes,
            &[Send, Irecv, Ibcast, Put, File_write_at_all, Recv_init, Scan_init]
        ));
        assert!(names(
            |one| !one.has_bytes(),
            &[Wait, Start, Comm_split, Win_fence, Win_flush]
        ));
        for (function, kind) in [
            (Startall, Kind::Begin),
            (Send_init, Kind::Begin),
            (Improbe, Kind::Completion),
            (Neighbor_alltoall, Kind::Collective),
            (Comm_idup, Kind::Communicator),
            (Rput, Kind::OneSided),
            (Win_unlock, Kind::Epoch),
            (Win_fence, Kind::Window),
            (File_iread_at_all, Kind::File),
            (Cancel, Kind::Other),
        ] {
            assert_eq!(function.kind(), kind, "{function:?}");
        }
    }
}
