//! An emitter is a file and a row: `ini` is the file, and its row stands in the table for tests alone.

use std::collections::BTreeMap;
use std::path::Path;

use kilter_algorithms::Collective;
use kilter_bench::programs::Programs;
use kilter_bench::progress::Progress;
use kilter_model::config::library::find_for;
use kilter_model::deployment::{Assignment, Selection};
use kilter_model::limits::Limits;
use tempfile::TempDir;

use super::*;
use crate::File;
use crate::decisions::{Part, Selections, Volumes};
use crate::manifest::{self, Carries, Manifest};
use crate::scope::Scope;

pub(super) mod ini;

/// Open MPI's description, with this emitter.
fn library(emitter: &str) -> Library {
    Library {
        emitter: Some(emitter.to_owned()),
        ..find_for("mpirun (Open MPI) 4.1.4").unwrap()
    }
}

fn assignment(name: &str, value: &str) -> Assignment {
    Assignment {
        name: name.to_owned(),
        value: value.to_owned(),
        environment: false,
    }
}

/// Calls `look` with an installation of a library and one decision for it; `set` is in force without it.
fn with_decision(
    of: (&Library, &Selections),
    set: &[(&str, &str)],
    look: impl FnOnce(&Installation<'_>, &Decisions<'_>),
) {
    with_assignment(of, assignment("eager_limit", "32768"), set, look);
}

/// The same with this setting of whole launches.
fn with_assignment(
    (library, selections): (&Library, &Selections),
    decided: Assignment,
    set: &[(&str, &str)],
    look: impl FnOnce(&Installation<'_>, &Decisions<'_>),
) {
    let (programs, progress, limits) = (Programs::default(), Progress::new(true), Limits::default());
    let installation = Installation {
        library,
        version: "4.1.4",
        mpirun: Path::new("mpirun"),
        programs: &programs,
        ranks: 2,
        platform: None,
        limits: &limits,
        site_parameters: &[],
        site_environment: &[],
        set_by_site: set
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        measured: Vec::new(),
        device: BTreeMap::new(),
        library_string: String::new(),
        progress: &progress,
    };
    let volumes = Volumes::new();
    let assignments = [decided];
    let decisions = Decisions {
        assignments: &assignments,
        parts: vec![Part {
            communicators: kilter_profile::Communicators::of_ranks(2),
            ranks: 2,
            selections,
            volumes: &volumes,
        }],
        layouts: Vec::new(),
        transports: Vec::new(),
        left_out: Vec::new(),
        tried: Vec::new(),
    };
    look(&installation, &decisions);
}

#[test]
fn an_added_emitter_writes_files_that_are_read_back_listed_and_found_again() {
    let library = library("ini");
    let emitter = of(&library).unwrap().unwrap();
    let directory = TempDir::new().unwrap();
    let directory = directory.path().join("emit");
    with_decision((&library, &Selections::new()), &[], |installation, decisions| {
        let emitted = crate::write_files(emitter, installation, decisions, &directory).unwrap();
        let setup = crate::read_back(emitter, installation, &emitted).unwrap();
        assert_eq!(setup.expected, [("eager_limit".to_owned(), "32768".to_owned())]);
        let named = directory.join("mpi.ini").display().to_string();
        assert!(setup.environment.contains(&("INI_FILE".to_owned(), named)));
        assert_eq!(emitted.carrier("eager_limit"), "mpi.ini");
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
        assert!(read("README.txt").contains("1. mpi.ini: add its lines to ~/.mpi.ini."));
        assert!(read("mpi.ini").ends_with("[mpi]\neager_limit=32768\n"));
        assert!(read("kilter.sh").contains("INI_eager_limit"));
        let manifest = Manifest::parse(&read(manifest::NAME)).unwrap();
        let listed = manifest.files.iter().find(|file| file.name == "mpi.ini").unwrap();
        assert_eq!(listed.carries, Carries::Parameters);
        let places = manifest.library.site_file.unwrap().places;
        let parameters = places(&Scope::User, Path::new("mpirun")).unwrap().parameters.unwrap();
        assert!(parameters.ends_with(".mpi.ini"), "{}", parameters.display());
    });
}

/// A variable that speaks of each kind of connection is one line, and what UCX would refuse is refused when the file is read back.
#[test]
fn a_value_in_a_language_of_its_own_is_read_back_in_it() {
    let library = library("openmpi");
    let emitter = of(&library).unwrap().unwrap();
    let read_back = |value: &str| {
        let directory = TempDir::new().unwrap();
        let directory = directory.path().join("emit");
        let decided = Assignment {
            environment: true,
            ..assignment("UCX_RNDV_THRESH", value)
        };
        let mut result = None;
        with_assignment(
            (&library, &Selections::new()),
            decided,
            &[],
            |installation, decisions| {
                let emitted = crate::write_files(emitter, installation, decisions, &directory).unwrap();
                result = Some(crate::read_back(emitter, installation, &emitted));
            },
        );
        result.unwrap()
    };
    let both = "intra:8192,inter:auto";
    let setup = read_back(both).unwrap();
    let wanted = ("UCX_RNDV_THRESH".to_owned(), both.to_owned());
    let mut read = setup.environment.iter().chain(&setup.expected_environment);
    assert!(read.any(|one| *one == wanted), "{setup:?}");
    let error = format!("{:#}", read_back("intra:8192").unwrap_err());
    assert!(
        error.contains("`UCX_RNDV_THRESH=intra:8192`: `inter` has no value"),
        "{error}"
    );
}

#[test]
fn a_choice_by_size_is_refused_where_an_emitter_does_not_say_that_it_carries_them() {
    let library = library("ini");
    let directory = TempDir::new().unwrap();
    let chosen = Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), "6".to_owned())]);
    let selections = Selections::from([((Collective::Bcast, 4096), chosen)]);
    with_decision((&library, &selections), &[], |installation, decisions| {
        let emitter = of(&library).unwrap().unwrap();
        let written = crate::write_files(emitter, installation, decisions, &directory.path().join("emit"));
        let error = written.unwrap_err().to_string();
        assert!(
            error.contains("coll_tuned_bcast_algorithm=6") && error.contains("carries a choice for a size"),
            "{error}"
        );
    });
}

/// One collective at one size goes to another component, and there to an algorithm: a file for each, and the parameters that name them.
#[test]
fn a_component_and_its_algorithm_are_staged_together() {
    let library = find_for("mpirun (Open MPI) 5.0.11").unwrap();
    let components = library.components.as_ref().unwrap();
    let switch = components.switching(Collective::Bcast).unwrap();
    let chosen = Selection::Settings(vec![("coll_tuned_bcast_algorithm".to_owned(), "3".to_owned()), switch]);
    let selections = Selections::from([((Collective::Bcast, 4096), chosen)]);
    let home = TempDir::new().unwrap();
    let directory = home.path().join("emit");
    with_decision((&library, &selections), &[], |installation, decisions| {
        let emitter = of(&library).unwrap().unwrap();
        let emitted = crate::write_files(emitter, installation, decisions, &directory).unwrap();
        let setup = crate::read_back(emitter, installation, &emitted).unwrap();
        let names: Vec<&str> = setup.expected.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "eager_limit",
                "coll_tuned_use_dynamic_rules",
                "coll_tuned_dynamic_rules_filename",
                "coll_han_use_dynamic_file_rules",
                "coll_han_dynamic_rules_filename",
            ]
        );
        let read = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
        assert!(read("openmpi-han-rules.conf").contains("\n4096 tuned\n4097 han\n"));
        assert!(read("openmpi-coll-rules.conf").contains("\n4096 3 0 0\n"));
        assert!(read("README.txt").contains("openmpi-han-rules.conf: which component"));
        let manifest = Manifest::parse(&read(manifest::NAME)).unwrap();
        let listed = manifest.files.iter().find(|file| file.name == "openmpi-han-rules.conf");
        assert_eq!(listed.unwrap().carries, Carries::Components);
        // One mistake, and the library would ignore all of it.
        std::fs::write(directory.join("openmpi-han-rules.conf"), "1 7 1 2 1 2 1 0 han").unwrap();
        let error = crate::read_back(emitter, installation, &emitted)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("file of components, line 1: `2` is no communicator size"),
            "{error}"
        );
    });
}

/// The environment wins over the file of parameters.
#[test]
fn what_stands_in_the_environment_is_changed_there() {
    let directory = TempDir::new().unwrap();
    for (name, variable) in [("ini", "INI_eager_limit"), ("openmpi", "OMPI_MCA_eager_limit")] {
        let library = library(name);
        let emitter = of(&library).unwrap().unwrap();
        let directory = directory.path().join(name);
        with_decision(
            (&library, &Selections::new()),
            &[("eager_limit", "4096"), ("other", "0")],
            |installation, decisions| {
                let emitted = crate::write_files(emitter, installation, decisions, &directory).unwrap();
                assert_eq!(emitted.files.get(&File::Parameters), None);
                let text = std::fs::read_to_string(directory.join("kilter.env")).unwrap();
                assert_eq!(
                    crate::environment::parse(&text).unwrap(),
                    [(variable.to_owned(), "32768".to_owned())]
                );
            },
        );
    }
}

/// The frame is the same for all libraries; the steps are the emitter's.
#[test]
fn every_page_says_how_to_install_and_how_to_take_back() {
    let directory = TempDir::new().unwrap();
    for (name, step) in [
        ("openmpi", "\n1. openmpi-mca-params.conf: "),
        ("mpich", "\n1. kilter.env: "),
        ("mvapich2", "\n1. kilter.env: "),
        ("variables", "\n1. kilter.env: "),
        ("ini", "\n1. mpi.ini: "),
    ] {
        let library = library(name);
        let emitter = of(&library).unwrap().unwrap();
        let directory = directory.path().join(name);
        with_decision((&library, &Selections::new()), &[], |installation, decisions| {
            crate::write_files(emitter, installation, decisions, &directory).unwrap();
            let page = std::fs::read_to_string(directory.join("README.txt")).unwrap();
            let parts = [
                "Tuned settings for Open MPI 4.1.4, 2 ranks, written by kilter.\n\n",
                "\nInstall them:   kilter apply ",
                "By hand:\n\n",
                step,
                "\n\nThe same settings in the forms of sites, complete in themselves:\n   ",
                "\n\nTo take everything back, ",
            ];
            let places = parts.map(|part| page.find(part).unwrap_or_else(|| panic!("{part}: {page}")));
            assert!(places.is_sorted() && page.ends_with(".\n"), "{page}");
        });
    }
}

#[test]
fn an_emitter_that_is_not_there_is_refused_with_those_that_are() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = "like = \"openmpi-4.1\"\nid = \"own\"\nemitter = \"openmp\"\n";
    std::fs::write(file.path(), text).unwrap();
    let error = load_file(file.path()).unwrap_err().to_string();
    let path = file.path().display().to_string();
    assert!(
        error.starts_with(&path)
            && error
                .contains("line 3: emitter: `openmp` is none of `openmpi`, `mpich`, `mvapich2`, `smpi`, `variables`"),
        "{error}"
    );
    std::fs::write(file.path(), text.replace("openmp\"", "ini\"")).unwrap();
    load_file(file.path()).unwrap();
}

#[test]
fn every_description_names_an_emitter_that_is_there() {
    assert!(load_embedded().unwrap().len() > 5);
}

#[test]
fn a_site_file_that_is_not_there_is_refused_with_those_that_are() {
    let read = |name: &str| serde_json::from_value::<&'static SiteFile>(name.into());
    assert_eq!(read("mvapich2").unwrap().name, "mvapich2");
    let error = read("mvapich").unwrap_err().to_string();
    assert!(
        error.contains("unknown site file `mvapich`, expected `openmpi` or `mvapich2`"),
        "{error}"
    );
}
