//! Definitions of the numbers in calls and parts.

use super::{First, kind};
use crate::calls::{Clock, Reading};

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// Name of a function, such as `MPI_Send`.
    Function {
        /// Its number.
        number: u8,
        /// Its name.
        name: String,
    },
    /// A call site.
    Site {
        /// Its number.
        number: u32,
        /// Offset of the return address in the module.
        offset: u64,
        /// File of the program or library; empty if it is not known.
        module: String,
        /// Nearest symbol that the module exports before the address.
        symbol: String,
    },
    /// A communicator; a later definition of the same number takes the place of an earlier one.
    Communicator {
        /// Its number.
        number: u32,
        /// This rank in it.
        rank: u32,
        /// Number of its ranks; of this rank's side where there are two.
        size: u32,
        /// Number among the communicators of these members that exist at the same time, from 0.
        sequence: u32,
        /// Ranks in `MPI_COMM_WORLD`, as [`crate::calls::Communicator`] has them.
        members: String,
        /// Members of the other side of an intercommunicator.
        remote: Option<String>,
        /// Name that the program gave it.
        label: String,
    },
    /// Name of the node.
    Host(String),
    /// First line of `MPI_Get_library_version`.
    Library(String),
    /// The clock beside those of others, as it is known at the begin.
    Clock(Clock),
    /// The other clock at the end of the program.
    ClockAtEnd(Reading),
}

/// Numbers of texts.
const HOST: u32 = 0;
const LIBRARY: u32 = 1;
/// Numbers of what is known of clocks.
const AT_BEGIN: u32 = 0;
const AT_END: u32 = 1;

impl Definition {
    /// As words; `None` if it is longer than a record can be.
    #[must_use]
    pub fn words(&self) -> Option<Vec<u64>> {
        let (kind, number, numbers, texts): (u8, u32, Vec<u64>, Vec<&str>) = match self {
            Definition::Function { number, name } => (kind::FUNCTION, u32::from(*number), vec![], vec![name]),
            Definition::Site {
                number,
                offset,
                module,
                symbol,
            } => (kind::SITE, *number, vec![*offset], vec![module, symbol]),
            Definition::Communicator {
                number,
                rank,
                size,
                sequence,
                members,
                remote,
                label,
            } => {
                let numbers = vec![
                    u64::from(*rank) | u64::from(*size) << 32,
                    u64::from(*sequence) | u64::from(remote.is_some()) << 32,
                ];
                let remote = remote.as_deref().unwrap_or_default();
                (kind::COMMUNICATOR, *number, numbers, vec![members, remote, label])
            }
            Definition::Host(text) => (kind::TEXT, HOST, vec![], vec![text]),
            Definition::Library(text) => (kind::TEXT, LIBRARY, vec![], vec![text]),
            Definition::Clock(clock) => {
                let asks = clock.asks.map_or(0, |asks| u64::from(asks) + 1);
                let mut numbers = vec![u64::from(clock.leader), asks];
                numbers.extend(clock.at_begin.iter().flat_map(numbers_of));
                (kind::CLOCK, AT_BEGIN, numbers, vec![])
            }
            Definition::ClockAtEnd(reading) => (kind::CLOCK, AT_END, numbers_of(reading).to_vec(), vec![]),
        };
        let mut words = vec![0];
        words.extend(numbers);
        for text in texts {
            words.push(text.len() as u64);
            words.extend(text.as_bytes().chunks(8).map(|bytes| {
                let mut word = [0; 8];
                for (to, from) in word.iter_mut().zip(bytes) {
                    *to = *from;
                }
                u64::from_le_bytes(word)
            }));
        }
        let length = u16::try_from(words.len()).ok()?;
        let first = First {
            kind,
            detail: 0,
            words: length,
            number,
        };
        *words.first_mut()? = first.bits();
        Some(words)
    }

    /// From words; `None` if they are no definition.
    #[must_use]
    pub fn of(words: &[u64]) -> Option<Definition> {
        let (first, rest) = words.split_first()?;
        let First { kind, number, .. } = First::of(*first);
        let mut rest = rest.iter();
        let low = |word: u64| word as u32;
        Some(match kind {
            kind::FUNCTION => Definition::Function {
                number: u8::try_from(number).ok()?,
                name: text(&mut rest)?,
            },
            kind::SITE => Definition::Site {
                number,
                offset: *rest.next()?,
                module: text(&mut rest)?,
                symbol: text(&mut rest)?,
            },
            kind::COMMUNICATOR => {
                let (ranks, more) = (*rest.next()?, *rest.next()?);
                let (members, remote) = (text(&mut rest)?, text(&mut rest)?);
                Definition::Communicator {
                    number,
                    rank: low(ranks),
                    size: low(ranks >> 32),
                    sequence: low(more),
                    members,
                    remote: (more >> 32 != 0).then_some(remote),
                    label: text(&mut rest)?,
                }
            }
            kind::TEXT if number == HOST => Definition::Host(text(&mut rest)?),
            kind::TEXT if number == LIBRARY => Definition::Library(text(&mut rest)?),
            kind::CLOCK if number == AT_BEGIN => {
                let (leader, asks) = (*rest.next()?, *rest.next()?);
                Definition::Clock(Clock {
                    leader: u32::try_from(leader).ok()?,
                    asks: asks.checked_sub(1).map(u32::try_from).transpose().ok()?,
                    at_begin: if rest.len() == 0 {
                        None
                    } else {
                        Some(reading(rest.as_slice())?)
                    },
                })
            }
            kind::CLOCK if number == AT_END => Definition::ClockAtEnd(reading(rest.as_slice())?),
            _ => return None,
        })
    }
}

fn numbers_of(reading: &Reading) -> [u64; 3] {
    [
        reading.own_ns.cast_unsigned(),
        reading.offset_ns.cast_unsigned(),
        reading.round_trip_ns,
    ]
}

fn reading(words: &[u64]) -> Option<Reading> {
    let [own_ns, offset_ns, round_trip_ns] = *words else {
        return None;
    };
    Some(Reading {
        own_ns: own_ns.cast_signed(),
        offset_ns: offset_ns.cast_signed(),
        round_trip_ns,
    })
}

fn text<'w>(words: &mut impl Iterator<Item = &'w u64>) -> Option<String> {
    let length = usize::try_from(*words.next()?).ok()?;
    // A length that no record can have asks for no memory.
    if length > usize::from(u16::MAX) * 8 {
        return None;
    }
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        let word = words.next()?.to_le_bytes();
        let left = length - bytes.len();
        bytes.extend(word.iter().take(left));
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
