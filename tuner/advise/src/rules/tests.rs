use super::*;
use crate::formats::FORMATS;

const RULE: &str = r#"
[[rules]]
id = "SITE"
title = "Title"
formats = ["mpt-stats"]
when = ["retries > 0"]
seconds = "retries"
seen = "{retries} retries on {worst.at}, {top.name}"
change = "Change."
place = "Here."
why = "Because."
source = "The site"
step = "export X={retries}"

[rules.quantities]
retries = { sum = ["retries *"] }
worst = { max = ["retries *"] }
top = { largest = ["retries *"] }
share = { value = "worst / retries", unit = "share" }
"#;

#[test]
fn embedded_rules_are_read_and_their_ids_are_used_once() {
    let rules = load_embedded().unwrap();
    assert!(rules.len() >= 25, "{}", rules.len());
    check_ids(&rules, "configs/advice").unwrap();
    for rule in &rules {
        for text in [&rule.title, &rule.place, &rule.why, &rule.source] {
            assert!(!text.trim().is_empty(), "{}", rule.id);
        }
    }
}

#[test]
fn every_form_has_rules() {
    let rules = load_embedded().unwrap();
    for format in FORMATS {
        assert!(
            rules.iter().any(|rule| rule.formats.iter().any(|id| id == format.id)),
            "{}",
            format.id
        );
    }
}

/// The manual has a table of the rules: a new one needs its line.
#[test]
fn the_manual_names_every_rule_and_every_form() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/advise.md");
    let page = std::fs::read_to_string(page).unwrap();
    for rule in load_embedded().unwrap() {
        assert!(
            page.contains(&format!("`{}`", rule.id)),
            "docs/manual/advise.md does not name {}",
            rule.id
        );
    }
    for format in FORMATS {
        assert!(
            page.contains(&format!("`{}`", format.id)),
            "docs/manual/advise.md does not name {}",
            format.id
        );
    }
}

#[test]
fn the_manuals_rule_is_read() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/manual/advise.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("```toml\n").unwrap();
    let (rule, _) = after.split_once("```").unwrap();
    assert_eq!(parse(rule, "site.toml").unwrap().len(), 1);
}

#[test]
fn a_rule_of_a_site_is_read() {
    let rules = parse(RULE, "site.toml").unwrap();
    assert_eq!(rules[0].id, "SITE");
    let twice = [rules[0].clone(), rules[0].clone()];
    let error = check_ids(&twice, "site.toml").unwrap_err();
    assert_eq!(
        error.to_string(),
        "site.toml: the id `SITE` is another rule's; give this one another"
    );
}

#[test]
fn errors_name_file_line_rule_key_and_what_is_allowed() {
    let changes = [
        ("id = \"SITE\"", "id = \"A B\""),
        ("[\"mpt-stats\"]", "[\"mpt\"]"),
        ("[\"mpt-stats\"]", "[]"),
        ("[\"retries > 0\"]", "[]"),
        ("retries > 0", "retries >"),
        ("retries > 0", "retrys > 0"),
        ("seconds = \"retries\"", "seconds = \"retries +\""),
        ("{worst.at}", "{retries.at}"),
        ("{top.name}", "{worst.name}"),
        ("X={retries}", "X={y}"),
        ("X={retries}", "X={retries"),
        ("{ sum = [\"retries *\"] }", "{ sum = [] }"),
        ("{ sum = [\"retries *\"] }", "{ sum = [\"a*b*c*\"] }"),
        ("{ sum = [\"retries *\"] }", "{ sum = [\"a\"], max = [\"a\"] }"),
        ("{ sum = [\"retries *\"] }", "{ }"),
        ("{ sum = [\"retries *\"] }", "{ sum = [\"a\"], unit = \"bytes\" }"),
        ("worst / retries", "worst / share"),
        ("unit = \"share\"", "unit = \"percent\""),
        ("retries = { sum", "\"re tries\" = { sum"),
    ];
    let errors: Vec<String> = changes
        .iter()
        .map(|(from, to)| {
            assert!(RULE.contains(from), "{from}");
            parse(&RULE.replacen(from, to, 1), "site.toml").unwrap_err().to_string()
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"));
    let unknown = parse(&RULE.replace("why =", "because ="), "site.toml")
        .unwrap_err()
        .to_string();
    assert!(
        unknown.contains("because") && unknown.contains("allowed") || unknown.contains("expected"),
        "{unknown}"
    );
}
