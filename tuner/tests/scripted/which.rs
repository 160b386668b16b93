//! `kilter which` on scripted libraries: forced and default choices, settings that nobody heeds, and what cannot be told.

use kilter_which::Cell;
use kilter_which::answer::{Decision, Kind};
use kilter_which::decide::in_words;

use super::*;

/// The only cell of `reduce@4096`, under further arguments.
fn which(library: ScriptedLibrary, arguments: &[&str]) -> Cell {
    let (_directory, site) = site(library);
    which_at(&site, arguments)
}

fn which_at(site: &Site, arguments: &[&str]) -> Cell {
    let (mut cells, _) = site.which(&[&["reduce@4096"], arguments].concat()).unwrap();
    assert_eq!(cells.len(), 1);
    cells.remove(0)
}

fn algorithms(cell: &Cell) -> Vec<&str> {
    cell.algorithms.iter().map(|one| one.name.as_str()).collect()
}

#[test]
fn a_default_choice_is_named_and_nobody_elses() {
    let cell = which(ScriptedLibrary::new().own_choice(2), &[]);
    assert_eq!(algorithms(&cell), ["two"]);
    assert_eq!(cell.algorithms[0].setting.as_deref(), Some("reduce_algorithm=2"));
    assert_eq!(cell.component.as_deref(), Some("tuned"));
    let kinds: Vec<Kind> = cell.known.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [Kind::CallPath, Kind::Messages]);
    let function = Some("ompi_coll_tuned_reduce_intra_dec_fixed".to_owned());
    assert_eq!(cell.decided, Decision::Default { function });
    assert!(cell.not_followed.is_empty(), "{:?}", cell.not_followed);
}

#[test]
fn a_parameter_is_named_with_its_place() {
    let cell = which(ScriptedLibrary::new().own_choice(2), &["--mca", "reduce_algorithm=3"]);
    assert_eq!(algorithms(&cell), ["three"]);
    assert_eq!(
        in_words(&cell.decided),
        "`reduce_algorithm=3`, set by `--mca reduce_algorithm=3`"
    );
}

/// The default is what the parameter asks for, and all the same the parameter is not heard.
#[test]
fn a_parameter_that_nobody_heeds_is_not_followed() {
    let library = ScriptedLibrary::new().own_choice(3).ignores("reduce_algorithm");
    let cell = which(library, &["--mca", "reduce_algorithm=3"]);
    assert!(matches!(cell.decided, Decision::Default { .. }), "{:?}", cell.decided);
    assert_eq!(cell.not_followed.len(), 1, "{:?}", cell.not_followed);
}

#[test]
fn a_rules_file_is_named_with_its_line_and_wins_over_a_parameter() {
    let (directory, site) = site(ScriptedLibrary::new().own_choice(2));
    let rules = directory.path().join("rules.conf");
    std::fs::write(&rules, "1\n11 # reduce\n1\n0\n2\n0 0 0 0\n1024 1 0 0\n").unwrap();
    let named = format!("coll_tuned_dynamic_rules_filename={}", rules.display());
    let arguments = ["--mca", "coll_tuned_use_dynamic_rules=1", "--mca", &named];
    let cell = which_at(&site, &arguments);
    assert_eq!(algorithms(&cell), ["one"], "{cell:#?}");
    let expected = format!("the rule `1024 1 0 0` of {}:7", rules.display());
    assert_eq!(in_words(&cell.decided), expected);
    // Below 1024 bytes the file leaves the choice to the library.
    let (cells, _) = site.which(&[&["reduce@8"], arguments.as_slice()].concat()).unwrap();
    assert_eq!(algorithms(&cells[0]), ["two"]);
    assert!(matches!(cells[0].decided, Decision::Default { .. }));
}

#[test]
fn code_that_no_setting_names_is_named_by_its_function() {
    let cell = which(ScriptedLibrary::new().own_choice(9), &[]);
    assert_eq!(algorithms(&cell), ["ompi_coll_base_reduce_9"]);
    assert_eq!(cell.algorithms[0].setting, None);
}

#[test]
fn a_library_without_counters_is_known_by_its_functions() {
    let cell = which(ScriptedLibrary::choosing_at_start().own_choice(2), &[]);
    assert_eq!(algorithms(&cell).len(), 1, "{cell:#?}");
    let kinds: Vec<Kind> = cell.known.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [Kind::CallPath], "{cell:#?}");
}

#[test]
fn a_variable_of_the_start_is_named_unless_it_leaves_the_choice_to_the_library() {
    let (_directory, site) = site(ScriptedLibrary::choosing_at_start().own_choice(2));
    let cell = which_at(&site, &["--env", "REDUCE_ALGORITHM=1"]);
    assert_eq!(algorithms(&cell), ["one"], "{cell:#?}");
    assert_eq!(
        in_words(&cell.decided),
        "`REDUCE_ALGORITHM=1`, set by `--env REDUCE_ALGORITHM=1`"
    );
    let cell = which_at(&site, &["--env", "REDUCE_ALGORITHM=0"]);
    assert_eq!(algorithms(&cell), ["two"], "{cell:#?}");
    assert!(matches!(cell.decided, Decision::Default { .. }), "{cell:#?}");
}

#[test]
fn several_calls_share_their_jobs() {
    let (_directory, site) = site(ScriptedLibrary::new().own_choice(2));
    let one = site.which(&["reduce@4096"]).unwrap();
    let many = site.which(&["reduce@1..4KiB:x4", "bcast@8", "allreduce@64"]).unwrap();
    assert_eq!((many.0.len(), many.1), (9, one.1));
    // On two ranks both are a volume of two bytes.
    let (same, _) = site.which(&["gather@1", "gather@2"]).unwrap();
    assert_eq!(same.len(), 2);
}

/// A component that chooses another one by its file, where nothing takes it out.
fn with_components() -> ScriptedLibrary {
    ScriptedLibrary::new()
        .own_choice(2)
        .setting("gate", "0", &["1"])
        .admits_algorithms(|settings| settings.value("gate") == "1")
        .described(super::components::COMPONENTS)
}

/// The cell of a broadcast of 4 KiB on two hosts, where the file of components has this text.
fn handed_on(text: &str, arguments: &[&str]) -> (String, Cell) {
    let (directory, site) = site(with_components());
    let (hosts, file) = (directory.path().join("hosts"), directory.path().join("han.conf"));
    std::fs::write(&hosts, "host0\nhost1\n").unwrap();
    std::fs::write(&file, text).unwrap();
    let named = format!("components_filename={}", file.display());
    let hosts = hosts.display().to_string();
    let own = ["bcast@4096", "--hostfile", &hosts, "--mca", &named];
    let (mut cells, _) = site.which(&[&own, arguments].concat()).unwrap();
    (file.display().to_string(), cells.remove(0))
}

const HANDS_ON: &str = "1\n7 # bcast\n1\n2 # level\n1\n1 # ranks and more\n2\n0 han\n4096 tuned\n";
const READ: [&str; 2] = ["--mca", "use_components=1"];

#[test]
fn a_file_that_chooses_the_component_is_named_with_its_line() {
    let (file, cell) = handed_on(HANDS_ON, &READ);
    assert_eq!(cell.component.as_deref(), Some("tuned"), "{cell:#?}");
    let by = cell.handed_on.as_ref().map(in_words);
    assert_eq!(by, Some(format!("the rule `4096 tuned` of {file}:9")));
    // The algorithm is the component's own affair.
    assert_eq!(algorithms(&cell), ["two"]);
    assert!(matches!(cell.decided, Decision::Default { .. }), "{:?}", cell.decided);
    assert!(cell.not_followed.is_empty(), "{:?}", cell.not_followed);
    let parameter = [READ.as_slice(), &["--mca", "bcast_algorithm=3"]].concat();
    let (_, cell) = handed_on(HANDS_ON, &parameter);
    assert!(cell.handed_on.is_some());
    assert_eq!(algorithms(&cell), ["three"]);
}

#[test]
fn a_component_that_keeps_a_call_by_its_file_is_named_as_well() {
    let (file, cell) = handed_on(&HANDS_ON.replace("4096 tuned", "8192 tuned"), &READ);
    assert_eq!(cell.component.as_deref(), Some("han"), "{cell:#?}");
    let by = cell.handed_on.as_ref().map(in_words);
    assert_eq!(by, Some(format!("the rule `0 han` of {file}:8")));
}

#[test]
fn a_file_of_components_that_is_not_read_was_not_followed() {
    for (text, arguments, why) in [
        (HANDS_ON, &["--mca", "use_components=0"][..], "`use_components` is `0`"),
        ("1\n7\n1\n2\n1\n1\n1\n0 tunde\n", &READ, "`tunde` is no component"),
        // A gate takes the component out that reads the file.
        (
            &HANDS_ON.replace("4096 tuned", "4096 han"),
            &["--mca", "use_components=1", "--mca", "gate=1"],
            "component tuned carried the call out",
        ),
    ] {
        let (_, cell) = handed_on(text, arguments);
        let because: Vec<&str> = cell.not_followed.iter().map(|one| one.because.as_str()).collect();
        assert!(because.len() == 1 && because[0].contains(why), "{because:?}");
        assert_eq!(cell.handed_on, None);
    }
}
