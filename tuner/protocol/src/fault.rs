//! Faults of an item or a job, as data. The worker reports them, the store keeps them, the search decides by them, and [`Fault`] and
//! [`FaultKind`] alone put them into words.

use std::fmt;

use kilter_algorithms::Collective;
use serde::{Deserialize, Serialize};

/// The reason why an item is out of its block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// A byte has a wrong value.
    WrongData(WrongData),
    /// A rank left a barrier before the last one had entered.
    BrokenBarrier,
    /// A setting of the item does not read back as it was asked for.
    NoEffect {
        /// The rank that read it.
        rank: usize,
        /// Variable.
        name: String,
        /// The value that was asked for.
        asked: String,
        /// The value that was read back.
        read: String,
    },
    /// The item leaves other bits of random doubles than the untouched library, where the same are asked for.
    OtherResults {
        /// Function.
        #[serde(with = "by_name")]
        collective: Collective,
        /// Volume.
        bytes: u64,
        /// The difference.
        difference: Difference,
    },
    /// The item cannot be carried out here.
    Refused {
        /// The lowest rank that cannot.
        rank: usize,
        /// Its words.
        why: String,
    },
    /// The item ended the job in which it ran. The tuner finds this, not the worker.
    EndedTheJob {
        /// The way in which the job ended: it hung or crashed.
        kind: FaultKind,
        /// The end of the job in words.
        text: String,
    },
    /// A store of schema 6 or older kept the fault as text.
    Told {
        /// The kind, which the migration took from how the text begins.
        kind: FaultKind,
        /// The text.
        text: String,
    },
}

/// A wrong byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongData {
    /// The rank that found it.
    pub rank: usize,
    /// Buffer.
    pub buffer: Buffer,
    /// Zone of the buffer.
    pub zone: Zone,
    /// Index in the zone; before the beginning, the distance from it.
    pub byte: usize,
    /// The byte that is there.
    pub got: u8,
    /// The byte that must be there.
    pub expected: u8,
    /// The call among those that divide the data, from 1, and their number; absent where one call has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<(usize, usize)>,
}

/// The buffer of a call that has a wrong byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Buffer {
    /// The call was to fill it.
    Output,
    /// The call was to leave it alone.
    Input,
}

/// The part of a buffer that has a wrong byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// The buffer itself.
    Within,
    /// The guarded bytes before it.
    Before,
    /// The guarded bytes behind it.
    Behind,
}

/// A difference from the untouched library's results on random doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The untouched library itself differs from call to call.
    DefaultVaries,
    /// The item differs from call to call.
    Varies,
    /// The item leaves other bits.
    OtherBits,
    /// The untouched library was not measured.
    DefaultUnknown,
}

crate::json_line::json_lines![Option<Fault>];

/// The kind of a fault, of an item or of a job: it decides what happens to the candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FaultKind {
    /// Nothing was heard of the job for too long.
    #[serde(rename = "hung")]
    Hung,
    /// The job ended before it was done.
    #[serde(rename = "crashed")]
    Crashed,
    /// The job never said that it had started.
    #[serde(rename = "did not start")]
    DidNotStart,
    /// A byte had a wrong value. Reports before schema 7 of the store also say `wrong data`.
    #[serde(rename = "delivered wrong data", alias = "wrong data")]
    WrongData,
    /// The library did not follow.
    #[serde(rename = "had no effect")]
    NoEffect,
    /// The results were not the default's bit by bit, which was asked for.
    #[serde(rename = "other results")]
    OtherResults,
    /// It cannot be carried out here.
    #[serde(rename = "could not be run")]
    Refused,
    /// A row failed the correctness matrix.
    #[serde(rename = "failed the correctness matrix")]
    Incorrect,
    /// The correctness matrix compared none of a row's results.
    #[serde(rename = "could not be verified")]
    Unverified,
}

impl Fault {
    /// The kind.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        match self {
            Fault::WrongData(_) | Fault::BrokenBarrier => FaultKind::WrongData,
            Fault::NoEffect { .. } => FaultKind::NoEffect,
            Fault::OtherResults { .. } => FaultKind::OtherResults,
            Fault::Refused { .. } => FaultKind::Refused,
            Fault::EndedTheJob { kind, .. } | Fault::Told { kind, .. } => *kind,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::WrongData(_) | Fault::BrokenBarrier => "wrong data: ",
            Fault::NoEffect { .. } => "had no effect: ",
            Fault::OtherResults { .. } => "not reproducible: ",
            Fault::EndedTheJob { .. } | Fault::Refused { .. } | Fault::Told { .. } => "",
        })?;
        self.detail().fmt(f)
    }
}

/// A fault in words that do not say its kind, for where it stands beside them.
#[derive(Debug, Clone, Copy)]
pub struct Detail<'f>(&'f Fault);

impl Fault {
    /// The details, which follow the words of [`Fault::kind`].
    #[must_use]
    pub fn detail(&self) -> Detail<'_> {
        Detail(self)
    }
}

impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Fault::WrongData(wrong) => wrong.fmt(f),
            Fault::BrokenBarrier => f.write_str("no barrier: a rank left before the last had entered"),
            Fault::NoEffect {
                rank,
                name,
                asked,
                read,
            } => {
                by_rank(*rank, f)?;
                write!(f, "`{name}` was set to `{asked}` and reads back as `{read}`")
            }
            Fault::OtherResults {
                collective,
                bytes,
                difference,
            } => match difference {
                Difference::DefaultVaries => write!(
                    f,
                    "the library's own {collective} of random doubles around {bytes} B differs from call to call here, so that nothing can \
                         equal it"
                ),
                Difference::Varies => write!(
                    f,
                    "{collective} of random doubles around {bytes} B differs from call to call"
                ),
                Difference::OtherBits => write!(
                    f,
                    "{collective} of random doubles around {bytes} B leaves other bits than the default"
                ),
                Difference::DefaultUnknown => write!(
                    f,
                    "what the default leaves for {collective} of {bytes} B was not measured"
                ),
            },
            Fault::Refused { rank, why } => {
                by_rank(*rank, f)?;
                f.write_str(why)
            }
            Fault::EndedTheJob { text, .. } | Fault::Told { text, .. } => f.write_str(text),
        }
    }
}

/// Names the rank that speaks, where it is not rank 0, which speaks for all.
fn by_rank(rank: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if rank == 0 { Ok(()) } else { write!(f, "rank {rank}: ") }
}

impl fmt::Display for WrongData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} ", self.rank)?;
        let buffer = match self.buffer {
            Buffer::Output => "output",
            Buffer::Input => "input",
        };
        match (self.zone, self.buffer) {
            (Zone::Within, Buffer::Output) => {}
            (Zone::Within, Buffer::Input) => f.write_str("input ")?,
            (Zone::Before, _) => write!(f, "{buffer} buffer, before its beginning, ")?,
            (Zone::Behind, _) => write!(f, "{buffer} buffer, behind its end, ")?,
        }
        write!(
            f,
            "byte {}: got {:#04x}, expected {:#04x}",
            self.byte, self.got, self.expected
        )?;
        match self.slice {
            Some((slice, slices)) => write!(f, " (slice {slice} of {slices})"),
            None => Ok(()),
        }
    }
}

impl FaultKind {
    /// Its words, which reports keep.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            FaultKind::Hung => "hung",
            FaultKind::Crashed => "crashed",
            FaultKind::DidNotStart => "did not start",
            FaultKind::WrongData => "delivered wrong data",
            FaultKind::NoEffect => "had no effect",
            FaultKind::OtherResults => "other results",
            FaultKind::Refused => "could not be run",
            FaultKind::Incorrect => "failed the correctness matrix",
            FaultKind::Unverified => "could not be verified",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// A collective as its name.
mod by_name {
    use kilter_algorithms::Collective;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(collective: &Collective, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(collective.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Collective, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong() -> WrongData {
        WrongData {
            rank: 3,
            buffer: Buffer::Output,
            zone: Zone::Within,
            byte: 7,
            got: 0,
            expected: 0xe1,
            slice: None,
        }
    }

    fn all() -> Vec<Fault> {
        let refused = |rank| Fault::Refused {
            rank,
            why: "not available: no shared memory".to_owned(),
        };
        let ignored = |rank| Fault::NoEffect {
            rank,
            name: "x".to_owned(),
            asked: "16".to_owned(),
            read: "1".to_owned(),
        };
        let other = |difference| Fault::OtherResults {
            collective: Collective::Allreduce,
            bytes: 1024,
            difference,
        };
        let behind = WrongData {
            buffer: Buffer::Input,
            zone: Zone::Behind,
            slice: Some((2, 4)),
            ..wrong()
        };
        let before = WrongData {
            zone: Zone::Before,
            ..wrong()
        };
        let input = WrongData {
            buffer: Buffer::Input,
            ..wrong()
        };
        let mut all: Vec<Fault> = [wrong(), input, before, behind].map(Fault::WrongData).into();
        all.extend([Fault::BrokenBarrier, ignored(0), ignored(10), refused(0), refused(1)]);
        all.extend(
            [
                Difference::DefaultVaries,
                Difference::Varies,
                Difference::OtherBits,
                Difference::DefaultUnknown,
            ]
            .map(other),
        );
        all.push(Fault::Told {
            kind: FaultKind::WrongData,
            text: "wrong data: rank 1, byte 7".to_owned(),
        });
        all
    }

    #[test]
    fn a_fault_in_words_says_who_found_what_where() {
        let words: Vec<String> = all()
            .iter()
            .map(|fault| format!("{}: {}", fault.kind(), fault.detail()))
            .collect();
        assert_eq!(
            words,
            [
                "delivered wrong data: rank 3 byte 7: got 0x00, expected 0xe1",
                "delivered wrong data: rank 3 input byte 7: got 0x00, expected 0xe1",
                "delivered wrong data: rank 3 output buffer, before its beginning, byte 7: got 0x00, expected 0xe1",
                "delivered wrong data: rank 3 input buffer, behind its end, byte 7: got 0x00, expected 0xe1 (slice 2 of 4)",
                "delivered wrong data: no barrier: a rank left before the last had entered",
                "had no effect: `x` was set to `16` and reads back as `1`",
                "had no effect: rank 10: `x` was set to `16` and reads back as `1`",
                "could not be run: not available: no shared memory",
                "could not be run: rank 1: not available: no shared memory",
                "other results: the library's own allreduce of random doubles around 1024 B differs from call to call here, \
                 so that nothing can equal it",
                "other results: allreduce of random doubles around 1024 B differs from call to call",
                "other results: allreduce of random doubles around 1024 B leaves other bits than the default",
                "other results: what the default leaves for allreduce of 1024 B was not measured",
                "delivered wrong data: wrong data: rank 1, byte 7",
            ]
        );
        let alone: Vec<String> = all().iter().map(ToString::to_string).collect();
        assert_eq!(alone[0], "wrong data: rank 3 byte 7: got 0x00, expected 0xe1");
        assert_eq!(
            alone[6],
            "had no effect: rank 10: `x` was set to `16` and reads back as `1`"
        );
    }

    #[test]
    fn a_fault_survives_its_line() {
        for fault in all() {
            let text = serde_json::to_string(&fault).unwrap();
            assert_eq!(serde_json::from_str::<Fault>(&text).unwrap(), fault, "{text}");
        }
        assert_eq!(
            serde_json::to_string(&Fault::WrongData(wrong())).unwrap(),
            r#"{"fault":"wrong_data","rank":3,"buffer":"output","zone":"within","byte":7,"got":0,"expected":225}"#
        );
    }

    /// Reports keep the kind as these words.
    #[test]
    fn a_kind_is_stored_as_its_words() {
        use FaultKind::{
            Crashed, DidNotStart, Hung, Incorrect, NoEffect, OtherResults, Refused, Unverified, WrongData,
        };
        for kind in [
            Hung,
            Crashed,
            DidNotStart,
            WrongData,
            NoEffect,
            OtherResults,
            Refused,
            Incorrect,
            Unverified,
        ] {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<FaultKind>(&text).unwrap(), kind);
        }
        assert_eq!(serde_json::from_str::<FaultKind>("\"wrong data\"").unwrap(), WrongData);
    }
}
