//! An answer for people.

use std::fmt::Write as _;

use kilter_render::format;
use kilter_render::table::{LIST_WIDTH, printable};

use crate::answer::{Answer, Cell, Decision, Kind};
use crate::decide::in_words;

/// Characters of evidence that are shown; JSON has all of it.
const SHOWN: usize = 300;

/// Indentation of what is said of a cell.
const INDENT: &str = "  ";

/// The whole answer.
#[must_use]
pub fn render(answer: &Answer) -> String {
    let heading = match &answer.program {
        Some(program) => format!("{}: the calls of {program}", answer.library),
        None => answer.library.clone(),
    };
    let mut out = wrapped("", &heading).join("\n") + "\n";
    for cell in &answer.cells {
        out.push('\n');
        for line in lines(cell) {
            let _ = writeln!(out, "{line}");
        }
    }
    if answer.unanswered > 0 {
        let _ = writeln!(
            out,
            "\nKinds of calls of the program that are left without an answer: {}; raise --budget",
            answer.unanswered
        );
    }
    out
}

fn lines(cell: &Cell) -> Vec<String> {
    let mut lines = wrapped("", &format!("{}: {}", subject(cell), algorithms(cell)));
    for evidence in &cell.known {
        let by = match evidence.kind {
            Kind::CallPath => "call path",
            Kind::Messages => "messages",
            Kind::DropIn => "drop-in",
        };
        lines.extend(wrapped(
            INDENT,
            &format!("known by {by}: {}", shortened(&evidence.text)),
        ));
    }
    if let Some(unknown) = &cell.unknown {
        lines.extend(wrapped(INDENT, &format!("not known: {unknown}")));
    }
    if let Some(handed_on) = &cell.handed_on {
        lines.extend(wrapped(INDENT, &format!("component by {}", in_words(handed_on))));
    }
    let decided = match &cell.decided {
        Decision::Unknown { because } => format!("what decided is not known: {because}"),
        known => format!("decided by {}", in_words(known)),
    };
    lines.extend(wrapped(INDENT, &decided));
    for one in &cell.not_followed {
        lines.extend(wrapped(
            INDENT,
            &format!("not followed: {}, because {}", one.setting, one.because),
        ));
    }
    lines
}

/// `reduce of 4 KiB on 8 ranks of 2 hosts`.
fn subject(cell: &Cell) -> String {
    let size = if cell.bytes == 0 {
        String::new()
    } else {
        format!(" of {} bytes", cell.bytes)
    };
    let hosts = format::count(cell.hosts, "host");
    let called = cell.called.map_or_else(String::new, |called| {
        format!(
            " ({} calls of a rank, {} of all)",
            called.calls.round(),
            format::seconds(called.seconds)
        )
    });
    format!("{}{size} on {} ranks of {hosts}{called}", cell.collective, cell.ranks)
}

fn algorithms(cell: &Cell) -> String {
    let one = |algorithm: &crate::answer::Algorithm| match &algorithm.setting {
        Some(setting) => format!("{} ({setting})", algorithm.name),
        None => algorithm.name.clone(),
    };
    let all: Vec<String> = cell.algorithms.iter().map(one).collect();
    let named = match all.as_slice() {
        [] => "the algorithm is not known".to_owned(),
        [one] => one.clone(),
        several => format!("one of {}, which cannot be told apart", several.join(", ")),
    };
    match &cell.component {
        Some(component) => format!("{named}, of component {component}"),
        None => named,
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let begin: String = text.chars().take(SHOWN).collect();
    format!("{begin} ...")
}

/// Lines of at most [`LIST_WIDTH`] columns; those after the first one are indented further.
fn wrapped(indent: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let mut is_empty = true;
    for word in printable(text).split(' ').filter(|word| !word.is_empty()) {
        let fits = line.chars().count() + 1 + word.chars().count() <= usize::from(LIST_WIDTH);
        if !is_empty && !fits {
            lines.push(std::mem::replace(&mut line, format!("{indent}{INDENT}")));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Algorithm, Called, Evidence, NotFollowed, SCHEMA};

    fn algorithm(name: &str, setting: &str) -> Algorithm {
        Algorithm {
            name: name.to_owned(),
            setting: (!setting.is_empty()).then(|| setting.to_owned()),
        }
    }

    fn answer() -> Answer {
        let cell = Cell {
            collective: "reduce".to_owned(),
            ranks: 4,
            hosts: 1,
            bytes: 4096,
            called: None,
            component: Some("tuned".to_owned()),
            handed_on: None,
            algorithms: vec![algorithm("binomial", "coll_tuned_reduce_algorithm=5")],
            known: vec![Evidence {
                kind: Kind::CallPath,
                text: "PMPI_Reduce > ompi_coll_tuned_reduce_intra_dec_fixed > ompi_coll_base_reduce_intra_binomial > \
                       ompi_coll_base_reduce_generic"
                    .to_owned(),
            }],
            unknown: None,
            decided: Decision::Default {
                function: Some("ompi_coll_tuned_reduce_intra_dec_fixed".to_owned()),
            },
            not_followed: vec![NotFollowed {
                setting: "`coll_tuned_reduce_algorithm=1`, set by the environment".to_owned(),
                because: "coll_tuned_use_dynamic_rules is 0".to_owned(),
            }],
        };
        let barrier = Cell {
            collective: "barrier".to_owned(),
            bytes: 0,
            hosts: 2,
            called: Some(Called {
                calls: 12.4,
                seconds: 0.25,
            }),
            component: None,
            algorithms: Vec::new(),
            known: Vec::new(),
            unknown: Some("nobody waited".to_owned()),
            decided: Decision::Unknown {
                because: "the algorithm is not known".to_owned(),
            },
            not_followed: Vec::new(),
            ..cell.clone()
        };
        Answer {
            schema: SCHEMA,
            library: "Open MPI 4.1.4".to_owned(),
            program: Some("mpirun -n 4 ./app".to_owned()),
            unanswered: 2,
            cells: vec![cell, barrier],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn an_answer_fits_a_terminal() {
        let text = render(&answer());
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        insta::assert_snapshot!(text, @r"
        Open MPI 4.1.4: the calls of mpirun -n 4 ./app

        reduce of 4096 bytes on 4 ranks of 1 host: binomial (coll_tuned_reduce_algorithm=5), of component tuned
          known by call path: PMPI_Reduce > ompi_coll_tuned_reduce_intra_dec_fixed > ompi_coll_base_reduce_intra_binomial >
            ompi_coll_base_reduce_generic
          decided by the library's own decision, in ompi_coll_tuned_reduce_intra_dec_fixed
          not followed: `coll_tuned_reduce_algorithm=1`, set by the environment, because coll_tuned_use_dynamic_rules is 0

        barrier on 4 ranks of 2 hosts (12 calls of a rank, 250 ms of all): the algorithm is not known
          not known: nobody waited
          what decided is not known: the algorithm is not known

        Kinds of calls of the program that are left without an answer: 2; raise --budget
        ");
    }

    #[test]
    fn algorithms_that_are_alike_are_all_named() {
        let mut one = answer().cells.remove(0);
        one.algorithms.push(algorithm("preset 9", "I_MPI_ADJUST_REDUCE=9"));
        let said = algorithms(&one);
        assert!(
            said.starts_with("one of binomial (coll_tuned_reduce_algorithm=5), preset 9"),
            "{said}"
        );
    }
}
