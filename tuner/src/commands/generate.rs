//! `kilter generate`: manual pages and shell completions from the command line's definition, for `scripts/install`.

use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;
use clap_complete::{Shell, generate_to};

use super::Status;
use crate::cli::{Cli, Generate};

/// Directory below a prefix in which each shell looks for completions; the shell names the file itself.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "share/bash-completion/completions"),
    (Shell::Zsh, "share/zsh/site-functions"),
    (Shell::Fish, "share/fish/vendor_completions.d"),
];

/// Directory of manual pages below a prefix.
const MANUAL: &str = "share/man/man1";

pub(super) fn run(typed: &Generate) -> anyhow::Result<Status> {
    let prefix = &typed.prefix;
    for (shell, directory) in COMPLETIONS {
        let directory = made(prefix, directory)?;
        let file = generate_to(shell, &mut Cli::command(), "kilter", &directory)
            .with_context(|| format!("completions of {shell} cannot be written to `{}`", directory.display()))?;
        if shell == Shell::Bash {
            // Its loader looks for the name of the command.
            let named = directory.join("kilter");
            std::fs::rename(&file, &named).with_context(|| format!("`{}` cannot be written", named.display()))?;
        }
    }
    let directory = made(prefix, MANUAL)?;
    clap_mangen::generate_to(Cli::command(), &directory)
        .with_context(|| format!("manual pages cannot be written to `{}`", directory.display()))?;
    Ok(Status::Holds)
}

fn made(prefix: &Path, directory: &str) -> anyhow::Result<std::path::PathBuf> {
    let path = prefix.join(directory);
    std::fs::create_dir_all(&path).with_context(|| format!("`{}` cannot be made", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_and_every_shell_its_completions() {
        let prefix = tempfile::tempdir().unwrap();
        run(&Generate {
            prefix: prefix.path().to_path_buf(),
        })
        .unwrap();
        let read = |file: &str| std::fs::read_to_string(prefix.path().join(file)).unwrap();
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
        {
            let page = read(&format!("{MANUAL}/kilter-{}.1", command.get_name()));
            assert!(page.contains(".TH"), "{page}");
        }
        assert!(read("share/man/man1/kilter.1").contains("kilter\\-tune(1)"));
        for file in [
            "share/bash-completion/completions/kilter",
            "share/zsh/site-functions/_kilter",
            "share/fish/vendor_completions.d/kilter.fish",
        ] {
            assert!(read(file).contains("verify-algorithms"), "{file}");
        }
    }
}
