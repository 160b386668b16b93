//! Deployment on layouts that were not measured, beside the exhaustive optimum: `scripts/benchmark-prediction evaluate`.
//!
//! `prediction TIMES KNOWN CELLS`: a table of times as `scripts/benchmark-prediction measure` writes it, the layouts from which is predicted, and
//! the file for a line for each cell. Prints a summary.

#![allow(
    clippy::unwrap_used,
    reason = "an example of a benchmark, which says where it stopped"
)]

mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kilter_algorithms::Collective;
use kilter_model::layout::{Layout, parse_list};
use kilter_predict::{Call, Cell, Implementation, Kind, Map, Observation, Rules, Status, Why, next_layout, predict};

const FLOOR: f64 = 0.05;
/// Layouts that every split leaves to be predicted.
const ALWAYS_ASKED: &str = "12x1,24x4,27x3";
const KNOWN: usize = 4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [table, known, cells] = &arguments[..] else {
        eprintln!("usage: prediction TIMES KNOWN CELLS");
        std::process::exit(2);
    };
    let all = times::read(&std::fs::read_to_string(table).unwrap());
    let known = parse_list(known).unwrap();
    let layouts: BTreeSet<Layout> = all.iter().map(|seen| seen.layout).collect();
    let asked: Vec<Layout> = layouts
        .iter()
        .copied()
        .filter(|layout| !known.contains(layout))
        .collect();
    let truth = Truth::of(&all);

    let split = Split::of(&all, &known, &asked);
    std::fs::write(cells, split.lines(&truth)).unwrap();
    print!("{}", split.summary(&truth, &known, &asked));

    let always = parse_list(ALWAYS_ASKED).unwrap();
    let free: Vec<Layout> = layouts
        .iter()
        .copied()
        .filter(|layout| !always.contains(layout))
        .collect();
    println!(
        "\nAll choices of {KNOWN} known layouts among {}, the others predicted:\n",
        names(&free)
    );
    println!(" known                     within 5 %   slower than the default by more   naive: within 5 %   slower");
    let mut shares = Vec::new();
    for known in choices(&free, KNOWN) {
        let asked: Vec<Layout> = layouts
            .iter()
            .copied()
            .filter(|layout| !known.contains(layout))
            .collect();
        let split = Split::of(&all, &known, &asked);
        let (own, naive) = (Score::of(&split.predicted, &truth), Score::of(&split.naive, &truth));
        shares.push(own.within());
        println!(
            " {:24} {:9.1} % {:20} of {} {:18.1} % {:8}",
            names(&known),
            own.within() * 100.0,
            own.slower,
            own.cells,
            naive.within() * 100.0,
            naive.slower
        );
    }
    shares.sort_by(f64::total_cmp);
    if shares.is_empty() {
        println!(" none: too few layouts");
        return;
    }
    println!(
        "\n median {:.1} %, least {:.1} %, most {:.1} %",
        shares[shares.len() / 2] * 100.0,
        shares[0] * 100.0,
        shares[shares.len() - 1] * 100.0
    );

    println!("\nLayouts one after the other, each the one whose decisions are least certain (among all):\n");
    let layouts: Vec<Layout> = layouts.into_iter().collect();
    let mut measured: Vec<Layout> = Vec::new();
    while let Some(next) = next_layout(&of_layouts(&all, &measured), &layouts, &Rules::default()).unwrap() {
        measured.push(next.layout);
        let asked: Vec<Layout> = layouts
            .iter()
            .copied()
            .filter(|layout| !measured.contains(layout))
            .collect();
        if asked.is_empty() {
            break;
        }
        let split = Split::of(&all, &measured, &asked);
        let score = Score::of(&split.predicted, &truth);
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

fn of_layouts(all: &[Observation], layouts: &[Layout]) -> Vec<Observation> {
    all.iter()
        .filter(|seen| layouts.contains(&seen.layout))
        .cloned()
        .collect()
}

fn names(layouts: &[Layout]) -> String {
    layouts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
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

/// Times of all candidates.
struct Truth<'a>(BTreeMap<(Layout, Call), Vec<&'a Observation>>);

impl<'a> Truth<'a> {
    fn of(all: &'a [Observation]) -> Truth<'a> {
        let mut cells: BTreeMap<(Layout, Call), Vec<&Observation>> = BTreeMap::new();
        for seen in all {
            cells.entry((seen.layout, seen.call)).or_default().push(seen);
        }
        Truth(cells)
    }

    fn seconds(&self, layout: Layout, call: Call, implementation: &Implementation) -> Option<f64> {
        let found = self.0[&(layout, call)]
            .iter()
            .find(|seen| seen.implementation == *implementation);
        found.map(|seen| seen.seconds)
    }

    fn best(&self, layout: Layout, call: Call) -> &Observation {
        self.0[&(layout, call)]
            .iter()
            .min_by(|a, b| a.seconds.total_cmp(&b.seconds))
            .unwrap()
    }

    /// Time of an implementation over the optimum; infinite if it does not run there.
    fn ratio(&self, layout: Layout, call: Call, implementation: &Implementation) -> f64 {
        let seconds = self.seconds(layout, call, implementation).unwrap_or(f64::INFINITY);
        seconds / self.best(layout, call).seconds
    }
}

/// Quality of a map.
struct Score {
    cells: usize,
    good: usize,
    /// Cells slower than the default by more than the floor.
    slower: usize,
    logs: f64,
    worst: f64,
}

impl Score {
    fn of(map: &Map, truth: &Truth<'_>) -> Score {
        let mut score = Score {
            cells: 0,
            good: 0,
            slower: 0,
            logs: 0.0,
            worst: 1.0,
        };
        for cell in &map.cells {
            let ratio = truth.ratio(cell.layout, cell.call, &cell.choice);
            let default = truth.ratio(cell.layout, cell.call, &Implementation::Default);
            score.cells += 1;
            score.good += usize::from(ratio <= 1.0 + FLOOR);
            score.slower += usize::from(ratio > (1.0 + FLOOR) * default);
            score.logs += ratio.min(1e3).ln();
            score.worst = score.worst.max(ratio);
        }
        score
    }

    fn within(&self) -> f64 {
        self.good as f64 / self.cells.max(1) as f64
    }

    fn line(&self, name: &str) -> String {
        let mean = (self.logs / self.cells.max(1) as f64).exp();
        format!(
            " {name:42} {:5.1} % {:10} of {} {:14.3} {:8.2}\n",
            self.within() * 100.0,
            self.slower,
            self.cells,
            mean,
            self.worst
        )
    }
}

/// Implementations that are deployed on asked layouts.
struct Split {
    predicted: Map,
    naive: Map,
    others: Vec<(String, Map)>,
}

impl Split {
    fn of(all: &[Observation], known: &[Layout], asked: &[Layout]) -> Split {
        let given = of_layouts(all, known);
        let with = |rules: Rules| predict(&given, asked, &rules).unwrap();
        let rules = Rules {
            floor: FLOOR,
            ..Rules::default()
        };
        let mut others = vec![(
            "predicted, without a proof".to_owned(),
            with(Rules {
                unproven: true,
                ..rules
            }),
        )];
        for kind in Kind::ALL {
            let name = format!("{} alone, without a proof", kind.name());
            others.push((
                name,
                with(Rules {
                    model: Some(*kind),
                    unproven: true,
                    ..rules
                }),
            ));
        }
        Split {
            predicted: with(rules),
            naive: with(Rules::naive(FLOOR)),
            others,
        }
    }

    fn summary(&self, truth: &Truth<'_>, known: &[Layout], asked: &[Layout]) -> String {
        let mut text = format!(
            "Predicted from {} for {}: {} cells.\n\n",
            names(known),
            names(asked),
            self.predicted.cells.len()
        );
        text += " deployed                                   within 5 %   slower by more   mean ratio    worst\n";
        text += "                                      of the optimum   than the default   to the optimum\n\n";
        text += &Score::of(&self.predicted, truth).line("predicted and confirmed, else the default");
        text += &Score::of(&self.naive, truth).line("naive: the next smaller layout's");
        let mut untouched = self.predicted.clone();
        untouched
            .cells
            .iter_mut()
            .for_each(|cell| cell.choice = Implementation::Default);
        text += &Score::of(&untouched, truth).line("the default everywhere");
        for (name, map) in &self.others {
            text += &Score::of(map, truth).line(name);
        }
        text += "\n layout or collective    confirmed   nothing faster   unproven   within 5 %   naive: within 5 %\n\n";
        for layout in asked {
            text += &self.part(truth, &layout.to_string(), |cell| cell.layout == *layout);
        }
        let collectives: BTreeSet<Collective> = self.predicted.cells.iter().map(|cell| cell.call.collective).collect();
        for collective in collectives {
            text += &self.part(truth, collective.name(), |cell| cell.call.collective == collective);
        }
        text += "\n Models, by mean regret where known layouts are held out:\n\n";
        for chosen in &self.predicted.models {
            let regrets = chosen.regrets.iter().map(|(kind, regret)| {
                format!(
                    "{} {}",
                    kind.name(),
                    regret.map_or("-".to_owned(), |regret| format!("{:.1} %", regret * 100.0))
                )
            });
            let regrets = regrets.collect::<Vec<_>>().join(", ");
            writeln!(
                text,
                " {:12} {:16} ({regrets})",
                chosen.collective.name(),
                chosen.model.name()
            )
            .unwrap();
        }
        text
    }

    fn part(&self, truth: &Truth<'_>, name: &str, belongs: impl Fn(&Cell) -> bool) -> String {
        let of = |map: &Map| Map {
            models: Vec::new(),
            cells: map.cells.iter().filter(|cell| belongs(cell)).cloned().collect(),
        };
        let (own, naive) = (of(&self.predicted), of(&self.naive));
        let count = |wanted: fn(&Status) -> bool| own.cells.iter().filter(|cell| wanted(&cell.status)).count();
        format!(
            " {name:22} {:10} {:16} {:10} {:10.1} % {:17.1} %\n",
            count(|status| matches!(status, Status::Confirmed { .. })),
            count(|status| matches!(status, Status::Default(Why::NothingFaster))),
            count(|status| matches!(status, Status::Default(why) if *why != Why::NothingFaster)),
            Score::of(&own, truth).within() * 100.0,
            Score::of(&naive, truth).within() * 100.0
        )
    }

    /// A line for each cell.
    fn lines(&self, truth: &Truth<'_>) -> String {
        let mut text = "layout\tcollective\tbytes\toptimum\tmicroseconds\tdefault over it\tdeployed\tover it\tnaive\tover it\tstatus\n".to_owned();
        for cell in &self.predicted.cells {
            let (layout, call) = (cell.layout, cell.call);
            let best = truth.best(layout, call);
            let naive = self.naive.get(layout, call).unwrap();
            let status = match &cell.status {
                Status::Measured => "measured".to_owned(),
                Status::Confirmed { from, confirmed_by } => {
                    format!("from {}, confirmed by {}", names(from), names(confirmed_by))
                }
                Status::Default(why) => format!("default: {why}"),
            };
            let ratio = |implementation: &Implementation| truth.ratio(layout, call, implementation);
            writeln!(
                text,
                "{layout}\t{}\t{}\t{}\t{:.4}\t{:.3}\t{}\t{:.3}\t{}\t{:.3}\t{status}",
                call.collective.name(),
                call.bytes,
                best.implementation,
                best.seconds * 1e6,
                ratio(&Implementation::Default),
                cell.choice,
                ratio(&cell.choice),
                naive.choice,
                ratio(&naive.choice)
            )
            .unwrap();
        }
        text
    }
}
