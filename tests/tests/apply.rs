//! `kilter apply` and `kilter rollback` with the real library: what is installed is what it reads and does, and what is taken back
//! is gone. What an application sends is counted by Open MPI's own monitoring, so nothing here depends on time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kilter_emit::digest::sha256;
use kilter_emit::emitters;
use kilter_emit::manifest::{Carries, Manifest, SCHEMA, StagedFile, TunedLibrary, TunedUnder};
use kilter_emit::rules::{Choice, Rules};
use kilter_tests::shared::made_once;
use kilter_tests::{left_out, mpicc, preloaded, program, run};

/// Ten broadcasts of 4096 bytes, and ten reductions of 1024.
const APPLICATION: &str = r"
#include <mpi.h>
static double in[128], out[128];
static char data[4096];
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++) {
        MPI_Bcast(data, sizeof data, MPI_BYTE, 0, MPI_COMM_WORLD);
        MPI_Allreduce(in, out, sizeof in, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
";

/// [`APPLICATION`], compiled once.
fn application() -> PathBuf {
    made_once("apply::application", "application", |application| {
        let source = application.with_extension("c");
        fs::write(&source, APPLICATION).unwrap();
        mpicc(&[text(&source), "-o", text(application)]);
    })
}

/// The user's own parameter file before anything is applied.
const MINE: &str = "# mine\nbtl_base_warn_component_unused = 0";

/// A user with a home directory.
struct User {
    directory: tempfile::TempDir,
}

impl User {
    fn new() -> User {
        let user = User {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(user.home().join(".openmpi")).unwrap();
        fs::write(user.parameters(), MINE).unwrap();
        user
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn home(&self) -> PathBuf {
        self.path("home")
    }

    fn parameters(&self) -> PathBuf {
        self.home().join(".openmpi/mca-params.conf")
    }

    /// A command of this user's, ended when it takes too long.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.arg("60").args(words).env("HOME", self.home());
        for (name, _) in std::env::vars() {
            if name.starts_with("OMPI_MCA_") || name.starts_with("KILTER_") || name == "LD_PRELOAD" {
                command.env_remove(name);
            }
        }
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
        command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }

    fn kilter(&self, words: &[&str], allowed: i32) -> Output {
        let kilter = program("kilter");
        run(&mut self.command(&[&[text(&kilter)], words].concat()), &[allowed])
    }

    /// Value and source of a parameter, as the library reads it; after `before`, commands of a shell.
    fn reads(&self, before: &str, parameter: &str) -> (String, String) {
        let script = format!("{before}\nexec ompi_info --all --level 9 --parsable");
        let output = run(&mut self.command(&["sh", "-euc", &script]), &[0]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let field = |field: &str| {
            let key = format!(":param:{parameter}:{field}:");
            let line = said.lines().find_map(|line| line.split_once(&key));
            line.unwrap_or_else(|| panic!("no {key} in what ompi_info says"))
                .1
                .to_owned()
        };
        (field("value"), field("source"))
    }

    /// To whom rank 0 of four sends.
    fn peers_of_rank_0(&self) -> BTreeSet<u32> {
        let application = application();
        // Each rank writes a file of its own: on one standard output the ranks' lines are torn apart by each other.
        let counts = self.path("counts");
        let monitoring: &[&str] = &[
            "--mca",
            "pml_monitoring_enable",
            "2",
            "--mca",
            "pml_monitoring_enable_output",
            "3",
            "--mca",
            "pml_monitoring_filename",
            text(&counts),
        ];
        let start = ["mpirun", "--oversubscribe", "-np", "4"];
        run(
            &mut self.command(&[&start[..], monitoring, &[text(&application)]].concat()),
            &[0],
        );
        let of_rank_0 = self.path("counts.0.prof");
        let said = fs::read_to_string(&of_rank_0).unwrap();
        fs::remove_file(of_rank_0).unwrap();
        // The allreduce sends to 1 and 2 as well, and so hides nothing.
        let sent = said.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let to_peer = fields.len() > 3 && fields[0] == "I" && fields[1] == "0";
            to_peer.then(|| fields[2].parse().unwrap())
        });
        sent.collect()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Every file below, with its content.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(below).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if !path.components().any(|part| part.as_os_str() == "state") {
                all.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

/// A staging directory with an eager limit and a rule: broadcasts among four ranks are linear.
fn stage(directory: &Path) {
    fs::create_dir_all(directory).unwrap();
    let mut rules = Rules::default();
    let linear = Choice {
        algorithm: 1,
        fan: 0,
        segment_bytes: 0,
        requests: None,
    };
    rules.add(7, 4, (0, u64::MAX), linear);
    fs::write(directory.join("openmpi-coll-rules.conf"), rules.to_text()).unwrap();
    let parameters = format!(
        "btl_vader_eager_limit = 32768\ncoll_tuned_use_dynamic_rules = 1\n\
         coll_tuned_dynamic_rules_filename = {}/openmpi-coll-rules.conf\n",
        directory.display()
    );
    fs::write(directory.join("openmpi-mca-params.conf"), parameters).unwrap();
    let file = |name: &str, carries| StagedFile {
        name: name.to_owned(),
        carries,
        sha256: sha256(&fs::read(directory.join(name)).unwrap()),
    };
    let manifest = Manifest {
        schema: SCHEMA,
        kilter: "0.1.0".to_owned(),
        directory: directory.display().to_string(),
        library: TunedLibrary {
            id: "openmpi-4.1".to_owned(),
            name: "Open MPI".to_owned(),
            version: "4.1.4".to_owned(),
            site_file: emitters::site_file("openmpi"),
        },
        tuned_under: TunedUnder {
            ranks: 4,
            ..TunedUnder::default()
        },
        files: vec![
            file("openmpi-coll-rules.conf", Carries::Rules),
            file("openmpi-mca-params.conf", Carries::Parameters),
        ],
    };
    fs::write(directory.join("manifest.json"), manifest.to_text().unwrap()).unwrap();
}

fn parameters_and_rules_take_effect_and_rollback_restores_the_bytes() {
    let user = User::new();
    let staging = user.path("emit");
    stage(&staging);
    let before = files(&user.home());
    assert_eq!(user.reads("", "btl_vader_eager_limit").0, "4096");
    let tree = user.peers_of_rank_0();
    assert_eq!(tree, [1, 2].into(), "the library's own broadcast is a tree");

    let shown = user.kilter(&["apply", text(&staging), "--dry-run"], 0).stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(
        shown.contains("\n+btl_vader_eager_limit = 32768\n")
            && shown.contains(&format!("+++ {}\n", user.parameters().display())),
        "{shown}"
    );
    let refused = user.kilter(&["apply", text(&staging)], 2).stderr;
    assert!(String::from_utf8_lossy(&refused).contains("--yes"), "{refused:?}");
    assert_eq!(files(&user.home()), before);

    user.kilter(&["apply", text(&staging), "--user", "--yes"], 0);
    // Nothing of what is installed needs what was staged.
    fs::remove_dir_all(&staging).unwrap();
    let (value, source) = user.reads("", "btl_vader_eager_limit");
    assert_eq!(value, "32768");
    assert!(source.contains(text(&user.parameters())), "{source}");
    let (rules, _) = user.reads("", "coll_tuned_dynamic_rules_filename");
    assert_eq!(
        rules,
        text(
            &user
                .home()
                .join(".local/share/kilter/openmpi-4.1/openmpi-coll-rules.conf")
        )
    );
    assert_eq!(
        user.reads("", "btl_base_warn_component_unused").0,
        "0",
        "the user's own line"
    );
    assert_eq!(
        user.peers_of_rank_0(),
        [1, 2, 3].into(),
        "the rule's broadcast is linear"
    );

    user.kilter(&["rollback", "--yes"], 0);
    assert_eq!(files(&user.home()), before);
    assert_eq!(user.reads("", "btl_vader_eager_limit").0, "4096");
    assert_eq!(user.peers_of_rank_0(), tree);
    let nothing = user.kilter(&["rollback", "--yes"], 2).stderr;
    assert!(
        String::from_utf8_lossy(&nothing).contains("nothing to take back"),
        "{nothing:?}"
    );
}

/// The tuning fences its own communicator size, which would give the library's tree back to all others.
fn rules_that_the_user_had_stay_in_force_where_the_tuning_sets_none() {
    let user = User::new();
    let staging = user.path("emit");
    stage(&staging);
    let mut ours = Rules::default();
    let chain = Choice {
        algorithm: 2,
        ..Choice::default()
    };
    ours.add(7, 3, (0, u64::MAX), chain);
    let rules = staging.join("openmpi-coll-rules.conf");
    let before = sha256(&fs::read(&rules).unwrap());
    fs::write(&rules, ours.to_text()).unwrap();
    // A changed staged file is refused until the manifest has its new digest.
    let said = user.kilter(&["apply", text(&staging), "--yes"], 2).stderr;
    let (said, now) = (String::from_utf8_lossy(&said), sha256(ours.to_text().as_bytes()));
    assert!(
        said.contains(&now) && said.contains("put this into `manifest.json`"),
        "{said}"
    );
    let manifest = staging.join("manifest.json");
    let listed = fs::read_to_string(&manifest).unwrap().replace(&before, &now);
    fs::write(&manifest, listed).unwrap();
    let theirs = user.path("rules.conf");
    fs::write(
        &theirs,
        "1 # collective\n7 # bcast\n1\n0 # ranks and more\n1\n0 1 0 0 # linear\n",
    )
    .unwrap();
    let mine = format!(
        "coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = {}\n",
        text(&theirs)
    );
    fs::write(user.parameters(), &mine).unwrap();
    let before = files(&user.home());
    let said = user.kilter(&["apply", text(&staging), "--yes"], 0).stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("are kept where the tuning sets none"), "{said}");
    let installed = user
        .home()
        .join(".local/share/kilter/openmpi-4.1/openmpi-coll-rules.conf");
    assert_eq!(user.reads("", "coll_tuned_dynamic_rules_filename").0, text(&installed));
    assert_eq!(
        user.peers_of_rank_0(),
        [1, 2, 3].into(),
        "linear, as the user's rules say"
    );
    user.kilter(&["rollback", "--yes"], 0);
    assert_eq!(files(&user.home()), before);
}

fn a_line_of_the_users_is_named_and_wins_until_it_may_be_put_aside() {
    let user = User::new();
    let staging = user.path("emit");
    stage(&staging);
    let mine = "# mine\n\nbtl_vader_eager_limit = 8192\n";
    fs::write(user.parameters(), mine).unwrap();
    let before = files(&user.home());
    let refused = user.kilter(&["apply", text(&staging), "--yes"], 2).stderr;
    let refused = String::from_utf8_lossy(&refused).into_owned();
    let file = user.parameters().display().to_string();
    for part in [&*file, "line 3", "8192", "32768", "--override"] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
    assert_eq!(files(&user.home()), before);
    user.kilter(&["apply", text(&staging), "--yes", "--override"], 0);
    assert_eq!(user.reads("", "btl_vader_eager_limit").0, "32768");
    // Lines that the user adds after `apply` must survive `rollback`.
    let applied = fs::read_to_string(user.parameters()).unwrap();
    fs::write(user.parameters(), applied + "mpi_yield_when_idle = 1\n").unwrap();
    user.kilter(&["rollback", "--yes"], 0);
    assert_eq!(
        fs::read_to_string(user.parameters()).unwrap(),
        format!("{mine}mpi_yield_when_idle = 1\n")
    );
    assert_eq!(user.reads("", "btl_vader_eager_limit").0, "8192");
}

fn below_a_prefix_the_environment_carries_all_of_it() {
    let user = User::new();
    let staging = user.path("emit");
    stage(&staging);
    let prefix = user.path("software");
    user.kilter(&["apply", text(&staging), "--prefix", text(&prefix), "--yes"], 0);
    assert_eq!(fs::read_to_string(user.parameters()).unwrap(), MINE);
    let fragment = prefix.join("share/kilter/openmpi-4.1/kilter.sh");
    let (value, source) = user.reads(&format!(". {}", text(&fragment)), "btl_vader_eager_limit");
    assert_eq!((&*value, &*source), ("32768", "environment"));
    user.kilter(&["rollback", "--prefix", text(&prefix), "--yes"], 0);
    assert!(!prefix.join("share").exists());
}

fn for_everybody_the_librarys_own_site_file_is_what_would_change() {
    let user = User::new();
    let staging = user.path("emit");
    stage(&staging);
    let directory = run(
        &mut user.command(&["ompi_info", "--path", "sysconfdir", "--parsable"]),
        &[0],
    )
    .stdout;
    let directory = String::from_utf8(directory).unwrap();
    let site = format!(
        "{}/openmpi-mca-params.conf",
        directory.trim().trim_start_matches("path:sysconfdir:")
    );
    let before = fs::read(&site).unwrap_or_default();
    let shown = user
        .kilter(&["apply", text(&staging), "--system", "--dry-run"], 0)
        .stdout;
    let shown = String::from_utf8(shown).unwrap();
    for part in [
        &format!("+++ {site}\n"),
        "+++ /usr/local/share/kilter/openmpi-4.1/openmpi-coll-rules.conf\n",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert_eq!(fs::read(&site).unwrap_or_default(), before);
}

/// `apply` can install below another root, such as an image of a node. The library reads those files once that directory is its root; here a
/// mount namespace puts the two directories in place.
fn an_image_is_installed_for_everybody_and_taken_back() {
    let user = User::new();
    let (staging, image) = (user.path("emit"), user.path("image"));
    stage(&staging);
    let directory = run(
        &mut user.command(&["ompi_info", "--path", "sysconfdir", "--parsable"]),
        &[0],
    )
    .stdout;
    let directory = String::from_utf8(directory).unwrap();
    let directory = directory.trim().trim_start_matches("path:sysconfdir:");
    let below = |path: &str| image.join(path.trim_start_matches('/'));
    let site = below(directory).join("openmpi-mca-params.conf");
    fs::create_dir_all(below(directory)).unwrap();
    fs::write(&site, MINE).unwrap();
    let overrides = below(directory).join("openmpi-mca-params-override.conf");
    fs::write(&overrides, "coll_tuned_use_dynamic_rules = 0\n").unwrap();
    let before = files(&image);
    let everybody = ["--system", "--root", text(&image), "--yes"];
    let warned = user
        .kilter(&[&["apply", text(&staging)], &everybody[..]].concat(), 0)
        .stderr;
    let warned = String::from_utf8_lossy(&warned).into_owned();
    assert!(
        warned.contains("openmpi-mca-params-override.conf` sets `coll_tuned_use_dynamic_rules = 0`"),
        "{warned}"
    );
    fs::remove_file(&overrides).unwrap();
    let installed = fs::read_to_string(&site).unwrap();
    assert!(
        installed.starts_with(MINE)
            && installed.contains("= /usr/local/share/kilter/openmpi-4.1/openmpi-coll-rules.conf"),
        "{installed}"
    );
    let share = "/usr/local/share/kilter";
    assert!(below(share).join("openmpi-4.1/openmpi-coll-rules.conf").is_file());
    // As the image's user would see it.
    let script = format!(
        "mkdir -p /usr/local/share; mount -t tmpfs none /usr/local/share; mkdir {share}; \
         mount --bind {} {share}; mount --bind {} {directory}; exec ompi_info --all --level 9 --parsable",
        text(&below(share)),
        text(&below(directory))
    );
    let output = user
        .command(&["unshare", "--mount", "sh", "-euc", &script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        for part in [
            ":param:btl_vader_eager_limit:value:32768",
            ":param:coll_tuned_dynamic_rules_filename:value:/usr/local/share/kilter/openmpi-4.1/openmpi-coll-rules.conf",
            ":param:btl_base_warn_component_unused:value:0",
        ] {
            assert!(said.contains(part), "{part}");
        }
    } else {
        let why = String::from_utf8_lossy(&output.stderr);
        left_out(format!("no mount namespace here: {}", why.trim()));
    }
    fs::write(&overrides, "coll_tuned_use_dynamic_rules = 0\n").unwrap();
    user.kilter(&[&["rollback"], &everybody[..]].concat(), 0);
    // The journal stays.
    let mut after = files(&image);
    after.retain(|path, _| !path.starts_with(below("/var/lib/kilter")));
    assert_eq!(after, before);
}

fn settings_of_another_version_are_installed_only_when_asked_for() {
    let user = User::new();
    let staging = user.path("emit");
    stage(&staging);
    let manifest = staging.join("manifest.json");
    let said = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, said.replace("\"4.1.4\"", "\"4.1.3\"")).unwrap();
    let before = files(&user.home());
    let refused = user.kilter(&["apply", text(&staging), "--yes"], 2).stderr;
    let refused = String::from_utf8_lossy(&refused).into_owned();
    for part in ["for Open MPI 4.1.3", "belongs to Open MPI 4.1.4", "--other-version"] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
    let nobody = ["apply", text(&staging), "--yes", "--mpirun", "/nonexistent/mpirun"];
    let refused = user.kilter(&nobody, 2).stderr;
    assert!(
        String::from_utf8_lossy(&refused).contains("cannot find out if"),
        "{refused:?}"
    );
    assert_eq!(files(&user.home()), before);
    user.kilter(&["apply", text(&staging), "--yes", "--other-version"], 0);
    assert_eq!(user.reads("", "btl_vader_eager_limit").0, "32768");
}

/// The library's allreduce is slow while `tune` measures, so that one of Kilter's rows is deployed whatever this machine is like.
fn what_tune_emits_runs_in_an_application_from_where_it_was_installed() {
    let user = User::new();
    let delay = preloaded::library("delay", &[]);
    let out = user.path("out");
    let output = run(
        preloaded::tune_slow_allreduce(&out, &delay, "algorithms").args(["-n", "2", "--fixed"]),
        &[0, 1],
    );
    let staging = out.join("emit");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        staging.join("kilter-profile.json").exists(),
        "nothing was deployed: {said}"
    );
    let manifest = Manifest::parse(&fs::read_to_string(staging.join("manifest.json")).unwrap()).unwrap();
    assert_eq!((&*manifest.library.id, manifest.tuned_under.ranks), ("openmpi-4.1", 2));
    assert!(
        manifest
            .tuned_under
            .device
            .contains_key("btl_vader_single_copy_mechanism"),
        "{manifest:?}"
    );
    assert!(manifest.tuned_under.environment["LD_PRELOAD"].ends_with("delay.so"));
    for name in [
        "kilter.sh",
        "modulefile.tcl",
        "modulefile.lua",
        "slurm-prolog.sh",
        "kilter.env",
        "README.txt",
    ] {
        assert!(
            manifest.files.iter().any(|file| file.name == name),
            "{name} in {manifest:?}"
        );
        if name != "README.txt" {
            let said = fs::read_to_string(staging.join(name)).unwrap();
            assert!(
                said.contains("Open MPI 4.1.") && said.contains("single_copy"),
                "{name}: {said}"
            );
        }
    }

    let before = files(&user.home());
    user.kilter(&["apply", text(&staging), "--yes"], 0);
    fs::remove_dir_all(&out).unwrap();
    let fragment = user.home().join(".local/share/kilter/openmpi-4.1/kilter.sh");
    let said = |asked: &str| {
        let script = format!(
            "export KILTER_LOG=1\n{asked}\n. {}\nexec mpirun -np 2 --oversubscribe {}",
            text(&fragment),
            text(&application())
        );
        let output = run(&mut user.command(&["sh", "-euc", &script]), &[0]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(
        !said("").contains("allreduce."),
        "a profile that nothing loads changes nothing"
    );
    let ran = said("KILTER_PRELOAD=1");
    assert!(ran.contains("allreduce.") && !ran.contains("warning"), "{ran}");
    user.kilter(&["rollback", "--yes"], 0);
    assert_eq!(files(&user.home()), before);
}

kilter_tests::cases![
    parameters_and_rules_take_effect_and_rollback_restores_the_bytes,
    rules_that_the_user_had_stay_in_force_where_the_tuning_sets_none,
    a_line_of_the_users_is_named_and_wins_until_it_may_be_put_aside,
    below_a_prefix_the_environment_carries_all_of_it,
    for_everybody_the_librarys_own_site_file_is_what_would_change,
    an_image_is_installed_for_everybody_and_taken_back,
    settings_of_another_version_are_installed_only_when_asked_for,
    what_tune_emits_runs_in_an_application_from_where_it_was_installed,
];
