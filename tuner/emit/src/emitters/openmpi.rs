//! Open MPI: MCA parameter file, dynamic rules file, environment, profile; and the launch that uses them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use kilter_algorithms::Collective;
use kilter_bench::launch::command::quote;
use kilter_model::config::library::{Algorithms, Column, Library, RulesForm};
use kilter_model::deployment::Selection;
use kilter_model::range;
use kilter_model::setup::Setup;

use super::{DividedPath, Emitter, Page, Settings};
use crate::decisions::{Decisions, Part};
use crate::fence::Fence;
use crate::installation::Installation;
use crate::rules::{ByNodes, Choice, Nodes};
use crate::site_file::SiteFile;
use crate::{Emitted, File, command_line, mca, write};

/// The rules file, by its form.
const fn rules_name(form: RulesForm) -> &'static str {
    match form {
        RulesForm::Numbers => "openmpi-coll-rules.conf",
        RulesForm::Json => "openmpi-coll-rules.json",
    }
}

mod handed_on;
mod site_file;

pub(super) use site_file::SITE_FILE;

/// Variable with the list of parameter files, first one strongest. It replaces the default list, so the site's and the user's
/// files are named after ours.
const PARAMETER_FILES: &str = "OMPI_MCA_mca_base_param_files";

/// Divides that list; a path cannot quote it.
const SEPARATOR: char = ',';

/// Parameter and rules files.
pub(super) struct OpenMpi;

impl Emitter for OpenMpi {
    fn write(
        &self,
        installation: &Installation<'_>,
        decisions: &Decisions<'_>,
        emitted: &mut Emitted,
    ) -> anyhow::Result<Settings> {
        let mut settings = Settings::divided(decisions);
        let (rules, text) = rules(installation.library, decisions)?;
        if !rules.is_empty() {
            let name = rules_name(installation.library.rules_file.form);
            write(&emitted.directory, name, &text)?;
            emitted.files.insert(File::Rules, name.to_owned());
            let path = emitted.directory.join(name).display().to_string();
            settings.parameters.extend([
                ("coll_tuned_use_dynamic_rules".to_owned(), "1".to_owned()),
                ("coll_tuned_dynamic_rules_filename".to_owned(), path),
            ]);
        }
        settings
            .parameters
            .extend(handed_on::write(installation.library, decisions, emitted)?);
        Ok(settings)
    }

    fn check_directory(&self, directory: &Path) -> Result<(), DividedPath> {
        if directory.to_string_lossy().contains(SEPARATOR) {
            return Err(DividedPath {
                directory: directory.to_path_buf(),
                separator: SEPARATOR,
                variable: PARAMETER_FILES,
            });
        }
        Ok(())
    }

    fn carries_selections(&self) -> bool {
        true
    }

    /// JSON has rules for one node. What HAN hands on stands in a file that knows the number of ranks alone.
    fn fence(&self, library: &Library, collective: Collective, settings: &[(String, String)]) -> Fence {
        let is_handed_on = handed_on::others(library, collective, settings).len() < settings.len();
        match library.rules_file.form {
            RulesForm::Json if !is_handed_on => Fence::OneNode,
            RulesForm::Json | RulesForm::Numbers => Fence::Ranks,
        }
    }

    fn staged(&self, installation: &Installation<'_>, emitted: &Emitted, read: Settings) -> anyhow::Result<Setup> {
        let mut setup = Setup::default();
        let directory = &emitted.directory;
        if let Some(name) = emitted.files.get(&File::Rules) {
            let file = &installation.library.rules_file;
            let rules = ByNodes::read(&crate::read(directory, name)?, file.form)?;
            ensure!(
                !rules.limits_requests() || file.carries_requests(installation.version),
                "`{name}` has the column for requests, for which {} {} ignores the whole file; please report this",
                installation.library.name,
                installation.version
            );
        }
        handed_on::read_back(installation.library, emitted)?;
        if let Some(name) = emitted.files.get(&File::Parameters) {
            let mut files = vec![directory.join(name).display().to_string()];
            files.extend(default_parameter_files(installation.mpirun));
            setup
                .launcher_environment
                .push((PARAMETER_FILES.to_owned(), files.join(&SEPARATOR.to_string())));
        }
        let (parameters, environment) = mca::of_environment(read.environment);
        // The launcher reads them, as it does where a module has set them.
        setup.launcher_environment.extend(mca::as_environment(&parameters));
        setup.environment = environment;
        setup.expected = [read.parameters, parameters].concat();
        Ok(setup)
    }

    fn page(&self, installation: &Installation<'_>, _: &Decisions<'_>, emitted: &Emitted, written: &Settings) -> Page {
        let (parameters, environment) = mca::of_environment(written.environment.clone());
        let parameters = [written.parameters.as_slice(), &parameters].concat();
        let one_job = command_line::words(&installation.library.launcher, &parameters, &environment);
        Page::Steps {
            before: for_one_job(&one_job),
            steps: steps(emitted),
            undo: "remove the lines and stop sourcing the environment file: nothing else was changed.",
        }
    }

    fn site_file(&self) -> Option<&'static SiteFile> {
        Some(&SITE_FILE)
    }
}

/// The rules, fenced by communicator size and by nodes as far as the file knows them, and their file's text.
fn rules(library: &Library, decisions: &Decisions<'_>) -> anyhow::Result<(ByNodes, String)> {
    let mut rules = ByNodes::default();
    // The first of the parts that meet holds.
    for part in decisions.parts.iter().rev() {
        add(&mut rules, library, part)?;
    }
    let form = library.rules_file.form;
    let text = rules.write(form)?;
    let read_back = ByNodes::read(&text, form)?;
    if read_back.normalized() != rules.normalized() {
        bail!("the rules file does not read back as it was written; please report this");
    }
    Ok((rules, text))
}

/// The nodes of a part's communicators, as far as a rule for these settings tells them apart.
fn nodes(library: &Library, part: &Part<'_>, collective: Collective, settings: &[(String, String)]) -> Vec<Nodes> {
    let nodes = &part.communicators.nodes;
    let is_meant = |one: &Nodes| match one {
        Nodes::One => nodes.low() <= 1,
        Nodes::Several => nodes.high() > 1,
    };
    match OpenMpi.fence(library, collective, settings) {
        Fence::OneNode => Nodes::ANY.into_iter().filter(is_meant).collect(),
        Fence::Ranks | Fence::PerNode => Nodes::ANY.into(),
    }
}

/// A choice, and the nodes for which it holds.
type Placed = (Vec<Nodes>, Choice);

/// The rules of a part, for each size of its communicators. A collective that must not be switched on size gets one rule for all sizes: the
/// choice of its worst cell.
fn add(rules: &mut ByNodes, library: &Library, part: &Part<'_>) -> anyhow::Result<()> {
    let none = |collective: Collective| format!("{} has no rules for {collective}", library.name);
    let mut by_collective: BTreeMap<Collective, Vec<(u64, Placed)>> = BTreeMap::new();
    for ((collective, bytes), selection) in part.selections {
        if let Selection::Settings(settings) = selection {
            // Which component is asked stands in a file of its own, and a rule without an algorithm says nothing.
            let of_rules = handed_on::others(library, *collective, settings);
            if of_rules.is_empty() {
                continue;
            }
            let row = library.algorithms_of(*collective).with_context(|| none(*collective))?;
            let nodes = nodes(library, part, *collective, settings);
            let choices = by_collective.entry(*collective).or_default();
            choices.push((*bytes, (nodes, choice(row, &of_rules)?)));
        }
    }
    let sizes = part.sizes();
    for (collective, choices) in by_collective {
        let entry = library.rules_entry(collective).with_context(|| none(collective))?;
        let volumes = part.volumes_of(collective);
        let ranged: Vec<((u64, u64), Placed)> = if entry.size_switch {
            let around = |(bytes, choice)| (range::around(&volumes, bytes), choice);
            choices.into_iter().map(around).collect()
        } else {
            let worst = choices.into_iter().next_back();
            worst.map(|(_, choice)| ((0, u64::MAX), choice)).into_iter().collect()
        };
        for ranks in &sizes {
            for (bytes, (nodes, choice)) in &ranged {
                rules.add_between(nodes, entry.id, *ranks, *bytes, *choice);
            }
        }
    }
    Ok(())
}

/// Settings `coll_tuned_<collective>_algorithm[_<knob>]` as columns of a rule.
fn choice(row: &Algorithms, settings: &[(String, String)]) -> anyhow::Result<Choice> {
    let mut choice = Choice::default();
    for (name, value) in settings {
        let value: u64 = value
            .parse()
            .with_context(|| format!("`{name}={value}`: a rule takes numbers only"))?;
        let knob = name
            .strip_prefix(&row.parameter)
            .and_then(|rest| rest.strip_prefix('_'));
        match knob.and_then(|knob| row.knobs.get(knob)?.column) {
            Some(Column::Segment) => choice.segment_bytes = value,
            Some(Column::Fan) => choice.fan = value,
            Some(Column::Requests) => choice.requests = Some(value),
            None if *name == row.parameter => choice.algorithm = value,
            None => bail!("`{name}` cannot be carried by the rules file of this release"),
        }
    }
    if choice.fan == 0 {
        // A rule's 0 is one chain, while the parameter that was not set makes as many as its default says.
        let chosen = row.choices.iter().find(|one| one.value == choice.algorithm);
        let mut knobs = chosen
            .iter()
            .flat_map(|one| &one.knobs)
            .filter_map(|knob| row.knobs.get(knob));
        if let Some(fan) = knobs.find(|knob| knob.column == Some(Column::Fan)) {
            choice.fan = fan.default;
        }
    }
    Ok(choice)
}

/// The files that Open MPI reads by default: those that the environment names, else the user's, then the site's.
fn default_parameter_files(mpirun: &Path) -> Vec<String> {
    if let Ok(list) = std::env::var(PARAMETER_FILES) {
        return list
            .split([',', ':'])
            .filter(|file| !file.is_empty())
            .map(str::to_owned)
            .collect();
    }
    let beside = mpirun
        .parent()
        .map(|directory| directory.join("ompi_info"))
        .filter(|path| path.is_file());
    let program = beside.unwrap_or_else(|| "ompi_info".into());
    let output = std::process::Command::new(program)
        .args(["--path", "sysconfdir", "--parsable"])
        .output();
    let sysconfdir = output
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .and_then(|text| text.trim().strip_prefix("path:sysconfdir:").map(str::to_owned))
        .unwrap_or_else(|| "/etc/openmpi".to_owned());
    let mut files = Vec::new();
    if let Some(home) = std::env::var_os("HOME") {
        files.push(Path::new(&home).join(".openmpi/mca-params.conf"));
    }
    files.push(Path::new(&sysconfdir).join("openmpi-mca-params.conf"));
    files
        .into_iter()
        .filter(|path| path.is_file())
        .map(|path| path.display().to_string())
        .collect()
}

/// The launcher's line with these words, which do all of it for one job; nothing without words.
fn for_one_job(words: &[String]) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!(
        "All of it for one job, where nothing is installed; this directory must be readable on every node:\n\n\
         mpirun {} ...\n\n",
        command_line::line(words)
    )
}

/// A step by hand for each file that is there.
fn steps(emitted: &Emitted) -> Vec<String> {
    let directory = quote(&emitted.directory.display().to_string());
    let of = |file, text: &dyn Fn(&str) -> String| emitted.files.get(&file).map(|name| text(name));
    let parameters = of(File::Parameters, &|name| {
        format!(
            "{name}: parameters of Open MPI.\n   \
             One user:   cat {directory}/{name} >> ~/.openmpi/mca-params.conf\n   \
             Everybody:  append it to openmpi-mca-params.conf in `ompi_info --path sysconfdir`.\n   \
             One job:    `--mca NAME VALUE` for each line, as above.\n   \
             Both files are read together; a line in the user's file wins over the site's.\n\n"
        )
    });
    let rules = of(File::Rules, &|name| {
        format!(
            "{name}: which algorithm for which message size. The parameter file names it by its full path: when\n   \
             you move it, change coll_tuned_dynamic_rules_filename there. Open MPI ignores a file it cannot read\n   \
             without a word, so it must be readable on every node.\n\n"
        )
    });
    let components = of(File::Components, &|name| {
        format!(
            "{name}: which component for which message size, for the component HAN. The parameter file names it by its full\n   \
             path, as it does the rules, and it must be readable on every node.\n\n"
        )
    });
    let environment = of(File::Environment, &|name| {
        format!(
            "{name}: environment of the ranks, `-x NAME=VALUE` for each on the command line, as above.\n   \
             The file has the same variables for launchers that read files. LD_PRELOAD, where it is set, belongs to the\n   \
             ranks alone: do not put it into a login profile.\n\n"
        )
    });
    [parameters, rules, components, environment]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;

    use super::*;
    use crate::decisions::{Selections, Volumes};

    fn library(version: &str) -> Library {
        find_for(&format!("mpirun (Open MPI) {version}")).unwrap()
    }

    fn settings(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn settings_become_columns() {
        let library = library("4.1.4");
        let settings = settings(&[
            ("coll_tuned_reduce_algorithm", "4"),
            ("coll_tuned_reduce_algorithm_segmentsize", "32768"),
            ("coll_tuned_reduce_algorithm_chain_fanout", "2"),
        ]);
        let expected = Choice {
            algorithm: 4,
            fan: 2,
            segment_bytes: 32768,
            requests: None,
        };
        let row = library.algorithms_of(Collective::Reduce).unwrap();
        assert_eq!(choice(row, &settings).unwrap(), expected);
    }

    /// Open MPI 4.1.4 sends 1>0 2>1 3>2 where a rule of eight ranks has algorithm 2 and 0 chains, and 1>0 2>1 3>0 4>3 5>0 6>5 7>0 where the parameter alone
    /// chooses the algorithm.
    #[test]
    fn a_chain_whose_number_is_not_set_has_the_parameters_default() {
        let library = library("4.1.4");
        let row = library.algorithms_of(Collective::Reduce).unwrap();
        for (algorithm, fan) in [("2", 4), ("3", 0), ("1", 0), ("77", 0)] {
            let settings = settings(&[("coll_tuned_reduce_algorithm", algorithm)]);
            assert_eq!(choice(row, &settings).unwrap().fan, fan, "{algorithm}");
        }
    }

    #[test]
    fn a_knob_without_a_column_is_refused() {
        for (version, collective, knob) in [
            ("4.1.4", Collective::Bcast, "knomial_radix"),
            ("4.1.4", Collective::Alltoall, "max_requests"),
            ("5.0.6", Collective::Alltoall, "max_requests"),
            ("5.0.11", Collective::Scatter, "max_requests"),
            ("5.0.11", Collective::Bcast, "unheard_of"),
        ] {
            let library = library(version);
            let row = library.algorithms_of(collective).unwrap();
            let settings = settings(&[(&*row.parameter, "4"), (&*format!("{}_{knob}", row.parameter), "4")]);
            let error = choice(row, &settings).unwrap_err().to_string();
            assert!(
                error.contains(knob) && error.contains("rules file of this release"),
                "{version}: {error}"
            );
        }
    }

    /// The newest form that the release reads, and of its versions the oldest that does.
    #[test]
    fn what_is_written_follows_from_the_release_and_from_what_it_must_carry() {
        let chosen = |more: &[(&str, &str)]| {
            let all = [&[("coll_tuned_alltoall_algorithm", "4")][..], more].concat();
            Selections::from([((Collective::Alltoall, 4096), Selection::Settings(settings(&all)))])
        };
        let volumes = Volumes::from([(Collective::Alltoall, [1024, 4096, 16384].into())]);
        let text = |version: &str, selections: &Selections| {
            let decisions = Decisions {
                assignments: &[],
                parts: vec![Part {
                    communicators: kilter_profile::Communicators::of_ranks(4),
                    ranks: 4,
                    selections,
                    volumes: &volumes,
                }],
                layouts: Vec::new(),
                transports: Vec::new(),
                left_out: Vec::new(),
                tried: Vec::new(),
            };
            rules(&library(version), &decisions).map(|(_, text)| text)
        };
        let (plain, limited) = (
            chosen(&[]),
            chosen(&[("coll_tuned_alltoall_algorithm_max_requests", "8")]),
        );
        for version in ["4.1.4", "5.0.6", "5.0.11"] {
            assert!(text(version, &plain).unwrap().starts_with("# Rules"), "{version}");
        }
        assert!(text("4.1.4", &limited).is_err());
        let version_2 = text("5.0.11", &limited).unwrap();
        assert!(
            version_2.starts_with("rule-file-version-2\n") && version_2.contains(" 4 0 0 8\n"),
            "{version_2}"
        );
        let json = text("6.0.0", &limited).unwrap();
        assert!(
            json.starts_with("{\n  \"rule_file_version\": 3,\n") && json.contains("\"reqs\": 8"),
            "{json}"
        );
    }

    /// Two layouts of four ranks: JSON keeps the one on one node apart, and in the form of numbers the first part holds.
    #[test]
    fn a_layout_on_one_node_has_rules_of_its_own_where_the_release_knows_nodes() {
        let chosen = |algorithm: &str| {
            let settings = settings(&[("coll_tuned_alltoall_algorithm", algorithm)]);
            Selections::from([((Collective::Alltoall, 4096), Selection::Settings(settings))])
        };
        let volumes = Volumes::from([(Collective::Alltoall, [4096].into())]);
        let (on_one, on_two) = (chosen("2"), chosen("4"));
        let part = |nodes, selections| Part {
            communicators: kilter_profile::Communicators::of_layout(nodes, 4 / nodes),
            ranks: 4,
            selections,
            volumes: &volumes,
        };
        for (version, expected) in [("5.0.11", [2, 2]), ("6.0.0", [2, 4])] {
            let decisions = Decisions {
                assignments: &[],
                parts: vec![part(1, &on_one), part(2, &on_two)],
                layouts: Vec::new(),
                tried: Vec::new(),
                transports: Vec::new(),
                left_out: Vec::new(),
            };
            let (rules, text) = rules(&library(version), &decisions).unwrap();
            let found = Nodes::ANY.map(|nodes| rules.of(nodes).lookup(3, 4, 4096).algorithm);
            assert_eq!(found, expected, "{version}: {text}");
        }
    }

    /// The line is taken from the page as a person would.
    #[test]
    fn the_line_for_one_job_gives_the_launcher_what_the_files_have() {
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
        let written = for_one_job(&words);
        let line = written.lines().find(|line| line.starts_with("mpirun ")).unwrap();
        let line = line.strip_suffix(" ...").unwrap();
        let script = format!("mpirun() {{ printf '%s\\n' \"$@\"; }}\n{line}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.split_terminator('\n').collect::<Vec<_>>(), words, "{written}");
        assert_eq!(for_one_job(&[]), "");
    }
}
