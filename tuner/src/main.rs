//! `kilter`: verifies and tunes the performance guidelines of an MPI library.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    kilter_bench::budget::begin_command();
    let cli = kilter::cli::Cli::parse();
    kilter::logging::start(cli.verbosity());
    match kilter::commands::run(cli) {
        Ok(status) => status.into(),
        Err(error) => {
            if kilter::commands::is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            eprintln!("kilter: {error:#}");
            ExitCode::from(2)
        }
    }
}
