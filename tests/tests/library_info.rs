//! Each description against what the library's own program says of its parameters.

use std::path::Path;
use std::time::Duration;

use kilter::library_info::ask::{InfoError, ask, ask_transport, ask_without};
use kilter::library_info::{differences, differences_of_transport};
use kilter_bench::launch::capture::launcher_version;
use kilter_model::config::library::{InfoTool, Verified, find_for};
use kilter_model::config::transport;
use kilter_tests::components::with_all_here;
use kilter_tests::{folder_of, in_path, left_out};

/// The description is what the library of this launcher says, which has more than `least` parameters.
fn assert_described(launcher: &Path, least: usize) {
    let line = launcher_version(launcher, Duration::from_secs(20)).unwrap();
    let library = find_for(&line).unwrap();
    let tool = library.info.unwrap();
    let info = with_all_here(|| ask(tool, launcher, &library.version_of(&line))).unwrap();
    let count = info.parameters.len();
    assert!(count > least, "only {count} parameters of {} were read", library.id);
    let transports = &library.transports;
    let all = [transports.one_host.as_slice(), &transports.several_hosts].concat();
    let mut found = differences(&library, tool, &info, &all);
    if tool == InfoTool::Mpivars {
        // The description says which algorithms it leaves out, and why.
        found.retain(|difference| !difference.is_more());
    }
    assert!(found.is_empty(), "{}.toml: {found:#?}", library.id);
    // Parameters that the description marks as printed must be in the library's output.
    let printed = library.parameters_verified(Verified::Printed);
    assert!(!printed.is_empty(), "{}", library.id);
    let is_shared = |name: &str| {
        let row = library.parameters.iter().find(|row| row.name == name);
        row.and_then(|row| row.transport.as_ref())
            .is_some_and(|name| transports.shared.contains_key(name))
    };
    for name in printed.into_iter().filter(|name| !is_shared(name)) {
        assert!(
            info.parameters.contains_key(name),
            "{}.toml: `{name}` is verified = \"printed\", and is not",
            library.id
        );
    }
}

fn of_this_machine(launcher: &str, least: usize) {
    if in_path(launcher) {
        assert_described(Path::new(launcher), least);
    } else {
        left_out(format!("no `{launcher}` in PATH; `scripts/setup --tests` installs it"));
    }
}

fn brought(library: &str, launcher: &str, least: usize) {
    let launcher = folder_of(library).join("install/bin").join(launcher);
    if launcher.exists() {
        assert_described(&launcher, least);
    } else {
        left_out(format!("no {library}; `scripts/setup --mpi {library}` installs it"));
    }
}

fn openmpi_4_1_says_what_is_described() {
    of_this_machine("mpirun.openmpi", 500);
}

fn mpich_4_0_says_what_is_described() {
    of_this_machine("mpirun.mpich", 300);
}

fn openmpi_5_0_says_what_is_described() {
    brought("openmpi-5.0", "mpirun", 500);
}

fn intelmpi_2021_says_what_is_described() {
    brought("intelmpi-2021", "mpiexec", 500);
}

fn mpich_4_3_says_what_is_described() {
    brought("mpich-4.3", "mpiexec", 300);
}

/// The library's own values, by the names or numbers by which they can be set.
fn the_library_says_what_it_has_by_itself() {
    let own = |launcher: &str, name: &str| {
        let launcher = Path::new(launcher);
        let line = launcher_version(launcher, Duration::from_secs(20)).unwrap();
        let library = find_for(&line).unwrap();
        let asked = (launcher, library.version_of(&line));
        let info = ask_without(
            library.info.unwrap(),
            (asked.0, &asked.1),
            &["KILTER_NOTHING".to_owned()],
        )
        .unwrap();
        info.parameters[name].value_by(library.launcher.variable.is_empty())
    };
    for (launcher, name, value) in [
        ("mpirun.openmpi", "coll_tuned_bcast_algorithm", "0"),
        ("mpirun.openmpi", "coll_tuned_use_dynamic_rules", "0"),
        ("mpirun.mpich", "MPIR_CVAR_BCAST_INTRA_ALGORITHM", "auto"),
    ] {
        if in_path(launcher) {
            assert_eq!(own(launcher, name).as_deref(), Some(value), "{launcher} {name}");
        }
    }
}

/// A shared transport's file is what the transport's program says.
fn assert_transport_described(id: &str, least: usize) {
    let transport = transport::load_embedded().unwrap().remove(id).unwrap();
    let info = match ask_transport(transport.info) {
        Ok(info) => info,
        Err(InfoError::NotInPath(program)) => {
            left_out(format!("no `{program}` in PATH; `scripts/setup --tests` installs it"));
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let count = info.parameters.len();
    assert!(count > least, "only {count} parameters of {id} were read");
    let found = differences_of_transport(&transport, &info);
    assert!(found.is_empty(), "configs/transports/{id}.toml: {found:#?}");
    for row in transport.rows(id) {
        let is_printed = info.parameters.contains_key(&row.name);
        let says_so = row.verified == Some(Verified::Printed);
        assert_eq!(is_printed, says_so, "configs/transports/{id}.toml: `{}`", row.name);
    }
}

fn ucx_says_what_is_described() {
    assert_transport_described("ucx", 300);
}

fn libfabric_says_what_is_described() {
    assert_transport_described("libfabric", 80);
}

fn mpich_5_0_says_what_is_described() {
    brought("mpich-5.0", "mpiexec", 300);
}

kilter_tests::cases![
    openmpi_4_1_says_what_is_described,
    mpich_4_0_says_what_is_described,
    openmpi_5_0_says_what_is_described,
    intelmpi_2021_says_what_is_described,
    mpich_4_3_says_what_is_described,
    mpich_5_0_says_what_is_described,
    the_library_says_what_it_has_by_itself,
    ucx_says_what_is_described,
    libfabric_says_what_is_described,
];
