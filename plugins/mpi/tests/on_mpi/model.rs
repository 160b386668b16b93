//! What the collectives are to compute, one rank after the other, without MPI.

use std::ffi::{c_int, c_void};

use kilter_algorithms::{Collective, Shape};
use mpi_sys::{MPI_Datatype, MPI_Op};

use kilter_mpi::constants;

/// An element, its MPI type and an operator on it.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) datatype: MPI_Datatype,
    pub(crate) op: MPI_Op,
    pub(crate) commutative: bool,
    pub(crate) bytes: usize,
    combine: fn(&[u8], &[u8]) -> Vec<u8>,
}

fn words(bytes: &[u8]) -> [u32; 2] {
    [0, 4].map(|at| u32::from_ne_bytes(*bytes[at..].first_chunk().expect("an element has eight bytes")))
}

/// Composition of the maps `x -> a x + b` over the integers modulo 2^32: associative, not commutative.
fn compose(lower: &[u8], upper: &[u8]) -> Vec<u8> {
    let ([a, b], [c, d]) = (words(lower), words(upper));
    [a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d)]
        .into_iter()
        .flat_map(u32::to_ne_bytes)
        .collect()
}

fn add(lower: &[u8], upper: &[u8]) -> Vec<u8> {
    words(lower)[0].wrapping_add(words(upper)[0]).to_ne_bytes().to_vec()
}

unsafe extern "C" fn compose_for_mpi(input: *mut c_void, inout: *mut c_void, length: *mut c_int, _: *mut MPI_Datatype) {
    // SAFETY: MPI passes `length` elements of eight bytes in both buffers, which do not overlap.
    unsafe {
        for i in 0..usize::try_from(*length).expect("a length is not negative") {
            let lower = std::slice::from_raw_parts(input.cast::<u8>().add(8 * i), 8);
            let upper = std::slice::from_raw_parts_mut(inout.cast::<u8>().add(8 * i), 8);
            let combined = compose(lower, upper);
            upper.copy_from_slice(&combined);
        }
    }
}

/// `MPI_INT` with `MPI_SUM`, and pairs with a user's operator that does not commute.
pub(crate) fn kinds() -> [Kind; 2] {
    let (mut pair, mut op) = (constants::datatype_null(), constants::op_null());
    // SAFETY: MPI is initialised; the operator works on the type.
    unsafe {
        mpi_sys::PMPI_Type_contiguous(2, constants::uint32(), &raw mut pair);
        mpi_sys::PMPI_Type_commit(&raw mut pair);
        mpi_sys::PMPI_Op_create(Some(compose_for_mpi), 0, &raw mut op);
    }
    [
        Kind {
            name: "int sum",
            datatype: constants::int(),
            op: constants::sum(),
            commutative: true,
            bytes: 4,
            combine: add_ints,
        },
        Kind {
            name: "maps composed",
            datatype: pair,
            op,
            commutative: false,
            bytes: 8,
            combine: compose,
        },
    ]
}

fn add_ints(lower: &[u8], upper: &[u8]) -> Vec<u8> {
    let padded = |bytes: &[u8]| [bytes, &[0; 4]].concat();
    add(&padded(lower), &padded(upper))
}

/// What rank `rank` gives: `elements` elements that no other rank and place has.
pub(crate) fn contribution(kind: &Kind, rank: usize, elements: usize) -> Vec<u8> {
    let word = |i: usize| (0x9E37_79B9_u32.wrapping_mul((rank * 7919 + i + 1) as u32) >> 3) | 1;
    (0..elements * kind.bytes / 4)
        .flat_map(|i| word(i).to_ne_bytes())
        .collect()
}

fn fold(kind: &Kind, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut total = inputs[0].clone();
    for input in &inputs[1..] {
        for at in (0..total.len()).step_by(kind.bytes) {
            let combined = (kind.combine)(&total[at..at + kind.bytes], &input[at..at + kind.bytes]);
            total[at..at + kind.bytes].copy_from_slice(&combined);
        }
    }
    total
}

/// How many elements each rank's block has.
pub(crate) fn equal_counts(p_ranks: usize, elements: usize) -> Vec<c_int> {
    vec![(elements / p_ranks) as c_int; p_ranks]
}

/// Input of `rank`; empty where the collective has none there.
pub(crate) fn input(
    collective: Collective,
    kind: &Kind,
    rank: usize,
    root: usize,
    elements: usize,
    counts: &[c_int],
) -> Vec<u8> {
    match collective.input() {
        Shape::Nothing => Vec::new(),
        Shape::AtRoot if rank != root => Vec::new(),
        Shape::Blocks => contribution(kind, rank, counts[rank] as usize),
        _ => contribution(kind, rank, elements),
    }
}

/// The result on `rank`; `None` where the collective defines none.
pub(crate) fn expected(
    collective: Collective,
    kind: &Kind,
    rank: usize,
    root: usize,
    elements: usize,
    counts: &[c_int],
) -> Option<Vec<u8>> {
    let p_ranks = counts.len();
    let inputs: Vec<Vec<u8>> = (0..p_ranks)
        .map(|i| input(collective, kind, i, root, elements, counts))
        .collect();
    let begin: usize = counts[..rank].iter().map(|count| *count as usize * kind.bytes).sum();
    let block = begin..begin + counts[rank] as usize * kind.bytes;
    match collective {
        Collective::Allgather | Collective::Allgatherv => Some(inputs.concat()),
        Collective::Allreduce => Some(fold(kind, &inputs)),
        Collective::Alltoall | Collective::Alltoallv => {
            Some(inputs.iter().flat_map(|input| input[block.clone()].to_vec()).collect())
        }
        Collective::Barrier => None,
        Collective::Bcast => Some(inputs[root].clone()),
        Collective::Exscan => (rank > 0).then(|| fold(kind, &inputs[..rank])),
        Collective::Gather | Collective::Gatherv => (rank == root).then(|| inputs.concat()),
        Collective::Reduce => (rank == root).then(|| fold(kind, &inputs)),
        Collective::ReduceScatter | Collective::ReduceScatterBlock => Some(fold(kind, &inputs)[block].to_vec()),
        Collective::Scan => Some(fold(kind, &inputs[..=rank])),
        Collective::Scatter | Collective::Scatterv => Some(inputs[root][block].to_vec()),
        Collective::ReduceLocal => None,
    }
}
