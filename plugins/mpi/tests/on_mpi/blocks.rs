//! Blocks and pieces of derived datatypes: where they are said to lie, the library's own packing finds the same bytes in the same order.

use std::ffi::c_int;

use kilter_mpi::blocks::{Blocks, Pieces};
use kilter_mpi::{constants, layout, packing};
use mpi_sys::{MPI_Aint, MPI_Comm, MPI_Datatype};

/// Types by name, the first of which is predefined; what is said of an element: the first byte, bytes of a block, stride, blocks; `None` for what is irregular.
type Case = (&'static str, MPI_Datatype, Option<(isize, usize, usize, usize)>);

/// A type that a function of MPI makes.
fn made(make: impl FnOnce(*mut MPI_Datatype) -> c_int) -> MPI_Datatype {
    let mut datatype = constants::datatype_null();
    assert_eq!(make(&raw mut datatype), 0, "a type is made");
    // SAFETY: a type that was just made.
    unsafe { mpi_sys::PMPI_Type_commit(&raw mut datatype) };
    datatype
}

fn one_level(double: MPI_Datatype) -> Vec<Case> {
    let ints = |list: &'static [c_int]| list.as_ptr();
    let places = |list: &'static [MPI_Aint]| list.as_ptr();
    // SAFETY: MPI is initialised; each writes a handle, and lists are as long as the counts say.
    unsafe {
        vec![
            ("a number", double, Some((0, 8, 8, 1))),
            (
                "numbers in a row",
                made(|to| mpi_sys::PMPI_Type_contiguous(3, double, to)),
                Some((0, 24, 24, 1)),
            ),
            (
                "a vector",
                made(|to| mpi_sys::PMPI_Type_vector(5, 2, 7, double, to)),
                Some((0, 16, 56, 5)),
            ),
            (
                "a vector by bytes",
                made(|to| mpi_sys::PMPI_Type_create_hvector(4, 1, 20, double, to)),
                Some((0, 8, 20, 4)),
            ),
            (
                "even places",
                made(|to| mpi_sys::PMPI_Type_create_indexed_block(3, 2, ints(&[1, 5, 9]), double, to)),
                Some((8, 16, 32, 3)),
            ),
            (
                "even places by bytes",
                made(|to| mpi_sys::PMPI_Type_create_hindexed_block(2, 1, places(&[16, 64]), double, to)),
                Some((16, 8, 48, 2)),
            ),
            (
                "one block",
                made(|to| mpi_sys::PMPI_Type_indexed(1, ints(&[3]), ints(&[2]), double, to)),
                Some((16, 24, 24, 1)),
            ),
            (
                "blocks of two lengths",
                made(|to| mpi_sys::PMPI_Type_create_hindexed(2, ints(&[1, 2]), places(&[0, 24]), double, to)),
                None,
            ),
            (
                "the second before the first",
                made(|to| mpi_sys::PMPI_Type_indexed(2, ints(&[1, 1]), ints(&[1, 0]), double, to)),
                None,
            ),
            (
                "blocks of which one is empty",
                made(|to| mpi_sys::PMPI_Type_indexed(3, ints(&[2, 0, 1]), ints(&[0, 9, 5]), double, to)),
                None,
            ),
            (
                "a structure with holes",
                made(|to| {
                    let types = [constants::int(), double, constants::byte()];
                    let places = places(&[0, 8, 20]);
                    mpi_sys::PMPI_Type_create_struct(3, ints(&[1, 1, 3]), places, types.as_ptr(), to)
                }),
                None,
            ),
            (
                "a part of a cube",
                made(|to| {
                    let (sizes, own, first) = (ints(&[3, 4, 5]), ints(&[2, 2, 3]), ints(&[1, 1, 2]));
                    let order = constants::order_c();
                    mpi_sys::PMPI_Type_create_subarray(3, sizes, own, first, order, double, to)
                }),
                None,
            ),
            (
                "a structure without a hole",
                made(|to| {
                    let types = [double, constants::int()];
                    let places = places(&[8, 16]);
                    mpi_sys::PMPI_Type_create_struct(2, ints(&[1, 2]), places, types.as_ptr(), to)
                }),
                Some((8, 16, 16, 1)),
            ),
            (
                "a tile",
                made(|to| {
                    let (sizes, own, first) = (ints(&[4, 6]), ints(&[3, 2]), ints(&[1, 3]));
                    let order = constants::order_c();
                    mpi_sys::PMPI_Type_create_subarray(2, sizes, own, first, order, double, to)
                }),
                Some((72, 16, 48, 3)),
            ),
        ]
    }
}

fn of_types(double: MPI_Datatype) -> Vec<Case> {
    // SAFETY: MPI is initialised; each writes a handle.
    unsafe {
        let column = made(|to| mpi_sys::PMPI_Type_vector(4, 1, 5, double, to));
        let narrow = made(|to| mpi_sys::PMPI_Type_create_resized(column, 0, 8, to));
        let whole = made(|to| mpi_sys::PMPI_Type_create_resized(column, 0, 160, to));
        vec![
            ("numbers at a distance", column, Some((0, 8, 40, 4))),
            ("a column of a whole matrix", whole, Some((0, 8, 40, 4))),
            ("a column", narrow, Some((0, 8, 40, 4))),
            (
                "the same again",
                made(|to| mpi_sys::PMPI_Type_dup(narrow, to)),
                Some((0, 8, 40, 4)),
            ),
            (
                "columns one below the other",
                made(|to| mpi_sys::PMPI_Type_contiguous(2, whole, to)),
                Some((0, 8, 40, 8)),
            ),
            (
                "columns beside each other",
                made(|to| mpi_sys::PMPI_Type_contiguous(2, narrow, to)),
                None,
            ),
        ]
    }
}

pub(crate) fn all(comm: MPI_Comm) {
    let memory: Vec<u8> = (0..600_u32).map(|at| (at * 7 + at / 256) as u8).collect();
    let double = constants::double();
    for (name, datatype, expected) in one_level(double).into_iter().chain(of_types(double)) {
        // SAFETY: the type is valid.
        let found = unsafe { Blocks::of(datatype, 1) };
        let numbers = found.map(|one| (one.first, one.bytes, one.stride, one.count));
        assert_eq!(numbers, expected, "{name}");
        // SAFETY: the type is valid; what is known of it is asked for again.
        assert_eq!(unsafe { Blocks::of(datatype, 1) }, found, "{name}");
        if let Some(found) = found {
            is_packed_so(found, datatype, &memory, comm, name);
        }
        // SAFETY: the type is valid.
        let pieces = unsafe { Pieces::of(datatype) }.unwrap_or_else(|| panic!("{name} has few pieces"));
        are_packed_so(&pieces, datatype, &memory, comm, name);
        if name != "a number" {
            let mut datatype = datatype;
            // SAFETY: made for this test, and not used again.
            unsafe { mpi_sys::PMPI_Type_free(&raw mut datatype) };
        }
    }
}

/// An element as the library packs it.
fn packed(datatype: MPI_Datatype, memory: &[u8], comm: MPI_Comm) -> Vec<u8> {
    let mut packed = vec![0; layout::size(datatype).expect("a size")];
    // SAFETY: an element of each of these types has at most 600 bytes.
    unsafe { packing::pack(memory.as_ptr().cast(), 1, datatype, &mut packed, comm) }.expect("packs");
    packed
}

/// The library packs the same bytes in the same order.
fn are_packed_so(found: &Pieces, datatype: MPI_Datatype, memory: &[u8], comm: MPI_Comm, name: &str) {
    let pieces = found.pieces.iter().flat_map(|piece| {
        let begin = piece.offset.unsigned_abs();
        memory[begin..begin + piece.bytes].to_vec()
    });
    assert_eq!(pieces.collect::<Vec<u8>>(), packed(datatype, memory, comm), "{name}");
}

/// The library packs the same bytes in the same order.
fn is_packed_so(found: Blocks, datatype: MPI_Datatype, memory: &[u8], comm: MPI_Comm, name: &str) {
    let packed = packed(datatype, memory, comm);
    let block = |at: usize| {
        let begin = found.first.unsigned_abs() + at * found.stride;
        memory[begin..begin + found.bytes].to_vec()
    };
    assert_eq!((0..found.count).flat_map(block).collect::<Vec<u8>>(), packed, "{name}");
}
