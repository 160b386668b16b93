//! A part of the layouts given, the others predicted.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use kilter_algorithms::Collective;
use kilter_model::layout::Layout;
use kilter_predict::{Cell, Implementation, Kind, Map, Observation, Rules, Status, Why, predict};

use crate::FLOOR;
use crate::truth::{Score, Truth};

pub(crate) fn of_layouts(all: &[Observation], layouts: &[Layout]) -> Vec<Observation> {
    all.iter()
        .filter(|seen| layouts.contains(&seen.layout))
        .cloned()
        .collect()
}

pub(crate) fn names(layouts: &[Layout]) -> String {
    layouts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Implementations that are deployed on asked layouts.
pub(crate) struct Split {
    pub(crate) predicted: Map,
    pub(crate) naive: Map,
    pub(crate) others: Vec<(String, Map)>,
}

impl Split {
    pub(crate) fn of(all: &[Observation], known: &[Layout], asked: &[Layout]) -> Split {
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

    pub(crate) fn summary(&self, truth: &Truth<'_>, known: &[Layout], asked: &[Layout]) -> String {
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

    pub(crate) fn part(&self, truth: &Truth<'_>, name: &str, belongs: impl Fn(&Cell) -> bool) -> String {
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
    pub(crate) fn lines(&self, truth: &Truth<'_>) -> String {
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
