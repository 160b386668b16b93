//! SMPI: arguments for `smpirun`, a line each; and the launch that uses them. Nothing else of a simulation can be deployed: its
//! ranks load nothing before the library, and it has one choice of algorithm for all sizes of a collective.

use std::path::Path;

use anyhow::bail;
use kilter_model::setup::Setup;
use kilter_search::context::Context;

use super::decisions::Decisions;
use super::{Emitted, File, finish, read, readme, write};

const ARGUMENTS: &str = "smpirun.args";

/// What an argument begins with.
const SETTING: &str = "--cfg=";

/// An argument that `smpirun` would misread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("arguments of smpirun: `{0}` is not --cfg=NAME:VALUE without blanks")]
pub struct ArgumentError(String);

/// Writes everything a deployment needs into `directory`.
pub(super) fn emit(context: &Context<'_>, decisions: &Decisions<'_>, directory: &Path) -> anyhow::Result<Emitted> {
    if let Some((_, collective, bytes, selection)) = decisions.selections().next() {
        bail!(
            "`{}` for {collective} at {bytes} bytes: nothing that {} reads carries a choice for a size",
            selection.id(),
            context.library.name
        );
    }
    let settings: Vec<(String, String)> = decisions
        .assignments
        .iter()
        .map(|assignment| (assignment.name.clone(), assignment.value.clone()))
        .collect();
    write(directory, ARGUMENTS, &to_text(&settings)?)?;
    let mut emitted = Emitted {
        directory: directory.to_path_buf(),
        ..Emitted::default()
    };
    emitted.files.insert(File::Arguments, ARGUMENTS.to_owned());
    let platform = context.options.platform.as_ref();
    finish(context, decisions, emitted, &[], |emitted, library| {
        let platform = platform.map_or("", |platform| platform.id.as_str());
        readme::simulated(emitted, library, context.options.ranks, platform)
    })
}

/// Reads the file back and makes the launch that uses it.
pub(super) fn staged(emitted: &Emitted) -> anyhow::Result<Setup> {
    let mut setup = Setup::default();
    if let Some(name) = emitted.files.get(&File::Arguments) {
        setup.parameters = parse(&read(&emitted.directory, name)?)?;
    }
    Ok(setup)
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
