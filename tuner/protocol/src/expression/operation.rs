//! Calls of an expression: the words of the language.

use std::fmt;

use kilter_algorithms::Collective;

/// Form in which a collective is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// `allreduce`.
    Blocking,
    /// `iallreduce`, to be completed by `wait`.
    Nonblocking,
    /// `start_allreduce`: the start of a persistent collective (MPI-4) that was made before, to be completed by `wait`.
    Persistent,
}

impl Form {
    /// Prefix of the function's name.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Form::Blocking => "",
            Form::Nonblocking => "i",
            Form::Persistent => "start_",
        }
    }
}

/// The operation that a call names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A collective; `None` stands for each of the guideline's `functions` in turn, written `A`.
    Collective(Option<Collective>, Form),
    /// Kilter's algorithm of this name for the left side's collective.
    PointToPoint(String),
    /// Any of the calls below, which have one form only.
    Single(Single),
}

macro_rules! singles {
    ($($variant:ident, $name:literal, $mpi:literal, $sized:literal, $summary:literal;)*) => {
        /// A call that is no collective.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Single { $(#[doc = $summary] $variant,)* }

        impl Single {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Single] = &[$(Single::$variant,)*];

            /// The word.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $(Single::$variant => $name,)* } }

            /// The MPI function's name.
            #[must_use]
            pub const fn mpi_name(self) -> &'static str { match self { $(Single::$variant => $mpi,)* } }

            /// True if it takes a size.
            #[must_use]
            pub const fn has_size(self) -> bool { match self { $(Single::$variant => $sized,)* } }
        }
    };
}

singles! {
    Send, "send", "MPI_Send", true, "Blocking send, standard mode.";
    Ssend, "ssend", "MPI_Ssend", true, "Blocking send, synchronous mode.";
    Rsend, "rsend", "MPI_Rsend", true, "Blocking send, ready mode; the receive must be posted.";
    Isend, "isend", "MPI_Isend", true, "Non-blocking send.";
    Recv, "recv", "MPI_Recv", true, "Blocking receive.";
    Irecv, "irecv", "MPI_Irecv", true, "Non-blocking receive.";
    Sendrecv, "sendrecv", "MPI_Sendrecv", true, "Send to one neighbour and receive from the other.";
    Pingpong, "pingpong", "MPI_Send", true, "Blocking send, which the receiver answers with as many bytes.";
    Wait, "wait", "MPI_Waitall", false, "Completes everything that is outstanding.";
    Pack, "pack", "MPI_Pack", true, "Copies strided data into a contiguous buffer.";
    Unpack, "unpack", "MPI_Unpack", true, "Copies a contiguous buffer into strided data.";
    Copy, "copy", "memcpy", true, "Copies what rank 0 gives to what it gets.";
    Combine, "combine", "MPI_Reduce_local", true, "Combines what rank 0 gives into what it has.";
    Fence, "win_fence", "MPI_Win_fence", false, "Begins and ends an epoch of one-sided communication.";
    Put, "put", "MPI_Put", true, "Writes into another rank's window.";
    Get, "get", "MPI_Get", true, "Reads from another rank's window.";
}

impl Single {
    /// The one of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Single> {
        Single::ALL.iter().copied().find(|single| single.name() == name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Collective(Some(function), form) => write!(f, "{}{function}", form.prefix()),
            Operation::Collective(None, form) => write!(f, "{}A", form.prefix()),
            Operation::PointToPoint(name) => write!(f, "p2p.{name}"),
            Operation::Single(single) => f.write_str(single.name()),
        }
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
        pub enum $type { $($(#[$vdoc])* $variant,)* }

        impl $type {
            /// All of them.
            pub const ALL: &'static [$type] = &[$($type::$variant,)*];

            /// The word.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $($type::$variant => $name,)* } }

            /// The one of this name.
            #[must_use]
            pub fn find(name: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|word| word.name() == name)
            }

            /// All names, for messages.
            #[must_use]
            pub fn names() -> String {
                $type::ALL.iter().map(|word| word.name()).collect::<Vec<_>>().join(", ")
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

words! {
    /// Layout of a buffer's bytes, and the datatype that tells it to MPI.
    Layout {
        /// One after the other.
        #[default]
        Contiguous = "contiguous",
        /// `MPI_Type_vector`: blocks of 8 bytes at a stride of 16.
        Vector = "vector",
        /// `MPI_Type_indexed`: blocks of 8 and 24 bytes in turn, 8 bytes apart.
        Indexed = "indexed",
        /// `MPI_Type_create_struct`: a vector and, behind it, an indexed type, each for half of the bytes.
        Struct = "struct",
    }
}

words! {
    /// Division of a v-variant's volume among the ranks.
    Counts {
        /// `n/p` each.
        #[default]
        Uniform = "uniform",
        /// In proportion to the rank plus one.
        Triangle = "triangle",
        /// The root has all of it.
        Root = "root",
    }
}

impl Layout {
    /// A typed volume is a multiple of this, in bytes, so that every datatype divides it.
    pub const UNIT_BYTES: u64 = 64;
}

/// The communicator that a call is made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Communicator {
    /// All ranks, in their order.
    #[default]
    World,
    /// The ranks of one node (`MPI_COMM_TYPE_SHARED`).
    Node,
    /// Groups of this many consecutive ranks.
    Part(u64),
    /// Two ranks, of which the first one sends a message and the second one receives it.
    Pair(u64, u64),
    /// One rank of each of the groups of the side: the root in its own group, the first rank elsewhere.
    Leaders,
    /// The ranks with the same number in their groups, one communicator for each number; the groups have equally many ranks.
    Lane,
    /// All ranks in an order drawn from the seed.
    Permuted,
    /// All ranks in reverse order.
    Reversed,
    /// A periodic two-dimensional Cartesian grid, ranks in their order.
    Grid,
    /// The same grid, on which the library may reorder the ranks.
    GridReordered,
}

impl Communicator {
    /// The word in braces.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Communicator::World => "world".to_owned(),
            Communicator::Node => "node".to_owned(),
            Communicator::Part(ranks) => format!("part:{ranks}"),
            Communicator::Pair(from, to) => format!("pair:{from}:{to}"),
            Communicator::Leaders => "leaders".to_owned(),
            Communicator::Lane => "lane".to_owned(),
            Communicator::Permuted => "permuted".to_owned(),
            Communicator::Reversed => "reversed".to_owned(),
            Communicator::Grid => "grid".to_owned(),
            Communicator::GridReordered => "grid_reordered".to_owned(),
        }
    }

    /// True if it divides the ranks into groups of neighbours, which have leaders and lanes.
    #[must_use]
    pub const fn is_group(self) -> bool {
        matches!(self, Communicator::Node | Communicator::Part(_))
    }

    /// True if a call on it is made by some of the ranks, or by several groups of them at once.
    #[must_use]
    pub const fn is_partial(self) -> bool {
        self.is_group() || matches!(self, Communicator::Leaders | Communicator::Lane)
    }
}
