//! The one page that goes with the emitted files.

use std::fmt::Write as _;

use kilter_bench::launch::command::quote;

use super::{Emitted, File, command_line};

/// How to install the files of a library whose only place for settings is the environment; `form` is its launcher's, with `{name}`
/// and `{value}`. `choosing` are the variables that choose an algorithm when a job starts.
#[must_use]
pub fn variables(
    emitted: &Emitted,
    library: &str,
    ranks: &str,
    (environment, choosing): (&[(String, String)], &[&str]),
    form: &[String],
) -> String {
    let mut text = beginning(emitted, library, ranks);
    if let Some(name) = emitted.files.get(&File::Environment) {
        let flag = |(name, value): &(String, String)| -> String {
            let part = |part: &String| part.replace("{name}", name).replace("{value}", &quote(value));
            form.iter().map(part).collect::<Vec<_>>().join(" ")
        };
        let flags: Vec<String> = environment.iter().map(flag).collect();
        let one_job = if form.is_empty() {
            // The launcher hands its own environment on.
            let words = environment
                .iter()
                .map(|(name, value)| format!("{name}={}", quote(value)));
            format!("{} mpiexec_mpt", words.collect::<Vec<_>>().join(" "))
        } else {
            format!("mpiexec {}", flags.join(" "))
        };
        text.push_str(&format!(
            "1. {name}: environment of the ranks. The library reads its settings there and nowhere else.\n   \
             One job:    {one_job} ...\n   \
             Everybody:  a line `setenv NAME VALUE` for each in the library's module file, or an `export` in a file of\n   \
             /etc/profile.d; a wrapper around mpiexec does as well.\n   \
             LD_PRELOAD, where it is set, belongs to the ranks alone: pass it to them by the launcher, and put it into no login profile.\n"
        ));
        if !choosing.is_empty() {
            text.push_str(&format!(
                "   Algorithms are chosen on communicators of every size, not of {ranks} alone, and for all sizes of messages, by\n   {}.\n",
                choosing.join(", ")
            ));
        }
        text.push('\n');
    }
    if let Some(name) = emitted.files.get(&File::Rules) {
        text.push_str(&format!(
            "2. {name}: which algorithm for which message size, named by MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE by its full\n   \
             path. It holds the whole selection of this very release: another release needs one of its own, and a file that is\n   \
             missing or changed by hand ends programs in MPI_Init. It must be readable on every node.\n\n"
        ));
    }
    profile(&mut text, emitted, 3);
    forms(&mut text);
    text.push_str("\nTo take everything back, unset the variables: nothing else was changed.\n");
    text
}

/// How to install the files of MVAPICH2; `parameters` are those of its own file, `others` what only the environment carries.
#[must_use]
pub fn mvapich2(
    emitted: &Emitted,
    library: &str,
    ranks: &str,
    parameters: &[(String, String)],
    others: &[(String, String)],
) -> String {
    let words = |pairs: &[(String, String)]| -> String {
        let word = |(name, value): &(String, String)| format!("{name}={}", quote(value));
        pairs.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    let directory = quote(&emitted.directory.display().to_string());
    let mut text = beginning(emitted, library, ranks);
    if let Some(name) = emitted.files.get(&File::Parameters) {
        text.push_str(&format!(
            "1. {name}: variables of MVAPICH2.\n   \
             One job:    mpirun_rsh -np N ... {} ./application\n   \
             One user:   cat {directory}/{name} >> ~/.mvapich2.conf\n   \
             Everybody:  append it to /etc/mvapich2.conf on every node.\n   \
             The environment wins over the user's file, that over the system's, and in a file the first of two lines. Variables\n   \
             MV2_<...>_TUNING replace the library's tables on communicators of every size, not of {ranks} alone.\n\n",
            words(parameters)
        ));
    }
    if let Some(name) = emitted.files.get(&File::Environment) {
        text.push_str(&format!(
            "2. {name}: environment of the ranks, on mpirun_rsh's command line before the program:\n     mpirun_rsh -np N ... {} ./application\n\n",
            words(others)
        ));
    }
    profile(&mut text, emitted, 3);
    forms(&mut text);
    text.push_str("\nTo take everything back, remove the lines and unset the variables: nothing else was changed.\n");
    text
}

/// How to simulate with the arguments of a file; there is nothing to install.
#[must_use]
pub fn simulated(emitted: &Emitted, library: &str, ranks: usize, platform: &str) -> String {
    let directory = quote(&emitted.directory.display().to_string());
    let name = emitted.files.get(&File::Arguments).map_or("", String::as_str);
    format!(
        "Tuned settings for {library}, {ranks} ranks, written by kilter.\n\n\
         They hold for the simulated machine `{platform}` and {ranks} ranks; the report beside this directory shows what each one\n\
         gained. There is nothing to install, and `kilter apply` finds nothing: give the arguments to a simulation,\n\n   \
         smpirun $(grep -v '^#' {directory}/{name}) -platform FILE -hostfile FILE -np {ranks} PROGRAM\n\n\
         Each chooses one algorithm for all sizes of a collective; SMPI knows no choice by size but those of its selectors.\n"
    )
}

/// What of the jobs' own settings must go, since it would win over what is deployed.
#[must_use]
pub fn replaced(settings: &[(String, String)]) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        text.push_str(&format!(
            "\nRemove `{name}={value}` where jobs are given it: what is deployed here says otherwise, and the command line would win.\n"
        ));
    }
    text
}

/// What it is, and the short way.
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
fn forms(text: &mut String) {
    text.push_str("The same settings in the forms of sites, complete in themselves:\n");
    for form in super::forms::FORMS {
        text.push_str(&format!("   {}: {}\n", form.file, form.what));
    }
}

/// What was decided for some layouts and is not in the files; nothing where nothing was.
#[must_use]
pub fn left_out(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = "\nLeft out, because what acts on several layouts must suit all of them; the report of a layout shows what it costs:\n".to_owned();
    for line in lines {
        let _ = writeln!(text, "   {}", super::forms::one_line(line));
    }
    text
}

/// What is to be known of the drop-in's profile.
fn profile(text: &mut String, emitted: &Emitted, number: usize) {
    if let Some(name) = emitted.files.get(&File::Profile) {
        text.push_str(&format!(
            "{number}. {name}: profile of the drop-in, named by KILTER_PROFILE in the environment file. It must belong to you\n   \
             or root and be writable by the owner alone. KILTER_MODE=off switches the drop-in off,\n   \
             KILTER_LOG=1 prints what ran and how often at the end of a job. It is followed by the library that it was tuned for,\n   \
             KILTER_ANY_LIBRARY=1 makes another version follow it, too.\n\n"
        ));
    }
}

/// How to install the files of Open MPI, for the administrator who finds them; `one_job` are the words of its launcher that do all of it
/// for one job.
#[must_use]
pub fn text(emitted: &Emitted, library: &str, ranks: &str, one_job: &[String]) -> String {
    let directory = quote(&emitted.directory.display().to_string());
    let mut text = beginning(emitted, library, ranks);
    if !one_job.is_empty() {
        let line = command_line::line(one_job);
        let _ = writeln!(
            text,
            "All of it for one job, where nothing is installed; this directory must be readable on every node:\n"
        );
        let _ = writeln!(text, "mpirun {line} ...\n");
    }
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
        let _ = writeln!(text, "   One job:    `--mca NAME VALUE` for each line, as above.");
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
        let _ = writeln!(
            text,
            "3. {name}: environment of the ranks, `-x NAME=VALUE` for each on the command line, as above."
        );
        let _ = writeln!(
            text,
            "   The file has the same variables for launchers that read files. LD_PRELOAD, where it is set, belongs to the"
        );
        let _ = writeln!(text, "   ranks alone: do not put it into a login profile.\n");
    }
    profile(&mut text, emitted, 4);
    forms(&mut text);
    let _ = writeln!(
        text,
        "\nTo take everything back, remove the lines and stop sourcing the environment file: nothing else was changed."
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line is taken from the page as a person would.
    #[test]
    fn the_line_for_one_job_gives_the_launcher_what_the_files_have() {
        let emitted = Emitted {
            directory: "/tmp/it's here".into(),
            files: [(File::Parameters, "openmpi-mca-params.conf".to_owned())].into(),
            ..Emitted::default()
        };
        let words: Vec<String> = [
            "--mca",
            "name",
            "/tmp/it's here/$x",
            "-x",
            "A=b c",
            "--mca",
            "other",
            "",
        ]
        .map(str::to_owned)
        .into();
        let page = text(&emitted, "Open MPI 4.1.4", "2 ranks", &words);
        let line = page.lines().find(|line| line.starts_with("mpirun ")).unwrap();
        let line = line.strip_suffix(" ...").unwrap();
        let script = format!("mpirun() {{ printf '%s\\n' \"$@\"; }}\n{line}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.split_terminator('\n').collect::<Vec<_>>(), words, "{page}");
        let nothing = text(&emitted, "Open MPI 4.1.4", "2 ranks", &[]);
        assert!(!nothing.lines().any(|line| line.starts_with("mpirun ")), "{nothing}");
    }
}
