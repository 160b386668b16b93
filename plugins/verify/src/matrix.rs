//! The loop over collectives, cases and rows.

mod calls;
mod row;

use std::cell::Cell;
use std::collections::BTreeMap;

use anyhow::Context as _;
use kilter_abi::UNAVAILABLE;
use kilter_algorithms::Collective;
use kilter_host::contexts::Nothing;
use kilter_host::plugins::Loaded;
use kilter_host::{Contexts, Deployed, Group};
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, constants, info};
use kilter_protocol::verifying::{Line, Request};

use self::calls::Posed;
pub(crate) use self::row::Chosen;
use self::row::{Tally, runs_of};
use crate::bits::{self, NoBits};
use crate::call::{Call, Lists};
use crate::case::{Case, Comm, cases};
use crate::elements::TYPES;
use crate::inside::Inside;
use crate::operators::{OPERATORS, work_on};
use crate::problem::Problem;
use crate::report::Report;
use crate::world::World;

/// A communicator of the program's, with the private one and the context that a drop-in would have for it.
struct Place {
    comm: MPI_Comm,
    rank: usize,
    size: usize,
    one_node: bool,
    /// Its contexts, where calls inside rows are the library's, and where they are rows.
    contexts: [Contexts; 2],
}

/// Data that all cases share.
pub(crate) struct Matrix<'a> {
    world: &'a World,
    request: &'a Request,
    report: Report,
    places: Vec<(Comm, Place)>,
    types: Vec<MPI_Datatype>,
    ops: Vec<MPI_Op>,
}

impl<'a> Matrix<'a> {
    /// # Safety
    /// MPI is running; all ranks make this call.
    pub(crate) unsafe fn new(
        world: &'a World,
        request: &'a Request,
        plugin: &'static Loaded,
        report: Report,
    ) -> anyhow::Result<Matrix<'a>> {
        let mut places = Vec::new();
        for comm in [Comm::World, Comm::Split, Comm::Reversed] {
            // SAFETY: by this function's contract, here and below.
            let program = unsafe { world.program(comm) }?;
            // SAFETY: by this function's contract.
            let private = unsafe { info::comm_private(program) }?;
            let (rank, size) = (info::rank(program)?, info::size(program)?);
            // SAFETY: by this function's contract.
            let one_node = unsafe { kilter_mpi::is_one_node(program) }?;
            let group = Group {
                comm: private,
                rank,
                size,
                one_node,
            };
            let deployed: [Box<dyn Deployed>; 2] = [Box::new(Nothing), Box::new(Inside::of(plugin))];
            let contexts = deployed.map(|deployed| Contexts::new(group, [plugin.plugin], deployed));
            places.push((
                comm,
                Place {
                    comm: program,
                    rank,
                    size,
                    one_node,
                    contexts,
                },
            ));
        }
        Ok(Matrix {
            world,
            request,
            report,
            places,
            types: TYPES
                .iter()
                .map(crate::elements::Type::handle)
                .collect::<Result<_, _>>()?,
            ops: OPERATORS
                .iter()
                .map(crate::operators::Operator::handle)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The cases of a collective: all, or the one that is wanted.
    fn cases(&self, collective: Collective) -> anyhow::Result<Vec<Case>> {
        let ranks = self.world.size;
        let Some(text) = &self.request.case else {
            return Ok(cases(collective, ranks, self.request.depth));
        };
        let case: Case = text.parse()?;
        let of = || format!("case `{text}` of {collective}");
        case.check(collective, ranks).with_context(of)?;
        Ok(vec![case])
    }

    /// Runs everything.
    ///
    /// # Safety
    /// All ranks make this call.
    pub(crate) unsafe fn run(mut self, chosen: &[Chosen<'_>]) -> anyhow::Result<()> {
        let mut planned: Vec<(Collective, Vec<Case>, Vec<&Chosen<'_>>)> = Vec::new();
        let mut runs = 0;
        let mut of_rows = BTreeMap::new();
        for collective in Collective::of_several_ranks() {
            let rows: Vec<_> = chosen
                .iter()
                .filter(|chosen| chosen.row().collective == collective)
                .collect();
            if !rows.is_empty() {
                let cases = self.cases(collective)?;
                for case in &cases {
                    runs += u64::from(self.request.with_library);
                    for chosen in &rows {
                        let of_row = runs_of(case, chosen).len() as u64;
                        *of_rows.entry(chosen.row().id.clone()).or_default() += of_row;
                        runs += of_row;
                    }
                }
                planned.push((collective, cases, rows));
            }
        }
        self.report.line(&Line::Start {
            library: info::library_version()?,
            ranks: self.world.size,
            runs,
            rows: of_rows,
        })?;
        for (collective, cases, rows) in planned {
            let mut tallies: Vec<Tally> = rows.iter().map(|_| Tally::default()).collect();
            for case in cases {
                // SAFETY: by this function's contract: all ranks have the same list.
                unsafe { self.case(collective, &case, &rows, &mut tallies)? };
            }
            for (chosen, tally) in rows.iter().zip(tallies) {
                let of = |(reason, runs): (&str, u64)| (reason.to_owned(), runs);
                self.report.line(&Line::Row {
                    row: chosen.row().id.clone(),
                    cases: tally.compared,
                    failed: tally.failed,
                    skipped: tally.skipped.into_iter().map(of).collect(),
                    bits: tally.bits,
                })?;
            }
        }
        for contexts in self.places.iter().flat_map(|(_, place)| &place.contexts) {
            // SAFETY: no call is under way, and all ranks come here.
            unsafe { contexts.release() };
        }
        self.report.line(&Line::End {})
    }

    /// One case: of the library first, then of each row with each of its settings.
    ///
    /// # Safety
    /// All ranks make this call.
    unsafe fn case(
        &mut self,
        collective: Collective,
        case: &Case,
        rows: &[&Chosen<'_>],
        tallies: &mut [Tally],
    ) -> anyhow::Result<()> {
        let Some(at) = self.places.iter().position(|(comm, _)| *comm == case.comm) else {
            return Ok(());
        };
        let place = &self.places[at].1;
        let problem = Problem::new(collective, case, place.size, place.rank);
        let posed = Posed {
            collective,
            case,
            problem: &problem,
            at,
        };
        work_on(case.type_);
        let mut reference = None;
        if case.random {
            // SAFETY: by this function's contract, here and below.
            reference = Some(unsafe { self.library_bits(&posed) }?);
        } else if self.request.with_library {
            // SAFETY: as above.
            unsafe { self.library_result(&posed) }?;
        }
        for (chosen, tally) in rows.iter().zip(tallies) {
            for case in runs_of(case, chosen) {
                let posed = Posed { case: &case, ..posed };
                // SAFETY: as above; all ranks have the same settings of the row.
                unsafe { self.row(&posed, reference.as_ref(), chosen, tally) }?;
            }
        }
        Ok(())
    }

    /// The bits of the library's result, with which those of rows are compared. Says so where they vary from call to call.
    ///
    /// # Safety
    /// All ranks make this call.
    unsafe fn library_bits(&mut self, posed: &Posed<'_>) -> anyhow::Result<Result<Vec<u64>, NoBits>> {
        let (comm, name) = (self.places[posed.at].1.comm, posed.case.to_string());
        self.report
            .announce(&format!("library {}", posed.collective), 0, &name)?;
        // SAFETY: by this function's contract.
        unsafe { self.world.together() }?;
        // SAFETY: the buffers are made for the problem; all ranks come here.
        let left = self.bits(posed, |call, _| unsafe { call.library(comm) });
        let finding = left.as_ref().err().map(NoBits::to_string);
        // SAFETY: by this function's contract.
        if let Some(reason) = unsafe { self.world.agree(finding) }? {
            self.report.line(&Line::Varies {
                collective: posed.collective.name().to_owned(),
                case: name,
                reason,
            })?;
        }
        Ok(left)
    }

    /// Compares the library's own result with the reference.
    ///
    /// # Safety
    /// All ranks make this call.
    unsafe fn library_result(&mut self, posed: &Posed<'_>) -> anyhow::Result<()> {
        let (comm, name) = (self.places[posed.at].1.comm, posed.case.to_string());
        self.report
            .announce(&format!("library {}", posed.collective), 0, &name)?;
        if constants::mpi_family() == 2 && destroys_memory_on_mpich(posed.collective, posed.case) {
            return Ok(());
        }
        // SAFETY: by this function's contract.
        unsafe { self.world.together() }?;
        // SAFETY: the buffers are made for the problem; all ranks come here.
        let finding = self.attempt(posed, false, |call, _| unsafe { call.library(comm) });
        // SAFETY: by this function's contract.
        if let Some(reason) = unsafe { self.world.agree(finding) }? {
            self.report.line(&Line::Library {
                collective: posed.collective.name().to_owned(),
                case: name,
                reason,
            })?;
        }
        Ok(())
    }

    /// One run of a row: skipped, or made, judged and counted.
    ///
    /// # Safety
    /// All ranks make this call.
    unsafe fn row(
        &mut self,
        posed: &Posed<'_>,
        reference: Option<&Result<Vec<u64>, NoBits>>,
        chosen: &Chosen<'_>,
        tally: &mut Tally,
    ) -> anyhow::Result<()> {
        let name = posed.case.to_string();
        self.report.announce(&chosen.row().id, tally.compared, &name)?;
        if let Some(reason) = tally.exhaustion().or_else(|| chosen.exclusion(posed.case)) {
            tally.skip(reason);
            return Ok(());
        }
        let parameters = posed.case.values.of(chosen.row());
        let parameters = parameters.with_context(|| format!("case `{name}`"))?;
        // SAFETY: by this function's contract.
        unsafe { self.world.together() }?;
        let outcome = match chosen.obstacle(posed, &self.places[posed.at].1) {
            Some(reason) => Err(reason),
            None => self.call_row(posed, reference, chosen, &parameters),
        };
        let (obstacle, finding) = match outcome {
            Ok(finding) => (None, finding),
            Err(reason) => (Some(reason), None),
        };
        // SAFETY: by this function's contract.
        let (ran, finding) = unsafe { self.world.agree_on_run(obstacle.is_none(), finding) }?;
        if posed.case.random {
            if ran {
                tally.bits.add(name, finding);
            }
            return Ok(());
        }
        match obstacle {
            Some(reason) if !ran => tally.skip(reason),
            _ => tally.compared += 1,
        }
        if let Some(reason) = finding {
            tally.failed += 1;
            self.report.line(&Line::Failure {
                row: chosen.row().id.clone(),
                case: name,
                reason,
            })?;
        }
        Ok(())
    }

    /// Calls a row and says what is wrong with its result. The error is the reason why it did not run, which its ranks say together: a drop-in
    /// would leave the call to the library.
    fn call_row(
        &self,
        posed: &Posed<'_>,
        reference: Option<&Result<Vec<u64>, NoBits>>,
        chosen: &Chosen<'_>,
        parameters: &[u64],
    ) -> Result<Option<String>, &'static str> {
        let contexts = &self.places[posed.at].1.contexts[usize::from(posed.case.inside)];
        let context = contexts.lend(0).ok_or("its plugin has no context")?;
        let unavailable = Cell::new(false);
        let run = |call: &Call<'_>, lists: &Lists| {
            let mut arguments = call.arguments(lists);
            arguments.algorithm = chosen.callable.algorithm;
            arguments.parameters = parameters.as_ptr();
            // SAFETY: context and arguments are as the ABI says; all ranks of the communicator come here.
            let code = unsafe { (chosen.callable.run)(context, &raw const arguments) };
            unavailable.set(code == UNAVAILABLE);
            code
        };
        let finding = match reference {
            None => self.attempt(posed, true, run),
            Some(Ok(of_library)) => match self.bits(posed, run) {
                Ok(of_row) => bits::difference(&of_row, of_library),
                Err(reason) => Some(reason.to_string()),
            },
            // The others call the row, too, and this rank's part in it is made.
            Some(Err(reason)) => {
                let own = self.bits(posed, run).err().map(|own| own.to_string());
                own.or_else(|| Some(format!("the library's own {reason}")))
            }
        };
        if unavailable.get() {
            return Err("it says that it cannot run on this communicator");
        }
        Ok(finding)
    }
}

/// Calls in which MPICH 4.0.2 itself crashes or writes where it must not, so that whatever runs next would be blamed: a Reduce in
/// place whose root is not 0; a Reduce_scatter_block with an operator that does not commute on a type that begins with a hole.
fn destroys_memory_on_mpich(collective: Collective, case: &Case) -> bool {
    match collective {
        Collective::Reduce => case.in_place && case.root != 0,
        Collective::ReduceScatterBlock => {
            let commutes = case.op.is_none_or(|op| OPERATORS[op].operator.is_commutative());
            !commutes && TYPES[case.type_].begins_with_a_hole()
        }
        _ => false,
    }
}
