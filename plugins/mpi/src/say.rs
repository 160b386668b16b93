//! Messages to people.

use std::fmt;
use std::io::Write;

/// Writes `kilter: ` and a line to standard error, as [`say_as`] does.
pub fn say(message: fmt::Arguments<'_>) {
    say_as("kilter", message);
}

/// Writes a program's name and a line to standard error in one piece: launchers pass on what each rank writes as it comes, and a
/// line in several pieces (as `eprintln!` writes it) would be torn by another rank's, or by the launcher's own.
pub fn say_as(program: &str, message: fmt::Arguments<'_>) {
    let line = format!("{program}: {message}\n");
    // A message that cannot be written is no reason to fail.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
