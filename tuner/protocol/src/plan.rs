//! Lines from the tuner to the worker. The first is a [`Header`]; blocks follow; [`PlanLine::End`] ends the job.

use serde::{Deserialize, Serialize};

use crate::json_line::JsonLine as _;

pub use crate::arrival::{ArrivalPattern, Shape};
pub use crate::measuring::{Cache, ClockFault, Synchronisation};
pub use crate::repetitions::{Repetitions, StopRules, Window};
use crate::task::Task;

/// Extension of the file beside the plan whose being there ends the job after the block under way, whatever the plan says.
pub const STOP_EXTENSION: &str = "stop";

/// One line of the plan file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PlanLine {
    /// Always first.
    Header(Header),
    /// Something to measure.
    Block(Block),
    /// Nothing more will come.
    End,
}

crate::json_line::json_lines![PlanLine, Wait];

/// Reasons why a line is none of a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanLineError {
    /// It is no JSON.
    #[error("not a line of JSON")]
    NotJson(#[source] serde_json::Error),
    /// Another tuner wrote it.
    #[error(
        "the plan has version {found} and this worker reads version {}: build both from one source",
        crate::VERSION
    )]
    Version {
        /// The version that the line names.
        found: u32,
    },
    /// It is JSON that says something else.
    #[error("not a line of a plan")]
    NotOfAPlan(#[source] serde_json::Error),
}

/// The version of a line, where it says one.
#[derive(Deserialize)]
struct Versioned {
    v: Option<u32>,
}

impl PlanLine {
    /// Reads a line: first its version, since another one may have changed the rest.
    pub fn read(line: &[u8]) -> Result<PlanLine, PlanLineError> {
        let versioned: Versioned = serde_json::from_slice(line).map_err(PlanLineError::NotJson)?;
        if let Some(found) = versioned.v.filter(|v| *v != crate::VERSION) {
            return Err(PlanLineError::Version { found });
        }
        PlanLine::from_json(line).map_err(PlanLineError::NotOfAPlan)
    }
}

/// Settings of the whole job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`crate::VERSION`].
    pub v: u32,
    /// Waiting of ranks for the agreed start of a repetition; without it the ranks decide by the processors of their hosts.
    #[serde(default)]
    pub wait: Option<Wait>,
    /// Root of rooted collectives.
    pub root: Root,
    /// Element of data that is combined: bytes by a bitwise OR, numbers by a sum.
    #[serde(default)]
    pub element: Element,
    /// Seed of the worker's own draws: permuted communicators.
    #[serde(default)]
    pub seed: u64,
    /// Names of MPI_T control variables to read back on every rank after `MPI_Init`.
    pub read_variables: Vec<String>,
    /// Names of environment variables to read back on every rank.
    pub read_environment: Vec<String>,
    /// Repetitions of the empty operation that measure the timer's and the synchronisation's noise; 0 for none.
    pub noise_repetitions: u32,
    /// The worker ends by itself when the plan file has not grown for so long (the tuner has gone), in seconds.
    pub idle_seconds: f64,
    /// Method by which ranks start a repetition together.
    #[serde(default)]
    pub sync: Synchronisation,
    /// Contents of the caches when it starts.
    #[serde(default)]
    pub cache: Cache,
    /// Objects on which the settings of an item act.
    #[serde(default)]
    pub settings: SettingsAct,
    /// Settings that must hold during an item's calls as well, where the others hold while its communicator is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_on_calls: Vec<String>,
    /// True if the start shall report the processing units of rank 0's host: asking for them takes milliseconds, and memory.
    #[serde(default)]
    pub asks_processing_units: bool,
    /// MPI_T performance variables with a number for each rank. Their growth during one call of an item, on every rank, is reported beside its
    /// settings. Variables that the library does not have are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
    /// Volume of an item that combines data, in bytes, and the volumes at which it also reports its results on random doubles
    /// ([`crate::report::BITS`]); its own volume if none are given. If this is empty, nothing is reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bits_at: Vec<(u64, Vec<u64>)>,
    /// True if each item is called with one rank after another late, and the functions in which the others wait are reported beside its settings
    /// ([`crate::call_paths`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub call_paths: bool,
    /// For tests: ranks with a wrong clock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clock_faults: Vec<ClockFault>,
}

/// Objects on which a control variable acts if it is written while the program runs. They decide when the settings of an item must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsAct {
    /// Communicators that are made afterwards (Open MPI): the settings hold while the item's is made.
    #[default]
    OnNewCommunicators,
    /// Calls (MPICH): the settings hold during each of the item's, and not while its communicator is made, for which the library makes calls of
    /// its own.
    OnCalls,
}

/// Choice of the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// This one.
    Fixed(usize),
    /// Each rank in turn, repetition by repetition.
    Rotating,
}

mod deployed;
mod operand;

pub use deployed::Deployed;
pub use operand::{Operand, Operator};

/// Type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    /// `MPI_BYTE`, combined by `MPI_BOR`.
    #[default]
    Byte,
    /// `MPI_INT`, combined by `MPI_SUM`.
    Int,
    /// `MPI_FLOAT`, combined by `MPI_SUM`; values are small whole numbers, so that every order of adding gives the same.
    Float,
    /// `MPI_DOUBLE`, likewise.
    Double,
}

impl Element {
    /// All elements.
    pub const ALL: [Element; 4] = [Element::Byte, Element::Int, Element::Float, Element::Double];

    /// The word in options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Element::Byte => "byte",
            Element::Int => "int",
            Element::Float => "float",
            Element::Double => "double",
        }
    }

    /// The type as MPI calls it.
    #[must_use]
    pub const fn mpi_name(self) -> &'static str {
        match self {
            Element::Byte => "MPI_BYTE",
            Element::Int => "MPI_INT",
            Element::Float => "MPI_FLOAT",
            Element::Double => "MPI_DOUBLE",
        }
    }

    /// Size of one, in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Element::Byte => 1,
            Element::Int | Element::Float => 4,
            Element::Double => 8,
        }
    }
}

/// Waiting of ranks for the agreed start of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// Each rank has a core of its own: spin on the clock.
    Spin,
    /// Ranks share cores: sleep until the start.
    Sleep,
}

/// Items that are measured together, their repetitions interleaved in an order drawn from `seed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Unique in the run; samples are stored under it.
    pub id: String,
    /// Seed of the order of the repetitions.
    pub seed: u64,
    /// The items that are compared.
    pub items: Vec<Item>,
    /// Condition under which it stops.
    pub repetitions: Repetitions,
}

/// One way to achieve a task at one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Unique in the block.
    pub id: String,
    /// The task: it gives inputs and the expected result. (Databases of the first version call it `collective`.)
    #[serde(alias = "collective")]
    pub task: Task,
    /// Total volume `n` in bytes; a multiple of `p` where blocks are involved.
    pub bytes: u64,
    /// Means by which it is carried out.
    pub implementation: Implementation,
    /// MPI_T control variables of this item, written when [`Header::settings`] says: name, value.
    pub settings: Vec<(String, String)>,
    /// Offsets at which the ranks begin; without it they begin together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<ArrivalPattern>,
    /// Rows that calls inside the implementation run, as if a profile had them; the library's own run where none is listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deployed: Vec<Deployed>,
}

/// Implementation of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Implementation {
    /// Library calls: the function itself, or a mock-up; a side of a guideline with no `k` and no `A` left in it.
    Expression {
        /// The side, such as `reduce_scatter_block(n) + gather(n)`.
        text: String,
    },
    /// A row of the registry, called as the drop-in calls it.
    Algorithm {
        /// The row's id.
        id: String,
        /// One value per parameter of the row.
        parameters: Vec<u64>,
    },
    /// A row of a plugin, which the worker loads as the drop-in does.
    Plugin {
        /// The shared object.
        file: String,
        /// The row's id.
        id: String,
        /// One value per parameter of the row.
        parameters: Vec<u64>,
    },
    /// Communication beside computation; all items of a block are of this kind, or none.
    Overlap(crate::overlap::Overlap),
    /// Messages, as a program sent them.
    Schedule(crate::schedule::Schedule),
    /// Another implementation, on a part of the ranks.
    Among(Box<Among>),
}

/// An implementation that a part of the ranks carries out on a communicator of its own, while the others wait.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Among {
    /// Ranks of the job that take part, in the order of the communicator. The item's volume is theirs.
    pub members: Vec<u32>,
    /// Root of rooted collectives, among the members: [`Header::root`] is not looked at.
    pub root: u32,
    /// Blocks of the members, where they differ in length; the item's volume is then [`Blocks::bytes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// Elements of data that are combined, and how, where these are not those of [`Header::element`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operand: Option<Operand>,
    /// Means by which it is carried out.
    pub implementation: Implementation,
}

/// Blocks of different lengths, in bytes: counts of `MPI_Gatherv` and its like.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// The block of each rank.
    Listed(Vec<u64>),
    /// Blocks of an all-to-all: `[from][to]`.
    Pairs(Vec<Vec<u64>>),
}

impl Blocks {
    /// Volume: all blocks, or the most that a rank of an all-to-all gives or gets.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let sum = |lengths: &mut dyn Iterator<Item = u64>| lengths.fold(0, u64::saturating_add);
        match self {
            Blocks::Listed(lengths) => sum(&mut lengths.iter().copied()),
            Blocks::Pairs(rows) => {
                let given = rows.iter().map(|row| sum(&mut row.iter().copied()));
                let ranks = rows.iter().map(Vec::len).max().unwrap_or(0);
                let got = (0..ranks).map(|to| sum(&mut rows.iter().filter_map(|row| row.get(to).copied())));
                given.chain(got).max().unwrap_or(0)
            }
        }
    }

    /// True if there is a length for each of so many ranks.
    #[must_use]
    pub fn are_of(&self, ranks: usize) -> bool {
        match self {
            Blocks::Listed(lengths) => lengths.len() == ranks,
            Blocks::Pairs(rows) => rows.len() == ranks && rows.iter().all(|row| row.len() == ranks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_volume_of_blocks_is_all_of_them_or_the_most_of_a_rank() {
        assert_eq!(Blocks::Listed(vec![0, 3, 5]).bytes(), 8);
        let given_most = Blocks::Pairs(vec![vec![0, 9, 9], vec![1, 0, 1], vec![0, 0, 0]]);
        let got_most = Blocks::Pairs(vec![vec![0, 1, 0], vec![9, 0, 1], vec![9, 0, 0]]);
        assert_eq!((given_most.bytes(), got_most.bytes()), (18, 18));
        assert!(given_most.are_of(3) && !given_most.are_of(2));
        assert!(!Blocks::Pairs(vec![vec![0, 1], vec![0]]).are_of(2));
    }

    #[test]
    fn another_version_and_nonsense_are_refused() {
        let line = |version: u32| {
            format!(
                r#"{{"kind":"header","v":{version},"root":"rotating","read_variables":[],"read_environment":[],
                "noise_repetitions":0,"idle_seconds":1.5}}"#
            )
        };
        let read = PlanLine::read(line(crate::VERSION).as_bytes()).unwrap();
        assert!(
            matches!(
                read,
                PlanLine::Header(Header {
                    root: Root::Rotating,
                    ..
                })
            ),
            "{read:?}"
        );
        let refused = |line: &str| PlanLine::read(line.as_bytes()).unwrap_err();
        // Whatever else another version says.
        for line in [line(99), r#"{"v":99,"sort":"header"}"#.to_owned()] {
            assert!(matches!(refused(&line), PlanLineError::Version { found: 99 }), "{line}");
        }
        assert!(matches!(refused(r#"{"kind":"measure"}"#), PlanLineError::NotOfAPlan(_)));
        assert!(matches!(refused("end"), PlanLineError::NotJson(_)));
        assert_eq!(PlanLine::read(br#"{"kind":"end"}"#).unwrap(), PlanLine::End);
    }
}
