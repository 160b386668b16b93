//! A part of the layouts given, the others predicted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kilter_algorithms::Collective;
use kilter_model::layout::Layout;
use kilter_predict::{Call, Cell, Implementation, Kind, Map, Measured, Observation, Rules, Status, Why};

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
        let measured = Measured::of(&given, asked).unwrap();
        let with = |rules: Rules| measured.predict(&rules);
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
        text += &self.by_layout_and_collective(truth);
        text += &self.errors_of_times(truth);
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

    /// Cells that lose more than the floor, of all: a table of layouts by calls.
    fn by_layout_and_collective(&self, truth: &Truth<'_>) -> String {
        let cells = &self.predicted.cells;
        let calls: BTreeSet<Call> = cells.iter().map(|cell| cell.call).collect();
        let layouts: BTreeSet<Layout> = cells.iter().map(|cell| cell.layout).collect();
        let mut text = "\n Time over the optimum, in percent, where it is more than the floor:\n\n".to_owned();
        let heads = layouts.iter().map(|layout| format!("{:>6}", layout.to_string()));
        writeln!(text, " {:20} {}", "", heads.collect::<String>()).unwrap();
        for call in calls {
            let over = layouts.iter().map(|layout| {
                let cell = self.predicted.get(*layout, call);
                let over = cell.map_or(0.0, |cell| truth.ratio(*layout, call, &cell.choice) - 1.0);
                let over = (over > FLOOR).then(|| format!("{:.1}", over * 100.0));
                format!("{:>6}", over.unwrap_or_else(|| ".".to_owned()))
            });
            writeln!(text, " {:20} {}", call.to_string(), over.collect::<String>()).unwrap();
        }
        text
    }

    /// Errors of predicted times by collective, and how many of the times lie in their intervals.
    fn errors_of_times(&self, truth: &Truth<'_>) -> String {
        let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut held: BTreeMap<&str, usize> = BTreeMap::new();
        for cell in &self.predicted.cells {
            let name = cell.call.collective.name();
            for estimate in &cell.candidates {
                let Some(seconds) = truth.seconds(cell.layout, cell.call, &estimate.implementation) else {
                    continue;
                };
                let error = (estimate.seconds / seconds).ln().abs();
                errors.entry(name).or_default().push(error);
                *held.entry(name).or_default() += usize::from(estimate.low <= seconds && seconds <= estimate.high);
            }
        }
        let mut text =
            "\n Errors of predicted times    median   90 % below   within the interval of 95 %\n\n".to_owned();
        for (name, mut errors) in errors {
            errors.sort_by(f64::total_cmp);
            let at = |share: f64| (errors[((errors.len() - 1) as f64 * share) as usize].exp() - 1.0) * 100.0;
            let share = held[name] as f64 / errors.len() as f64 * 100.0;
            writeln!(text, " {name:26} {:6.1} % {:10.1} % {share:14.1} %", at(0.5), at(0.9)).unwrap();
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
