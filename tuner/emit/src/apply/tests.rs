//! Apply and rollback on a directory of their own.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

mod cut_off;
mod site_rules;

use super::disk;
use super::journal::{self, Journal};
use super::layout::Layout;
use super::session;
use crate::apply::staged::Staged;
use crate::digest::sha256;
use crate::manifest::{Carries, Manifest, SCHEMA, StagedFile, TunedLibrary, TunedUnder};
use crate::rules::{Choice, Rules};

const STAGING: &str = "/tmp/out/emit";
/// With a line in Latin-1, without a line end.
const SITE: &[u8] = b"# m\xfcller\nbtl = ^openib\nmtl = ^ofi";

/// A home directory with a file of the user's.
struct Home {
    directory: tempfile::TempDir,
}

/// Every path below, with mode and content; of a link, where it goes.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

impl Home {
    fn new() -> Home {
        let home = Home {
            directory: kilter_fixtures::directory(),
        };
        std::fs::create_dir(home.path(".openmpi")).unwrap();
        home.write(".openmpi/mca-params.conf", SITE);
        std::fs::set_permissions(
            home.path(".openmpi/mca-params.conf"),
            std::fs::Permissions::from_mode(0o600),
        )
        .unwrap();
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&std::fs::read(self.path(name)).unwrap()).into_owned()
    }

    fn write(&self, name: &str, content: &[u8]) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn journal(&self) -> Journal {
        Journal {
            directory: self.path("journal"),
            root: None,
            tree: None,
        }
    }

    fn layout(&self) -> Layout {
        Layout {
            share: self.path("share"),
            parameters: Some(self.path(".openmpi/mca-params.conf")),
            ..Layout::default()
        }
    }

    fn apply(&self, staged: &Staged, put_aside: bool) -> anyhow::Result<session::Prepared> {
        std::fs::create_dir_all(self.journal().directory).unwrap();
        session::apply(&self.journal(), staged, &self.layout(), put_aside)
    }

    fn rollback(&self) -> anyhow::Result<session::Prepared> {
        session::rollback(&self.journal()).map(|prepared| prepared.expect("an apply in force"))
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut open = vec![self.directory.path().to_path_buf()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path == self.journal().directory {
                    continue;
                }
                let metadata = std::fs::symlink_metadata(&path).unwrap();
                let content = if metadata.is_symlink() {
                    std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else if metadata.is_dir() {
                    open.push(path.clone());
                    Vec::new()
                } else {
                    std::fs::read(&path).unwrap()
                };
                tree.insert(path, (metadata.permissions().mode() & 0o7777, content));
            }
        }
        tree
    }
}

/// A staging directory with all kinds of files.
fn staged(limit: u64, dropin: bool) -> Staged {
    let mut rules = Rules::default();
    let choice = Choice {
        algorithm: 4,
        fan: 0,
        segment_bytes: 32768,
        requests: None,
    };
    rules.add(11, 2, (1024, 4096), choice);
    let parameters = format!(
        "# A comment.\nbtl_vader_eager_limit = {limit}\ncoll_tuned_use_dynamic_rules = 1\n\
         coll_tuned_dynamic_rules_filename = {STAGING}/openmpi-coll-rules.conf\n"
    );
    let profile = r#"{"version": 1, "library": "Open MPI 4.1.4", "plugins": ["lib/plugin.so"], "rules": []}"#;
    let environment = format!(
        "MALLOC_TRIM_THRESHOLD_=-1\nKILTER_PROFILE={STAGING}/kilter-profile.json\nLD_PRELOAD={STAGING}/lib/libkilter.so\n"
    );
    let mut files = vec![
        ("README.txt", Carries::Readme, "Read me.\n".to_owned()),
        ("kilter.sh", Carries::Form, "exit 3\n".to_owned()),
        ("openmpi-coll-rules.conf", Carries::Rules, rules.to_text()),
        ("openmpi-mca-params.conf", Carries::Parameters, parameters),
    ];
    if dropin {
        files.extend([
            ("kilter-profile.json", Carries::Profile, profile.to_owned()),
            ("kilter.env", Carries::Environment, environment),
            ("lib/libkilter.so", Carries::Library, "\u{7f}ELF\0".to_owned()),
            ("lib/plugin.so", Carries::Library, "\u{7f}ELF\0\0".to_owned()),
        ]);
    }
    let listed = files.iter().map(|(name, carries, text)| StagedFile {
        name: (*name).to_owned(),
        carries: *carries,
        sha256: sha256(text.as_bytes()),
    });
    Staged {
        directory: STAGING.into(),
        manifest: Manifest {
            schema: SCHEMA,
            kilter: "0.1.0".to_owned(),
            directory: STAGING.to_owned(),
            library: TunedLibrary {
                id: "openmpi-4.1".to_owned(),
                name: "Open MPI".to_owned(),
                version: "4.1.4".to_owned(),
                site_file: Some(crate::emitters::UNNAMED_SITE_FILE),
            },
            tuned_under: TunedUnder {
                ranks: 2,
                transports: vec!["vader".to_owned()],
                ..TunedUnder::default()
            },
            files: listed.collect(),
        },
        files: files
            .into_iter()
            .map(|(name, _, text)| (name.to_owned(), text.into_bytes()))
            .collect(),
    }
}

/// The library would ignore the whole file without a word.
#[test]
fn a_file_of_components_is_installed_if_its_library_reads_it() {
    let name = "openmpi-han-rules.conf";
    let with = |text: &str| {
        let mut staged = staged(32768, false);
        staged.manifest.files.push(StagedFile {
            name: name.to_owned(),
            carries: Carries::Components,
            sha256: sha256(text.as_bytes()),
        });
        staged.files.insert(name.to_owned(), text.as_bytes().to_vec());
        let parameters = staged.files.get_mut("openmpi-mca-params.conf").unwrap();
        parameters.extend(format!("coll_han_dynamic_rules_filename = {STAGING}/{name}\n").into_bytes());
        staged
    };
    let home = Home::new();
    let Err(error) = home.apply(&with("1 7 1 2 1 2 1 0 han\n"), false) else {
        panic!("a file that begins with two ranks is installed");
    };
    let error = format!("{error:#}");
    assert!(
        error.contains(name) && error.contains("`2` is no communicator size"),
        "{error}"
    );
    let text = "1 7 1 2 1 1 1 0 han\n";
    home.apply(&with(text), false).unwrap().carry_out(None).unwrap();
    assert_eq!(home.read(&format!("share/openmpi-4.1/{name}")), text);
    let installed = home.path(&format!("share/openmpi-4.1/{name}")).display().to_string();
    let line = format!("coll_han_dynamic_rules_filename = {installed}");
    assert!(home.read(".openmpi/mca-params.conf").lines().any(|other| other == line));
}

#[test]
fn all_is_installed_and_names_its_new_place_and_rollback_leaves_nothing() {
    let home = Home::new();
    let before = home.tree();
    home.apply(&staged(32768, true), false)
        .unwrap()
        .carry_out(None)
        .unwrap();
    let share = home.path("share/openmpi-4.1").display().to_string();
    let parameters = home.read(".openmpi/mca-params.conf");
    assert!(parameters.starts_with(&*String::from_utf8_lossy(SITE)), "{parameters}");
    for line in [
        "btl_vader_eager_limit = 32768".to_owned(),
        format!("coll_tuned_dynamic_rules_filename = {share}/openmpi-coll-rules.conf"),
    ] {
        assert!(parameters.lines().any(|other| other == line), "{line} in {parameters}");
    }
    for (file, part) in [
        (
            "openmpi-4.1/kilter.env",
            format!("KILTER_PROFILE={share}/kilter-profile.json\n"),
        ),
        ("openmpi-4.1/kilter.sh", format!("LD_PRELOAD={share}/lib/libkilter.so")),
        (
            "openmpi-4.1/slurm-prolog.sh",
            format!("LD_PRELOAD={share}/lib/libkilter.so"),
        ),
        (
            "modulefiles/kilter/openmpi-4.1",
            format!("prepend-path LD_PRELOAD \"{share}/lib/libkilter.so\"\n"),
        ),
        (
            "modulefiles/kilter/openmpi-4.1.lua",
            format!("setenv(\"KILTER_PROFILE\", \"{share}/kilter-profile.json\")\n"),
        ),
        (
            "modulefiles/kilter/openmpi-4.1.lua",
            format!("LD_PRELOAD={share}/lib/libkilter.so orted\")\n"),
        ),
    ] {
        let text = home.read(&format!("share/{file}"));
        assert!(
            text.contains(&part) && !text.contains(STAGING),
            "{part} in {file}: {text}"
        );
        // The file of parameters carries them.
        let own = text.replace("OMPI_MCA_orte_launch_agent", "");
        assert!(!own.contains("OMPI_MCA_"), "{file}: {text}");
    }
    for (path, (mode, _)) in home.tree() {
        let expected = match path.strip_prefix(home.directory.path()).unwrap().to_str().unwrap() {
            ".openmpi/mca-params.conf" => 0o600,
            name if path.is_dir() && name != ".openmpi" => 0o755,
            name if name.ends_with(".so") || name.ends_with("prolog.sh") => 0o755,
            ".openmpi" => mode,
            _ => 0o644,
        };
        assert_eq!(mode, expected, "{}", path.display());
    }
    assert!(home.apply(&staged(32768, true), false).unwrap().changes.is_empty());
    home.rollback().unwrap().carry_out(None).unwrap();
    assert_eq!(home.tree(), before);
    assert!(session::rollback(&home.journal()).unwrap().is_none());
}

#[test]
fn a_second_apply_replaces_the_first_and_each_is_taken_back() {
    let home = Home::new();
    let before = home.tree();
    home.apply(&staged(32768, true), false)
        .unwrap()
        .carry_out(None)
        .unwrap();
    let first = home.tree();
    home.apply(&staged(65536, false), false)
        .unwrap()
        .carry_out(None)
        .unwrap();
    let parameters = home.read(".openmpi/mca-params.conf");
    assert_eq!(parameters.matches("btl_vader_eager_limit").count(), 1, "{parameters}");
    assert!(
        !home.path("share/openmpi-4.1/kilter-profile.json").exists(),
        "no longer wanted"
    );
    assert!(home.path("share/openmpi-4.1/openmpi-coll-rules.conf").exists());
    home.rollback().unwrap().carry_out(None).unwrap();
    assert_eq!(home.tree(), first);
    home.rollback().unwrap().carry_out(None).unwrap();
    assert_eq!(home.tree(), before);
}

#[test]
fn a_line_of_the_users_stops_it_by_file_and_line_unless_it_may_be_put_aside() {
    let home = Home::new();
    home.write(".openmpi/mca-params.conf", b"btl = self\nbtl_vader_eager_limit=4096\n");
    let before = home.tree();
    let error = format!("{:#}", home.apply(&staged(32768, true), false).unwrap_err());
    let file = home.path(".openmpi/mca-params.conf").display().to_string();
    for part in [&*file, "line 2", "4096", "32768", "--override"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert_eq!(home.tree(), before);
    let prepared = home.apply(&staged(32768, true), true).unwrap();
    assert!(prepared.notes[0].contains("line 2"), "{:?}", prepared.notes);
    assert!(
        prepared.diff().contains("\n-btl_vader_eager_limit=4096\n"),
        "{}",
        prepared.diff()
    );
    prepared.carry_out(None).unwrap();
    assert!(
        home.read(".openmpi/mca-params.conf")
            .contains("# put aside by kilter: btl_vader_eager_limit=4096\n")
    );
    home.rollback().unwrap().carry_out(None).unwrap();
    assert_eq!(home.tree(), before);
}

#[test]
fn what_was_edited_since_is_not_lost() {
    let home = Home::new();
    home.apply(&staged(32768, true), false)
        .unwrap()
        .carry_out(None)
        .unwrap();
    let rules = "share/openmpi-4.1/openmpi-coll-rules.conf";
    home.write(rules, b"0 # mine\n");
    let parameters = home.read(".openmpi/mca-params.conf");
    home.write(".openmpi/mca-params.conf", parameters.replace("32768", "1").as_bytes());
    let edited = home.tree();
    let error = home.rollback().unwrap_err().to_string();
    assert!(
        error.contains("coll-rules.conf` was edited") && error.contains("mca-params.conf` was edited within"),
        "{error}"
    );
    assert_eq!(home.tree(), edited);
    std::fs::remove_file(home.path(rules)).unwrap();
    home.write(
        ".openmpi/mca-params.conf",
        format!("{parameters}pml = ob1\n").as_bytes(),
    );
    home.rollback().unwrap().carry_out(None).unwrap();
    let left = home.read(".openmpi/mca-params.conf");
    assert_eq!(left, format!("{}\npml = ob1\n", String::from_utf8_lossy(SITE)));
    assert!(!home.path("share").exists());
}

#[test]
fn links_are_followed_and_named() {
    let home = Home::new();
    std::fs::rename(home.path(".openmpi/mca-params.conf"), home.path("dotfile")).unwrap();
    std::os::unix::fs::symlink("../dotfile", home.path(".openmpi/mca-params.conf")).unwrap();
    let before = home.tree();
    let prepared = home.apply(&staged(32768, false), false).unwrap();
    assert!(
        prepared.diff().contains("mca-params.conf` is a link to `"),
        "{}",
        prepared.diff()
    );
    prepared.carry_out(None).unwrap();
    assert!(home.path(".openmpi/mca-params.conf").is_symlink());
    assert!(home.read("dotfile").contains("32768"));
    home.rollback().unwrap().carry_out(None).unwrap();
    assert_eq!(home.tree(), before);
    std::fs::remove_file(home.path("dotfile")).unwrap();
    let error = format!("{:#}", home.apply(&staged(1, false), false).unwrap_err());
    assert!(error.contains("link to nothing"), "{error}");
}

#[test]
fn a_file_that_changes_while_its_difference_is_shown_is_left_alone() {
    let home = Home::new();
    let prepared = home.apply(&staged(32768, true), false).unwrap();
    home.write(".openmpi/mca-params.conf", b"pml = ob1\n");
    let before = home.tree();
    let error = prepared.carry_out(None).unwrap_err().to_string();
    assert!(
        error.contains("nothing was changed") && error.contains("mca-params.conf"),
        "{error}"
    );
    assert_eq!(home.tree(), before);
}

#[test]
fn what_would_not_work_at_its_new_place_is_refused() {
    let home = Home::new();
    let refused = |staged: &Staged, layout: &Layout, part: &str| {
        let error = session::apply(&home.journal(), staged, layout, false).unwrap_err();
        assert!(format!("{error:#}").contains(part), "{error:#}");
    };
    let layout = Layout {
        share: home.path("with blank"),
        ..home.layout()
    };
    refused(&staged(1, true), &layout, "blank");
    let mut without = staged(1, true);
    without.manifest.files.retain(|file| file.name != "lib/libkilter.so");
    refused(&without, &home.layout(), "lib/libkilter.so");
    let mut broken = staged(1, true);
    broken
        .files
        .insert("openmpi-coll-rules.conf".to_owned(), b"1\n99\n".to_vec());
    refused(&broken, &home.layout(), "openmpi-coll-rules.conf");
}

#[test]
fn without_a_file_of_parameters_the_modules_carry_them() {
    let home = Home::new();
    let layout = Layout {
        share: home.path("share"),
        ..Layout::default()
    };
    let prepared = session::apply(&home.journal(), &staged(32768, false), &layout, false).unwrap();
    let made = |end: &str| {
        let change = prepared
            .changes
            .iter()
            .find(|change| change.path.ends_with(Path::new(end)));
        String::from_utf8(change.unwrap().new.clone().unwrap()).unwrap()
    };
    assert!(made("kilter/openmpi-4.1").contains("setenv OMPI_MCA_btl_vader_eager_limit \"32768\"\n"));
    assert!(made("kilter/openmpi-4.1.lua").contains("setenv(\"OMPI_MCA_btl_vader_eager_limit\", \"32768\")\n"));
}

/// Files below another root name their paths in the final system, and are found again there.
#[test]
fn a_system_below_another_root_is_installed_and_taken_back() {
    let home = Home::new();
    let before = home.tree();
    std::fs::create_dir_all(home.journal().directory).unwrap();
    let layout = Layout {
        share: "/usr/local/share/kilter".into(),
        parameters: Some("/.openmpi/mca-params.conf".into()),
        root: Some(home.directory.path().to_path_buf()),
        ..Layout::default()
    };
    let journal = Journal {
        root: layout.root.clone(),
        ..home.journal()
    };
    let apply = |dropin| session::apply(&journal, &staged(32768, dropin), &layout, false).unwrap();
    apply(true).carry_out(None).unwrap();
    let text = home.read(".openmpi/mca-params.conf");
    assert!(
        text.contains("btl = ^openib") && text.contains("btl_vader_eager_limit = 32768"),
        "{text}"
    );
    let rules = "/usr/local/share/kilter/openmpi-4.1/openmpi-coll-rules.conf";
    assert!(
        text.contains(&format!("coll_tuned_dynamic_rules_filename = {rules}")),
        "{text}"
    );
    assert!(home.path(&rules[1..]).is_file());
    assert!(
        home.path("usr/local/share/kilter/openmpi-4.1/lib/libkilter.so")
            .is_file()
    );
    assert!(apply(true).changes.is_empty(), "it is installed");
    apply(false).carry_out(None).unwrap();
    assert!(
        !home
            .path("usr/local/share/kilter/openmpi-4.1/lib/libkilter.so")
            .exists(),
        "what is no longer wanted goes"
    );
    for stored in journal::entries(&journal).unwrap() {
        let entry = std::fs::read_to_string(stored.directory.join("journal.json")).unwrap();
        let now = home.directory.path().display().to_string();
        assert!(
            entry.contains("\"/usr/local/share/kilter/") && !entry.contains(&now),
            "{entry}"
        );
    }
    for _ in 0..2 {
        let prepared = session::rollback(&journal).unwrap().expect("an apply in force");
        prepared.carry_out(None).unwrap();
    }
    assert_eq!(home.tree(), before);
}

#[test]
fn a_link_that_leads_out_of_the_root_is_refused() {
    for linked in [".openmpi/mca-params.conf", ".openmpi"] {
        let (home, outside) = (Home::new(), Home::new());
        std::fs::create_dir_all(home.journal().directory).unwrap();
        std::fs::remove_file(home.path(".openmpi/mca-params.conf")).unwrap();
        if linked == ".openmpi" {
            std::fs::remove_dir(home.path(linked)).unwrap();
        }
        std::os::unix::fs::symlink(outside.path(linked), home.path(linked)).unwrap();
        let layout = Layout {
            share: "/share".into(),
            parameters: Some("/.openmpi/mca-params.conf".into()),
            root: Some(home.directory.path().to_path_buf()),
            ..Layout::default()
        };
        let error = session::apply(&home.journal(), &staged(1, false), &layout, false).unwrap_err();
        assert!(error.to_string().contains("outside of --root"), "{linked}: {error:#}");
    }
}

#[test]
fn what_the_site_overrides_is_named() {
    let home = Home::new();
    std::fs::create_dir_all(home.journal().directory).unwrap();
    let overrides = |text: &str| {
        home.write("override.conf", text.as_bytes());
        let layout = Layout {
            overrides: Some(home.path("override.conf")),
            ..home.layout()
        };
        session::apply(&home.journal(), &staged(32768, false), &layout, false)
            .unwrap()
            .notes
    };
    assert_eq!(overrides("btl_vader_eager_limit = 32768\nbtl = ^openib\n"), [""; 0]);
    let notes = overrides("# site\nbtl_vader_eager_limit = 4096\n");
    assert_eq!(notes.len(), 1);
    assert!(
        notes[0].starts_with("warning: `") && notes[0].contains("override.conf` sets `btl_vader_eager_limit = 4096`"),
        "{notes:?}"
    );
}

#[test]
fn a_damaged_journal_takes_nothing_back() {
    let home = Home::new();
    home.apply(&staged(32768, true), false)
        .unwrap()
        .carry_out(None)
        .unwrap();
    let entry = std::fs::read_dir(home.journal().directory)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let kept = std::fs::read_dir(&entry)
        .unwrap()
        .map(|file| file.unwrap().path())
        .find(|file| file.file_name().unwrap().to_string_lossy().starts_with("old-"))
        .unwrap();
    std::fs::write(kept, "something else").unwrap();
    let applied = home.tree();
    assert!(
        home.rollback()
            .unwrap_err()
            .to_string()
            .contains("no longer what was kept")
    );
    assert_eq!(home.tree(), applied);
    std::fs::write(entry.join("journal.json"), "{").unwrap();
    assert!(home.rollback().unwrap_err().to_string().contains("journal.json"));
}

/// Writes a staging directory and gives its path.
fn written(home: &Home, staged: &Staged) -> PathBuf {
    let directory = home.path("emit");
    std::fs::create_dir_all(directory.join("lib")).unwrap();
    for (name, content) in &staged.files {
        std::fs::write(directory.join(name), content).unwrap();
    }
    std::fs::write(directory.join("manifest.json"), staged.manifest.to_text().unwrap()).unwrap();
    directory
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_staging_directory_that_others_may_have_written_is_refused() {
    let home = Home::new();
    let staged = staged(32768, true);
    let directory = written(&home, &staged);
    assert_eq!(disk::staged(&directory).unwrap().files, staged.files);
    let refused = |words: &[&str]| {
        let error = format!("{:#}", disk::staged(&directory).unwrap_err());
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let plugin = directory.join("lib/plugin.so");
    for path in [
        &plugin,
        &directory.join("lib"),
        &directory,
        &directory.join("manifest.json"),
    ] {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        set_mode(path, mode | 0o002);
        refused(&[&path.display().to_string(), "others"]);
        set_mode(path, mode);
    }
    std::fs::write(&plugin, "cut").unwrap();
    refused(&["lib/plugin.so", "SHA-256", &sha256(b"cut"), "copy the directory again"]);
}

/// Whoever may write into the tree could name any file of the system.
#[test]
fn an_entry_of_a_journal_that_others_may_have_written_or_that_leaves_its_tree_is_not_followed() {
    let home = Home::new();
    let journal = Journal {
        tree: Some(home.directory.path().to_path_buf()),
        ..home.journal()
    };
    std::fs::create_dir_all(&journal.directory).unwrap();
    let apply = || session::apply(&journal, &staged(32768, false), &home.layout(), false);
    apply().unwrap().carry_out(None).unwrap();
    let entry = journal::entries(&journal).unwrap().remove(0).directory;
    let refused = |words: &[&str]| {
        for error in [session::rollback(&journal).unwrap_err(), apply().unwrap_err()] {
            let error = format!("{error:#}");
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    };
    let file = entry.join("journal.json");
    set_mode(&file, 0o666);
    refused(&["journal.json", "is not followed", "666"]);
    set_mode(&file, 0o600);
    set_mode(&home.path("journal"), 0o777);
    refused(&["journal.json", "is not followed", "777"]);
    set_mode(&home.path("journal"), 0o755);
    let text = std::fs::read_to_string(&file).unwrap();
    let own = home.path("share").display().to_string();
    for outside in ["/etc".to_owned(), format!("{own}/../../../../../../../../etc")] {
        std::fs::write(&file, text.replacen(&own, &outside, 1)).unwrap();
        refused(&["outside of --prefix", "etc"]);
    }
    // By a link that was put there later.
    std::fs::write(&file, &text).unwrap();
    std::fs::rename(home.path("share"), home.path("moved")).unwrap();
    std::os::unix::fs::symlink("/usr", home.path("share")).unwrap();
    refused(&["outside of --prefix", "share"]);
    std::fs::remove_file(home.path("share")).unwrap();
    std::fs::rename(home.path("moved"), home.path("share")).unwrap();
    session::rollback(&journal).unwrap().unwrap().carry_out(None).unwrap();
}
