//! The table of times, read.

use kilter_algorithms::{Collective, registry};
use kilter_model::deployment::Selection;
use kilter_predict::{Call, Implementation, Observation};

/// Rows of the table: layout, collective, implementation, microseconds by volume.
pub(crate) fn read(text: &str) -> Vec<Observation> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let volumes: Vec<u64> = lines
        .next()
        .unwrap()
        .split('\t')
        .skip(3)
        .map(|word| word.parse().unwrap())
        .collect();
    let mut observations = Vec::new();
    for line in lines {
        let words: Vec<&str> = line.split('\t').collect();
        for (bytes, word) in volumes.iter().zip(&words[3..]).filter(|(_, word)| **word != "-") {
            observations.push(Observation {
                layout: words[0].parse().unwrap(),
                call: Call {
                    collective: collective(words[1]),
                    bytes: *bytes,
                },
                implementation: implementation(words[2]),
                seconds: word.parse::<f64>().unwrap() * 1e-6,
                noise: 0.0,
            });
        }
    }
    observations
}

fn collective(name: &str) -> Collective {
    *Collective::ALL
        .iter()
        .find(|collective| collective.name() == name)
        .unwrap()
}

fn implementation(name: &str) -> Implementation {
    if name == "default" {
        return Implementation::Default;
    }
    let mut words = name.split(' ');
    let first = words.next().unwrap();
    Implementation::Selected(match first.split_once('=') {
        Some((setting, value)) => Selection::Settings(vec![(setting.to_owned(), value.to_owned())]),
        None => {
            assert!(registry::find(first).is_some(), "{first}");
            let values = words.map(|word| word.split_once('=').unwrap().1.parse().unwrap());
            Selection::Algorithm(first.to_owned(), values.collect())
        }
    })
}
