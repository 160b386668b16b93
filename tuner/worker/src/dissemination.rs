//! The exchange that starts every repetition: in `ceil(log2 p)` rounds every rank learns the maximum over all.
//!
//! Source: Hensgen, Finkel and Manber, Int. J. Parallel Programming 17(1):1-17, 1988, doi:10.1007/BF01379320 (the dissemination
//! barrier), with a payload. In round `k` rank `r` sends to `r + 2^k` and receives from `r - 2^k` (modulo `p`); where `p` is no
//! power of two some values arrive twice, which does not change a maximum.

/// Ranks to which a rank sends and from which it receives, round by round.
pub(crate) fn peers(rank: usize, p_ranks: usize) -> impl Iterator<Item = (usize, usize)> {
    std::iter::successors(Some(1), |distance| Some(distance * 2))
        .take_while(move |distance| *distance < p_ranks)
        .map(move |distance| ((rank + distance) % p_ranks, (rank + p_ranks - distance) % p_ranks))
}

/// Element-wise maxima over all ranks of `own`; `sendrecv(to, payload, from)` does one round. No rank returns before all have
/// entered.
///
/// # Errors
/// Those of `sendrecv`.
#[inline]
pub(crate) fn exchange_max<const N: usize, E>(
    rank: usize,
    p_ranks: usize,
    own: [u64; N],
    mut sendrecv: impl FnMut(usize, &[u64; N], usize) -> Result<[u64; N], E>,
) -> Result<[u64; N], E> {
    let mut known = own;
    for (to, from) in peers(rank, p_ranks) {
        let heard = sendrecv(to, &known, from)?;
        for (known, heard) in known.iter_mut().zip(heard) {
            *known = heard.max(*known);
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
                                exchange_max(rank, p_ranks, own, |to, payload, from| {
                                    ends.to[to].send(*payload).map_err(|_| "peer gone")?;
                                    ends.from[from].recv().map_err(|_| "peer gone")
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
    fn there_are_as_many_rounds_as_the_logarithm_rounded_up() {
        for p_ranks in 1..=65 {
            let expected = usize::BITS - (p_ranks - 1_usize).leading_zeros();
            assert_eq!(peers(0, p_ranks).count(), expected as usize, "p={p_ranks}");
        }
    }
}
