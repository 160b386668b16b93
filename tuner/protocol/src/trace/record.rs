//! Records: calls, what they did to messages and requests, and definitions of the numbers in both.
//!
//! The first word of a record has its kind in bits 0 to 7, a detail in bits 8 to 15, its length in words in bits 16 to 31, and a number in the
//! upper half. The parts of a call follow it in the stream of its thread.

use super::digest::{Chunk, Digest, PREFIX_BYTES};

/// Rank of a message's other side.
pub mod peer {
    /// Any source.
    pub const ANY: i32 = -1;
    /// `MPI_PROC_NULL`.
    pub const NOBODY: i32 = -2;
    /// None, or a process outside of `MPI_COMM_WORLD`.
    pub const UNKNOWN: i32 = -3;
    /// `MPI_ROOT`: the root of an intercommunicator's collective is this rank.
    pub const ROOT: i32 = -4;
}

/// Any tag.
pub const ANY_TAG: i32 = -1;

/// Kinds of records.
pub mod kind {
    /// A call.
    pub const CALL: u8 = 1;
    /// Calls after each other that looked for something and found nothing.
    pub const POLLS: u8 = 2;
    /// What a call did.
    pub const PART: u8 = 3;
    /// Name of a function's number.
    pub const FUNCTION: u8 = 16;
    /// A call site.
    pub const SITE: u8 = 17;
    /// A communicator.
    pub const COMMUNICATOR: u8 = 18;
    /// A text about the rank.
    pub const TEXT: u8 = 19;
}

/// The first word of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    /// One of [`kind`].
    pub kind: u8,
    /// Function of a call, role of a part.
    pub detail: u8,
    /// Length in words.
    pub words: u16,
    /// Communicator and 1, or the number that is defined.
    pub number: u32,
}

impl First {
    /// As a word.
    #[inline]
    #[must_use]
    pub fn bits(self) -> u64 {
        u64::from(self.kind) | u64::from(self.detail) << 8 | u64::from(self.words) << 16 | u64::from(self.number) << 32
    }

    /// From the word.
    #[must_use]
    pub fn of(bits: u64) -> First {
        First {
            kind: bits as u8,
            detail: (bits >> 8) as u8,
            words: (bits >> 16) as u16,
            number: (bits >> 32) as u32,
        }
    }
}

/// Words of a call.
pub const CALL_WORDS: usize = 4;

/// A call, as it is written. Times are ticks of the rank's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Number of the function.
    pub function: u8,
    /// Number of the communicator and 1; 0 for none.
    pub communicator: u32,
    /// Begin; that of the first one for calls that found nothing.
    pub begin: u64,
    /// End; that of the last one for calls that found nothing.
    pub end: u64,
    /// Number of the call site and 1; 0 if it is not known.
    pub site: u32,
    /// Calls that found nothing; 0 for a call that is told by itself.
    pub polls: u32,
    /// Number of its parts.
    pub parts: u32,
}

impl Call {
    /// As words.
    #[inline]
    #[must_use]
    pub fn words(&self) -> [u64; CALL_WORDS] {
        let (kind, last) = if self.polls > 0 {
            (kind::POLLS, self.polls)
        } else {
            (kind::CALL, self.parts)
        };
        let first = First {
            kind,
            detail: self.function,
            words: CALL_WORDS as u16,
            number: self.communicator,
        };
        [
            first.bits(),
            self.begin,
            self.end,
            u64::from(self.site) | u64::from(last) << 32,
        ]
    }

    /// From words; `None` if they are no call.
    #[must_use]
    pub fn of(words: &[u64]) -> Option<Call> {
        let [first, begin, end, last] = *words else { return None };
        let first = First::of(first);
        let number = (last >> 32) as u32;
        let (polls, parts) = match first.kind {
            kind::CALL => (0, number),
            kind::POLLS if number > 0 => (number, 0),
            _ => return None,
        };
        Some(Call {
            function: first.detail,
            communicator: first.number,
            begin,
            end,
            site: last as u32,
            polls,
            parts,
        })
    }
}

/// What a part says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Role {
    /// A message is sent. It has the payload; a persistent one at each start.
    Send = 1,
    /// A receive begins, with what it asks for.
    Posted = 2,
    /// A message was received. It has the payload.
    Received = 3,
    /// An operation without a received payload is complete: a send, or a collective.
    Completed = 4,
    /// A collective, with root, operator and volume.
    Collective = 5,
    /// A message was found by a probe.
    Probed = 6,
    /// A probe looked for this; a [`Role::Probed`] follows if it was found. The only part of calls that found nothing.
    Asked = 7,
    /// An operation was cancelled before it had an effect.
    Cancelled = 8,
    /// The request was given up (`MPI_Request_free`): its operation completes unseen.
    Freed = 9,
    /// A persistent send or receive was made ready.
    Prepared = 10,
}

impl Role {
    const ALL: [Role; 10] = [
        Role::Send,
        Role::Posted,
        Role::Received,
        Role::Completed,
        Role::Collective,
        Role::Probed,
        Role::Asked,
        Role::Cancelled,
        Role::Freed,
        Role::Prepared,
    ];

    fn of(number: u8) -> Option<Role> {
        Role::ALL.into_iter().find(|role| *role as u8 == number)
    }

    /// True if nothing but the operation is told.
    #[inline]
    fn is_short(self) -> bool {
        matches!(self, Role::Completed | Role::Cancelled | Role::Freed)
    }

    /// True if the payload follows.
    #[inline]
    fn has_payload(self) -> bool {
        matches!(self, Role::Send | Role::Received)
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Role::Send => "send",
            Role::Posted => "posted",
            Role::Received => "received",
            Role::Completed => "completed",
            Role::Collective => "collective",
            Role::Probed => "probed",
            Role::Asked => "asked",
            Role::Cancelled => "cancelled",
            Role::Freed => "freed",
            Role::Prepared => "prepared",
        }
    }
}

/// Bits of [`Part::flags`].
pub mod flag {
    /// Only the first bytes are hashed: the payload is longer than the limit.
    pub const HASHED_IN_PART: u8 = 1;
    /// Nothing is hashed: hashing is turned off, or the payload lies where the tracer does not read.
    pub const NOT_HASHED: u8 = 2;
    /// Each 8 bytes of the payload are the same as the 8 before them.
    pub const CONSTANT: u8 = 4;
    /// There are more chunks than are kept.
    pub const MORE_CHUNKS: u8 = 8;
    /// The elements have holes or another order in memory than in the message.
    pub const PACKED: u8 = 16;
    /// The operation is persistent.
    pub const PERSISTENT: u8 = 32;
    /// A receive took messages from any source.
    pub const ANY_SOURCE: u8 = 64;
    /// A receive took messages with any tag.
    pub const ANY_TAG: u8 = 128;
}

/// What a call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What this says.
    pub role: Role,
    /// Number of the communicator and 1; 0 for none.
    pub communicator: u32,
    /// Number of the operation on this rank, in the order in which they began; 0 for what is no operation.
    pub operation: u64,
    /// Other side: rank in the communicator, or one of [`peer`]; the root of a collective.
    pub peer: i32,
    /// The same as rank in `MPI_COMM_WORLD`.
    pub world: i32,
    /// Tag, or [`ANY_TAG`].
    pub tag: i32,
    /// Bytes of an element of the datatype.
    pub element_bytes: u32,
    /// Bytes of the message; of a posted receive those of its buffer; of a collective its volume.
    pub bytes: u64,
    /// Address of the buffer.
    pub address: u64,
    /// Class of the datatype, as [`class_name`] has it.
    pub class: u8,
    /// Operator of a reduction, as [`operator_name`] has it.
    pub operator: u8,
    /// Bits of [`flag`].
    pub flags: u8,
    /// CRC-32 of what is hashed.
    pub crc: u32,
    /// First bytes of the payload.
    pub prefix: [u8; PREFIX_BYTES],
    /// Chunks that are kept.
    pub chunks: Vec<Chunk>,
}

/// Words of a part without payload, and of the shortest.
const PART_WORDS: usize = 7;
const SHORT_WORDS: usize = 2;
const PREFIX_WORDS: usize = PREFIX_BYTES / 8;
/// Words of the longest part but for its chunks.
pub const PAYLOAD_WORDS: usize = PART_WORDS + PREFIX_WORDS;

impl Part {
    /// A part with nothing but a role.
    #[inline]
    #[must_use]
    pub fn new(role: Role) -> Part {
        Part {
            role,
            communicator: 0,
            operation: 0,
            peer: peer::UNKNOWN,
            world: peer::UNKNOWN,
            tag: 0,
            element_bytes: 0,
            bytes: 0,
            address: 0,
            class: 0,
            operator: 0,
            flags: 0,
            crc: 0,
            prefix: [0; PREFIX_BYTES],
            chunks: Vec::new(),
        }
    }

    /// Takes over what is kept of the payload, but for the chunks.
    #[inline]
    pub fn set(&mut self, digest: &Digest) {
        self.crc = digest.crc;
        self.prefix = digest.prefix;
        if digest.is_constant {
            self.flags |= flag::CONSTANT;
        }
    }

    /// Number of words.
    #[inline]
    #[must_use]
    pub fn length(&self) -> usize {
        if self.role.is_short() {
            SHORT_WORDS
        } else if self.role.has_payload() {
            PAYLOAD_WORDS + 2 * self.chunks.len()
        } else {
            PART_WORDS
        }
    }

    /// Calls `put` with each word in its order.
    #[inline]
    pub fn words(&self, mut put: impl FnMut(u64)) {
        put(First {
            kind: kind::PART,
            detail: self.role as u8,
            words: self.length() as u16,
            number: self.communicator,
        }
        .bits());
        put(self.operation);
        if self.role.is_short() {
            return;
        }
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        put(pair(self.peer.cast_unsigned(), self.world.cast_unsigned()));
        put(pair(self.tag.cast_unsigned(), self.element_bytes));
        put(self.bytes);
        put(self.address);
        let small = u32::from_le_bytes([self.class, self.operator, self.flags, 0]);
        put(pair(small, self.crc));
        if !self.role.has_payload() {
            return;
        }
        let (first, second) = self.prefix.split_at(8);
        for half in [first, second] {
            put(half.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
        for chunk in &self.chunks {
            put(chunk.offset);
            put(pair(chunk.bytes, chunk.crc));
        }
    }

    /// From words; `None` if they are no part.
    #[must_use]
    pub fn of(words: &[u64]) -> Option<Part> {
        let (first, rest) = words.split_first()?;
        let first = First::of(*first);
        if first.kind != kind::PART {
            return None;
        }
        let role = Role::of(first.detail)?;
        let (operation, rest) = rest.split_first()?;
        let mut part = Part {
            communicator: first.number,
            operation: *operation,
            ..Part::new(role)
        };
        if role.is_short() {
            return rest.is_empty().then_some(part);
        }
        let (known, rest) = rest.split_at_checked(PART_WORDS - SHORT_WORDS)?;
        let [peers, tag, bytes, address, small] = *known else {
            return None;
        };
        let [low, high] = [|word: u64| word as u32, |word: u64| (word >> 32) as u32];
        part.peer = low(peers).cast_signed();
        part.world = high(peers).cast_signed();
        part.tag = low(tag).cast_signed();
        part.element_bytes = high(tag);
        part.bytes = bytes;
        part.address = address;
        [part.class, part.operator, part.flags, _] = low(small).to_le_bytes();
        part.crc = high(small);
        if !role.has_payload() {
            return rest.is_empty().then_some(part);
        }
        let (prefix, chunks) = rest.split_at_checked(PREFIX_WORDS)?;
        for (to, from) in part.prefix.chunks_mut(8).zip(prefix) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        if chunks.len() % 2 != 0 {
            return None;
        }
        part.chunks = chunks
            .chunks(2)
            .filter_map(|pair| {
                let [offset, rest] = *pair else { return None };
                Some(Chunk {
                    offset,
                    bytes: low(rest),
                    crc: high(rest),
                })
            })
            .collect();
        Some(part)
    }
}

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
}

/// Numbers of texts.
const HOST: u32 = 0;
const LIBRARY: u32 = 1;

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
            _ => return None,
        })
    }
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

/// Names of the classes of datatypes, by their numbers; the first is that of calls without a datatype.
pub const CLASSES: [&str; 8] = ["", "byte", "integer", "real", "complex", "logical", "pair", "derived"];

/// Name of a class; empty if there is none.
#[must_use]
pub fn class_name(class: u8) -> &'static str {
    CLASSES.get(usize::from(class)).copied().unwrap_or_default()
}

/// Names of the operators, by their numbers from 1; 0 is for calls without one.
pub const OPERATORS: [&str; 13] = [
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MAXLOC",
    "MPI_MINLOC",
    "user",
];

/// Name of an operator; empty if there is none.
#[must_use]
pub fn operator_name(operator: u8) -> &'static str {
    let at = usize::from(operator).checked_sub(1);
    at.and_then(|at| OPERATORS.get(at)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(part: &Part) -> Vec<u64> {
        let mut words = Vec::new();
        part.words(|word| words.push(word));
        assert_eq!(words.len(), part.length());
        words
    }

    #[test]
    fn parts_come_back() {
        for role in Role::ALL {
            let mut part = Part::new(role);
            part.communicator = 3;
            part.operation = u64::MAX;
            if !role.is_short() {
                part.peer = peer::ANY;
                part.world = 77;
                part.tag = -1;
                part.element_bytes = 8;
                part.bytes = 1 << 40;
                part.address = 0x7fff_0000_1234;
                (part.class, part.operator, part.flags) = (7, 13, 255);
                part.crc = 0xdead_beef;
            }
            if role.has_payload() {
                part.prefix = *b"0123456789abcdef";
                part.chunks = vec![
                    Chunk {
                        offset: 5,
                        bytes: 6,
                        crc: 7
                    };
                    3
                ];
            }
            let words = words_of(&part);
            assert_eq!(Part::of(&words), Some(part.clone()), "{role:?}");
            assert_eq!(Part::of(&words[..words.len() - 1]), None, "{role:?}");
        }
    }

    #[test]
    fn calls_come_back() {
        for (polls, parts) in [(0, 0), (0, 9), (4, 0)] {
            let call = Call {
                function: 200,
                communicator: 1,
                begin: 2,
                end: 3,
                site: 4,
                polls,
                parts,
            };
            assert_eq!(Call::of(&call.words()), Some(call));
        }
        assert_eq!(Call::of(&[0; 4]), None);
    }

    #[test]
    fn definitions_come_back() {
        for definition in [
            Definition::Function {
                number: 4,
                name: "MPI_Recv".to_owned(),
            },
            Definition::Site {
                number: 1 << 20,
                offset: 0x1234,
                module: "/opt/solver".to_owned(),
                symbol: String::new(),
            },
            Definition::Communicator {
                number: 3,
                rank: 1,
                size: 2,
                sequence: 1,
                members: "1-5:2,0".to_owned(),
                remote: Some("3".to_owned()),
                label: "half ½".to_owned(),
            },
            Definition::Host("node-12345678".to_owned()),
            Definition::Library("Open MPI v4.1.4".to_owned()),
        ] {
            let words = definition.words().unwrap();
            assert_eq!(Definition::of(&words), Some(definition));
            assert_eq!(Definition::of(&words[..words.len() - 1]), None);
        }
        assert_eq!(Definition::Host("x".repeat(1 << 20)).words(), None);
    }
}
