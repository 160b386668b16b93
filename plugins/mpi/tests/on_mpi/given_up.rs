//! A receive that nobody waits for, as after an error: nothing comes into its buffer any more.

use kilter_algorithms::Transport;
use kilter_mpi::{Arena, MPI_Comm, MpiTransport, constants, info};

/// Bytes of a piece, of which a message has several.
const PIECE_BYTES: usize = 8;

/// The last rank begins a receive from rank 0 and forgets it; then the message comes, and is received by the next one.
pub(crate) fn all(comm: MPI_Comm) {
    let (rank, size) = (info::rank(comm).expect("a rank"), info::size(comm).expect("a size"));
    let mut arena = Arena::new();
    let message: Vec<u8> = (1..=3 * PIECE_BYTES as u8).collect();
    // SAFETY: nothing is reduced; the transport is the only user of the communicator; the buffer lives on after the request.
    unsafe {
        let place = (comm, rank, size);
        let mut transport = MpiTransport::new(place, constants::byte(), constants::op_null(), 1, &mut arena)
            .with_piece_bytes(PIECE_BYTES);
        if rank + 1 == size && size > 1 {
            let mut forgotten = vec![0; message.len()];
            let request = transport.irecv(0, &mut forgotten).expect("a receive begins");
            drop(request);
            transport.send(0, &[1]).expect("sent");
            let mut got = vec![0; message.len()];
            transport.recv(0, &mut got).expect("received");
            assert_eq!(got, message);
            assert_eq!(forgotten, vec![0; message.len()]);
        } else if rank == 0 && size > 1 {
            transport.recv(size - 1, &mut [0]).expect("received");
            transport.send(size - 1, &message).expect("sent");
        }
    }
}
