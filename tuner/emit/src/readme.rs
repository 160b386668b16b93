//! The one page that goes with the emitted files: the parts that it has for every library. The rest is the emitter's.

use std::fmt::Write as _;

use kilter_bench::launch::command::quote;
use kilter_model::config::library::Measuring;

use super::emitters::Page;
use super::{Emitted, File};

/// Settings of the jobs' own that must go, since they would win over the deployment.
pub(crate) fn replaced(settings: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        text.push_str(&format!(
            "\nRemove `{name}={value}` where jobs are given it: what is deployed here says otherwise, and the command line would win.\n"
        ));
    }
    text
}

/// The page that an emitter's part belongs into: what it holds for, the short way to install, the steps by hand with that of the drop-in's
/// profile, and the forms of sites.
pub(crate) fn page(part: Page, emitted: &Emitted, library: &str, ranks: &str) -> String {
    let (before, steps, undo) = match part {
        Page::Whole(text) => return text,
        Page::Steps { before, steps, undo } => (before, steps, undo),
    };
    let mut text = beginning(emitted, library, ranks) + &before;
    for (place, step) in steps.into_iter().chain(profile(emitted)).enumerate() {
        let _ = write!(text, "{}. {step}", place + 1);
    }
    text + &forms() + "\nTo take everything back, " + undo + "\n"
}

/// The library, and the short way to install.
fn beginning(emitted: &Emitted, library: &str, ranks: &str) -> String {
    let directory = quote(&emitted.directory.display().to_string());
    format!(
        "Tuned settings for {library}, {ranks}, written by kilter.\n\n\
         They hold for this library, this machine and communicators of {ranks}; the report beside this\n\
         directory shows what each one gained. Run `kilter check` again after every change of the machine.\n\n\
         Install them:   kilter apply {directory} --user --dry-run\n\
         shows what would be changed; --yes in place of --dry-run does it, --system does it for everybody, and `kilter rollback`\n\
         takes it back. By hand:\n\n"
    )
}

/// The forms of sites that lie beside it.
fn forms() -> String {
    let mut text = "The same settings in the forms of sites, complete in themselves:\n".to_owned();
    for form in super::forms::FORMS {
        let _ = writeln!(text, "   {}: {}", form.file, form.what);
    }
    text
}

/// Decisions for some layouts that are not in the files; nothing where there are none.
pub(crate) fn left_out(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = "\nLeft out, because what acts on several layouts must suit all of them; the report of a layout shows what it costs:\n".to_owned();
    for line in lines {
        let _ = writeln!(text, "   {}", super::forms::one_line(line));
    }
    text
}

/// Settings that nothing was chosen for, and that belong to the state in which all else was measured; nothing where there are none.
pub(crate) fn measured(state: &[(String, String)], measuring: Option<&Measuring>) -> String {
    let Some(measuring) = measuring.filter(|_| !state.is_empty()) else {
        return String::new();
    };
    let mut text = "\nNot chosen, but the state in which all of this was measured and proven:\n".to_owned();
    for (name, value) in state {
        let _ = writeln!(text, "   {name}={value}");
    }
    let _ = writeln!(text, "   {}.", super::forms::one_line(&measuring.because));
    text
}

/// Rows that jobs try; nothing where there are none.
fn tried(rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "   Its list `online` has rows that passed the correctness matrix and were not chosen. Jobs with KILTER_ONLINE=1, and no\n   \
         others, try them in their own calls: {}.\n",
        rows.join(", ")
    )
}

/// The drop-in's profile, and how the drop-in is switched off.
fn profile(emitted: &Emitted) -> Option<String> {
    let name = emitted.files.get(&File::Profile)?;
    Some(format!(
        "{name}: profile of the drop-in, named by KILTER_PROFILE in the environment file. It must belong to you\n   \
         or root and be writable by the owner alone. KILTER_MODE=off switches the drop-in off,\n   \
         KILTER_LOG=1 prints what ran and how often at the end of a job. It is followed by the library that it was tuned for,\n   \
         KILTER_ANY_LIBRARY=1 makes another version follow it, too. What was tuned in a layout, such as 8x16, holds for\n   \
         communicators whose ranks lie so, on 8 nodes with 16 each.\n{}\n",
        tried(&emitted.tried)
    ))
}
