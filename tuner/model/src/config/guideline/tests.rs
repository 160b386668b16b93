use kilter_algorithms::{Collective, mockup};

use super::*;
use crate::config::embedded;

/// The guidelines of PGMPI, in their order.
fn of_pgmpi() -> Vec<Guideline> {
    let all = load_embedded().unwrap();
    all.into_iter()
        .filter(|guideline| guideline.id.starts_with("GL"))
        .collect()
}

#[test]
fn gl1_to_gl17_are_there_in_order_and_each_pattern_is_a_remedy() {
    let all = of_pgmpi();
    let ids: Vec<String> = all.iter().map(|guideline| guideline.id.clone()).collect();
    assert_eq!(ids, (1..=17).map(|i| format!("GL{i}")).collect::<Vec<_>>());
    for guideline in &all {
        assert_eq!(guideline.remedy, guideline.kind == Kind::Pattern, "{}", guideline.id);
    }
}

/// Every numbered guideline of Traeff et al. 2010, by the files that state it. Several files share a number where the paper's
/// line is a family, and one file may state two lines.
#[test]
fn every_guideline_of_traeff_gropp_and_thakur_is_stated() {
    let all = load_embedded().unwrap();
    let prefix = |number: usize| match number {
        1 => "GL2",
        7 => "TGT05",
        13 => "GL3",
        14 => "GL5",
        15 => "GL11",
        16 => "GL7",
        17 => "GL10",
        18 => "GL12",
        19 => "GL17",
        22 => "GL9",
        24 => "GL4",
        25 => "GL6",
        _ => "",
    };
    for number in 1..=38 {
        let wanted = match prefix(number) {
            "" => format!("TGT{number:02}"),
            id => id.to_owned(),
        };
        let stated = all.iter().filter(|guideline| {
            guideline.id == wanted || (wanted.starts_with("TGT") && guideline.id.starts_with(&wanted))
        });
        let sources: Vec<&str> = stated.map(|guideline| guideline.source.as_str()).collect();
        assert!(!sources.is_empty(), "({number}) has no file");
        let cited = format!("({number})");
        assert!(
            sources.iter().all(|source| source.contains(&cited)),
            "({number}): {sources:?}"
        );
    }
    for id in ["OS1", "OS2", "NB1", "PC1", "BA1"] {
        assert!(all.iter().any(|guideline| guideline.id == id), "{id}");
    }
}

/// Appendix A of Hunold et al. 2016, typed in from the paper.
#[test]
fn the_statements_are_those_of_the_paper() {
    let paper = [
        "A(n) <= A(n + k)",
        "A(n) <= k * A(n/k)",
        "gather(n) <= allgather(n)",
        "gather(n) <= reduce(n)",
        "allgather(n) <= alltoall(n)",
        "allgather(n) <= allreduce(n)",
        "scatter(n) <= bcast(n)",
        "reduce(n) <= allreduce(n)",
        "reduce_scatter(n) <= allreduce(n)",
        "bcast(n) <= scatter(n) + allgather(n)",
        "allgather(n) <= gather(n) + bcast(n)",
        "allreduce(n) <= reduce(n) + bcast(n)",
        "allreduce(n) <= reduce_scatter_block(n) + allgather(n)",
        "reduce(n) <= reduce_scatter_block(n) + gather(n)",
        "reduce_scatter_block(n) <= reduce(n) + scatter(n)",
        "scan(n) <= exscan(n) + reduce_local(n)",
        "reduce_scatter(n) <= reduce(n) + scatterv(n)",
    ];
    let statements: Vec<String> = of_pgmpi().iter().map(Guideline::statement).collect();
    assert_eq!(statements, paper);
}

#[test]
fn monotony_and_split_are_stated_for_the_nine() {
    for guideline in load_embedded().unwrap() {
        if guideline.kind != Kind::Pattern {
            let nine: Vec<Collective> = Collective::PGMPI.into_iter().collect();
            assert_eq!(guideline.functions, nine, "{}", guideline.id);
        }
    }
}

/// The table is written by a script that reads lines; here the same files are read as what they are.
#[test]
fn the_table_of_mockups_has_exactly_the_remedies() {
    let all = load_embedded().unwrap();
    let mut remedies = BTreeSet::new();
    for guideline in all.iter().filter(|guideline| guideline.remedy) {
        let expression = guideline.expression.as_ref().unwrap();
        let left = expression.left.single().unwrap();
        let side = expression.right.to_string();
        let row = mockup::of_side(left, &side).unwrap_or_else(|| panic!("{} has no row", guideline.id));
        let calls: Vec<Collective> = expression
            .right
            .terms
            .iter()
            .filter_map(|term| term.call.function())
            .collect();
        assert_eq!(row.calls, calls, "{}", row.id);
        if let Some(right) = expression.right.plain_calls() {
            assert_eq!(mockup::of_calls(left, &right), Some(row));
            let calls: Vec<&str> = right.iter().map(|call| call.name()).collect();
            assert_eq!(row.id, format!("{}.as_{}", left.name(), calls.join("_")));
        } else {
            assert!(row.is_over_lanes());
            assert_eq!(row.id, format!("{}.over_lanes", left.name()));
        }
        remedies.insert(row.id);
    }
    let table: BTreeSet<&str> = mockup::MOCKUPS.iter().map(|row| row.id).collect();
    assert_eq!(table, remedies);
    assert_eq!(table.len(), mockup::MOCKUPS.len());
}

#[test]
fn a_site_cannot_state_a_remedy() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (_, text) = embedded("guidelines")
        .into_iter()
        .find(|(_, text)| text.contains("remedy = true"))
        .unwrap();
    std::fs::write(file.path(), text).unwrap();
    let error = load_file(file.path()).unwrap_err().to_string();
    assert!(
        error.contains("`remedy` is for guidelines that come with Kilter"),
        "{error}"
    );
    std::fs::write(file.path(), text.replace("remedy = true\n", "")).unwrap();
    load_file(file.path()).unwrap();
}

#[test]
fn every_text_is_there_and_names_differ() {
    let all = load_embedded().unwrap();
    for guideline in &all {
        for text in [&guideline.what, &guideline.why, &guideline.mockup, &guideline.needs] {
            assert!(text.len() > 5 && text.ends_with('.'), "{}: `{text}`", guideline.id);
        }
        assert!(guideline.source.contains("doi:10."), "{}", guideline.id);
    }
    let names: BTreeSet<&str> = all.iter().map(|guideline| guideline.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
}

/// Every file under `configs/examples`, so that none of them is forgotten.
#[test]
fn the_examples_of_sites_are_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/examples");
    let mut statements = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        statements.push(load_file(&path).unwrap().statement());
    }
    assert!(
        statements.contains(&"scan(n) <= p2p.recursive_doubling(n)".to_owned()),
        "{statements:?}"
    );
}

const GOOD: &str = "id='X'\nname='N'\nkind='pattern'\nfamily='III'\nguideline='reduce(n) <= allreduce(n)'\nsource='s'\n\
                    what='w'\nwhy='y'\nmockup='m'\nneeds='n'\n";

#[test]
fn mistakes_name_file_line_and_what_is_allowed() {
    assert!(Guideline::parse(GOOD, "x.toml").is_ok());
    for (from, to, line, part) in [
        (
            "kind='pattern'",
            "kind='patern'",
            3,
            "expected one of `monotony`, `split`, `pattern`",
        ),
        ("name='N'", "nome='N'", 2, "unknown field `nome`"),
        ("name='N'", "name='N", 2, "expected"),
        ("id='X'", "id='X,Y'", 1, "id `X,Y` is no name"),
        ("id='X'", "id='IV'", 1, "not a family's name"),
        ("family='III'", "family='VII'", 4, "allowed: I, II"),
        (
            "<= allreduce(n)",
            "<= allreduse(n)",
            5,
            "column 14: `allreduse` is no call",
        ),
        ("reduce(n) <=", "get(n) <=", 5, "alone has no result"),
        ("reduce(n) <=", "A(n) <=", 5, "needs `functions`"),
        ("<= allreduce(n)", "<= p2p.ring_a_ding(n)", 5, "known: reduce.binary, "),
        ("<= allreduce(n)", "<= k * reduce(n/k)", 5, "`k` needs its values"),
        ("guideline='reduce(n) <= allreduce(n)'\n", "", 3, "needs `guideline"),
        ("family=", "functions=['scan']\nfamily=", 6, "stand for an `A`"),
        ("family=", "k=[2]\nfamily=", 6, "`k` has values"),
        (
            "kind='pattern'",
            "kind='split'",
            5,
            "a split guideline takes `functions`, not `guideline`",
        ),
    ] {
        let error = Guideline::parse(&GOOD.replacen(from, to, 1), "x.toml")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("x.toml: ") && error.contains(part), "{error}");
        assert!(error.contains(&format!("line {line}")), "{error}");
    }
    let functions = |names: &str| {
        let list = format!("functions=[\n{names}]");
        let text = GOOD
            .replacen("guideline='reduce(n) <= allreduce(n)'", &list, 1)
            .replacen("'pattern'", "'monotony'", 1);
        Guideline::parse(&text, "x.toml").map_err(|error| error.to_string())
    };
    assert_eq!(
        functions("'scan',\n'bcast'").unwrap().functions,
        [Collective::Scan, Collective::Bcast]
    );
    let twice = functions("'scan',\n'scan'").unwrap_err();
    assert!(
        twice.starts_with("x.toml: line 7: functions: `scan` stands there twice"),
        "{twice}"
    );
    let unknown = functions("'scan',\n'scam'").unwrap_err();
    assert!(
        unknown.starts_with("x.toml: line 7: functions: `scam` is not a collective; allowed: allgather"),
        "{unknown}"
    );
    let none = functions("").unwrap_err();
    assert!(
        none.starts_with("x.toml: line 3: a monotony guideline needs `functions`"),
        "{none}"
    );
}

#[test]
fn a_file_that_is_missing_is_named() {
    let error = load_file(Path::new("no/such/guideline.toml")).unwrap_err().to_string();
    assert!(error.starts_with("no/such/guideline.toml: cannot be read: "), "{error}");
}

#[test]
fn a_selection_takes_ids_and_families_and_refuses_others() {
    let all = load_embedded().unwrap();
    let ids = |names: &[&str]| -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        select(&all, &names)
            .unwrap()
            .into_iter()
            .map(|guideline| guideline.id)
            .collect()
    };
    assert_eq!(ids(&["GL12", "GL8"]), ["GL8", "GL12"]);
    assert_eq!(ids(&["I", "GL8"]), ["GL2", "GL8", "TGT02", "TGT04A", "TGT04B"]);
    assert_eq!(ids(&["GL*"]).len(), 17);
    assert_eq!(ids(&["TGT04*", "GL1"]), ["GL1", "TGT04A", "TGT04B"]);
    assert_eq!(ids(&[]).len(), all.len());
    let unknown = select(&all, &["GL8".to_owned(), "GL99".to_owned()])
        .unwrap_err()
        .to_string();
    assert!(
        unknown.contains("`GL99` is no guideline; allowed: BA1, GL1, GL2,"),
        "{unknown}"
    );
    assert!(
        unknown.ends_with("TGT39_SCATTER, or a family: I, II, III, IV, V, VI"),
        "{unknown}"
    );
    let twice = [all.clone(), all[..1].to_vec()].concat();
    let twice = select(&twice, &[]).unwrap_err().to_string();
    assert!(twice.contains("two guidelines have the id `BA1`"), "{twice}");
}

#[test]
fn a_page_explains_a_guideline() {
    let all = load_embedded().unwrap();
    insta::assert_snapshot!(explain(&of_pgmpi()[3]), @r"
    Gather slower than Reduce (GL4)

        gather(n) <= reduce(n)

    What it says
      MPI_Gather must not take longer than MPI_Reduce on the same volume.

    Why it should hold
      A reduction of vectors that are neutral outside the rank's own block concatenates the blocks, and
      moves more data than Gather has to.

    Mock-up
      Every rank puts its block into a vector of zeros and calls Reduce with a bitwise OR.

    In MPI calls
      MPI_Reduce, n bytes

    Needs
      n bytes of scratch on every rank. The result is right for any datatype, since whole bytes are
      combined.

    Family
      meta-rule III of Traeff, Gropp, Thakur 2010 (pattern)

    References
      Hunold, Carpen-Amarie, Luebbe, Traeff: Automatic Verification of Self-Consistent MPI Performance
      Guidelines, Euro-Par 2016, doi:10.1007/978-3-319-43659-3_32, GL4
      Traeff, Gropp, Thakur: Self-Consistent MPI Performance Guidelines, IEEE TPDS 21(5), 2010,
      doi:10.1109/TPDS.2009.120, guideline (24)
    ");
    assert!(
        all.iter()
            .all(|guideline| explain(guideline).lines().all(|line| line.chars().count() <= 102))
    );
}

#[test]
fn the_table_has_a_line_for_each() {
    let all = of_pgmpi();
    let table = list(&all);
    let lines: Vec<&str> = table.lines().collect();
    for guideline in &all {
        let own = |line: &&&str| line.split_whitespace().any(|word| word == guideline.id);
        assert_eq!(lines.iter().filter(own).count(), 1, "{}", guideline.id);
    }
    let words: Vec<&str> = lines[8].split_whitespace().collect();
    assert_eq!(
        words,
        [
            "Reduce",
            "slower",
            "than",
            "Allreduce",
            "GL8",
            "III",
            "reduce(n)",
            "<=",
            "allreduce(n)"
        ]
    );
}

#[test]
fn the_list_of_all_fits_a_terminal() {
    let table = list(&load_embedded().unwrap());
    for line in table.lines() {
        assert!(
            line.chars().count() <= usize::from(kilter_render::table::LIST_WIDTH),
            "{line}"
        );
    }
}

#[test]
fn a_guideline_without_a_title_is_told_by_its_name() {
    let text = r#"
id = "OWN"
name = "BcastSlowerThanAllreduce"
kind = "pattern"
family = "III"
guideline = "bcast(n) <= allreduce(n)"
source = "here"
what = "this"
why = "so"
mockup = "like this"
"#;
    let own = Guideline::parse(text, "own.toml").unwrap();
    assert_eq!(own.title, "Bcast slower than allreduce");
    assert_eq!(words("SenderDoesNotOverlap"), "Sender does not overlap");
    assert_eq!(words(""), "");
    let titled = text.replace("kind = ", "title = \"Bcast slower than Allreduce\"\nkind = ");
    assert_eq!(
        Guideline::parse(&titled, "own.toml").unwrap().title,
        "Bcast slower than Allreduce"
    );
}
