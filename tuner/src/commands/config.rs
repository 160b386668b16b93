//! `kilter config`: the defaults of options, and where each is from.

use anyhow::bail;
use clap::CommandFactory as _;
use kilter_render::{json, table};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Status, print};
use crate::cli::{Cli, Config, Format};
use crate::defaults::{self, Applied, Place};

/// Defaults of options, and where each is from.
#[derive(Debug, Serialize, JsonSchema)]
struct Answer {
    /// Places where files are looked for, in order: later ones win.
    files: Vec<FileRow>,
    /// Options that files set, or every option of the command that was asked for.
    options: Vec<OptionRow>,
}

/// A place where a file is looked for.
#[derive(Debug, Serialize, JsonSchema)]
struct FileRow {
    /// The file.
    path: String,
    /// Its readers: the site, an installation or a user.
    whose: &'static str,
    /// True if it is there.
    read: bool,
}

/// An option with what holds.
#[derive(Debug, Serialize, JsonSchema)]
struct OptionRow {
    /// Words of the command.
    command: String,
    /// The option's long name.
    option: String,
    /// Its values; none where nothing is set.
    values: Vec<String>,
    /// `FILE:LINE`, `variable NAME` or `built in`.
    from: String,
}

pub(super) fn run(typed: &Config) -> anyhow::Result<Status> {
    let places = defaults::places();
    let files = defaults::read(&places)?;
    let (command, _) = defaults::apply(Cli::command(), &files, &[])?;
    let all = defaults::all(&files)?;
    let options = if typed.command.is_empty() {
        all.iter().map(row_of_file).collect()
    } else {
        of_command(&command, &typed.command, &all)?
    };
    let answer = Answer {
        files: places.iter().map(row_of_place).collect(),
        options,
    };
    print(&match typed.format {
        Format::Json => json::text(&answer)?,
        Format::Text => text(&answer),
    })?;
    Ok(Status::Holds)
}

fn row_of_place(place: &Place) -> FileRow {
    FileRow {
        path: place.path.display().to_string(),
        whose: place.whose,
        read: place.is_there(),
    }
}

fn row_of_file(one: &Applied) -> OptionRow {
    OptionRow {
        command: one.command.join(" "),
        option: one.key.clone(),
        values: one.values.clone(),
        from: one.origin.to_string(),
    }
}

/// Each option of a command: by a variable, by a file, or as it is built in.
fn of_command(command: &clap::Command, words: &[String], all: &[Applied]) -> anyhow::Result<Vec<OptionRow>> {
    let mut own = command;
    for word in words {
        let Some(below) = own.get_subcommands().find(|one| one.get_name() == word) else {
            bail!("there is no command `{}`; `kilter --help` lists them", words.join(" "));
        };
        own = below;
    }
    let options = own.get_arguments().filter(|one| !one.is_hide_set());
    let named = options.filter_map(|one| Some((one, one.get_long()?)));
    let row = |(option, key): (&clap::Arg, &str)| {
        let variable = option.get_env().and_then(|name| Some((name, std::env::var_os(name)?)));
        let of_file = all.iter().find(|one| one.command == words && one.key == key);
        let (values, from) = match (variable, of_file) {
            (Some((name, value)), _) => (
                vec![value.to_string_lossy().into_owned()],
                format!("variable {}", name.to_string_lossy()),
            ),
            (None, Some(one)) => (one.values.clone(), one.origin.to_string()),
            (None, None) => {
                let built_in = option.get_default_values().iter();
                let values = built_in.map(|one| one.to_string_lossy().into_owned()).collect();
                (values, "built in".to_owned())
            }
        };
        OptionRow {
            command: words.join(" "),
            option: key.to_owned(),
            values,
            from,
        }
    };
    Ok(named
        .filter(|(_, key)| !matches!(*key, "help" | "version"))
        .map(row)
        .collect())
}

fn text(answer: &Answer) -> String {
    let mut places = table::narrow(&["file", "for", ""]);
    for file in &answer.files {
        let read = if file.read { "read" } else { "not there" };
        places.add_row([file.path.as_str(), file.whose, read]);
    }
    // A line of a file that is for several commands is one line here.
    let mut lines: Vec<(Vec<&str>, &OptionRow)> = Vec::new();
    for one in &answer.options {
        let same = |(_, other): &&mut (Vec<&str>, &OptionRow)| other.option == one.option && other.from == one.from;
        match lines.iter_mut().find(same) {
            Some((commands, _)) => commands.push(&one.command),
            None => lines.push((vec![&one.command], one)),
        }
    }
    let mut options = table::narrow(&["option", "value", "from", "of"]);
    for (commands, one) in lines {
        let value = if one.values.is_empty() {
            "-".to_owned()
        } else {
            one.values.join(" ")
        };
        options.add_row([
            one.option.as_str(),
            &table::printable(&value),
            &one.from,
            &commands.join(", "),
        ]);
    }
    let files = match answer.files.is_empty() {
        true => "No file is read (KILTER_CONFIG is empty).\n".to_owned(),
        false => table::trimmed(&places),
    };
    match answer.options.is_empty() {
        true => format!("{files}\nNo file sets an option.\n"),
        false => format!("{files}\n{}", table::trimmed(&options)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_the_schema_that_is_published() {
        kilter_fixtures::published::assert_current("config", &json::schema::<Answer>().unwrap());
    }
}
