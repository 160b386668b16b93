//! Logs on standard error; `-v` and `KILTER_LOG` set their amount.

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
    // A failure means that a subscriber is there already, as in tests.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .try_init();
}
