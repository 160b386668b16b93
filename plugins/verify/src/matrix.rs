//! The loop over collectives, cases and rows.

mod row;

use std::cell::Cell;
use std::collections::BTreeMap;

use anyhow::Context as _;
use kilter_abi::UNAVAILABLE;
use kilter_algorithms::Collective;
use kilter_host::Hosted;
use kilter_host::plugins::Loaded;
use kilter_mpi::{MPI_Comm, MPI_Datatype, MPI_Op, constants, info};
use kilter_protocol::verifying::{Line, Request};

pub(crate) use self::row::Chosen;
use self::row::{ENOUGH, Tally, of_row};
use crate::bits::{self, NoBits};
use crate::call::{Call, Lists};
use crate::case::{Case, Comm, cases};
use crate::elements::TYPES;
use crate::image::Image;
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
    hosted: Hosted,
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
    pub(crate) unsafe fn new(world: &'a World, request: &'a Request, report: Report) -> anyhow::Result<Matrix<'a>> {
        let mut places = Vec::new();
        for comm in [Comm::World, Comm::Split, Comm::Reversed] {
            // SAFETY: by this function's contract, here and below.
            let program = unsafe { world.program(comm) }?;
            // SAFETY: by this function's contract.
            let private = unsafe { info::comm_private(program) }?;
            let (rank, size) = (info::rank(program)?, info::size(program)?);
            let hosted = Hosted::new(private, rank, size);
            // SAFETY: by this function's contract.
            let one_node = unsafe { kilter_mpi::is_one_node(program) }?;
            places.push((
                comm,
                Place {
                    comm: program,
                    rank,
                    size,
                    one_node,
                    hosted,
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
    pub(crate) unsafe fn run(mut self, plugin: &Loaded, chosen: &[Chosen<'_>]) -> anyhow::Result<()> {
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
                        let of_row = of_row(case, chosen).len() as u64;
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
        for (_, place) in &mut self.places {
            // SAFETY: no call is under way.
            unsafe { place.hosted.release(plugin.plugin) };
        }
        self.report.line(&Line::End {})
    }

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
        let (p, rank, comm) = {
            let place = &self.places[at].1;
            (place.size, place.rank, place.comm)
        };
        let problem = Problem::new(collective, case, p, rank);
        work_on(case.type_);
        let name = case.to_string();
        let crashes = constants::mpi_family() == 2 && destroys_memory_on_mpich(collective, case);
        let mut of_library = Ok(Vec::new());
        if case.random {
            self.report.announce(&format!("library {collective}"), 0, &name)?;
            // SAFETY: all ranks make this call.
            unsafe { self.world.together() }?;
            // SAFETY: the buffers are made for the problem; all ranks come here.
            of_library = self.bits(collective, case, (&problem, rank), |call, _| unsafe {
                call.library(comm)
            });
            let finding = of_library.as_ref().err().map(NoBits::to_string);
            // SAFETY: all ranks make this call.
            if let Some(reason) = unsafe { self.world.agree(finding) }? {
                let (collective, case) = (collective.name().to_owned(), name.clone());
                self.report.line(&Line::Varies {
                    collective,
                    case,
                    reason,
                })?;
            }
        } else if self.request.with_library {
            self.report.announce(&format!("library {collective}"), 0, &name)?;
            if !crashes {
                // SAFETY: all ranks make this call.
                unsafe { self.world.together() }?;
                // SAFETY: the buffers are made for the problem; all ranks come here.
                let finding = self.attempt(collective, case, &problem, false, |call, _| unsafe {
                    call.library(comm)
                });
                // SAFETY: all ranks make this call.
                if let Some(reason) = unsafe { self.world.agree(finding) }? {
                    let (collective, case) = (collective.name().to_owned(), name.clone());
                    self.report.line(&Line::Library {
                        collective,
                        case,
                        reason,
                    })?;
                }
            }
        }
        for (chosen, tally) in rows.iter().zip(tallies) {
            for values in of_row(case, chosen) {
                let case = Case { values, ..case.clone() };
                let name = case.to_string();
                self.report.announce(&chosen.row().id, tally.compared, &name)?;
                if tally.failed >= ENOUGH {
                    tally.skip("it had failed often enough");
                    continue;
                }
                let operator = case.op.map(|op| &OPERATORS[op]);
                let needs = chosen.row().needs;
                let commutes = operator.is_none_or(|row| row.operator.is_commutative());
                if needs.commutative && !commutes {
                    tally.skip("its operator must commute");
                    continue;
                }
                // The drop-in calls no row where nothing is moved. The halves of a split decide each for themselves.
                let obstacle = if problem.volume == Some(0) && collective.has_data() {
                    Some("no data is moved")
                } else if needs.power_of_two_ranks && !p.is_power_of_two() {
                    Some("its number of ranks must be a power of two")
                } else if needs.even_ranks && !p.is_multiple_of(2) {
                    Some("its number of ranks must be even")
                } else if needs.predefined_operator
                    && operator.is_some_and(|operator| !operator.predefined)
                    && !case.count.is_multiple_of(p)
                {
                    Some("it pads, which an operator of the program's must not see")
                } else if needs.one_node && !self.places[at].1.one_node {
                    Some("all ranks must be on one node")
                } else {
                    None
                };
                let parameters = case.values.of(chosen.row());
                let parameters = parameters.with_context(|| format!("case `{name}`"))?;
                // SAFETY: all ranks make this call.
                unsafe { self.world.together() }?;
                let unavailable = Cell::new(false);
                let finding = if obstacle.is_none() {
                    let context = self.places[at].1.hosted.lend();
                    let run = |call: &Call<'_>, lists: &Lists| {
                        let mut arguments = call.arguments(lists);
                        arguments.algorithm = chosen.callable.algorithm;
                        arguments.parameters = parameters.as_ptr();
                        // SAFETY: context and arguments are as the ABI says; all ranks of the communicator come here.
                        let code = unsafe { (chosen.callable.run)(context, &raw const arguments) };
                        unavailable.set(code == UNAVAILABLE);
                        code
                    };
                    match &of_library {
                        Ok(_) if !case.random => self.attempt(collective, &case, &problem, true, run),
                        Ok(of_library) => match self.bits(collective, &case, (&problem, rank), run) {
                            Ok(of_row) => bits::difference(&of_row, of_library),
                            Err(reason) => Some(reason.to_string()),
                        },
                        // The others have called the row: this rank's part in it is made, too.
                        Err(reason) => self
                            .bits(collective, &case, (&problem, rank), run)
                            .err()
                            .map(|own| own.to_string())
                            .or(Some(format!("the library's own {reason}"))),
                    }
                } else {
                    None
                };
                // Its ranks say so together, and a drop-in would leave the call to the library.
                let (obstacle, finding) = if unavailable.get() {
                    (Some("it says that it cannot run on this communicator"), None)
                } else {
                    (obstacle, finding)
                };
                // SAFETY: all ranks make this call.
                let (ran, finding) = unsafe { self.world.agree_on_run(obstacle.is_none(), finding) }?;
                if case.random {
                    if ran {
                        tally.bits.add(name, finding);
                    }
                    continue;
                }
                match obstacle {
                    Some(reason) if !ran => tally.skip(reason),
                    _ => tally.compared += 1,
                }
                if let Some(reason) = finding {
                    tally.failed += 1;
                    let row = chosen.row().id.clone();
                    self.report.line(&Line::Failure {
                        row,
                        case: name,
                        reason,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Makes calls on random doubles: what they leave, bit by bit, or why that is nothing to compare.
    fn bits(
        &self,
        collective: Collective,
        case: &Case,
        (problem, rank): (&Problem, usize),
        mut call: impl FnMut(&Call<'_>, &Lists) -> std::ffi::c_int,
    ) -> Result<Vec<u64>, NoBits> {
        let lists = Lists::new(problem);
        bits::left(problem, rank, |doubles| {
            let of_case = Call {
                collective,
                problem,
                datatype: self.types[case.type_],
                element_bytes: TYPES[case.type_].size(),
                op: case.op.map_or(constants::op_null(), |op| self.ops[op]),
                root: case.root,
                send: doubles.send.as_ptr().cast(),
                recv: doubles.recv.as_mut_ptr().cast(),
            };
            call(&of_case, &lists)
        })
    }

    /// Makes a call on fresh buffers and says what is wrong with what it left. `strict` looks at every byte, not at data alone:
    /// libraries do write into holes.
    fn attempt(
        &self,
        collective: Collective,
        case: &Case,
        problem: &Problem,
        strict: bool,
        mut call: impl FnMut(&Call<'_>, &Lists) -> std::ffi::c_int,
    ) -> Option<String> {
        let type_ = &TYPES[case.type_];
        let mut send = Image::new(type_, problem.send_span, &problem.send);
        let sent = send.clone();
        let mut recv = Image::new(type_, problem.recv_span, &problem.before);
        let mut expected = recv.clone();
        expected.put(type_, &problem.after);
        let of_case = Call {
            collective,
            problem,
            datatype: self.types[case.type_],
            element_bytes: type_.size(),
            op: case.op.map_or(constants::op_null(), |op| self.ops[op]),
            root: case.root,
            send: send.address().cast_const().cast(),
            recv: recv.address().cast(),
        };
        let code = call(&of_case, &Lists::new(problem));
        if code != 0 {
            return Some(format!("returned code {code}"));
        }
        if !strict {
            return recv
                .missing(type_, &problem.after, &problem.open)
                .map(|what| format!("receive buffer: {what}"));
        }
        expected.adopt(type_, &recv, &problem.open);
        if let Some(what) = recv.difference(&expected, type_) {
            return Some(format!("receive buffer: {what}"));
        }
        send.difference(&sent, type_).map(|what| format!("send buffer: {what}"))
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
