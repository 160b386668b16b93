//! `kilter`: verifies and tunes the performance guidelines of an MPI library.

use std::process::ExitCode;

fn main() -> ExitCode {
    kilter_bench::budget::begin_command();
    let (cli, defaults) = match kilter::defaults::parse(std::env::args_os().collect()) {
        Ok(parsed) => parsed,
        Err(error) => {
            eprintln!("kilter: {error}");
            return ExitCode::from(2);
        }
    };
    kilter::logging::start(cli.verbosity());
    match kilter::commands::run(cli) {
        Ok(status) => status.into(),
        Err(error) => {
            if kilter::commands::is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            eprintln!("kilter: {error:#}");
            for one in defaults {
                eprintln!("kilter: --{} {} is from {}", one.key, one.values.join(" "), one.origin);
            }
            ExitCode::from(2)
        }
    }
}
