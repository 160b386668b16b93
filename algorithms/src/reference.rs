//! The sequential reference: the result that a collective must deliver. The tests of the algorithms and of the layer over MPI use it, and so do
//! the worker and the verification of plugins.
//!
//! * [`Call`] says from where each element of a rank's result comes, and which buffers mean anything on a rank: what is neither a result nor
//!   [undefined](Call::undefined) must be left as it was, the input included.
//! * [`Content`] says what the elements are. [`Elements`] makes them for an [`Operator`], [`Given`] has them from inputs; [`closed_form`] is
//!   content whose combination over thousands of ranks takes no longer than over two; [`doubles`] is content that shows the order of additions.
//!
//! Nothing here knows a buffer's address, a datatype or a schedule. Positions are indices of data: where blocks have displacements or gaps, the
//! caller maps them to places in memory.

mod call;
pub mod closed_form;
mod content;
pub mod doubles;
mod operator;

pub use call::{Call, Division, Own, Piece, Source};
pub use content::{Content, Elements, Given};
pub use operator::Operator;

/// A number in which every bit depends on every bit of `x` (the finaliser of SplitMix64: Steele, Lea and Flood, OOPSLA 2014,
/// doi:10.1145/2660193.2660195).
#[inline]
#[must_use]
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
