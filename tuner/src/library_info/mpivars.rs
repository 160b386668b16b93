//! MPICH's `mpivars`: a line `NAME =VALUE`, scope, object, type, verbosity and a text, with tabs between them, for each control variable. From
//! 4.3 on the values of an enumeration follow in the order of their numbers, a line each:
//!
//! ```text
//!     MPIR_CVAR_BCAST_INTRA_ALGORITHM =0    SCOPE_ALL_EQ    No-object    MPI_INT    VERBOSITY_USER_BASIC    Variable to select ...
//! auto - Internal algorithm selection
//! binomial                                - Force Binomial Tree
//! ```
//!
//! Before, they are run together with the text, and where one ends cannot be told. The value is that of this user's environment, and no
//! default. It says no version.

use super::{Legal, LibraryInfo, Program, Reported};

pub(super) const PROGRAM: Program = Program {
    name: "mpivars",
    arguments: &[],
    parse,
    prints: |name, _| name.starts_with("MPIR_CVAR_"),
};

/// Heading that ends the control variables.
const END: &str = "MPI Performance Variables";

fn parse(text: &str) -> LibraryInfo {
    let mut info = LibraryInfo::default();
    let mut current: Option<&mut Reported> = None;
    for line in text.lines().take_while(|line| !line.ends_with(END)) {
        if let Some((name, value, kind)) = variable(line) {
            let reported = info.parameters.entry(name.to_owned()).or_default();
            // An algorithm is told by its number, and set by its name; of most the program says no other name than this one, without a line break before it.
            let is_auto = value == "0" && line.contains("auto - Internal algorithm selection");
            reported.value = Some(if is_auto { "auto" } else { value }.to_owned());
            kind.clone_into(&mut reported.kind);
            // Numbers have names, too, as far as it is said.
            reported.legal = Legal::Text;
            current = Some(reported);
        } else if let (Some(name), Some(reported)) = (value(line), current.as_deref_mut())
            && reported.kind == "MPI_INT"
        {
            match &mut reported.legal {
                Legal::Named(all) => {
                    let number = all.len().to_string();
                    all.insert((number, name.to_owned()));
                }
                other => *other = Legal::Named([("0".to_owned(), name.to_owned())].into()),
            }
        }
    }
    info
}

/// Name, value and type of a control variable.
fn variable(line: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = line.strip_prefix('\t')?.split_once('=')?;
    let mut fields = rest.split('\t');
    let (value, kind) = (fields.next()?, fields.nth(2)?);
    let name = name.trim_end();
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (!name.is_empty() && is_name(name)).then_some((name, value, kind))
}

/// The name of a value.
fn value(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(" - ")?;
    let name = name.trim_end();
    let is_name = |name: &str| {
        name.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    (name.starts_with(|c: char| c.is_ascii_lowercase()) && is_name(name)).then_some(name)
}
