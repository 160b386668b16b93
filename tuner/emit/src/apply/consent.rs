//! Asking before anything is changed.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};

/// Asks the person at the terminal; true if they agree.
///
/// # Errors
/// There is no terminal to ask on, or it cannot be read.
pub fn ask(question: &str) -> anyhow::Result<bool> {
    let (input, mut output) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() || !output.is_terminal() {
        bail!("nothing was changed: there is no terminal to ask on; add --yes to do it, or --dry-run to see it only");
    }
    let _ = write!(output, "{question} [y/N] ");
    let _ = output.flush();
    let mut answer = String::new();
    input
        .lock()
        .read_line(&mut answer)
        .context("the answer cannot be read")?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
