//! `kilter-verify REQUEST`, run under `mpirun` by `kilter verify-algorithms`: loads a plugin as the drop-in does, calls its rows
//! with a program's arguments in every case of the correctness matrix, and compares what they leave, byte by byte, with a
//! sequential reference; the library's own collective is held to the same.
//!
//! * [`case`]: what a run depends on, its name, the list.
//! * [`problem`]: the reference: what a rank has and must get.
//! * [`elements`], [`operators`], [`image`]: types, operators, guarded memory.
//! * [`call`], [`matrix`]: from a problem to calls of rows and of the library; the loop. [`bits`]: whether a row adds as the library does.
//! * [`inside`]: rows for the calls inside those that are made of collectives.
//! * [`world`], [`report`]: what ranks tell each other, and what rank 0 writes.
//!
//! The request is JSON ([`kilter_protocol::verifying::Request`]). What is wrong with it or with the plugin is said once, by rank 0,
//! and ends the job with status 2.

mod bits;
mod call;
mod case;
mod elements;
mod image;
mod inside;
mod matrix;
mod operators;
mod problem;
mod report;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use kilter_algorithms::Collective;
use kilter_host::plugins::{self, Callable, Loaded};
use kilter_protocol::json_line::JsonLine as _;
use kilter_protocol::row::Row;
use kilter_protocol::verifying::{Request, Wanted};

use crate::matrix::{Chosen, Matrix};
use crate::report::Report;
use crate::world::World;

/// After so long a rank that failed takes it that it failed alone.
const ALONE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            kilter_mpi::say(format_args!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn start() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(text), None) = (arguments.next(), arguments.next()) else {
        bail!("usage: kilter-verify REQUEST (JSON); `kilter verify-algorithms` makes it");
    };
    let request = Request::from_json(text.as_bytes()).context("the request is not understood")?;
    ensure!(
        request.v == kilter_protocol::VERSION,
        "the request has version {}, this kilter-verify {}; build both from one source",
        request.v,
        kilter_protocol::VERSION
    );
    // SAFETY: no MPI call was made before; null stands for the arguments.
    let code = unsafe { mpi_sys::PMPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
    ensure!(code == 0, "MPI_Init failed with code {code}");
    // SAFETY: MPI is running, and all ranks come here.
    let outcome = unsafe { verify(&request) };
    match outcome {
        Ok(()) => {
            // SAFETY: MPI is running, and nothing is pending.
            let code = unsafe { mpi_sys::PMPI_Finalize() };
            ensure!(code == 0, "MPI_Finalize failed with code {code}");
        }
        Err((rank, error)) => {
            if rank > 0 {
                // Ranks that fail alike say it once: rank 0 ends the job meanwhile.
                std::thread::sleep(ALONE);
            }
            kilter_mpi::say(format_args!("error: {error:#}"));
            // SAFETY: MPI is running.
            unsafe { kilter_mpi::abort(kilter_mpi::constants::comm_world(), 2) }
        }
    }
    Ok(())
}

/// An error comes with this rank.
///
/// # Safety
/// MPI is running; all ranks make this call.
unsafe fn verify(request: &Request) -> Result<(), (usize, anyhow::Error)> {
    // SAFETY: by this function's contract, here and below.
    let world = unsafe { World::new() }.map_err(|error| (0, error.into()))?;
    // A rank that cannot load what others can must not leave them waiting.
    let loaded = plugins::load(&request.plugin);
    let failure = loaded.as_ref().err().map(ToString::to_string);
    // SAFETY: by this function's contract.
    match unsafe { world.agree(failure) } {
        Ok(None) => {}
        Ok(Some(reason)) => return Err((world.rank, anyhow::anyhow!(reason))),
        Err(error) => return Err((world.rank, error.into())),
    }
    // It stays until the process ends, as what is loaded does.
    let plugin: &'static Loaded = Box::leak(Box::new(loaded.map_err(|error| (world.rank, error.into()))?));
    let of_rank = |error| (world.rank, error);
    let chosen = choose(plugin, request).map_err(of_rank)?;
    let report = Report::new(request, world.rank).map_err(of_rank)?;
    // SAFETY: by this function's contract.
    unsafe { Matrix::new(&world, request, plugin, report).and_then(|matrix| matrix.run(&chosen)) }.map_err(of_rank)
}

/// The rows that are wanted.
fn choose<'a>(plugin: &'a Loaded, request: &Request) -> anyhow::Result<Vec<Chosen<'a>>> {
    let names = |wanted: &Wanted, row: &Row| wanted.name == row.id || wanted.name == row.collective.name();
    let rows = || plugin.rows.iter().map(|callable| &callable.row);
    for wanted in &request.rows {
        let known = rows().any(|row| names(wanted, row)) || wanted.name.parse::<Collective>().is_ok();
        if !known {
            let (before, _) = wanted.name.split_once('.').unwrap_or((&wanted.name, ""));
            let of_collective = rows().filter(|row| row.collective.name() == before);
            let mut list: Vec<&str> = of_collective.map(|row| row.id.as_str()).collect();
            let what = if list.is_empty() {
                list = rows().map(|row| row.collective.name()).collect();
                list.dedup();
                "it has rows of".to_owned()
            } else {
                format!("its rows of {before}")
            };
            bail!(
                "`{}` is neither a row of `{}` nor a collective; {what}: {}",
                wanted.name,
                request.plugin.display(),
                list.join(", ")
            );
        }
    }
    let wanted = |row: &Row| request.rows.is_empty() || request.rows.iter().any(|wanted| names(wanted, row));
    let skipped = |row: &Row| request.skip.contains(&row.id);
    let is_chosen = |callable: &&Callable| wanted(&callable.row) && !skipped(&callable.row);
    let further = |row: &Row| {
        let with_values = request
            .rows
            .iter()
            .filter(|wanted| names(wanted, row) && !wanted.values.is_empty());
        with_values.map(|wanted| wanted.values.clone()).collect()
    };
    Ok(plugin
        .rows
        .iter()
        .filter(is_chosen)
        .map(|callable| Chosen {
            callable,
            further: further(&callable.row),
        })
        .collect())
}
