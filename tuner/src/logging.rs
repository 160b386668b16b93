//! Logs on standard error; `-v` and `KILTER_LOG` set their amount.

use std::ffi::OsStr;
use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Starts logging once; a second call does nothing.
pub fn start(verbosity: u8) {
    let default = match verbosity {
        0 => "warn",
        1 => "kilter=info,warn",
        2 => "kilter=debug,warn",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("KILTER_LOG_FILTER").unwrap_or_else(|_| EnvFilter::new(default));
    let is_terminal = std::io::stderr().is_terminal();
    // A failure means that a subscriber is there already, as in tests.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured(is_terminal, std::env::var_os("NO_COLOR").as_deref()))
        .without_time()
        .try_init();
}

/// Colours are for terminals, unless `NO_COLOR` has a value: the log of a batch job is a file.
fn is_coloured(is_terminal: bool, no_color: Option<&OsStr>) -> bool {
    is_terminal && no_color.is_none_or(OsStr::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_whoever_wants_none_get_no_colours() {
        let no_color = |value| Some(OsStr::new(value));
        assert!(is_coloured(true, None) && is_coloured(true, no_color("")));
        assert!(!is_coloured(false, None) && !is_coloured(true, no_color("1")));
    }
}
