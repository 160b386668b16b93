//! The pages of the repository hang together: links lead somewhere, the contents name every page, every table has a page that says what
//! it shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use clap::CommandFactory as _;
use kilter::cli::Cli;

use crate::root;

/// Every file below `folder`, without what is built or belongs to git.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let outside =
                ["target", "shared", "node_modules"].contains(&name.as_str()) || name.starts_with("kilter-out");
            if path.is_dir() {
                if !outside && (!name.starts_with('.') || name == ".ci") {
                    open.push(path);
                }
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// A page's lines of prose, numbered from 1: code between fences, indented code and code spans are left out.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((number, without_code(line)));
        }
    }
    lines
}

/// A line without the text of its code spans; their backticks stay.
fn without_code(line: &str) -> String {
    let mut parts = line.split('`');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        kept.push('`');
        if index % 2 == 1 {
            kept.push_str(part);
        }
    }
    kept
}

/// Targets of the links and pictures of a line, without a title.
fn targets(line: &str) -> Vec<String> {
    line.match_indices("](")
        .filter_map(|(at, opening)| {
            let rest = &line[at + opening.len()..];
            rest.find(')').map(|end| rest[..end].to_owned())
        })
        .filter_map(|target| target.split_whitespace().next().map(str::to_owned))
        .collect()
}

/// The anchor of a heading as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// Anchors of all headings of a page; a heading that comes again gets a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with('#') {
            let heading = line.trim_start_matches('#');
            if !heading.starts_with(' ') {
                continue;
            }
            let first = anchor(heading);
            let name = (0..)
                .map(|again| {
                    if again == 0 {
                        first.clone()
                    } else {
                        format!("{first}-{again}")
                    }
                })
                .find(|name| !found.contains(name))
                .unwrap();
            found.insert(name);
        }
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts
}

/// Broken links of these pages, a line each.
fn broken_links(pages: &[PathBuf]) -> Vec<String> {
    let mut broken = Vec::new();
    for page in pages {
        let text = fs::read_to_string(page).unwrap();
        for (number, line) in prose(&text) {
            for target in targets(&line) {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let (path, name) = target
                    .split_once('#')
                    .map_or((&*target, None), |(path, name)| (path, Some(name)));
                let aim = if path.is_empty() {
                    page.clone()
                } else {
                    plain(&page.parent().unwrap().join(path))
                };
                let problem = if !aim.exists() {
                    "there is no such file"
                } else if name.is_some_and(|name| {
                    !has_extension(&aim, "md") || !anchors(&fs::read_to_string(&aim).unwrap()).contains(name)
                }) {
                    "the page has no such heading"
                } else {
                    continue;
                };
                broken.push(format!("{}:{number}: {target}: {problem}", page.display()));
            }
        }
    }
    broken
}

/// Places of the links that a page has.
fn linked(page: &Path) -> BTreeSet<PathBuf> {
    prose(&fs::read_to_string(page).unwrap())
        .iter()
        .flat_map(|(_, line)| targets(line))
        .map(|target| plain(&page.parent().unwrap().join(target.split('#').next().unwrap())))
        .collect()
}

fn below_docs(extension: &str) -> Vec<PathBuf> {
    let mut found = files(&root().join("docs"));
    found.retain(|path| has_extension(path, extension));
    found
}

#[test]
fn every_link_leads_somewhere() {
    let mut pages = files(&root());
    pages.retain(|path| has_extension(path, "md"));
    assert!(pages.len() > 30, "{} pages found", pages.len());
    let broken = broken_links(&pages);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_contents_name_every_page_once() {
    let summary = root().join("docs/SUMMARY.md");
    let named = targets(&fs::read_to_string(&summary).unwrap().replace('\n', " "));
    let once: BTreeSet<&String> = named.iter().collect();
    assert_eq!(named.len(), once.len(), "a page is named twice: {named:?}");
    let there = linked(&summary);
    for page in below_docs("md") {
        assert!(
            page == summary || there.contains(&page),
            "docs/SUMMARY.md does not name {}",
            page.display()
        );
    }
}

#[test]
fn every_folder_of_tables_has_the_page_of_its_name_and_that_names_each_table() {
    let results = root().join("docs/results");
    let overview = linked(&results.join("README.md"));
    let tables: Vec<PathBuf> = files(&results)
        .into_iter()
        .filter(|path| path.parent() != Some(&results))
        .collect();
    assert!(tables.len() > 70, "{} tables found", tables.len());
    for table in tables {
        let page = table.parent().unwrap().with_extension("md");
        assert!(
            linked(&page).contains(&table),
            "{} does not name {}",
            page.display(),
            table.display()
        );
        assert!(
            overview.contains(&page),
            "docs/results/README.md does not name {}",
            page.display()
        );
    }
    let elsewhere: Vec<_> = below_docs("txt")
        .into_iter()
        .filter(|path| !path.starts_with(&results))
        .collect();
    assert!(elsewhere.is_empty(), "tables outside docs/results: {elsewhere:?}");
}

#[test]
fn every_picture_is_shown() {
    let mut shown = linked(&root().join("README.md"));
    for page in below_docs("md") {
        shown.extend(linked(&page));
    }
    for picture in files(&root().join("docs/pictures")) {
        assert!(shown.contains(&picture), "no page shows {}", picture.display());
    }
}

/// Code, scripts and configurations speak of pages by their path from the root.
#[test]
fn every_page_that_code_speaks_of_exists() {
    let root = root();
    let mut missing = Vec::new();
    for file in files(&root) {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        if file.starts_with(root.join("docs")) && has_extension(&file, "txt") {
            continue;
        }
        for (at, opening) in text.match_indices("docs/") {
            if text[..at].ends_with(|letter: char| letter.is_alphanumeric() || ['/', '.', '-', '_'].contains(&letter)) {
                continue;
            }
            let rest = &text[at + opening.len()..];
            let end = rest
                .find(|letter: char| !letter.is_ascii_alphanumeric() && !['/', '.', '-', '_'].contains(&letter))
                .unwrap_or(rest.len());
            let path = rest[..end].trim_end_matches(['.', '/']);
            let is_file = path.ends_with(".md") || path.ends_with(".txt");
            if is_file && !path.contains("NAME") && !path.contains("SELECTOR") && !root.join("docs").join(path).exists()
            {
                missing.push(format!("{}: docs/{path}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Lines of a page's code blocks, numbered from 1: a line that ends with `\` goes on in the next one, comments are left out.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let line = line.split(" #").next().unwrap_or_default();
            let (first, so_far) = open.take().unwrap_or((number, String::new()));
            match line.trim_end().strip_suffix('\\') {
                Some(part) => open = Some((first, so_far + part)),
                None => lines.push((first, so_far + line)),
            }
        }
    }
    lines
}

/// Mistakes in the options of these words behind `kilter`; words behind `--` may be a command once more.
fn wrong_options(words: &[&str]) -> Vec<String> {
    let mut command = &Cli::command();
    let mut wrong = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--" {
            let rest: Vec<&str> = words.copied().collect();
            let is_command = |word: &&str| Cli::command().find_subcommand(word).is_some();
            if rest.first().is_some_and(is_command) {
                wrong.extend(wrong_options(&rest));
            }
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            let is_it = |argument: &clap::Arg| {
                argument.get_long() == Some(name)
                    || argument
                        .get_all_aliases()
                        .is_some_and(|aliases| aliases.contains(&name))
            };
            if !command.get_arguments().any(is_it) && !["help", "version"].contains(&name) {
                wrong.push(format!("`kilter {}` has no --{name}", command.get_name()));
            }
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
        }
    }
    wrong
}

/// Commands of Kilter's in a line of code, each with the words behind it.
fn commands(line: &str) -> Vec<(&str, Vec<&str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_command = |word: &&str| *word == "kilter" || word.ends_with("/kilter") || word.starts_with("scripts/");
    let ends = |word: &&str| ["|", "||", "&&", ">", "<", ";", "2>"].contains(word);
    let behind = |at: usize| {
        let rest = words[at + 1..].iter().copied();
        rest.take_while(|word| !ends(word)).collect()
    };
    // Behind an option it is the option's value, such as a prefix.
    let is_value = |at: usize| at > 0 && words[at - 1].starts_with("--") && words[at - 1] != "--";
    let places = (0..words.len()).filter(|at| is_command(&words[*at]) && !is_value(*at));
    places.map(|at| (words[at], behind(at))).collect()
}

/// A command that somebody types from a page has to exist: subcommands' options by the command line's own description, scripts by their files, and their
/// options by what they say of themselves.
#[test]
fn every_command_on_a_page_has_its_options() {
    let root = root();
    let mut pages = files(&root.join("docs/manual"));
    pages.push(root.join("README.md"));
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages {
        for (number, line) in code(&fs::read_to_string(&page).unwrap()) {
            for (program, words) in commands(&line) {
                seen += 1;
                let found = if program.starts_with("scripts/") {
                    wrong_of_script(&root.join(program), &words)
                } else {
                    wrong_options(&words)
                };
                wrong.extend(found.iter().map(|what| format!("{}:{number}: {what}", page.display())));
            }
        }
    }
    assert!(seen > 100, "{seen} commands found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn wrong_of_script(script: &Path, words: &[&str]) -> Vec<String> {
    let Ok(text) = fs::read_to_string(script) else {
        return vec![format!("there is no {}", script.display())];
    };
    // These hand over to a program.
    if ["virtual-cluster", "virtual-slurm"]
        .iter()
        .any(|name| script.ends_with(name))
    {
        return Vec::new();
    }
    let own = words.iter().take_while(|word| **word != "--");
    let options = own.filter(|word| word.starts_with("--") && !text.contains(*word));
    options
        .map(|option| format!("{} says nothing of {option}", script.display()))
        .collect()
}

#[test]
fn options_that_are_none_are_found() {
    let words = |line: &'static str| commands(line).remove(0).1;
    assert!(wrong_options(&words("kilter tune -n 2 --budget=5 | tee log --nonsense")).is_empty());
    assert_eq!(
        wrong_options(&words("target/release/kilter check --nonsense")),
        ["`kilter check` has no --nonsense"]
    );
    assert_eq!(
        wrong_options(&words("kilter batch slurm --nodes 2 -- tune --nonsense 1")),
        ["`kilter tune` has no --nonsense"]
    );
    assert_eq!(code("```\na \\\n  b # c\n```\nd"), [(2, "a   b".to_owned())]);
    let script = root().join("scripts/install");
    assert!(wrong_of_script(&script, &["--prefix", "DIR"]).is_empty());
    assert_eq!(wrong_of_script(&script, &["--nonsense"]).len(), 1);
    assert_eq!(wrong_of_script(&script.with_file_name("none"), &[]).len(), 1);
}

#[test]
fn code_is_no_link_and_headings_are_found() {
    assert_eq!(without_code("a `[x](y)` b"), "a `` b");
    assert_eq!(targets("[a](b.md#c), ![d](e.png \"f\")"), ["b.md#c", "e.png"]);
    assert_eq!(
        anchor(" Algorithms of your own: `--plugin FILE`"),
        "algorithms-of-your-own---plugin-file"
    );
    let found = anchors("# One\n```\n# Not\n```\n## One\n#no");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["one", "one-1"]);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    fs::write(
        &page,
        "# Here\n\n[a](#here) [b](#there) [c](gone.md) [d](https://example.org)\n",
    )
    .unwrap();
    assert_eq!(broken_links(&[page]).len(), 2);
}
