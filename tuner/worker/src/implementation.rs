//! Turns an item of the plan into the calls that carry it out.

use std::ffi::c_int;
use std::path::Path;

use kilter_algorithms::{Collective, mockup};
use kilter_mpi::Pipeline;
use kilter_protocol::expression::{
    Attributes, Communicator, Counts, Factor, Form, Layout, Operation, Quantity, Side, Term, Values,
};
use kilter_protocol::plan::{Implementation, Item};
use kilter_protocol::task::{Functionality, Task};

use crate::irregular::Irregular;
use crate::place::Place;
use crate::problem::Problem;
use crate::reason::{NoOverlap, NoPart, NoRow, Reason};
use crate::replay::Replay;
use crate::row::{Inside, RowCall};

/// More calls than this in one repetition are a mistake in the plan.
const MAX_REPEAT: u64 = 1 << 20;

/// More slices than this with a program each are a mistake in the guideline.
const MAX_PROGRAMS: usize = 256;

/// An item as this rank carries it out.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// The calls' data, slice by slice.
    pub(crate) problems: Vec<Problem>,
    /// Operations on them, in order.
    pub(crate) parts: Vec<Part>,
    /// Rows for the calls inside.
    pub(crate) inside: Inside,
}

/// Calls of one kind.
#[derive(Debug)]
pub(crate) struct Part {
    /// Execution of the call.
    pub(crate) how: How,
    /// Number of calls.
    pub(crate) repeat: usize,
    /// The first call's data in [`Recipe::problems`].
    pub(crate) first: usize,
    /// Successive calls take successive slices, this many, and then begin again.
    pub(crate) slices: usize,
}

/// Execution of one call.
#[derive(Debug)]
pub(crate) enum How {
    /// The library's own collective.
    Library(Collective),
    /// The library's own collective, with a block of its own length for each rank.
    Irregular(Box<Irregular>),
    /// A row: an algorithm or a mock-up of Kilter's own, or a plugin's.
    Row(Box<RowCall>),
    /// Library calls with the semantics of the collective that are no row: the right side of a site's own guideline, say, which no
    /// drop-in runs.
    Composition(Pipeline),
    /// Messages, as a program sent them, with memory of their own.
    Schedule(Box<Replay>),
    /// Anything else that a side may be.
    Program(Side),
}

/// Finds out how an item is carried out; decided by the plan alone, so alike on every rank.
pub(crate) fn recipe(item: &Item, place: Place) -> Result<Recipe, Reason> {
    let functionality = item.task.functionality;
    if functionality == Functionality::Function(Collective::ReduceLocal) {
        return Err(Reason::NoCollective);
    }
    if place.p_ranks < functionality.min_ranks() {
        return Err(Reason::FewRanks {
            task: item.task,
            ranks: functionality.min_ranks(),
        });
    }
    let mut recipe = Recipe {
        problems: Vec::new(),
        parts: Vec::new(),
        inside: Inside::of(&item.deployed, place)?,
    };
    match &item.implementation {
        Implementation::Algorithm { id, parameters } => {
            let target = item.task.collective().ok_or(NoRow::OfKilter(item.task))?;
            check_blocks(item.bytes, target.has_blocks(), place)?;
            let problem = Problem::new(item.task, item.bytes, place, 0)?;
            let call = RowCall::of_kilter(id, Some(parameters), target, &problem, place)?;
            recipe.add(How::Row(Box::new(call)), 1, &[problem]);
        }
        Implementation::Plugin { file, id, parameters } => {
            let target = item.task.collective().ok_or(NoRow::OfPlugin(item.task))?;
            check_blocks(item.bytes, target.has_blocks(), place)?;
            let problem = Problem::new(item.task, item.bytes, place, 0)?;
            let call = RowCall::of_plugin((Path::new(file), id.as_str()), parameters, target, &problem, place)?;
            recipe.add(How::Row(Box::new(call)), 1, &[problem]);
        }
        Implementation::Expression { text } => {
            let side: Side = text.parse().map_err(|error| Reason::Expression {
                text: text.clone(),
                error,
            })?;
            recipe.add_side(item, &side, of_pair(&side, place)?)?;
        }
        Implementation::Overlap(_) => return Err(NoOverlap::OutsideItsBlock.into()),
        Implementation::Schedule(schedule) => {
            let replay = Replay::new(schedule, place)?;
            recipe.add(How::Schedule(Box::new(replay)), 1, &[]);
        }
        Implementation::Among(_) => return Err(NoPart::OfPart.into()),
    }
    Ok(recipe)
}

impl Recipe {
    pub(crate) fn add(&mut self, how: How, repeat: usize, problems: &[Problem]) {
        self.parts.push(Part {
            how,
            repeat,
            first: self.problems.len(),
            slices: problems.len(),
        });
        self.problems.extend_from_slice(problems);
    }

    fn add_side(&mut self, item: &Item, side: &Side, place: Place) -> Result<(), Reason> {
        if side.mentions_k() {
            return Err(Reason::HasK(side.to_string()));
        }
        if side.mentions_any() {
            return Err(Reason::HasA(side.to_string()));
        }
        // Composed of calls on nodes and lanes: carried out as in the drop-in.
        let text = side.to_string();
        let over_lanes = |target| mockup::of_side(target, &text).filter(|mockup| mockup.is_over_lanes());
        if let Some((target, mockup)) = item
            .task
            .collective()
            .and_then(|target| Some((target, over_lanes(target)?)))
        {
            check_blocks(item.bytes, target.has_blocks(), place)?;
            let problem = Problem::new(item.task, item.bytes, place, 0)?;
            let call = RowCall::of_kilter(mockup.id, None, target, &problem, place)?;
            self.add(How::Row(Box::new(call)), 1, &[problem]);
            return Ok(());
        }
        // Composed of plain calls: what the drop-in can run as well.
        if let (Some(target), Some(calls)) = (item.task.collective(), side.plain_calls()) {
            // A mock-up pads its data as in the drop-in.
            let is_padded = mockup::of_calls(target, &calls).is_some();
            let blocks = target.has_blocks() || side.has_blocks() && !is_padded;
            check_blocks(item.bytes, blocks, place)?;
            let problem = Problem::new(item.task, item.bytes, place, 0)?;
            self.add(plain(target, &calls, &problem, place)?, 1, &[problem]);
            return Ok(());
        }
        let mut rest: Vec<Term> = Vec::new();
        for term in &side.terms {
            match self.kind(item, side, term) {
                Kind::Whole => rest.push(term.clone()),
                kind => {
                    self.add_program(item, std::mem::take(&mut rest), place)?;
                    self.add_term(item, term, kind, place)?;
                }
            }
        }
        self.add_program(item, rest, place)
    }

    /// Relation of a term to the whole side.
    fn kind(&self, item: &Item, side: &Side, term: &Term) -> Kind {
        let call = &term.call;
        if let Operation::PointToPoint(_) = &call.operation {
            return Kind::Slices;
        }
        let (Some(function), Functionality::Function(target)) = (call.function(), item.task.functionality) else {
            return Kind::Whole;
        };
        let Some(size) = &call.size else { return Kind::Whole };
        let depends = size.mentions(Factor::N) || term.repeat.mentions(Factor::N);
        let is_own = function == target && call.on == Communicator::World && !side.has_wait();
        if is_own && (!term.repeat.is_one() || !size.is_n()) {
            Kind::Slices
        } else if !depends && (side.terms.len() > 1 || function != target) {
            Kind::Auxiliary
        } else {
            Kind::Whole
        }
    }

    /// Adds the calls of a term that stands for itself.
    fn add_term(&mut self, item: &Item, term: &Term, kind: Kind, place: Place) -> Result<(), Reason> {
        let values = Values {
            n_bytes: item.bytes,
            p_ranks: place.p_ranks as u64,
            q_ranks: place.p_ranks as u64,
        };
        let value = |quantity: &Quantity| quantity.value(values);
        let repeat = value(&term.repeat)?;
        if repeat > MAX_REPEAT {
            return Err(Reason::ManyCalls {
                term: term.to_string(),
                calls: repeat,
                most: MAX_REPEAT,
            });
        }
        let bytes = term.call.size.as_ref().map_or(Ok(0), value)?;
        let mut task = item.task;
        if kind == Kind::Auxiliary {
            let side = Side {
                terms: vec![Term {
                    repeat: Quantity::one(),
                    call: term.call.clone(),
                }],
            };
            task = Task::of(&side)?;
        }
        let (how, slices) = match (&term.call.operation, task.collective()) {
            (Operation::PointToPoint(name), Some(target)) => {
                let problem = Problem::new(task, bytes, place, 0)?;
                let id = format!("{target}.{name}");
                let call = RowCall::of_kilter(&id, None, target, &problem, place)?;
                (How::Row(Box::new(call)), 1)
            }
            (Operation::PointToPoint(_), None) => return Err(NoRow::OfKilter(task).into()),
            (Operation::Collective(_, Form::Blocking), Some(target))
                if term.call.attributes == Attributes::default() =>
            {
                (How::Library(target), usize::MAX)
            }
            _ => {
                let mut single = term.clone();
                single.repeat = Quantity::one();
                single.call.size = Some(Quantity::n());
                (How::Program(Side { terms: vec![single] }), MAX_PROGRAMS)
            }
        };
        // As many slices as the whole has parts of this size. Calls of the function on its own volume are the parts of a larger whole: on one slice each
        // would find in its cache what the whole does not.
        let is_own_volume = term.call.size.as_ref().is_some_and(Quantity::is_n);
        let parts = match kind {
            Kind::Slices if is_own_volume => repeat,
            Kind::Slices if bytes > 0 => (item.bytes / bytes).max(1),
            _ => 1,
        };
        let slices = usize::try_from(repeat.min(parts))
            .unwrap_or(usize::MAX)
            .clamp(1, slices);
        let has_blocks = task.functionality.has_blocks();
        check_blocks(bytes, has_blocks, place)?;
        let problems: Vec<Problem> = (0..slices)
            .map(|slice| Problem::new(task, bytes, place, slice))
            .collect::<Result<_, _>>()?;
        self.add(how, repeat as usize, &problems);
        Ok(())
    }

    fn add_program(&mut self, item: &Item, terms: Vec<Term>, place: Place) -> Result<(), Reason> {
        if terms.is_empty() {
            return Ok(());
        }
        let side = Side { terms };
        let uniform = item.task.counts == Counts::Uniform;
        let has_blocks = uniform && (item.task.functionality.has_blocks() || side.has_blocks());
        check_blocks(item.bytes, has_blocks, place)?;
        let mut problem = Problem::new(item.task, item.bytes, place, 0)?;
        problem.in_place = side.head().attributes.in_place;
        self.add(How::Program(side), 1, &[problem]);
        Ok(())
    }
}

/// Relation of a term to its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Calls of the function itself on slices of the data, or a schedule for it.
    Slices,
    /// A call on data of its own.
    Auxiliary,
    /// A step on the way from the input to the output.
    Whole,
}

/// Place of a rank on a side that concerns one pair: first, last, or behind both, where nothing is done.
///
/// # Errors
/// A rank of the pair does not exist.
fn of_pair(side: &Side, place: Place) -> Result<Place, Reason> {
    let Communicator::Pair(from, to) = side.head().on else {
        return Ok(place);
    };
    if from.max(to) >= place.p_ranks as u64 {
        return Err(Reason::NoRank {
            side: side.to_string(),
            rank: from.max(to),
            ranks: place.p_ranks,
        });
    }
    let position = [from, to].iter().position(|one| *one == place.rank as u64);
    Ok(Place {
        rank: position.unwrap_or(2),
        p_ranks: 2,
        root: 0,
        ..place
    })
}

/// Plain calls of the library, one after the other: the collective itself, or a mock-up, as the drop-in runs it where it can.
fn plain(target: Collective, calls: &[Collective], problem: &Problem, place: Place) -> Result<How, Reason> {
    if calls == [target] {
        return Ok(How::Library(target));
    }
    if let Some(mockup) = mockup::of_calls(target, calls) {
        let call = RowCall::of_kilter(mockup.id, None, target, problem, place)?;
        return Ok(How::Row(Box::new(call)));
    }
    Ok(How::Composition(Pipeline::new(target, calls)?))
}

/// Checks that a volume can be divided among the ranks if it has to be.
pub(crate) fn check_blocks(bytes: u64, has_blocks: bool, place: Place) -> Result<(), Reason> {
    if has_blocks && !bytes.is_multiple_of(place.p_ranks as u64) {
        return Err(Reason::Blocks {
            bytes,
            ranks: place.p_ranks,
        });
    }
    Ok(())
}

impl Problem {
    /// The data of one call.
    ///
    /// # Errors
    /// A volume that MPI cannot count or that cannot be divided as the task says.
    pub(crate) fn new(task: Task, bytes: u64, place: Place, slice: usize) -> Result<Problem, Reason> {
        let Place {
            rank,
            p_ranks,
            root,
            operand,
            ..
        } = place;
        if c_int::try_from(bytes).is_err() {
            return Err(Reason::Count { bytes });
        }
        let typed = task.sendtype != Layout::Contiguous || task.recvtype != Layout::Contiguous;
        let blocks = if task.functionality.has_blocks() {
            p_ranks as u64
        } else {
            1
        };
        if typed && !bytes.is_multiple_of(Layout::UNIT_BYTES * blocks) {
            return Err(Reason::Strided {
                bytes,
                unit: Layout::UNIT_BYTES * blocks,
            });
        }
        if typed && task.counts != Counts::Uniform {
            return Err(Reason::StridedCounts);
        }
        let combines = matches!(task.functionality, Functionality::Function(c) if c.has_operator());
        if combines && !bytes.is_multiple_of(operand.bytes()) {
            let element = operand.element;
            return Err(Reason::Elements { bytes, element });
        }
        Ok(Problem {
            task,
            operand,
            n_bytes: bytes as usize,
            p_ranks,
            rank,
            root,
            source: (rank + p_ranks - 1) % p_ranks,
            slice,
            in_place: false,
            lengths: None,
        })
    }
}

#[cfg(test)]
mod tests;
