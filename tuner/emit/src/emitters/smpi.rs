//! SMPI: arguments for `smpirun`, a line each; and the launch that uses them. Nothing else of a simulation can be deployed: its
//! ranks load nothing before the library, and it has one choice of algorithm for all sizes of a collective.

use anyhow::bail;
use kilter_bench::launch::command::quote;
use kilter_model::setup::Setup;

use super::{Emitter, Written};
use crate::decisions::Decisions;
use crate::installation::Installation;
use crate::{Emitted, File, read, write};

const ARGUMENTS: &str = "smpirun.args";

/// The beginning of an argument.
const SETTING: &str = "--cfg=";

/// An argument that `smpirun` would misread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("arguments of smpirun: `{0}` is not --cfg=NAME:VALUE without blanks")]
pub(super) struct ArgumentError(String);

/// Arguments of `smpirun`.
pub(super) struct Smpi;

impl Emitter for Smpi {
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &mut Emitted,
    ) -> anyhow::Result<Written> {
        if let Some((_, collective, bytes, selection)) = decisions.selections().next() {
            bail!(
                "`{}` for {collective} at {bytes} bytes: nothing that {} reads carries a choice for a size",
                selection.id(),
                installation.library.name
            );
        }
        let parameters = decisions.pairs();
        write(&emitted.directory, ARGUMENTS, &to_text(&parameters)?)?;
        emitted.files.insert(File::Arguments, ARGUMENTS.to_owned());
        Ok(Written {
            parameters,
            ..Written::default()
        })
    }

    fn staged(&self, _: &Installation<'_>, emitted: &Emitted, mut setup: Setup) -> anyhow::Result<Setup> {
        if let Some(name) = emitted.files.get(&File::Arguments) {
            setup.parameters = parse(&read(&emitted.directory, name)?)?;
        }
        Ok(setup)
    }

    /// There is nothing to install.
    fn page(&self, installation: &Installation<'_>, _: &Decisions<'_>, emitted: &Emitted, _: &Written) -> String {
        let directory = quote(&emitted.directory.display().to_string());
        let name = emitted.files.get(&File::Arguments).map_or("", String::as_str);
        let (library, ranks) = (installation.named(), installation.ranks);
        let platform = installation.platform.unwrap_or_default();
        format!(
            "Tuned settings for {library}, {ranks} ranks, written by kilter.\n\n\
             They hold for the simulated machine `{platform}` and {ranks} ranks; the report beside this directory shows what each one\n\
             gained. There is nothing to install, and `kilter apply` finds nothing: give the arguments to a simulation,\n\n   \
             smpirun $(grep -v '^#' {directory}/{name}) -platform FILE -hostfile FILE -np {ranks} PROGRAM\n\n\
             Each chooses one algorithm for all sizes of a collective; SMPI knows no choice by size but those of its selectors.\n"
        )
    }
}

/// The file's text.
fn to_text(settings: &[(String, String)]) -> Result<String, ArgumentError> {
    let mut text = String::new();
    for (name, value) in settings {
        let line = format!("{SETTING}{name}:{value}");
        if setting(&line) != Some((name, value)) {
            return Err(ArgumentError(line));
        }
        text.push_str(&line);
        text.push('\n');
    }
    Ok(text)
}

/// Reads the file as the command of the page beside it hands it on; `#` begins a comment.
fn parse(text: &str) -> Result<Vec<(String, String)>, ArgumentError> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, value) = setting(line).ok_or_else(|| ArgumentError(line.to_owned()))?;
            Ok((name.to_owned(), value.to_owned()))
        })
        .collect()
}

fn setting(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix(SETTING)?.split_once(':')?;
    let bare = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    (bare(name) && bare(value)).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_what_smpirun_would_take_apart_is_refused() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = vec![pair("smpi/reduce", "scatter_gather"), pair("smpi/os", "0:3e-7:0")];
        let text = to_text(&settings).unwrap();
        assert_eq!(text, "--cfg=smpi/reduce:scatter_gather\n--cfg=smpi/os:0:3e-7:0\n");
        assert_eq!(parse(&format!("# for people\n{text}")).unwrap(), settings);
        for (name, value) in [("a b", "c"), ("a:b", "c"), ("a", "b c"), ("a", ""), ("", "b")] {
            assert!(to_text(&[pair(name, value)]).is_err(), "{name} {value}");
        }
        for line in ["smpi/reduce:ring", "--cfg=smpi/reduce", ""] {
            assert!(parse(&format!("{line}\n")).is_err(), "{line}");
        }
    }
}
