//! Reasons why a term cannot stand where it does in its side.

use kilter_algorithms::Shape;
use kilter_protocol::expression::Layout;

/// Reason why a term cannot stand where it does: the end of a sentence about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    // Calls among others.
    #[error("a barrier is made of barriers")]
    NoBarrier,
    #[error("a collective does not belong to a message")]
    NoMessage,
    #[error("a message does not belong to a collective")]
    NoCollective,
    #[error("too many calls")]
    ManyCalls,
    #[error("only calls of the function itself, and gets, are repeated")]
    Repeated,
    #[error("what was started before it needs a `wait`")]
    Outstanding,
    #[error("its communicator was not made")]
    NoCommunicator,

    // Messages.
    #[error("every rank would wait in it for a receive that comes later")]
    ReceivedLater,
    #[error("it has no size")]
    NoSize,
    #[error("it moves more than the whole")]
    MoreThanAll,
    #[error("strided data is moved as a whole")]
    PieceOfStrided,
    #[error("a message from rank 0 to the last rank needs two ranks")]
    OneRank,
    #[error("all messages go from one rank to another one")]
    OtherPair,
    #[error("only sends, waits and one-sided calls make a transfer")]
    NoTransfer,
    #[error("the ready mode needs the attribute `posted`")]
    NotPosted,
    #[error("an exchange goes over all ranks")]
    PartOfRing,
    #[error("it neither sends nor receives")]
    NothingMoved,
    #[error("one-sided messages go from rank 0 to the last rank, of two or more")]
    OneSided,
    #[error("a round trip is made of plain messages")]
    RoundTrip,
    #[error("rank 0 copies the whole, and combines it once")]
    NoWholeCopy,
    #[error("what is combined is copied first")]
    NotCopied,

    // Strided data.
    #[error("it needs a strided type, and nothing else beside it")]
    NotStrided,
    #[error("its size is no multiple of the type's")]
    PieceOfType,
    #[error("the type covers more than the data")]
    TypeTooLarge,
    #[error("strided data is only moved as it is; pack it first")]
    NotPacked,
    #[error("strided types are supported for bcast, gather, scatter and allgather")]
    StridedFunction,
    #[error("its data lies as {lies}, not as {named}")]
    OtherLayout { lies: Layout, named: Layout },
    #[error("the data lies as {0}")]
    NothingToPack(Layout),
    #[error("the data lies as {lies} and shall lie as {shall}")]
    NothingToUnpack { lies: Layout, shall: Layout },
    #[error("it copies {bytes} bytes, and the data is {whole}, a block {block}")]
    NoPiece { bytes: usize, whole: usize, block: usize },

    // Data between two collectives.
    #[error("its size is {bytes} bytes, and the data there is {data}")]
    Size { bytes: usize, data: usize },
    #[error("the data is with the leaders")]
    WithLeaders,
    #[error("blocks lie part by part there; end with the call on the parts")]
    ByParts,
    #[error("it needs its data as {needs:?}, but has it as {has:?}, and no local copy converts that")]
    Shape { needs: Shape, has: Shape },
    /// The holder of the data is in the compiler's words.
    #[error("no such call continues from data that is held as {0}")]
    HeldOtherwise(String),
    #[error("p gets, of one rank's block each, make a gather")]
    NoGather,
    #[error("it gets {bytes} bytes, and a block has {block}")]
    NoBlock { bytes: usize, block: usize },
    #[error("it moves no data")]
    NoData,
    #[error(
        "calls on lanes, and those that share data out among them, are blocking, on contiguous data in equal blocks"
    )]
    PlainOnLanes,
    #[error("in place is supported for gather, scatter and allgather and their v-variants")]
    InPlace,
}
