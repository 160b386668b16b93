//! `kilter list`: what there is.

use kilter_algorithms::{alias, mockup, registry};
use kilter_emit::emitters;
use kilter_model::config::{guideline, library, target};
use kilter_render::table::{narrow, trimmed};

use super::{Status, list_json, print};
use crate::cli::{List, ListFormat, Listed};

pub(super) fn run(typed: &List) -> anyhow::Result<Status> {
    if typed.format == ListFormat::Json {
        print(&list_json::text(typed.what)?)?;
        return Ok(Status::Holds);
    }
    let text = match typed.what {
        Listed::Guidelines => guideline::list(&guideline::load_embedded()?),
        Listed::Algorithms => algorithms(),
        Listed::Mockups => mockups(),
        Listed::Libraries => libraries()?,
        Listed::Targets => target::list(&target::load_embedded()?),
    };
    print(&text)?;
    Ok(Status::Holds)
}

fn algorithms() -> String {
    let mut table = narrow(&["id", "what, needs, parameters, source"]);
    for algorithm in registry::algorithms() {
        let mut lines = vec![algorithm.summary.to_owned()];
        if !algorithm.needs.is_empty() {
            let needs: Vec<String> = algorithm.needs.iter().map(|need| format!("{need:?}")).collect();
            lines.push(format!("needs {}", needs.join(", ")));
        }
        lines.extend(
            algorithm
                .parameters
                .iter()
                .map(|p| format!("{} {}..{} (default {})", p.name, p.min, p.max, p.default)),
        );
        let aliases = alias::ALIASES.iter().filter(|alias| alias.id == algorithm.id);
        lines.extend(aliases.map(|alias| {
            let values = algorithm.parameters.iter().zip(alias.parameters);
            let values: Vec<String> = values.map(|(p, value)| format!("{} {value}", p.name)).collect();
            format!("with {}: {}", values.join(", "), alias.plain)
        }));
        lines.push(algorithm.source.to_owned());
        table.add_row([algorithm.id, &lines.join("\n")]);
    }
    trimmed(&table)
}

fn mockups() -> String {
    let mut table = narrow(&["id", "stands for", "calls"]);
    for row in mockup::MOCKUPS {
        table.add_row([row.id, row.collective.mpi_name(), row.side]);
    }
    trimmed(&table)
}

fn libraries() -> anyhow::Result<String> {
    let mut table = narrow(&[
        "id",
        "library",
        "builds",
        "can be",
        "parameters",
        "run with",
        "rows verified by",
    ]);
    for library in emitters::load_embedded()? {
        table.add_row([
            library.id.clone(),
            library.name.clone(),
            library.builds.replace("{major}.{minor}", "*"),
            (if library.emitter.is_some() {
                "verified and tuned"
            } else {
                "verified"
            })
            .to_owned(),
            library.parameters.len().to_string(),
            match library.verified.against.as_slice() {
                [] => "never run".to_owned(),
                versions => versions.join(", "),
            },
            shares(&library.shares()),
        ]);
    }
    Ok(trimmed(&table))
}

/// Such as `run 3, source 74`.
fn shares(shares: &library::Shares) -> String {
    let said = shares
        .by
        .iter()
        .map(|(verified, rows)| format!("{} {rows}", verified.word()));
    let unsaid = (shares.unsaid > 0).then(|| format!("not said {}", shares.unsaid));
    said.chain(unsaid).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_fits_a_terminal_of_120_columns() {
        let lists = [
            ("guidelines", guideline::list(&guideline::load_embedded().unwrap())),
            ("algorithms", algorithms()),
            ("mockups", mockups()),
            ("libraries", libraries().unwrap()),
            ("targets", target::list(&target::load_embedded().unwrap())),
        ];
        for (name, text) in lists {
            for line in text.lines() {
                assert!(line.chars().count() <= 120, "{name}: {line}");
            }
        }
    }

    #[test]
    fn a_library_says_with_which_version_it_was_run_if_ever() {
        let text = libraries().unwrap();
        let line = |id: &str| text.lines().find(|line| line.contains(id)).unwrap().to_owned();
        assert!(line("openmpi-4.1").contains("4.1.4"), "{text}");
        assert!(line("openmpi-6.0").contains("never run"), "{text}");
    }

    #[test]
    fn an_algorithm_says_all_that_it_needs() {
        let text = algorithms();
        for part in [
            "EvenRanks",
            "segment_bytes 256..32768 (default 16384)",
            "doi:10.1109/71.642949",
            "with radix 2: gather.binomial",
        ] {
            assert!(text.contains(part), "{part}");
        }
        for algorithm in registry::algorithms() {
            assert!(text.contains(algorithm.id), "{}", algorithm.id);
        }
    }
}
