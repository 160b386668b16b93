//! Deployment on layouts that were not measured, beside the exhaustive optimum: `scripts/benchmark-prediction evaluate`.
//!
//! `prediction TIMES ASKED CELLS`: a table of times as `scripts/benchmark-prediction measure` writes it, layouts that are always predicted, and the
//! file for a line for each cell. Prints a summary.
//!
//! `prediction TIMES ASKED CELLS HELD_OUT`: the same for the layouts and calls of a table that no model was developed on. The layouts that are
//! given are those which Kilter chooses in the first table.

#![allow(
    clippy::unwrap_used,
    reason = "an example of a benchmark, which says where it stopped"
)]

mod split;
mod times;
mod truth;

use std::collections::BTreeSet;

use kilter_model::layout::{Layout, parse_list};
use kilter_predict::{Map, Observation, Rules, next_layout};

use split::{Split, names, of_layouts};
use truth::{Score, Truth};

const FLOOR: f64 = 0.05;
/// Layouts that are given.
const KNOWN: usize = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (table, asked, cells, held_out) = match &arguments[..] {
        [table, asked, cells] => (table, asked, cells, None),
        [table, asked, cells, held_out] => (table, asked, cells, Some(held_out)),
        _ => {
            eprintln!("usage: prediction TIMES ASKED CELLS [HELD_OUT]");
            std::process::exit(2);
        }
    };
    let read = |table: &String| times::read(&std::fs::read_to_string(table).unwrap());
    let all = read(table);
    let always = parse_list(asked).unwrap();
    let layouts: BTreeSet<Layout> = all.iter().map(|seen| seen.layout).collect();
    let layouts: Vec<Layout> = layouts.into_iter().collect();
    let free = without(&layouts, &always);
    let known = measured_first(&all, &free, KNOWN);
    if let Some(held_out) = held_out {
        let (text, lines) = test(&all, &read(held_out), &known, &layouts);
        std::fs::write(cells, lines).unwrap();
        print!("{text}");
        return;
    }
    let truth = Truth::of(&all);
    let asked = without(&layouts, &known);
    let split = Split::of(&all, &known, &asked);
    std::fs::write(cells, split.lines(&truth)).unwrap();
    print!("{}", split.summary(&truth, &known, &asked));
    every_choice(&all, &truth, &layouts, &free);
    one_after_the_other(&all, &truth, &layouts);
}

/// A summary and the cells of layouts that the first table has not, for calls of both: with times of both on the known layouts.
fn test(developed: &[Observation], held_out: &[Observation], known: &[Layout], seen: &[Layout]) -> (String, String) {
    let tested: BTreeSet<Layout> = held_out.iter().map(|seen| seen.layout).collect();
    let tested = without(&tested.into_iter().collect::<Vec<_>>(), seen);
    let all = [of_layouts(developed, known), held_out.to_vec()].concat();
    let truth = Truth::of(&all);
    let split = Split::of(&all, known, &tested);
    (split.summary(&truth, known, &tested), split.lines(&truth))
}

fn without(layouts: &[Layout], others: &[Layout]) -> Vec<Layout> {
    let left = layouts.iter().copied().filter(|layout| !others.contains(layout));
    left.collect()
}

/// The layouts that Kilter measures first among those that it may: each time the next one, of those that are left.
fn measured_first(all: &[Observation], free: &[Layout], count: usize) -> Vec<Layout> {
    let mut known = Vec::new();
    while known.len() < count {
        let Some(next) = next_layout(&of_layouts(all, &known), free, &Rules::default()).unwrap() else {
            break;
        };
        known.push(next.layout);
    }
    known
}

/// Every choice of known layouts: that one was good could be luck.
fn every_choice(all: &[Observation], truth: &Truth<'_>, layouts: &[Layout], free: &[Layout]) {
    println!(
        "\nAll choices of {KNOWN} known layouts among {}, the others predicted:\n",
        names(free)
    );
    println!(" known                     within 5 %   slower than the default by more   naive: within 5 %   slower");
    let mut spread = Spread::default();
    for known in choices(free, KNOWN) {
        let split = Split::of(all, &known, &without(layouts, &known));
        let (own, naive) = (Score::of(&split.predicted, truth), Score::of(&split.naive, truth));
        println!(
            " {:24} {:9.1} % {:20} of {} {:18.1} % {:8}",
            names(&known),
            own.within() * 100.0,
            own.slower,
            own.cells,
            naive.within() * 100.0,
            naive.slower
        );
        spread.add("predicted and confirmed, else the default", &split.predicted, truth);
        spread.add("naive: the next smaller layout's", &split.naive, truth);
        for (name, map) in &split.others {
            spread.add(name, map, truth);
        }
    }
    spread.print();
}

/// Shares of good cells over several choices, by what was deployed.
#[derive(Default)]
struct Spread(Vec<(String, Vec<Score>)>);

impl Spread {
    fn add(&mut self, name: &str, map: &Map, truth: &Truth<'_>) {
        let score = Score::of(map, truth);
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, scores)) => scores.push(score),
            None => self.0.push((name.to_owned(), vec![score])),
        }
    }

    fn print(&mut self) {
        println!(
            "\n over all choices                             least   median     most within 5 %   slower than the default by more\n"
        );
        for (name, scores) in &mut self.0 {
            scores.sort_by(|a, b| a.within().total_cmp(&b.within()));
            let share = |at: usize| scores[at].within() * 100.0;
            let (slower, cells) = scores.iter().fold((0, 0), |(slower, cells), score| {
                (slower + score.slower, cells + score.cells)
            });
            println!(
                " {name:42} {:6.1} % {:6.1} % {:6.1} % {:20} of {cells}",
                share(0),
                share(scores.len() / 2),
                share(scores.len() - 1),
                slower
            );
        }
    }
}

fn one_after_the_other(all: &[Observation], truth: &Truth<'_>, layouts: &[Layout]) {
    println!("\nLayouts one after the other, each the one whose decisions are least certain (among all):\n");
    let mut measured: Vec<Layout> = Vec::new();
    while let Some(next) = next_layout(&of_layouts(all, &measured), layouts, &Rules::default()).unwrap() {
        measured.push(next.layout);
        let asked = without(layouts, &measured);
        if asked.is_empty() {
            break;
        }
        let score = Score::of(&Split::of(all, &measured, &asked).predicted, truth);
        println!(
            " {:6} expected regret {:6.1} %; then {:5.1} % of the {} other cells within 5 %, {} slower than the default",
            next.layout.to_string(),
            next.regret * 100.0,
            score.within() * 100.0,
            score.cells,
            score.slower
        );
    }
}

/// All choices of `count` layouts, in order.
fn choices(layouts: &[Layout], count: usize) -> Vec<Vec<Layout>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let firsts = layouts.iter().enumerate();
    let with = |(at, first): (usize, &Layout)| {
        let rest = choices(&layouts[at + 1..], count - 1).into_iter();
        rest.map(|rest| [vec![*first], rest].concat()).collect::<Vec<_>>()
    };
    firsts.flat_map(with).collect()
}
