//! The programs and libraries that an MPI job runs, each by itself: the worker, the drop-in, the progress thread, the tracer and the virtual cluster.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod dropin;
mod progress;
mod tracer;
mod vcluster;
mod worker;

fn main() -> std::process::ExitCode {
    kilter_tests::harness::main(kilter_tests::subjects![
        worker::bits,
        worker::carrying_out,
        worker::faults,
        worker::guidelines,
        worker::inside,
        worker::messages,
        worker::overlap,
        worker::plugin,
        worker::protocol,
        worker::schedules,
        worker::settings,
        worker::arrival,
        worker::starting,
        dropin::allocations,
        dropin::applications,
        dropin::communicators,
        dropin::deployment,
        dropin::device,
        dropin::inside,
        dropin::large,
        dropin::online,
        dropin::placement,
        dropin::presence,
        dropin::programs,
        dropin::python,
        dropin::replacement,
        progress,
        tracer,
        tracer::advise,
        tracer::applications,
        tracer::beyond,
        tracer::by_hand,
        tracer::hpl,
        tracer::polls,
        tracer::proof,
        tracer::trace,
        tracer::waiting,
        vcluster,
    ])
}
