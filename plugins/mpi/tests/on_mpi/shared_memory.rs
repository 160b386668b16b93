//! Requirements on shared memory beside right results: it lets messages go on, stays apart on each communicator, grows,
//! and goes when its communicator goes.

use std::ffi::{c_int, c_void};

use kilter_algorithms::{Arguments, Transport, registry};
use kilter_mpi::{Arena, MPI_Comm, MpiTransport, constants, info};

use crate::model;

/// Bytes of a message that is sent by rendezvous on every library.
const LONG: usize = 8 << 20;

pub(crate) fn all(comm: MPI_Comm) {
    let (rank, p_ranks) = (info::rank(comm).expect("a rank"), info::size(comm).expect("a size"));
    messages_go_on(comm, rank, p_ranks);
    communicators_are_apart(comm, rank, p_ranks);
    slots_grow_with_elements(comm, rank, p_ranks);
    nothing_is_left_behind(comm, rank, p_ranks);
}

/// The communicator, this rank and the number of ranks.
fn place(comm: MPI_Comm) -> (MPI_Comm, usize, usize) {
    let (rank, size) = (info::rank(comm), info::size(comm));
    (comm, rank.expect("a rank"), size.expect("a size"))
}

/// The sum of `value` over all ranks, by the row `id`.
fn sum(comm: MPI_Comm, arena: &mut Arena, id: &str, value: i32) -> i32 {
    let kind = model::kinds()
        .into_iter()
        .find(|kind| kind.name == "int sum")
        .expect("a kind");
    let row = registry::find(id).expect("a row");
    let mut output = [0; 4];
    // SAFETY: one int is summed; the transport is the only user of the communicator.
    unsafe {
        let mut transport = MpiTransport::new(place(comm), kind.datatype, kind.op, 4, arena);
        let arguments = Arguments {
            input: &value.to_ne_bytes(),
            output: &mut output,
            input_blocks: &[],
            output_blocks: &[],
            root: 0,
            parameters: &row.default_parameters(),
        };
        registry::run(row, &mut transport, arguments).expect("an allreduce");
    }
    i32::from_ne_bytes(output)
}

fn total(p_ranks: usize) -> i32 {
    (0..p_ranks as i32).sum()
}

/// A rank that waits in shared memory still sends what it has begun to send: the other one comes only when it has it all.
fn messages_go_on(comm: MPI_Comm, rank: usize, p_ranks: usize) {
    if p_ranks < 2 {
        return;
    }
    let mut arena = Arena::new();
    // The window is there before: making it lets messages go on by itself.
    assert_eq!(
        sum(comm, &mut arena, "allreduce.shared_memory", rank as i32),
        total(p_ranks)
    );
    let mut data = vec![rank as u8 + 1; LONG];
    let length = c_int::try_from(LONG).expect("an int");
    let world = constants::comm_world();
    let mut request = constants::request_null();
    // SAFETY: the buffer lives until the request is done.
    unsafe {
        let buffer: *mut c_void = data.as_mut_ptr().cast();
        let mut status = std::mem::zeroed();
        match rank {
            0 => assert_eq!(
                mpi_sys::PMPI_Isend(buffer, length, constants::byte(), 1, 3, world, &raw mut request),
                0
            ),
            1 => assert_eq!(
                mpi_sys::PMPI_Recv(buffer, length, constants::byte(), 0, 3, world, &raw mut status),
                0
            ),
            _ => {}
        }
        assert_eq!(
            sum(comm, &mut arena, "allreduce.shared_memory", rank as i32),
            total(p_ranks)
        );
        assert_eq!(mpi_sys::PMPI_Wait(&raw mut request, &raw mut status), 0);
        arena.release().expect("freed");
    }
    assert!(rank > 1 || data.iter().all(|&byte| byte == 1), "the message");
}

/// Fewer where ranks share processors and wait for their turns.
fn turns(p_ranks: usize, most: usize) -> usize {
    if p_ranks > 2 { most / 4 } else { most }
}

/// Calls on two communicators in turn, and of several rows on one.
fn communicators_are_apart(comm: MPI_Comm, rank: usize, p_ranks: usize) {
    // SAFETY: all ranks make these calls.
    unsafe {
        let other = info::comm_private(comm).expect("a communicator");
        let (mut arena, mut other_arena) = (Arena::new(), Arena::new());
        for turn in 0..turns(p_ranks, 100) as i32 {
            let value = rank as i32 + turn;
            let expected = total(p_ranks) + turn * p_ranks as i32;
            let first = sum(comm, &mut arena, "allreduce.shared_memory", value);
            assert_eq!(first, expected, "turn {turn}");
            let second = sum(other, &mut other_arena, "allreduce.shared_memory_parts", -value);
            assert_eq!(second, -expected, "turn {turn}");
            let third = sum(comm, &mut arena, "allreduce.shared_memory_parts", value);
            assert_eq!(third, expected, "turn {turn}");
        }
        arena.release().expect("freed");
        other_arena.release().expect("freed");
        info::comm_free(other).expect("freed");
    }
}

/// A larger piece than any before gets larger slots; smaller ones still fit.
fn slots_grow_with_elements(comm: MPI_Comm, rank: usize, p_ranks: usize) {
    let mut arena = Arena::new();
    // SAFETY: nothing is reduced; the transport is the only user of the communicator.
    unsafe {
        for piece_bytes in [8, 100_000, 8] {
            let mut transport = MpiTransport::new(place(comm), constants::byte(), constants::op_null(), 1, &mut arena);
            let memory = transport.take_shared(piece_bytes).expect("shared memory");
            assert!(
                memory.slot_bytes() >= piece_bytes,
                "{} for {piece_bytes}",
                memory.slot_bytes()
            );
            transport.give_shared(memory);
            assert_eq!(
                sum(comm, &mut arena, "allreduce.shared_memory", rank as i32),
                total(p_ranks)
            );
        }
        arena.release().expect("freed");
        // Once more is allowed.
        arena.release().expect("freed");
    }
}

/// Lines of this process's map, and files in the folder of shared memory.
fn mapped() -> (usize, usize) {
    let lines = std::fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count());
    (lines, std::fs::read_dir("/dev/shm").map_or(0, Iterator::count))
}

/// A communicator made, used and freed many times.
fn nothing_is_left_behind(comm: MPI_Comm, rank: usize, p_ranks: usize) {
    let mut early = (0, 0);
    for turn in 0..turns(p_ranks, 200) {
        // SAFETY: all ranks make these calls.
        unsafe {
            let own = info::comm_private(comm).expect("a communicator");
            let mut arena = Arena::new();
            let mut transport = MpiTransport::new(place(own), constants::byte(), constants::op_null(), 1, &mut arena);
            let row = registry::find("barrier.shared_memory").expect("a row");
            let arguments = Arguments {
                input: &[],
                output: &mut [],
                input_blocks: &[],
                output_blocks: &[],
                root: 0,
                parameters: &[],
            };
            registry::run(row, &mut transport, arguments).expect("a barrier");
            arena.release().expect("freed");
            info::comm_free(own).expect("freed");
        }
        if turn == 20 {
            early = mapped();
        }
    }
    let late = mapped();
    // Other programs may have files there; ours would leave one for each turn or rank.
    assert!(
        late.0 < early.0 + 90 && late.1 < early.1 + 90,
        "rank {rank} of {p_ranks}: mapped regions and files after 20 communicators {early:?}, after all {late:?}"
    );
}
