//! Advice as text for a terminal and as Markdown. Its JSON is [`Judged`] as it is.

use std::fmt::Write as _;

use kilter_render::format::count;
use kilter_render::quoting;
use kilter_render::table::printable;

use crate::judge::{Evidence, Judged, Read};

/// Columns that a line of text may have.
const WIDTH: usize = 110;

/// Columns before the text of a line.
const INDENT: usize = 11;

/// Text for a terminal. Commands stand on one line, so that they can be copied.
#[must_use]
pub fn text(judged: &Judged) -> String {
    let mut out = String::new();
    for listing in &judged.listings {
        let _ = writeln!(out, "{}", broken(&head(listing), 0));
    }
    for (index, advice) in judged.advice.iter().enumerate() {
        let _ = writeln!(
            out,
            "\n{}. {} ({})",
            index + 1,
            printable(&advice.title),
            printable(&advice.id)
        );
        let seen = format!("{}{}", advice.seen, places(&advice.evidence));
        for (label, text) in [
            ("seen", &seen),
            ("at stake", &advice.at_stake),
            ("change", &advice.change),
            ("where", &advice.place),
            ("why", &advice.why),
            ("source", &advice.source),
        ] {
            out.push_str(&wrapped(label, text));
        }
        let _ = writeln!(out, "  {:<1$}{2}", "next", INDENT - 2, printable(&advice.step));
    }
    let _ = writeln!(out, "\n{}", broken(&foot(judged), 0));
    out
}

/// Markdown for tickets.
#[must_use]
pub fn markdown(judged: &Judged) -> String {
    let mut out = String::from("## Advice\n\n");
    for listing in &judged.listings {
        let _ = writeln!(out, "* {}", quoting::markdown(&head(listing)));
    }
    for advice in &judged.advice {
        let _ = writeln!(
            out,
            "\n### {} ({})\n",
            quoting::markdown(&advice.title),
            quoting::markdown(&advice.id)
        );
        let seen = format!("{}{}", advice.seen, places(&advice.evidence));
        for (label, text) in [
            ("Seen", &seen),
            ("At stake", &advice.at_stake),
            ("Change", &advice.change),
            ("Where", &advice.place),
            ("Why", &advice.why),
            ("Source", &advice.source),
        ] {
            let _ = writeln!(out, "* **{label}**: {}", quoting::markdown(text));
        }
        let _ = writeln!(out, "* **Next**: `{}`", printable(&advice.step).replace('`', "'"));
    }
    let _ = writeln!(out, "\n{}", quoting::markdown(&foot(judged)));
    out
}

/// A listing on a line.
fn head(listing: &Read) -> String {
    let processes = if listing.processes == 1 {
        "1 process".to_owned()
    } else {
        format!("{} processes", listing.processes)
    };
    let files = match listing.files.as_slice() {
        [file] => file.clone(),
        files => count(files.len(), "file"),
    };
    printable(&format!(
        "{files}: {}, {} of {processes}{}",
        listing.title,
        count(listing.counters, "counter"),
        if listing.has_times { "" } else { ", no times" }
    ))
}

/// The sum on the last lines.
fn foot(judged: &Judged) -> String {
    let pieces = match judged.advice.len() {
        0 => "no advice".to_owned(),
        1 => "1 piece of advice".to_owned(),
        n => format!("{n} pieces of advice"),
    };
    let mut out = format!("{pieces} of {}", count(judged.rules, "rule"));
    if !judged.lacking.is_empty() {
        let ids: Vec<&str> = judged.lacking.iter().map(|lacking| lacking.id.as_str()).collect();
        let _ = write!(
            out,
            "; not judged, since the listing lacks their counters: {}",
            printable(&ids.join(", "))
        );
    }
    out
}

/// Places of the evidence, each line once: ` (job.log:12, 15; other.log:3)`.
fn places(evidence: &[Evidence]) -> String {
    let mut files: Vec<(&str, Vec<usize>)> = Vec::new();
    for one in evidence {
        match files.iter_mut().find(|(file, _)| *file == one.file) {
            Some((_, lines)) if lines.contains(&one.line) => {}
            Some((_, lines)) => lines.push(one.line),
            None => files.push((&one.file, vec![one.line])),
        }
    }
    if files.is_empty() {
        return String::new();
    }
    let in_file = |(file, lines): &(&str, Vec<usize>)| {
        // Bytes that are no text have no lines.
        let lines: Vec<String> = lines
            .iter()
            .filter(|line| **line > 0)
            .map(ToString::to_string)
            .collect();
        if lines.is_empty() {
            (*file).to_owned()
        } else {
            format!("{file}:{}", lines.join(", "))
        }
    };
    format!(" ({})", files.iter().map(in_file).collect::<Vec<_>>().join("; "))
}

/// A label and its text, broken between words, each further line below the first.
fn wrapped(label: &str, text: &str) -> String {
    format!("  {label:<0$}{1}\n", INDENT - 2, broken(text, INDENT))
}

/// Text broken between words; the first line begins behind `indent` columns, the others with as many blanks.
fn broken(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = indent;
    for (index, word) in printable(text).split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > WIDTH {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}
