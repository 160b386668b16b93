//! Bruck's alltoall: blocks travel their distance digit by digit.
//!
//! Source: Bruck, Ho, Kipnis, Upfal and Weathersby, IEEE TPDS 8(11):1143-1156, 1997, doi:10.1109/71.642949.
//! Needs:  nothing.
//! Shapes: input `[p * b]`, output `[p * b]`; scratch twice the blocks sent for one digit, at most `[2 * n]`.
//! Cost:   a round for each digit's place x and value z = 1, ..., k-1 with z*k^x < p, of the blocks whose distance has
//!         that digit there; so, in sum, b times the digits other than 0 of the distances 0, ..., p-1
//!         = (k-1)log_k p*alpha + (k-1)/k*n*log_k p*beta for p = k^i, log2 p*alpha + n/2*log2 p*beta for k = 2
//!         (n = p * b = bytes of the input, p = ranks, k = radix; alpha in s, beta in s/byte); exact for every p. Copies
//!         into and out of messages are not counted.
//!
//! The fewest rounds for `k = 2`: for small sizes. With a larger radix blocks travel less often, and a digit's `k-1`
//! messages are under way together. A block that goes from rank r to rank r + i has the distance i; for each of its
//! digits other than 0 it moves on. For four ranks and radix 2, block `ij` goes from rank i to rank j:
//!
//! ```text
//! distances    rank 0       rank 1       rank 2       rank 3
//! 0 1 2 3      00 01 02 03  11 12 13 10  22 23 20 21  33 30 31 32
//! place 0      00 30 02 32  11 01 13 03  22 12 20 10  33 23 31 21   distances 1 and 3 go right by one
//! place 1      00 30 20 10  11 01 31 21  22 12 02 32  33 23 13 03   distances 2 and 3 go right by two
//! ```
//!
//! The paper rotates the blocks to the order of their distances first and back last. Here a block waits where it will
//! stay in the end if it is the last of its distance to come, in the output at `r - i`, and is taken from the input at
//! `r + i` when it moves for the first time; so nothing is rotated.

use crate::overlap::Overlap;
use crate::patterns::subtree::take_start;
use crate::schedule::{absolute, relative};
use crate::{Algorithm, Arguments, Collective, Cost, Parameter, Setting, Transport, TransportError};

/// The id of [`INFO`].
pub(crate) const ID: &str = "alltoall.bruck";

/// The row of the registry.
pub(crate) static INFO: Algorithm = Algorithm {
    id: ID,
    collective: Collective::Alltoall,
    summary: "blocks in few messages, on their way by powers of the radix (small sizes)",
    source: "Bruck et al. 1997, doi:10.1109/71.642949",
    needs: &[],
    parameters: &[Parameter {
        name: "radix",
        min: 2,
        max: 64,
        default: 2,
        summary: "base of the digits of a distance: a larger one means more messages and fewer bytes",
    }],
    cost,
    scratch,
};

/// The places of digits of the distances among `p` ranks, by their values: 1, `radix`, `radix^2`, ...
fn places(p: usize, radix: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), move |&place| Some(place * radix)).take_while(move |&place| place < p)
}

/// The messages of a digit: how far they go.
fn hops(place: usize, p: usize, radix: usize) -> impl Iterator<Item = usize> + Clone {
    (1..radix)
        .map(move |digit| digit * place)
        .take_while(move |&hop| hop < p)
}

/// The distances whose digit at this place is that of `hop`.
fn distances(hop: usize, place: usize, p: usize, radix: usize) -> impl Iterator<Item = usize> {
    (hop..p)
        .step_by(place * radix)
        .flat_map(move |first| first..(first + place).min(p))
}

/// Blocks in a message.
fn message_blocks(hop: usize, place: usize, p: usize, radix: usize) -> usize {
    let cycle = place * radix;
    p / cycle * place + (p % cycle).saturating_sub(hop).min(place)
}

/// Blocks in all messages of a digit.
fn digit_blocks(place: usize, p: usize, radix: usize) -> usize {
    hops(place, p, radix)
        .map(|hop| message_blocks(hop, place, p, radix))
        .sum()
}

/// Blocks in all messages of the digit that has most.
fn longest_blocks(p: usize, radix: usize) -> usize {
    let all = places(p, radix).map(|place| digit_blocks(place, p, radix));
    all.max().unwrap_or(0)
}

fn cost(setting: &Setting<'_>) -> Cost {
    let &Setting {
        p_ranks: p,
        n_bytes,
        parameters,
        ..
    } = setting;
    if n_bytes == 0 {
        return Cost::ZERO;
    }
    let radix = parameters[0] as usize;
    let rounds: usize = places(p, radix).map(|place| hops(place, p, radix).count()).sum();
    let blocks: usize = places(p, radix).map(|place| digit_blocks(place, p, radix)).sum();
    Cost {
        rounds: rounds as f64,
        bytes_sent: blocks as f64 * (n_bytes as f64 / p as f64),
        bytes_reduced: 0.0,
    }
}

fn scratch(setting: &Setting<'_>) -> usize {
    let (p, radix) = (setting.p_ranks, setting.parameters[0] as usize);
    crate::scratch::blocks(setting, 2 * longest_blocks(p, radix))
}

pub(crate) fn run<T: Transport>(transport: &mut T, arguments: Arguments<'_>) -> Result<(), TransportError> {
    let Arguments {
        input,
        output,
        parameters,
        ..
    } = arguments;
    let (rank, p, radix) = (transport.rank(), transport.size(), parameters[0] as usize);
    let block_bytes = input.len() / p;
    let block = |rank: usize| rank * block_bytes..(rank + 1) * block_bytes;
    transport.copy(&input[block(rank)], &mut output[block(rank)]);
    let longest = longest_blocks(p, radix) * block_bytes;
    if longest == 0 {
        return Ok(());
    }
    let mut scratch = transport.take_scratch(2 * longest)?;
    let (outgoing, incoming) = scratch[..2 * longest].split_at_mut(longest);
    for place in places(p, radix) {
        let messages = hops(place, p, radix);
        let moved = messages.clone().flat_map(|hop| distances(hop, place, p, radix));
        for (distance, packed) in moved.zip(outgoing.chunks_exact_mut(block_bytes)) {
            // Those with a digit before this one have moved already.
            let held = if distance.is_multiple_of(place) {
                &input[block(absolute(distance, rank, p))]
            } else {
                &output[block(relative(rank, distance, p))]
            };
            transport.copy(held, packed);
        }
        let (mut unsent, mut missing) = (&*outgoing, &mut *incoming);
        let mut overlap = Overlap::new(transport);
        for hop in messages.clone() {
            let bytes = message_blocks(hop, place, p, radix) * block_bytes;
            overlap.receive(relative(rank, hop, p), take_start(&mut missing, bytes))?;
            let (message, rest) = unsent.split_at(bytes);
            overlap.send(absolute(hop, rank, p), message)?;
            unsent = rest;
        }
        overlap.finish()?;
        let moved = messages.flat_map(|hop| distances(hop, place, p, radix));
        for (distance, packed) in moved.zip(incoming.chunks_exact(block_bytes)) {
            transport.copy(packed, &mut output[block(relative(rank, distance, p))]);
        }
    }
    transport.give_scratch(scratch);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_distances_of_their_digit() {
        for radix in [2, 3, 4, 10, 64] {
            for p in 1..130 {
                let mut moved = vec![0; p];
                for place in places(p, radix) {
                    for hop in hops(place, p, radix) {
                        let all: Vec<_> = distances(hop, place, p, radix).collect();
                        assert_eq!(
                            all.len(),
                            message_blocks(hop, place, p, radix),
                            "p = {p}, radix {radix}"
                        );
                        all.iter().for_each(|&distance| moved[distance] += hop);
                    }
                }
                assert!(moved.into_iter().eq(0..p), "every block moves by its distance; p = {p}");
            }
        }
    }
}
