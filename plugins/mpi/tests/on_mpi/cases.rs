//! Every way to carry out a collective, over roots, counts and operators.

use std::ffi::c_int;

use kilter_algorithms::closing::{CLOSING, Way};
use kilter_algorithms::mockup::{MOCKUPS, Mockup};
use kilter_algorithms::reference::{Call, Division};
use kilter_algorithms::{Algorithm, Arguments, Collective, Nodes, registry};
use kilter_mpi::layout::{self, Layout};
use kilter_mpi::{
    Arena, CallArguments, LanesError, Library, MPI_Comm, MpiTransport, PIECE_BYTES, Pipeline, closing_call, constants,
    info, library_call, packing,
};

use crate::model::{self, Kind};

/// Byte that no buffer may have beyond its end, and that a buffer without a result keeps.
const UNTOUCHED: u8 = 0xA5;

struct Job {
    comm: MPI_Comm,
    rank: usize,
    p_ranks: usize,
}

pub(crate) fn all(comm: MPI_Comm) {
    let job = Job {
        comm,
        rank: info::rank(comm).expect("a rank"),
        p_ranks: info::size(comm).expect("a size"),
    };
    let kinds = model::kinds();
    for kind in &kinds {
        library_calls(&job, kind);
        mockups(&job, kind, MOCKUPS.iter());
        unequal_blocks(&job, kind);
        at_another_volume(&job, kind);
        algorithms(&job, kind);
    }
    refused(&job);
    layouts(comm, kinds[1].datatype);
}

/// Mock-ups over lanes, on nodes of two ranks, and one communicator with ranks that are not equally many on each.
pub(crate) fn over_lanes(comm: MPI_Comm) {
    let job = Job {
        comm,
        rank: info::rank(comm).expect("a rank"),
        p_ranks: info::size(comm).expect("a size"),
    };
    let over_lanes = || MOCKUPS.iter().filter(|mockup| mockup.is_over_lanes());
    assert_eq!(over_lanes().count(), 8);
    for kind in &model::kinds() {
        mockups(&job, kind, over_lanes());
    }
    let uneven = (0..job.p_ranks).map(|rank| rank.min(1)).collect::<Vec<_>>();
    let mut arena = Arena::on_nodes(Nodes::new(&uneven));
    // SAFETY: all ranks come here; no lanes are made.
    let error = unsafe { arena.make_lanes(comm) }.expect_err("nodes of different sizes");
    assert_eq!(error, LanesError::Uneven { fewest: 1, most: 3 });
    assert!(error.is_common());
}

/// Total elements: nothing, one, around the number of ranks, and enough for several segments and the rendezvous protocol.
fn counts(p_ranks: usize) -> Vec<usize> {
    let mut counts = vec![0, 1, p_ranks.saturating_sub(1), p_ranks, p_ranks + 1, 4099, 30_030];
    counts.dedup();
    counts
}

fn roots(collective: Collective, p_ranks: usize) -> std::ops::Range<usize> {
    if collective.has_root() { 0..p_ranks } else { 0..1 }
}

/// A call of so many elements, in equal blocks where there are blocks.
fn equal(collective: Collective, job: &Job, root: usize, elements: usize) -> Call {
    let volume = if collective.has_data() { elements } else { 0 };
    Call::new(collective, job.p_ranks, root, volume, Division::Equal)
}

/// One call: buffers as the reference says, the call, and the comparison. `elements` is what the call is told.
fn compare(
    job: &Job,
    label: &str,
    kind: &Kind,
    (reference, elements): (&Call, usize),
    call: impl FnOnce(&CallArguments),
) {
    let root = reference.root;
    let (rank, bytes) = (job.rank, kind.elements.bytes);
    let case = format!(
        "{label}: rank {rank} of {}, root {root}, {elements} elements of {}",
        job.p_ranks, kind.name
    );
    let input = reference.given(&kind.elements, rank);
    let kept = input.clone();
    let result = reference.delivered(&kind.elements, rank);
    // A buffer that means nothing has room, too, which nobody may write to.
    let room = match reference.room(rank) {
        0 => elements,
        room => room,
    };
    let mut output = vec![UNTOUCHED; room * bytes + 16];
    if let Some(own) = reference.own(rank) {
        let place = own.at * bytes..(own.at + own.given.len()) * bytes;
        output[place].copy_from_slice(&input[own.given.start * bytes..own.given.end * bytes]);
    }
    call(&CallArguments {
        send: input.as_ptr().cast(),
        recv: output.as_mut_ptr().cast(),
        count: elements,
        datatype: kind.datatype,
        op: kind.op,
        root: root as c_int,
    });
    assert!(input == kept, "{case}: the input was changed");
    let wrong = output.iter().zip(&result).position(|(got, want)| got != want);
    assert!(wrong.is_none(), "{case}: first wrong byte {wrong:?}");
    let undefined = reference.undefined(rank);
    let defined_end = if undefined.is_empty() {
        result.len()
    } else {
        undefined.end * bytes
    };
    assert!(
        output[defined_end..].iter().all(|byte| *byte == UNTOUCHED),
        "{case}: written beyond the end, or into a buffer without a result"
    );
}

fn elements_for(collective: Collective, p_ranks: usize, count: usize) -> usize {
    if collective.has_blocks() {
        count.next_multiple_of(p_ranks)
    } else {
        count
    }
}

fn library_calls(job: &Job, kind: &Kind) {
    let mut arena = Arena::new();
    for collective in Collective::of_several_ranks() {
        for count in counts(job.p_ranks) {
            let elements = elements_for(collective, job.p_ranks, count);
            for root in roots(collective, job.p_ranks) {
                let reference = equal(collective, job, root, elements);
                compare(job, collective.name(), kind, (&reference, elements), |arguments| {
                    // SAFETY: buffers are as long as the reference says; all ranks run the same cases.
                    unsafe { library_call(collective, job.comm, arguments, &mut arena) }
                        .unwrap_or_else(|error| panic!("{error}: {arguments:?}"));
                });
            }
        }
    }
}

fn mockups(job: &Job, kind: &Kind, rows: impl Iterator<Item = &'static Mockup>) {
    let commutes = kind.elements.operator.is_commutative();
    for mockup in rows.filter(|mockup| commutes || !mockup.needs_commutative()) {
        let pipeline = Pipeline::of(mockup).unwrap_or_else(|error| panic!("{}: {error}", mockup.id));
        let collective = pipeline.target();
        let of_all = |nodes: Option<Nodes>| counts(job.p_ranks).into_iter().map(move |count| (nodes.clone(), count));
        for (nodes, count) in nodes_for(mockup, job.p_ranks).into_iter().flat_map(of_all) {
            let mut arena = nodes.map_or_else(Arena::new, Arena::on_nodes);
            let elements = elements_for(collective, job.p_ranks, count);
            let mut allocations = Vec::new();
            for root in roots(collective, job.p_ranks) {
                let reference = equal(collective, job, root, elements);
                for _ in 0..2 {
                    compare(job, mockup.id, kind, (&reference, elements), |arguments| {
                        // SAFETY: buffers are as long as the reference says; all ranks run the same cases.
                        unsafe { pipeline.run(job.comm, arguments, &mut arena) }.expect("a mock-up");
                    });
                    allocations.push(arena.allocations());
                }
                let last = &allocations[allocations.len() - 2..];
                assert!(
                    last[0] == last[1],
                    "{}: scratch allocated again for {elements} elements",
                    mockup.id
                );
            }
            let (kept, bound) = (
                arena.bytes(),
                mockup.scratch(job.p_ranks, elements * kind.elements.bytes),
            );
            assert!(
                kept <= bound as u64,
                "{}: {kept} B are kept for {elements} elements of {} B, its row says {bound} B",
                mockup.id,
                kind.elements.bytes
            );
            // SAFETY: all ranks come here.
            unsafe { arena.release() }.expect("freed");
        }
    }
}

/// The nodes on which a mock-up is to think its ranks; none for those that they are on.
fn nodes_for(mockup: &Mockup, p_ranks: usize) -> Vec<Option<Nodes>> {
    let mut all = vec![None];
    if mockup.is_over_lanes() && p_ranks > 2 && p_ranks.is_multiple_of(2) {
        let ranks = 0..p_ranks;
        all.push(Some(Nodes::new(
            &ranks.clone().map(|rank| rank / 2).collect::<Vec<_>>(),
        )));
        all.push(Some(Nodes::new(&ranks.map(|rank| rank % 2).collect::<Vec<_>>())));
    }
    all
}

fn unequal_blocks(job: &Job, kind: &Kind) {
    let blocks: Vec<c_int> = (0..job.p_ranks).map(|i| [3, 0, 7, 1, 200][i % 5]).collect();
    let lengths: Vec<usize> = blocks.iter().map(|count| *count as usize).collect();
    let elements = lengths.iter().sum();
    let mut served = 0;
    for mockup in MOCKUPS
        .iter()
        .filter(|mockup| mockup.collective == Collective::ReduceScatter)
    {
        let pipeline = Pipeline::of(mockup).expect("checked above");
        assert!(pipeline.takes_counts(), "{}", mockup.id);
        served += 1;
        let mut arena = Arena::new();
        let division = Division::Listed(lengths.clone());
        let reference = Call::new(mockup.collective, job.p_ranks, 0, elements, division);
        for _ in 0..2 {
            compare(job, mockup.id, kind, (&reference, elements), |arguments| {
                // SAFETY: buffers are as long as the reference says; all ranks run the same cases.
                unsafe { pipeline.run_by(&mut Library, job.comm, arguments, Some(&blocks), &mut arena) }
                    .expect("a mock-up");
            });
        }
    }
    assert!(served > 0);
    let equal_only = Pipeline::new(
        Collective::Allreduce,
        &[Collective::ReduceScatterBlock, Collective::Allgather],
    );
    assert!(!equal_only.expect("fits").takes_counts());
}

fn at_another_volume(job: &Job, kind: &Kind) {
    let bytes = kind.elements.bytes;
    for row in CLOSING {
        for count in counts(job.p_ranks) {
            let elements = elements_for(row.collective, job.p_ranks, count);
            let value = match row.way {
                Way::Split => elements * bytes / 3 + 1,
                Way::Padded => (elements + 70 * job.p_ranks) * bytes,
            } as u64;
            let Some(inside) = row.inside((job.p_ranks, elements, bytes), value) else {
                continue;
            };
            let mut arena = Arena::new();
            for root in roots(row.collective, job.p_ranks) {
                let reference = equal(row.collective, job, root, elements);
                let mut allocations = Vec::new();
                for _ in 0..2 {
                    compare(job, row.id, kind, (&reference, elements), |arguments| {
                        let of = (row.collective, row.way, inside);
                        // SAFETY: buffers are as long as the reference says; all ranks run the same cases.
                        let done = unsafe { closing_call(&mut Library, of, job.comm, arguments, &mut arena) };
                        done.expect("calls of the library");
                    });
                    allocations.push(arena.allocations());
                }
                assert_eq!(allocations[0], allocations[1], "{}: scratch allocated again", row.id);
            }
            let (kept, bound) = (arena.bytes(), row.scratch(job.p_ranks, elements * bytes, value));
            assert!(
                kept <= bound as u64,
                "{}: {kept} B are kept for {elements} elements of {bytes} B and {value}, its row says {bound} B",
                row.id
            );
        }
    }
}

fn algorithms(job: &Job, kind: &Kind) {
    for algorithm in registry::algorithms() {
        let commutes = kind.elements.operator.is_commutative();
        if algorithm.unmet(job.p_ranks, commutes, true).is_some() {
            continue;
        }
        let collective = algorithm.collective;
        let mut arena = Arena::new();
        for count in counts(job.p_ranks) {
            let elements = elements_for(collective, job.p_ranks, count);
            let piece_bytes = if count == 4099 { 1000 } else { PIECE_BYTES };
            for root in roots(collective, job.p_ranks) {
                let reference = equal(collective, job, root, elements);
                compare(job, algorithm.id, kind, (&reference, elements), |arguments| {
                    // SAFETY: the buffers are those of the reference; all ranks run the same cases.
                    unsafe { run_algorithm(job, kind, algorithm, &reference, (arguments, piece_bytes), &mut arena) };
                });
            }
        }
        // SAFETY: all ranks come here.
        unsafe { arena.release() }.expect("freed");
    }
}

/// # Safety
/// The buffers are as long as the reference says; all ranks make the same call.
unsafe fn run_algorithm(
    job: &Job,
    kind: &Kind,
    algorithm: &Algorithm,
    reference: &Call,
    (arguments, piece_bytes): (&CallArguments, usize),
    arena: &mut Arena,
) {
    let (collective, root) = (reference.collective, reference.root);
    let bytes = kind.elements.bytes;
    // A broadcast's data is in its output.
    let input_length = match collective {
        Collective::Bcast => 0,
        _ => reference.gives(job.rank) * bytes,
    };
    let lengths = vec![reference.block(job.rank).len() * bytes; job.p_ranks];
    let is_root = job.rank == root;
    let listed = |wanted: bool| if wanted { lengths.as_slice() } else { &[] };
    let parameters = algorithm.default_parameters();
    // SAFETY: the transport is the communicator's only user; the slices are the buffers `compare` made.
    unsafe {
        let place = (job.comm, job.rank, job.p_ranks);
        let mut transport =
            MpiTransport::new(place, kind.datatype, kind.op, bytes, arena).with_piece_bytes(piece_bytes);
        let input = std::slice::from_raw_parts(arguments.send.cast::<u8>(), input_length);
        let output_length = reference.room(job.rank) * bytes;
        let output = std::slice::from_raw_parts_mut(arguments.recv.cast::<u8>(), output_length);
        let arguments = Arguments {
            input,
            output,
            input_blocks: listed(collective.lists_input_blocks(is_root)),
            output_blocks: listed(collective.lists_output_blocks(is_root)),
            root,
            parameters: &parameters,
        };
        registry::run(algorithm, &mut transport, arguments).expect("an algorithm");
    }
}

/// Counts that no MPI call can take are refused before any call.
fn refused(job: &Job) {
    let arguments = |count| CallArguments {
        send: std::ptr::null(),
        recv: std::ptr::null_mut(),
        count,
        datatype: constants::byte(),
        op: constants::bor(),
        root: 0,
    };
    let mut arena = Arena::new();
    let too_many = arguments(1 << 31);
    // SAFETY: nothing is read or written, since the calls are refused.
    unsafe {
        for &collective in Collective::ALL {
            let error = library_call(collective, job.comm, &too_many, &mut arena).expect_err("more than an int holds");
            assert_eq!(
                (error.operation, error.code),
                (collective.mpi_name(), constants::err_count())
            );
            assert!(error.to_string().contains("2147483647"), "{error}");
        }
        if job.p_ranks > 1 {
            let uneven = arguments(job.p_ranks + 1);
            library_call(Collective::Gather, job.comm, &uneven, &mut arena).expect_err("no multiple of the ranks");
            let pipeline = Pipeline::new(Collective::Gather, &[Collective::Allgather]).expect("fits");
            pipeline
                .run(job.comm, &uneven, &mut arena)
                .expect_err("no multiple of the ranks");
        }
    }
}

fn layouts(comm: MPI_Comm, pair: mpi_sys::MPI_Datatype) {
    let null = constants::datatype_null();
    let [mut vector, mut resized, mut swapped, mut two] = [null; 4];
    // SAFETY: MPI is initialised; handles are written once, from lists as long as the counts say.
    unsafe {
        mpi_sys::PMPI_Type_vector(2, 1, 2, constants::int(), &raw mut vector);
        mpi_sys::PMPI_Type_create_resized(constants::int(), 0, 12, &raw mut resized);
        mpi_sys::PMPI_Type_indexed(2, [1, 1].as_ptr(), [1, 0].as_ptr(), constants::int(), &raw mut swapped);
        mpi_sys::PMPI_Type_contiguous(2, pair, &raw mut two);
        for datatype in [&raw mut vector, &raw mut resized, &raw mut swapped, &raw mut two] {
            mpi_sys::PMPI_Type_commit(datatype);
        }
    }
    let of = |datatype| Layout::of(datatype).expect("a layout");
    let is_stream = |datatype| layout::is_stream(datatype).expect("an envelope");
    assert_eq!(
        of(constants::int()),
        Layout {
            size: 4,
            extent: 4,
            true_lower_bound: 0,
            true_extent: 4
        }
    );
    assert!(is_stream(constants::int()) && is_stream(pair) && is_stream(two));
    assert!(of(pair).is_dense() && of(pair).is_separable());
    assert!(!of(vector).is_dense() && of(vector).is_separable() && !is_stream(vector));
    assert!(!of(resized).is_dense() && of(resized).is_separable() && !is_stream(resized));
    // Dense, but a message carries the second half first.
    assert!(of(swapped).is_dense() && !is_stream(swapped));

    let elements: [i32; 4] = [1, 2, 3, 4];
    let mut packed = [0_u8; 16];
    // SAFETY: four integers are two elements.
    unsafe { packing::pack(elements.as_ptr().cast(), 2, swapped, &mut packed, comm) }.expect("packs");
    assert_eq!(packed, [2, 1, 4, 3].map(i32::to_ne_bytes).concat()[..]);
    let mut unpacked = [0_i32; 4];
    // SAFETY: four integers have room for two elements.
    unsafe { packing::unpack(&packed, unpacked.as_mut_ptr().cast(), 2, swapped, comm) }.expect("unpacks");
    assert_eq!(unpacked, elements);
    for piece_bytes in [1, 8, 15] {
        let (mut packed_again, mut unpacked_again) = ([0_u8; 16], [0_i32; 4]);
        let to = unpacked_again.as_mut_ptr().cast();
        // SAFETY: the four integers at `from` and at `to` are two elements each.
        unsafe {
            let from = elements.as_ptr().cast();
            packing::pack_in_pieces(from, 2, swapped, &mut packed_again, comm, piece_bytes).expect("packs");
            packing::unpack_in_pieces(&packed_again, to, 2, swapped, comm, piece_bytes).expect("unpacks");
        }
        assert_eq!((packed_again, unpacked_again), (packed, elements), "{piece_bytes}");
    }
    // SAFETY: four integers hold more than the one element.
    let short = unsafe { packing::pack(elements.as_ptr().cast(), 1, swapped, &mut packed, comm) };
    assert_eq!(short.map_err(|error| error.code), Err(constants::err_count()));

    let mut holes = [-1_i32; 6];
    let rank = info::rank(comm).expect("a rank");
    // SAFETY: two elements lie in six integers of either buffer; nothing is pending.
    unsafe {
        packing::copy_elements(
            [7, 0, 0, 9, 0, 0].as_ptr().cast(),
            holes.as_mut_ptr().cast(),
            2,
            resized,
            (comm, rank),
        )
    }
    .expect("copies");
    assert_eq!(holes, [7, -1, -1, 9, -1, -1], "holes stay");
    // SAFETY: none is used afterwards.
    unsafe {
        for datatype in [&raw mut vector, &raw mut resized, &raw mut swapped, &raw mut two] {
            mpi_sys::PMPI_Type_free(datatype);
        }
    }
}
