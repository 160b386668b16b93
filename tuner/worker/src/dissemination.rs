//! The exchange that starts every repetition: in `ceil(log3 p)` rounds every rank learns the maximum over all.
//!
//! Source: Hensgen, Finkel and Manber, Int. J. Parallel Programming 17(1):1-17, 1988, doi:10.1007/BF01379320 (the dissemination
//! barrier), with a payload, and with two messages of each rank in a round (Hoefler, Mehlan, Mietke and Rehm, IPDPS 2006,
//! doi:10.1109/IPDPS.2006.1639561), since a second message takes a fraction of a round. In round `k` rank `r` sends to `r + 3^k` and `r + 2 * 3^k`
//! and receives from `r - 3^k` and `r - 2 * 3^k` (modulo `p`); some values arrive twice, which does not change a maximum.

/// A rank to which another one sends, and one from which it receives, in the same round.
type Pair = (usize, usize);

/// The pairs of a rank, round by round. The second is missing where the first one completes what is known.
pub(crate) fn rounds(rank: usize, p_ranks: usize) -> impl Iterator<Item = (Pair, Option<Pair>)> {
    let pair = move |distance: usize| ((rank + distance) % p_ranks, (rank + p_ranks - distance) % p_ranks);
    std::iter::successors(Some(1), |distance| Some(distance * 3))
        .take_while(move |distance| *distance < p_ranks)
        .map(move |distance| {
            let second = (2 * distance < p_ranks).then(|| pair(2 * distance));
            (pair(distance), second)
        })
}

/// Element-wise maxima over all ranks of `own`; `round(payload, pairs)` sends the payload to the first rank of each pair and returns what the second ones
/// sent. No rank returns before all have entered.
///
/// # Errors
/// Those of `round`.
#[inline]
pub(crate) fn exchange_max<const N: usize, E>(
    rank: usize,
    p_ranks: usize,
    own: [u64; N],
    mut round: impl FnMut(&[u64; N], (Pair, Option<Pair>)) -> Result<[[u64; N]; 2], E>,
) -> Result<[u64; N], E> {
    let mut known = own;
    for pairs in rounds(rank, p_ranks) {
        for heard in round(&known, pairs)? {
            for (known, heard) in known.iter_mut().zip(heard) {
                *known = heard.max(*known);
            }
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    type Payload = [u64; 4];

    /// One rank's ends of the channels to and from every other.
    struct Ends {
        to: Vec<Sender<Payload>>,
        from: Vec<Receiver<Payload>>,
    }

    fn connect(p_ranks: usize) -> Vec<Ends> {
        let mut ends: Vec<Ends> = (0..p_ranks)
            .map(|_| Ends {
                to: Vec::new(),
                from: Vec::new(),
            })
            .collect();
        for receiver in 0..p_ranks {
            for sender in 0..p_ranks {
                let (to, from) = channel();
                ends[sender].to.push(to);
                ends[receiver].from.push(from);
            }
        }
        ends
    }

    #[test]
    fn every_rank_learns_every_maximum_for_any_number_of_ranks() {
        for p_ranks in 1..=17 {
            for holder in 0..p_ranks {
                let results: Vec<Payload> = std::thread::scope(|scope| {
                    let threads: Vec<_> = connect(p_ranks)
                        .into_iter()
                        .enumerate()
                        .map(|(rank, ends)| {
                            let own = [
                                1000 + rank as u64,
                                u64::from(rank == holder),
                                (p_ranks - rank) as u64,
                                7,
                            ];
                            scope.spawn(move || {
                                exchange_max(rank, p_ranks, own, |payload, (first, second)| {
                                    let mut heard = [[0; 4]; 2];
                                    for (to, _) in [Some(first), second].into_iter().flatten() {
                                        ends.to[to].send(*payload).map_err(|_| "peer gone")?;
                                    }
                                    for (heard, (_, from)) in
                                        heard.iter_mut().zip([Some(first), second].into_iter().flatten())
                                    {
                                        *heard = ends.from[from].recv().map_err(|_| "peer gone")?;
                                    }
                                    Ok::<_, &str>(heard)
                                })
                            })
                        })
                        .collect();
                    threads
                        .into_iter()
                        .map(|thread| thread.join().unwrap().unwrap())
                        .collect()
                });
                let expected = [999 + p_ranks as u64, 1, p_ranks as u64, 7];
                assert!(
                    results.iter().all(|result| *result == expected),
                    "p={p_ranks} holder={holder}: {results:?}"
                );
            }
        }
    }

    #[test]
    fn there_are_as_many_rounds_as_the_logarithm_to_the_base_of_three_rounded_up() {
        for p_ranks in 1..=82_usize {
            let expected = (0..).find(|rounds| 3_usize.pow(*rounds) >= p_ranks).unwrap();
            assert_eq!(rounds(0, p_ranks).count(), expected as usize, "p={p_ranks}");
        }
    }
}
