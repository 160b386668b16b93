//! Settings of files as defaults of the command line's definition.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::builder::OsStr;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory as _};

use super::error::{DefaultsError, Origin, Refused};
use super::file::{ALL, File, Set};
use crate::cli::Cli;

/// A default that holds for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The command, as words.
    pub command: Vec<String>,
    /// The option without its dashes.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
    /// Its file and line.
    pub origin: Origin,
}

/// The definition with the defaults of `files`, each checked for every command that has the option, and those that hold for the command in
/// `arguments`. What is typed takes the place of a default that it excludes.
///
/// # Errors
/// A key or a value that the definition does not know.
pub fn apply(
    mut defined: Command,
    files: &[File],
    arguments: &[OsString],
) -> Result<(Command, Vec<Applied>), DefaultsError> {
    // Asked is a definition that is complete; changed may be one that is not, since a complete one has its options indexed.
    let mut command = defined.clone();
    command.build();
    let typed = Typed::of(&command, arguments);
    let all = all_of(&command, files)?;
    let excluded = |one: &Applied| {
        let own = at(&command, &one.command);
        own.is_some_and(|own| typed.command == one.command && typed.excludes(own, &one.key))
    };
    let applied: Vec<Applied> = all.into_iter().filter(|one| !excluded(one)).collect();
    for one in &applied {
        defined = with_default(defined, &one.command, one);
    }
    let holds = |one: &Applied| one.command == typed.command;
    Ok((defined, applied.into_iter().filter(holds).collect()))
}

/// All defaults of `files`, by command and option.
///
/// # Errors
/// A key or a value that no command knows.
pub fn all(files: &[File]) -> Result<Vec<Applied>, DefaultsError> {
    let mut command = Cli::command();
    command.build();
    all_of(&command, files)
}

fn all_of(command: &Command, files: &[File]) -> Result<Vec<Applied>, DefaultsError> {
    let mut all: BTreeMap<(Vec<String>, String), Applied> = BTreeMap::new();
    // A setting for one command wins over one for all, and a later file over an earlier one.
    for is_for_all in [true, false] {
        for set in files.iter().flat_map(|file| &file.sets) {
            if set.command.is_empty() == is_for_all {
                for applied in checked(command, set)? {
                    all.insert((applied.command.clone(), applied.key.clone()), applied);
                }
            }
        }
    }
    Ok(all.into_values().collect())
}

/// The commands that a line of a file is for, each with its values checked.
fn checked(command: &Command, set: &Set) -> Result<Vec<Applied>, DefaultsError> {
    let place = set.origin.clone();
    let mut commands = Vec::new();
    if set.command.is_empty() {
        all_commands(command, &mut Vec::new(), &mut commands);
    } else if at(command, &set.command).is_some() {
        commands.push(set.command.clone());
    } else {
        let names = command.get_subcommands().filter(|one| !one.is_hide_set());
        let names: Vec<&str> = names.map(Command::get_name).filter(|name| *name != "help").collect();
        return Err(DefaultsError::NoCommand {
            place,
            name: set.command.join(" "),
            known: format!("and there are {}", names.join(", ")),
        });
    }
    let mut found = Vec::new();
    for words in commands {
        let Some(own) = at(command, &words) else { continue };
        let Some(option) = option(own, &set.key) else { continue };
        let refused = |why: Refused| DefaultsError::Value {
            place: set.origin.clone(),
            key: set.key.clone(),
            command: words.join(" "),
            why,
        };
        check(own, option, &set.values).map_err(refused)?;
        found.push(Applied {
            command: words,
            key: set.key.clone(),
            values: set.values.clone(),
            origin: set.origin.clone(),
        });
    }
    if found.is_empty() {
        return Err(no_option(command, set));
    }
    Ok(found)
}

fn no_option(command: &Command, set: &Set) -> DefaultsError {
    let mut commands = Vec::new();
    all_commands(command, &mut Vec::new(), &mut commands);
    let has = |words: &&Vec<String>| at(command, words).is_some_and(|own| option(own, &set.key).is_some());
    let others: Vec<String> = commands.iter().filter(has).map(|words| words.join(" ")).collect();
    let near = match others.as_slice() {
        [] => format!(
            "; `kilter COMMAND --help` lists them, without their dashes they are keys below `[{ALL}]` or `[COMMAND]`"
        ),
        others => format!("; {} do", others.join(", ")),
    };
    DefaultsError::NoOption {
        place: set.origin.clone(),
        of: if set.command.is_empty() {
            "no command has".to_owned()
        } else {
            format!("`kilter {}` lacks", set.command.join(" "))
        },
        key: set.key.clone(),
        near,
    }
}

/// The option of this name. Arguments without a name have no default here, nor what is the same for all commands.
fn option<'a>(command: &'a Command, key: &str) -> Option<&'a Arg> {
    let mut arguments = command.get_arguments();
    arguments.find(|one| one.get_long() == Some(key) && !one.is_global_set() && !matches!(key, "help" | "version"))
}

/// Takes the values as the command line would.
fn check(command: &Command, option: &Arg, values: &[String]) -> Result<(), Refused> {
    let is_switch = !option.get_action().takes_values();
    let key = option.get_long().unwrap_or_default();
    if is_switch {
        let is_count = matches!(option.get_action(), clap::ArgAction::Count);
        return match values {
            [one] if matches!(one.as_str(), "true" | "false") && !is_count => Ok(()),
            [one] if is_count && one.parse::<u8>().is_ok() => Ok(()),
            _ if is_count => Err(Refused::Count),
            _ => Err(Refused::Switch),
        };
    }
    let typed = values.iter().map(|value| format!("--{key}={value}"));
    let words = [command.get_name().to_owned()].into_iter().chain(typed);
    match command.clone().try_get_matches_from(words) {
        Err(error) if is_of_value(error.kind()) => Err(Refused::Value(error)),
        _ => Ok(()),
    }
}

/// Errors of the value itself; others are of what would have to stand beside it.
fn is_of_value(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::TooManyValues
            | ErrorKind::TooFewValues
            | ErrorKind::WrongNumberOfValues
            | ErrorKind::InvalidUtf8
            | ErrorKind::ArgumentConflict
    )
}

fn with_default(command: Command, words: &[String], one: &Applied) -> Command {
    let Some((first, rest)) = words.split_first() else {
        let Some(id) = option(&command, &one.key).map(|arg| arg.get_id().clone()) else {
            return command;
        };
        let values: Vec<OsStr> = one.values.iter().map(|value| OsStr::from(value.clone())).collect();
        return command.mut_arg(id, |arg| arg.required(false).default_values(values));
    };
    command.mut_subcommand(first, |own| with_default(own, rest, one))
}

/// The command of these words.
fn at<'a>(command: &'a Command, words: &[String]) -> Option<&'a Command> {
    let mut own = command;
    for word in words {
        own = own.get_subcommands().find(|one| one.get_name() == word)?;
    }
    Some(own)
}

fn all_commands(command: &Command, words: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for own in command.get_subcommands().filter(|one| one.get_name() != "help") {
        words.push(own.get_name().to_owned());
        found.push(words.clone());
        all_commands(own, words, found);
        words.pop();
    }
}

/// The command line as typed.
struct Typed {
    command: Vec<String>,
    /// Ids of options on the command line, or set by a variable.
    options: BTreeSet<String>,
}

impl Typed {
    /// Reads it. Mistakes of the command line are said when it is parsed in earnest.
    fn of(command: &Command, arguments: &[OsString]) -> Typed {
        let mut typed = Typed {
            command: Vec::new(),
            options: BTreeSet::new(),
        };
        let matches = command.clone().ignore_errors(true).try_get_matches_from(arguments);
        let Ok(mut matches) = matches else { return typed };
        let mut own: &ArgMatches = &mut matches;
        while let Some((name, below)) = own.subcommand() {
            typed.command.push(name.to_owned());
            own = below;
        }
        let is_typed = |id: &&str| {
            let source = own.value_source(id);
            matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
        };
        let ids: Vec<&str> = own.ids().map(clap::Id::as_str).collect();
        typed.options = ids.into_iter().filter(is_typed).map(str::to_owned).collect();
        typed
    }

    /// True if something typed cannot stand beside the option.
    fn excludes(&self, command: &Command, key: &str) -> bool {
        let Some(own) = option(command, key) else { return false };
        let is = |one: &Arg, other: &Arg| one.get_id() == other.get_id();
        let typed = |one: &&Arg| self.options.contains(one.get_id().as_str());
        command.get_arguments().filter(typed).any(|one| {
            !is(one, own)
                && (command.get_arg_conflicts_with(own).iter().any(|other| is(other, one))
                    || command.get_arg_conflicts_with(one).iter().any(|other| is(other, own)))
        })
    }
}
