//! The worker as a program; the library beside it does the work.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).map(Into::into).collect();
    ExitCode::from(kilter_worker::work(arguments))
}
