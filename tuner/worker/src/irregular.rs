//! Collectives whose blocks differ in length, with the counts that the plan lists: the library's call, and rows of Kilter's own.
//!
//! Counts and displacements are worked out before anything is measured. Blocks lie one behind the other, in bytes.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use kilter_algorithms::Collective;
use kilter_algorithms::reference::Division;
use kilter_mpi::{MPI_Comm, MpiError, constants};
use kilter_protocol::plan::{Blocks, Implementation, Item};

use crate::implementation::{How, Recipe};
use crate::place::Place;
use crate::problem::Problem;
use crate::program::calls::{self, Call};
use crate::reason::{NoIrregular, Reason};
use crate::row::{Inside, RowCall};

/// The library's call with counts.
#[derive(Debug)]
pub(crate) struct Irregular(Call);

/// Finds out how an item with blocks of these lengths is carried out; decided by the plan alone, so alike on every rank.
///
/// # Errors
/// Blocks that do not fit the ranks or the volume, or an implementation that takes no counts.
pub(crate) fn recipe(item: &Item, blocks: &Blocks, place: Place) -> Result<Recipe, Reason> {
    let collective = with_counts(item, blocks)?;
    if !blocks.are_of(place.p_ranks) {
        return Err(NoIrregular::OtherRanks(place.p_ranks).into());
    }
    if item.bytes != blocks.bytes() {
        let (volume, blocks) = (item.bytes, blocks.bytes());
        return Err(NoIrregular::OtherVolume { volume, blocks }.into());
    }
    let mut problem = Problem::new(item.task, item.bytes, place, 0)?;
    problem.lengths = Some(Rc::new(division(blocks)?));
    let how = match &item.implementation {
        Implementation::Expression { text } if *text == format!("{collective}(n)") => {
            How::Irregular(Box::new(Irregular::new(collective, &problem)?))
        }
        Implementation::Algorithm { id, parameters } => {
            let call = RowCall::of_kilter(id, Some(parameters), collective, &problem, place)?;
            How::Row(Box::new(call))
        }
        _ => return Err(NoIrregular::NoCounts(collective).into()),
    };
    let mut recipe = Recipe {
        problems: Vec::new(),
        parts: Vec::new(),
        inside: Inside::of(&item.deployed, place)?,
    };
    recipe.add(how, 1, &[problem]);
    Ok(recipe)
}

/// The collective of an item, if it takes blocks of this kind.
fn with_counts(item: &Item, blocks: &Blocks) -> Result<Collective, NoIrregular> {
    use Collective::{Allgatherv, Alltoallv, Gatherv, Scatterv};
    match (item.task.collective(), blocks) {
        (Some(collective @ (Gatherv | Scatterv | Allgatherv)), Blocks::Listed(_))
        | (Some(collective @ Alltoallv), Blocks::Pairs(_)) => Ok(collective),
        (_, Blocks::Listed(_)) => Err(NoIrregular::NotListed(item.task)),
        (_, Blocks::Pairs(_)) => Err(NoIrregular::NotInPairs(item.task)),
    }
}

fn division(blocks: &Blocks) -> Result<Division, NoIrregular> {
    let length = |bytes: &u64| usize::try_from(*bytes).map_err(|_| NoIrregular::Memory(*bytes));
    let lengths = |row: &[u64]| row.iter().map(length).collect::<Result<Vec<usize>, NoIrregular>>();
    Ok(match blocks {
        Blocks::Listed(row) => Division::Listed(lengths(row)?),
        Blocks::Pairs(rows) => Division::Pairs(rows.iter().map(|row| lengths(row)).collect::<Result<_, _>>()?),
    })
}

impl Irregular {
    /// # Errors
    /// More bytes than an MPI count holds.
    fn new(collective: Collective, problem: &Problem) -> Result<Irregular, Reason> {
        let table = |is_send: bool| table(&problem.listed(collective, is_send));
        let (send_blocks, recv_blocks) = (table(true)?, table(false)?);
        // Only an all-to-all lists what a rank gives apart from what it gets, and it takes no count of its own.
        let own = recv_blocks.counts[problem.rank];
        Ok(Irregular(Call {
            function: collective,
            comm: constants::comm_null(),
            send: std::ptr::null(),
            send_count: own,
            send_type: constants::byte(),
            recv: std::ptr::null_mut(),
            recv_count: own,
            recv_type: constants::byte(),
            send_blocks,
            recv_blocks,
            op: constants::op_null(),
            root: problem.root as c_int,
        }))
    }

    /// Makes the call.
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// `send` and `recv` are valid for the bytes of the problem; all ranks of `comm` make the same call.
    #[inline]
    pub(crate) unsafe fn run(&mut self, comm: MPI_Comm, send: *const u8, recv: *mut u8) -> Result<(), MpiError> {
        self.0.comm = comm;
        self.0.send = send.cast::<c_void>();
        self.0.recv = recv.cast::<c_void>();
        // SAFETY: by this function's contract; counts and displacements are those of the problem.
        unsafe { self.0.block() }
    }
}

/// Counts and displacements of blocks that lie one behind the other.
fn table(lengths: &[usize]) -> Result<calls::Blocks, Reason> {
    let mut end = 0_usize;
    let mut begins = Vec::with_capacity(lengths.len());
    for length in lengths {
        begins.push(end);
        end = end.saturating_add(*length);
    }
    let count = |bytes: &usize| c_int::try_from(*bytes).map_err(|_| Reason::Count { bytes: *bytes as u64 });
    count(&end)?;
    Ok(calls::Blocks {
        counts: lengths.iter().map(count).collect::<Result<_, _>>()?,
        begins: begins.iter().map(count).collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use kilter_protocol::plan::Element;

    use super::*;

    fn of(collective: Collective, blocks: &Blocks, text: &str) -> Result<Recipe, Reason> {
        let item = Item {
            id: "a".to_owned(),
            task: collective.into(),
            bytes: blocks.bytes(),
            implementation: Implementation::Expression { text: text.to_owned() },
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        };
        recipe(&item, blocks, place())
    }

    fn place() -> Place {
        Place {
            rank: 1,
            p_ranks: 3,
            one_node: true,
            root: 2,
            operand: Element::Double.into(),
        }
    }

    fn call(recipe: &Recipe) -> &Call {
        match &recipe.parts[0].how {
            How::Irregular(irregular) => &irregular.0,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn counts_are_those_of_the_plan_and_blocks_lie_one_behind_the_other() {
        let listed = Blocks::Listed(vec![7, 0, 5]);
        let gathered = of(Collective::Gatherv, &listed, "gatherv(n)").unwrap();
        let call_of = call(&gathered);
        assert_eq!((call_of.send_count, call_of.root), (0, 2));
        assert_eq!(call_of.recv_blocks.counts, [7, 0, 5]);
        assert_eq!(call_of.recv_blocks.begins, [0, 7, 7]);
        let problem = &gathered.problems[0];
        assert_eq!((problem.send_bytes(), problem.recv_bytes()), (0, 0));
    }

    #[test]
    fn an_alltoall_lists_what_a_rank_gives_apart_from_what_it_gets() {
        let pairs = Blocks::Pairs(vec![vec![0, 2, 3], vec![4, 0, 6], vec![7, 8, 0]]);
        let exchanged = of(Collective::Alltoallv, &pairs, "alltoallv(n)").unwrap();
        let call_of = call(&exchanged);
        assert_eq!(
            (&call_of.send_blocks.counts, &call_of.send_blocks.begins),
            (&vec![4, 0, 6], &vec![0, 4, 4])
        );
        assert_eq!(
            (&call_of.recv_blocks.counts, &call_of.recv_blocks.begins),
            (&vec![2, 0, 8], &vec![0, 2, 2])
        );
        let problem = &exchanged.problems[0];
        assert_eq!((problem.send_bytes(), problem.recv_bytes()), (10, 10));
    }

    #[test]
    fn what_takes_no_counts_or_does_not_fit_says_why() {
        let three = Blocks::Listed(vec![1, 2, 3]);
        let pairs = Blocks::Pairs(vec![vec![0, 1, 1]; 3]);
        let two = Blocks::Listed(vec![1, 2]);
        let ragged = Blocks::Pairs(vec![vec![0, 1, 1], vec![1], vec![1, 1, 0]]);
        let long = Blocks::Listed(vec![1 << 30, 1 << 30, 1 << 30]);
        for (collective, blocks, text, why) in [
            (
                Collective::Gather,
                &three,
                "gather(n)",
                "gather takes no length for each rank",
            ),
            (
                Collective::Gatherv,
                &pairs,
                "gatherv(n)",
                "gatherv takes no length for each pair",
            ),
            (
                Collective::Alltoallv,
                &three,
                "alltoallv(n)",
                "alltoallv takes no length for each rank",
            ),
            (Collective::Gatherv, &two, "gatherv(n)", "for 3 ranks are needed"),
            (Collective::Alltoallv, &ragged, "alltoallv(n)", "for 3 ranks are needed"),
            (
                Collective::Scatterv,
                &long,
                "scatterv(n)",
                "more than an MPI count holds",
            ),
            (
                Collective::Gatherv,
                &three,
                "gather(n)",
                "blocks of different lengths are for `gatherv(n)`",
            ),
        ] {
            let error = of(collective, blocks, text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let item = Item {
            id: "a".to_owned(),
            task: Collective::Gatherv.into(),
            bytes: 5,
            implementation: Implementation::Expression {
                text: "gatherv(n)".to_owned(),
            },
            settings: Vec::new(),
            arrival: None,
            deployed: Vec::new(),
        };
        let error = recipe(&item, &three, place()).unwrap_err().to_string();
        assert_eq!(error, "the volume is 5 bytes, and the blocks have 6");
    }
}
