//! The collectives, by name, and how each distributes its data over the ranks.

use std::fmt;
use std::str::FromStr;

/// Distribution of `n` bytes over the `p` ranks before or after a collective (Traeff et al. 2010, section 3).
///
/// A composition such as `scatter(n) + allgather(n)` is well formed when each call's output shape is, or can be converted
/// by local copies into, the next call's input shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Nobody holds anything (barrier).
    Nothing,
    /// The root alone holds all `n` bytes.
    AtRoot,
    /// Every rank holds the same `n` bytes.
    Everywhere,
    /// Rank `i` holds block `i`, `n/p` bytes.
    Blocks,
    /// Every rank holds `n` bytes of its own, to be combined by an operator.
    Contributions,
    /// Every rank holds `p` blocks of `n/p` bytes, block `j` for rank `j` (alltoall, before).
    BlocksForEach,
    /// Every rank holds `p` blocks of `n/p` bytes, block `j` from rank `j` (alltoall, after).
    BlocksFromEach,
    /// Rank `i` holds the combination of the contributions of ranks `0..=i`.
    InclusivePrefix,
    /// Rank `i` holds the combination of the contributions of ranks `0..i`; undefined on rank 0.
    ExclusivePrefix,
}

/// The local copy that makes data of one shape the input of a call that needs another (Traeff et al. 2010,
/// doi:10.1109/TPDS.2009.120, section 3: the relations that hold "up to local copying").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalCopy {
    /// None: the data lies as it is needed.
    Nothing,
    /// None: everyone has everything, and a block of it is one's own.
    OwnBlock,
    /// Own block, zeros elsewhere: neutral for a bitwise OR.
    ZerosAroundBlock,
    /// The root's data, zeros on other ranks.
    ZerosOffRoot,
    /// Own block, once for each rank.
    Replicate,
}

impl Shape {
    /// Local copies that turn data of this shape into the input of a call that needs another; `None` if only communication does that.
    #[must_use]
    pub fn copied_to(self, needed: Shape) -> Option<LocalCopy> {
        match (self, needed) {
            (available, needed) if available == needed => Some(LocalCopy::Nothing),
            (Shape::Everywhere, Shape::AtRoot) => Some(LocalCopy::Nothing),
            (Shape::Everywhere, Shape::Blocks) => Some(LocalCopy::OwnBlock),
            (Shape::Blocks, Shape::Contributions) => Some(LocalCopy::ZerosAroundBlock),
            (Shape::Blocks, Shape::BlocksForEach) => Some(LocalCopy::Replicate),
            (Shape::AtRoot, Shape::Contributions) => Some(LocalCopy::ZerosOffRoot),
            _ => None,
        }
    }

    /// True if data of this shape contains, on every rank, what `wanted` has there.
    #[must_use]
    pub fn contains(self, wanted: Shape) -> bool {
        self == wanted || (self == Shape::Everywhere && matches!(wanted, Shape::AtRoot | Shape::Blocks))
    }
}

macro_rules! collectives {
    ($($variant:ident, $name:literal, $mpi:literal, $input:ident => $output:ident, $summary:literal;)*) => {
        /// An MPI collective (or `MPI_Reduce_local`, which compositions need), blocking.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Collective { $(#[doc = $summary] $variant,)* }

        impl Collective {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Collective] = &[$(Collective::$variant,)*];

            /// Kilter's name: lower case, as in guideline expressions, options and profiles.
            #[inline]
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $(Collective::$variant => $name,)* } }

            /// The MPI function's name.
            #[inline]
            #[must_use]
            pub const fn mpi_name(self) -> &'static str { match self { $(Collective::$variant => $mpi,)* } }

            /// Shape of its data before the call.
            // Folded where the collective is known, which the match by itself is too long for.
            #[inline(always)]
            #[must_use]
            pub const fn input(self) -> Shape { match self { $(Collective::$variant => Shape::$input,)* } }

            /// Shape of its data after the call.
            #[inline(always)]
            #[must_use]
            pub const fn output(self) -> Shape { match self { $(Collective::$variant => Shape::$output,)* } }
        }
    };
}

collectives! {
    Allgather, "allgather", "MPI_Allgather", Blocks => Everywhere, "Every rank gets all blocks.";
    Allgatherv, "allgatherv", "MPI_Allgatherv", Blocks => Everywhere, "Every rank gets all blocks, counts given per rank.";
    Allreduce, "allreduce", "MPI_Allreduce", Contributions => Everywhere, "Every rank gets the combination.";
    Alltoall, "alltoall", "MPI_Alltoall", BlocksForEach => BlocksFromEach, "Every rank sends a block to every rank.";
    Alltoallv, "alltoallv", "MPI_Alltoallv", BlocksForEach => BlocksFromEach, "Every rank sends a block to every rank, counts given per pair.";
    Barrier, "barrier", "MPI_Barrier", Nothing => Nothing, "No rank leaves before all have entered.";
    Bcast, "bcast", "MPI_Bcast", AtRoot => Everywhere, "Every rank gets the root's data.";
    Exscan, "exscan", "MPI_Exscan", Contributions => ExclusivePrefix, "Combination of all lower ranks.";
    Gather, "gather", "MPI_Gather", Blocks => AtRoot, "The root gets all blocks.";
    Gatherv, "gatherv", "MPI_Gatherv", Blocks => AtRoot, "The root gets all blocks, counts given per rank.";
    Reduce, "reduce", "MPI_Reduce", Contributions => AtRoot, "The root gets the combination.";
    ReduceLocal, "reduce_local", "MPI_Reduce_local", ExclusivePrefix => InclusivePrefix, "Combines two local buffers.";
    ReduceScatter, "reduce_scatter", "MPI_Reduce_scatter", Contributions => Blocks, "Combination, scattered, counts given per rank.";
    ReduceScatterBlock, "reduce_scatter_block", "MPI_Reduce_scatter_block", Contributions => Blocks, "Combination, scattered in equal blocks.";
    Scan, "scan", "MPI_Scan", Contributions => InclusivePrefix, "Combination of all ranks up to one's own.";
    Scatter, "scatter", "MPI_Scatter", AtRoot => Blocks, "Every rank gets its block of the root's data.";
    Scatterv, "scatterv", "MPI_Scatterv", AtRoot => Blocks, "Every rank gets its block, counts given per rank.";
}

impl Collective {
    /// The nine collectives of PGMPI (Hunold et al. 2016), whose guidelines Kilter verifies.
    pub const PGMPI: [Collective; 9] = [
        Collective::Allgather,
        Collective::Allreduce,
        Collective::Bcast,
        Collective::Gather,
        Collective::Reduce,
        Collective::ReduceScatter,
        Collective::ReduceScatterBlock,
        Collective::Scan,
        Collective::Scatter,
    ];

    /// The collectives of several ranks, which algorithms are written for and which the drop-in replaces: all but
    /// [`Collective::ReduceLocal`].
    pub fn of_several_ranks() -> impl Iterator<Item = Collective> {
        let is_local = |collective: &Collective| *collective == Collective::ReduceLocal;
        Collective::ALL
            .iter()
            .copied()
            .filter(move |collective| !is_local(collective))
    }

    /// True if it moves or combines any data.
    #[inline]
    #[must_use]
    pub const fn has_data(self) -> bool {
        !matches!(self.input(), Shape::Nothing)
    }

    /// True if its blocks may differ in length.
    #[inline]
    #[must_use]
    pub const fn has_counts(self) -> bool {
        matches!(
            self,
            Collective::Allgatherv
                | Collective::Alltoallv
                | Collective::Gatherv
                | Collective::ReduceScatter
                | Collective::Scatterv
        )
    }

    /// True if all ranks know the total volume from their own arguments, so that a decision may depend on it.
    #[inline]
    #[must_use]
    pub const fn volume_is_known(self) -> bool {
        !matches!(
            self,
            Collective::Alltoallv | Collective::Barrier | Collective::Gatherv | Collective::Scatterv
        )
    }

    /// True if a rank is told the lengths of its input's blocks ([`crate::Arguments::input_blocks`]).
    #[inline]
    #[must_use]
    pub const fn lists_input_blocks(self, is_root: bool) -> bool {
        match self {
            Collective::Alltoallv | Collective::ReduceScatter => true,
            Collective::Scatterv => is_root,
            _ => false,
        }
    }

    /// True if a rank is told the lengths of its output's blocks ([`crate::Arguments::output_blocks`]).
    #[inline]
    #[must_use]
    pub const fn lists_output_blocks(self, is_root: bool) -> bool {
        match self {
            Collective::Allgatherv | Collective::Alltoallv => true,
            Collective::Gatherv => is_root,
            _ => false,
        }
    }

    /// True if one of its buffers is divided into `p` blocks, so that `n` must be a multiple of `p`.
    #[inline]
    #[must_use]
    pub const fn has_blocks(self) -> bool {
        is_divided(self.input()) || is_divided(self.output())
    }

    /// True if it combines data with an operator.
    #[inline]
    #[must_use]
    pub const fn has_operator(self) -> bool {
        matches!(
            self,
            Collective::Allreduce
                | Collective::Exscan
                | Collective::Reduce
                | Collective::ReduceLocal
                | Collective::ReduceScatter
                | Collective::ReduceScatterBlock
                | Collective::Scan
        )
    }

    /// True if it has a root.
    #[inline]
    #[must_use]
    pub const fn has_root(self) -> bool {
        matches!(self.input(), Shape::AtRoot) || matches!(self.output(), Shape::AtRoot)
    }
}

#[inline]
const fn is_divided(shape: Shape) -> bool {
    matches!(shape, Shape::Blocks | Shape::BlocksForEach | Shape::BlocksFromEach)
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is none of [`Collective::ALL`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a collective; allowed: {allowed}", allowed = names())]
pub struct UnknownCollective(pub String);

fn names() -> String {
    Collective::ALL.iter().map(|c| c.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Collective {
    type Err = UnknownCollective;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Collective::ALL
            .iter()
            .copied()
            .find(|c| c.name() == name)
            .ok_or_else(|| UnknownCollective(name.to_owned()))
    }
}
