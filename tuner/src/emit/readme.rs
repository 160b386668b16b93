//! The one page that goes with the emitted files.

use std::fmt::Write as _;

use super::{Emitted, File};
use crate::launch::command::quote;

/// How to install the files, for the administrator who finds them.
#[must_use]
pub fn text(emitted: &Emitted, library: &str, ranks: usize, environment: &[(String, String)]) -> String {
    let directory = quote(&emitted.directory.display().to_string());
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "Tuned settings for {library}, {ranks} ranks, written by kilter.\n"
    );
    let _ = writeln!(
        text,
        "They hold for this library, this machine and communicators of {ranks} ranks; the report beside this"
    );
    let _ = writeln!(
        text,
        "directory shows what each one gained. Run `kilter check` again after every change of the machine.\n"
    );
    let _ = writeln!(text, "Install them:   kilter apply {directory} --user --dry-run");
    let _ = writeln!(
        text,
        "shows what would be changed; --yes in place of --dry-run does it, --system does it for everybody, and `kilter rollback`"
    );
    let _ = writeln!(text, "takes it back. By hand:\n");
    if let Some(name) = emitted.files.get(&File::Parameters) {
        let _ = writeln!(text, "1. {name}: parameters of Open MPI.");
        let _ = writeln!(
            text,
            "   One user:   cat {directory}/{name} >> ~/.openmpi/mca-params.conf"
        );
        let _ = writeln!(
            text,
            "   Everybody:  append it to openmpi-mca-params.conf in `ompi_info --path sysconfdir`."
        );
        let _ = writeln!(text, "   One job:    mpirun --mca NAME VALUE for each line.");
        let _ = writeln!(
            text,
            "   Both files are read together; a line in the user's file wins over the site's.\n"
        );
    }
    if let Some(name) = emitted.files.get(&File::Rules) {
        let _ = writeln!(
            text,
            "2. {name}: which algorithm for which message size. The parameter file names it by its full path: when"
        );
        let _ = writeln!(
            text,
            "   you move it, change coll_tuned_dynamic_rules_filename there. Open MPI ignores a file it cannot read"
        );
        let _ = writeln!(text, "   without a word, so it must be readable on every node.\n");
    }
    if let Some(name) = emitted.files.get(&File::Environment) {
        let flags: Vec<String> = environment
            .iter()
            .map(|(name, value)| format!("-x {name}={}", quote(value)))
            .collect();
        let _ = writeln!(
            text,
            "3. {name}: environment of the ranks. On the command line or in a job script:"
        );
        let _ = writeln!(text, "     mpirun {} ...", flags.join(" "));
        let _ = writeln!(
            text,
            "   The file has the same variables for launchers that read files. LD_PRELOAD, where it is set, belongs to the"
        );
        let _ = writeln!(text, "   ranks alone: do not put it into a login profile.\n");
    }
    if let Some(name) = emitted.files.get(&File::Profile) {
        let _ = writeln!(
            text,
            "4. {name}: profile of the drop-in, named by KILTER_PROFILE in the environment file. It must belong to you"
        );
        let _ = writeln!(
            text,
            "   or root and be writable by the owner alone. KILTER_MODE=off switches the drop-in off,"
        );
        let _ = writeln!(
            text,
            "   KILTER_LOG=1 prints what ran and how often at the end of a job.\n"
        );
    }
    let _ = writeln!(text, "The same settings in the forms of sites, complete in themselves:");
    for form in super::forms::FORMS {
        let _ = writeln!(text, "   {}: {}", form.file, form.what);
    }
    let _ = writeln!(
        text,
        "\nTo take everything back, remove the lines and stop sourcing the environment file: nothing else was changed."
    );
    text
}
