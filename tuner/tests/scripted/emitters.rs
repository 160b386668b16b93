//! Each form of files once through the loop: written, read back as the library reads it, proven. Open MPI's is that of all other scenarios,
//! and a selection file of MPICH's needs the library itself.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

/// The table `launcher` of a library whose parameters are variables.
const VARIABLES: &str =
    "parameter = [\"-genv\", \"{name}\", \"{value}\"]\nenvironment = [\"-genv\", \"{name}\", \"{value}\"]";

/// A description of a library with another emitter and launcher, and `NAME` as its one parameter.
fn described(emitter: &str, launcher: &str, name: &str) -> ScriptedLibrary {
    described_with(emitter, launcher, name, "")
}

/// The same with `further` tables.
fn described_with(emitter: &str, launcher: &str, name: &str, further: &str) -> ScriptedLibrary {
    let description = format!(
        "id = \"scripted-3\"\nname = \"Scripted MPI\"\ndetect = [\"Scripted MPI\"]\nreports = \"Scripted MPI v1.\"\n\
         builds = \"scripted-{{major}}.{{minor}}\"\nemitter = \"{emitter}\"\n\
         [launcher]\nranks_flag = \"-n\"\nhostfile_flag = \"-f\"\n{launcher}\n\
         [transports]\none_host = [\"memory\"]\nseveral_hosts = [\"net\"]\n[switching]\n{further}\n"
    );
    let name = name.to_owned();
    let parameter = name.clone();
    let is_mended = move |call: &Call<'_>| call.is(&parameter, "16");
    let is_slow = move |call: &Call<'_>| call.bytes == 4096 && !is_mended(call);
    ScriptedLibrary::by(&description)
        .setting(&name, "0", &["1", "16"])
        .cost(
            "reduce",
            move |call, usual| if is_slow(call) { 4.0 * usual } else { usual },
        )
        .cost(
            "bcast",
            |call, usual| if call.bytes == 4096 { 4.0 * usual } else { usual },
        )
        .wrong_data(|call| call.item.starts_with("reduce.as_"))
        .row("bcast.binomial", |_, usual| 0.5 * usual)
}

/// A setting of the launch and a selection for the drop-in, in these files.
fn assert_both_are_deployed(library: ScriptedLibrary, name: &str, file: &str, line: &str) {
    let (directory, site) = site(library);
    let run = tune_at(&site, "--guidelines GL8,GL10 --sizes 1024,4096 --goal smallest");
    assert_eq!(
        changes(&run),
        [format!("{name}=16"), "MPI_Bcast at 4 KiB=bcast.binomial".to_owned()],
        "{:#?}",
        run.report.warnings
    );
    assert!(is_mended(&run, SLOW) && is_mended(&run, "GL10 bcast 4096"));
    let text = std::fs::read_to_string(directory.path().join("out/emit").join(file)).unwrap();
    assert!(text.lines().any(|one| one == line), "{text}");
    // The file alone carries it.
    let launch = &run.report.provenance.launch_after;
    assert!(launch.contains("kilter-profile.json"), "{launch}");
}

#[test]
fn mpich_has_it_from_its_environment() {
    let name = "MPIR_CVAR_X";
    assert_both_are_deployed(
        described("mpich", VARIABLES, name),
        name,
        "kilter.env",
        "MPIR_CVAR_X=16",
    );
}

#[test]
fn mvapich2_has_it_from_its_file() {
    let launcher = "parameter = [\"{name}={value}\"]\nenvironment = [\"{name}={value}\"]";
    let library = described("mvapich2", launcher, "MV2_X");
    assert_both_are_deployed(library, "MV2_X", "mvapich2.conf", "MV2_X = 16");
}

#[test]
fn a_library_of_variables_alone_has_it_from_its_environment() {
    assert_both_are_deployed(described("variables", VARIABLES, "I_X"), "I_X", "kilter.env", "I_X=16");
}

/// A library that tunes itself is measured without that. Files that deploy something keep it off, and leave it as the site has it.
#[test]
fn the_state_of_the_measurement_goes_with_what_is_deployed() {
    let tuned = |in_files: bool, options: &str| {
        let measuring = format!(
            "[measuring]\nenvironment = {{ I_TUNER = \"0\" }}\nin_files = {in_files}\nbecause = \"it tunes itself\""
        );
        let (directory, site) = site(described_with("variables", VARIABLES, "I_X", &measuring));
        let run = tune_at(
            &site,
            format!("--guidelines GL8 --sizes 1024,4096 {options}").trim_end(),
        );
        assert_eq!(changes(&run), ["I_X=16"]);
        let emitted = |name: &str| std::fs::read_to_string(directory.path().join("out/emit").join(name)).unwrap();
        let provenance = &run.report.provenance;
        let launches = [&provenance.launch_before, &provenance.launch_after].map(|launch| {
            let words: Vec<&str> = launch.split_whitespace().collect();
            let place = words.iter().position(|word| *word == "I_TUNER").unwrap();
            (words[place + 1].to_owned(), words[place + 2..].contains(&"I_TUNER"))
        });
        (
            launches,
            emitted("kilter.env").lines().any(|line| line.starts_with("I_TUNER=")),
            emitted("README.txt").contains("it tunes itself"),
        )
    };
    let both = |value: &str| [(value.to_owned(), false), (value.to_owned(), false)];
    assert_eq!(tuned(true, ""), (both("0"), true, true));
    assert_eq!(tuned(false, ""), (both("0"), false, false));
    assert_eq!(tuned(true, "--env I_TUNER=1"), (both("1"), false, false));
}

/// Open MPI's list of parameter files is divided by commas, which no path can quote.
#[test]
fn a_directory_with_a_comma_is_refused_before_the_first_launch() {
    let directory = directory();
    let below = directory.path().join("a,b");
    let launched = Rc::new(Cell::new(false));
    let launches = Rc::clone(&launched);
    let library = ScriptedLibrary::new().cost("reduce", move |_, usual| {
        launches.set(true);
        usual
    });
    let site = Site::new(&below, library).unwrap();
    let arguments: Vec<&str> = REDUCE.split(' ').collect();
    let message = site.tune(&arguments).unwrap_err().to_string();
    let shown = below.join("out/emit").display().to_string();
    assert!(
        message.starts_with(&format!("--out: the files would lie in `{shown}`, and `,` divides")),
        "{message}"
    );
    assert!(message.ends_with("give an --out without `,` in its path"), "{message}");
    assert!(!launched.get());
}

/// Variables are no list of files.
#[test]
fn a_directory_with_a_comma_holds_files_of_a_library_that_has_no_list_of_them() {
    let directory = directory();
    let library = described("mpich", VARIABLES, "MPIR_CVAR_X");
    let site = Site::new(&directory.path().join("a,b"), library).unwrap();
    assert_eq!(changes(&tune_at(&site, REDUCE)), ["MPIR_CVAR_X=16"]);
}

const SIMULATOR: &str = "parameter = [\"--cfg={name}:{value}\"]\nenvironment = []\n\
                         platform = [\"-platform\", \"{platform}\", \"-hostfile\", \"{hostfile}\"]";

/// Times are exact: one launch decides, and nothing of Kilter's can be deployed.
#[test]
fn a_simulator_has_it_from_arguments_and_one_launch_decides() {
    let library = described("smpi", SIMULATOR, "smpi/x").noise(kilter_bench::launch::scripted::Noise::none());
    let (directory, site) = site(library);
    let run = tune_at(&site, "--guidelines GL8,GL10 --sizes 1024,4096 --platform eth-32x1");
    assert_eq!(changes(&run), ["smpi/x=16"]);
    assert!(is_mended(&run, SLOW));
    assert_eq!(run.report.provenance.launches, 1);
    assert!(!unfixed(&run, "GL10 bcast 4096").is_empty());
    let text = std::fs::read_to_string(directory.path().join("out/emit/smpirun.args")).unwrap();
    assert!(text.lines().any(|one| one == "--cfg=smpi/x:16"), "{text}");
}
