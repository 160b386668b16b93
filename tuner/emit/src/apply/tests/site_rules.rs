//! Rules that a site or a user has already stay in force where the tuning sets none.

use kilter_model::config::library::RulesForm;

use super::*;
use crate::rules::ByNodes;

/// Rules for all sizes of communicators, as sites write them; with comments that are no UTF-8.
const THEIRS: &[u8] = b"# m\xfcller\n2\n7\n1\n0\n2\n0 0 0 0\n512 1 0 0\n11\n1\n0\n1\n0 5 0 0\n";
const PARAMETERS: &str = ".openmpi/mca-params.conf";

/// A home whose user's file of parameters names `rules` of the home, and has them read.
fn with_rules(rules: &[u8]) -> Home {
    let home = Home::new();
    home.write("rules", rules);
    let file = home.path("rules").display().to_string();
    let parameters =
        format!("coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = {file}\npml = ob1\n");
    home.write(PARAMETERS, parameters.as_bytes());
    home
}

fn algorithm(home: &Home, collective: u64, ranks: u64, bytes: u64) -> u64 {
    let rules = Rules::parse(&home.read("share/openmpi-4.1/openmpi-coll-rules.conf")).unwrap();
    rules.lookup(collective, ranks, bytes).algorithm
}

/// Asserts that [`staged`] has set 4 for collective 11 on 2 ranks from 1024 to 4096 bytes, and nothing else.
fn assert_merged(home: &Home) {
    for (collective, ranks, bytes, expected) in [
        (11, 2, 1024, 4),
        (11, 2, 4096, 4),
        (11, 2, 4097, 5),
        (11, 2, 1023, 5),
        (11, 3, 2048, 5),
        (11, 1, 2048, 5),
        (7, 2, 512, 1),
        (7, 16, 511, 0),
    ] {
        let found = algorithm(home, collective, ranks, bytes);
        assert_eq!(found, expected, "collective {collective}, {ranks} ranks, {bytes} bytes");
    }
}

#[test]
fn they_are_kept_shown_and_taken_back() {
    let home = with_rules(THEIRS);
    let before = home.tree();
    let prepared = home.apply(&staged(32768, false), false).unwrap();
    let named = home.path("rules").display().to_string();
    let notes = prepared.notes.join("\n");
    assert!(
        notes.contains("line 2: `coll_tuned_dynamic_rules_filename = "),
        "{notes}"
    );
    assert!(
        notes.contains(&format!("the rules of `{named}`")) && notes.contains("are kept"),
        "{notes}"
    );
    let diff = prepared.diff();
    for part in [
        format!("\n-coll_tuned_dynamic_rules_filename = {named}\n"),
        format!("\n+# put aside by kilter: coll_tuned_dynamic_rules_filename = {named}\n"),
        format!("\n+# Where the tuning sets none, the rules of {named} hold.\n"),
        "\n+512 1 0 0\n".to_owned(),
    ] {
        assert!(diff.contains(&part), "{part} in {diff}");
    }
    prepared.carry_out(None).unwrap();
    assert_merged(&home);
    // The line that was put aside still says where they are.
    assert!(home.apply(&staged(32768, false), false).unwrap().changes.is_empty());
    home.apply(&staged(65536, false), false)
        .unwrap()
        .carry_out(None)
        .unwrap();
    assert_merged(&home);
    for _ in 0..2 {
        home.rollback().unwrap().carry_out(None).unwrap();
    }
    assert_eq!(home.tree(), before);
}

/// The user's file of parameters wins over the site's, and so would a variable of a module.
#[test]
fn those_of_the_site_hold_below_a_users_tuning_and_below_modules() {
    let home = with_rules(THEIRS);
    std::fs::rename(home.path(PARAMETERS), home.path("site.conf")).unwrap();
    for parameters in [Some(home.path(PARAMETERS)), None] {
        let layout = Layout {
            parameters,
            site: Some(home.path("site.conf")),
            ..home.layout()
        };
        let before = home.tree();
        std::fs::create_dir_all(home.journal().directory).unwrap();
        let prepared = session::apply(&home.journal(), &staged(32768, false), &layout, false).unwrap();
        prepared.carry_out(None).unwrap();
        assert_merged(&home);
        home.rollback().unwrap().carry_out(None).unwrap();
        assert_eq!(home.tree(), before);
    }
}

#[test]
fn what_cannot_be_kept_stops_it_with_the_reason_until_it_may_be_put_aside() {
    let version_2 = b"rule-file-version-2\n1\n3\n1\n0\n1\n0 4 0 0 8\n";
    for (rules, reason) in [
        (&b"1\n7\n1\n0\n1\n0 010 0 0\n"[..], "line 6: algorithm `010`"),
        (version_2, "ignores the whole file"),
        (
            b"# Rules of Open MPI's coll_tuned, written by kilter.\n0\n",
            "Kilter wrote it",
        ),
    ] {
        let home = with_rules(rules);
        let before = home.tree();
        let error = format!("{:#}", home.apply(&staged(32768, false), false).unwrap_err());
        let named = home.path("rules").display().to_string();
        for part in [
            &*named,
            reason,
            "line 2: it sets `coll_tuned_dynamic_rules_filename",
            "--override",
        ] {
            assert!(error.contains(part), "{part} in {error}");
        }
        assert_eq!(home.tree(), before);
        let prepared = home.apply(&staged(32768, false), true).unwrap();
        assert!(
            prepared
                .notes
                .iter()
                .any(|note| note.contains("they will no longer hold")),
            "{:?}",
            prepared.notes
        );
        prepared.carry_out(None).unwrap();
        assert_eq!(algorithm(&home, 7, 2, 512), 0);
        home.rollback().unwrap().carry_out(None).unwrap();
        assert_eq!(home.tree(), before);
    }
}

#[test]
fn a_file_that_is_not_there_or_not_read_is_no_rule() {
    let home = with_rules(THEIRS);
    std::fs::remove_file(home.path("rules")).unwrap();
    let error = format!("{:#}", home.apply(&staged(1, false), false).unwrap_err());
    assert!(error.contains("it is not there"), "{error}");
    // Without the switch the library reads no file, and what it has must not come into force by the tuning's switch.
    for text in [
        "coll_tuned_dynamic_rules_filename = /rules\n",
        "coll_tuned_use_dynamic_rules = 0\ncoll_tuned_dynamic_rules_filename = /rules\n",
    ] {
        home.write(PARAMETERS, text.as_bytes());
        let error = format!("{:#}", home.apply(&staged(1, false), false).unwrap_err());
        assert!(
            error.contains("it sets `coll_tuned_dynamic_rules_filename") && !error.contains("kept"),
            "{error}"
        );
    }
}

/// Such rules are kept as they are, with a warning of their danger.
#[test]
fn a_site_that_switches_gather_on_size_is_warned() {
    let home = with_rules(b"1\n9\n1\n0\n2\n0 1 0 0\n1024 2 0 0\n");
    let notes = home.apply(&staged(1, false), false).unwrap().notes.join("\n");
    assert!(
        notes.contains("warning: ") && notes.contains("switches gather on the message size"),
        "{notes}"
    );
}

/// [`staged`] for a release that reads JSON, in which Kilter can leave no mark.
fn staged_as_json(limit: u64) -> Staged {
    let mut staged = staged(limit, false);
    let rules = Rules::parse(&String::from_utf8_lossy(&staged.files["openmpi-coll-rules.conf"])).unwrap();
    staged.files.remove("openmpi-coll-rules.conf");
    let json = ByNodes::from(rules).write(RulesForm::Json).unwrap();
    staged.files.insert(JSON.to_owned(), json.into_bytes());
    for file in &mut staged.manifest.files {
        file.name = file.name.replace("openmpi-coll-rules.conf", JSON);
    }
    let parameters = staged.files.get_mut("openmpi-mca-params.conf").unwrap();
    *parameters = String::from_utf8_lossy(parameters)
        .replace("openmpi-coll-rules.conf", JSON)
        .into_bytes();
    staged.manifest.library.id = "openmpi-6.0".to_owned();
    staged.manifest.library.version = "6.0.0".to_owned();
    staged
}

const JSON: &str = "openmpi-coll-rules.json";

/// Kilter's answer to rules in JSON that lie in `file` of a home, after `prepare` has been there.
fn said_of(file: &str, rules: &[u8], prepare: impl Fn(&Home)) -> String {
    let home = Home::new();
    prepare(&home);
    std::fs::create_dir_all(home.path(file).parent().unwrap()).unwrap();
    home.write(file, rules);
    let named = home.path(file).display().to_string();
    let parameters = format!("coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = {named}\n");
    home.write(PARAMETERS, parameters.as_bytes());
    match home.apply(&staged_as_json(32768), false) {
        Ok(prepared) => prepared.notes.join("\n"),
        Err(error) => format!("{error:#}"),
    }
}

#[test]
fn json_that_kilter_wrote_is_not_taken_for_a_sites_rules() {
    // These rules are of another tuning, so that they are not those installed now.
    let mut old = Rules::default();
    let choice = Choice {
        algorithm: 3,
        fan: 0,
        segment_bytes: 0,
        requests: None,
    };
    old.add(7, 2, (1, 512), choice);
    let old = ByNodes::from(old).write(RulesForm::Json).unwrap().into_bytes();
    let ours = "Kilter wrote it, and what it says may be out of date";

    let of_a_site = said_of("rules.json", &old, |_| ());
    assert!(of_a_site.contains("are kept where the tuning sets none"), "{of_a_site}");
    // A copy of what was installed once, by the journal; it was taken back since.
    let copied = said_of("rules.json", &old, |home| {
        let mut earlier = staged_as_json(1);
        earlier.files.insert(JSON.to_owned(), old.clone());
        home.apply(&earlier, false).unwrap().carry_out(None).unwrap();
        assert_eq!(home.read(&format!("share/openmpi-6.0/{JSON}")).as_bytes(), old);
        home.rollback().unwrap().carry_out(None).unwrap();
    });
    assert!(copied.contains(ours), "{copied}");
    // Installed for others.
    let installed = said_of(&format!("opt/share/kilter/openmpi-6.0/{JSON}"), &old, |_| ());
    assert!(installed.contains(ours), "{installed}");
    // Still in the directory that the tuning wrote.
    let manifest = |name: &str| {
        format!(r#"{{"schema": 1, "kilter": "0.1.0", "files": [{{"name": "{name}", "carries": "rules"}}]}}"#)
    };
    let beside = |text: String| {
        said_of(&format!("emit/{JSON}"), &old, move |home| {
            std::fs::create_dir(home.path("emit")).unwrap();
            home.write("emit/manifest.json", text.as_bytes());
        })
    };
    let emitted = beside(manifest(JSON));
    assert!(emitted.contains(ours), "{emitted}");
    for other in [
        manifest("other.json"),
        manifest(JSON).replace("kilter", "other"),
        "{".to_owned(),
    ] {
        let said = beside(other);
        assert!(said.contains("are kept where the tuning sets none"), "{said}");
    }
}

/// A site's JSON has more than Kilter writes. It is taken, kept, and what Open MPI does not look at is said.
#[test]
fn json_of_a_site_is_kept_with_what_kilter_does_not_write() {
    let theirs = br#"{ "owner": "site", "collectives": { "reduce": [
        { "comm_rank_distribution": "single-node", "rules": [ { "alg": "binomial", }, ] } ] } }"#;
    let home = Home::new();
    home.write("rules.json", theirs);
    let named = home.path("rules.json").display().to_string();
    let parameters = format!("coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = {named}\n");
    home.write(PARAMETERS, parameters.as_bytes());
    let prepared = home.apply(&staged_as_json(32768), false).unwrap();
    let notes = prepared.notes.join("\n");
    for part in [
        "are kept where the tuning sets none".to_owned(),
        format!("warning: `{named}`, line 1: `owner` is nothing that Open MPI looks at"),
    ] {
        assert!(notes.contains(&part), "{part} in {notes}");
    }
    prepared.carry_out(None).unwrap();
    let merged: serde_json::Value = serde_json::from_str(&home.read(&format!("share/openmpi-6.0/{JSON}"))).unwrap();
    assert_eq!(merged["owner"], "site");
    let ranges = merged["collectives"]["reduce"].as_array().unwrap();
    let of = |range: usize| {
        (
            &ranges[range]["comm_rank_distribution"],
            &ranges[range]["rules"][0]["alg"],
        )
    };
    assert_eq!(
        of(0),
        (&"single-node".into(), &4.into()),
        "ours on one node: {merged:#}"
    );
    assert_eq!(ranges[0]["rules"][1]["alg"], "binomial");
    assert_eq!(of(1), (&"single-node".into(), &"binomial".into()));
    assert_eq!(of(2), (&serde_json::Value::Null, &4.into()));

    let refused = said_of("rules.json", b"{ \"collectives\": { \"reducescatter\": [] } }", |_| ());
    assert!(
        refused.contains("ignores the whole file") && refused.contains("put that right"),
        "{refused}"
    );
}
