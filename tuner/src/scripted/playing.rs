//! A scripted library carries out the items of a job.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use kilter_algorithms::Collective;
use kilter_protocol::cpus::ProcessingUnits;
use kilter_protocol::expression::{Communicator, Form, Operation, Side, Single, Term, Values};
use kilter_protocol::fault::Fault;
use kilter_protocol::overlap::{Overlap, Part};
use kilter_protocol::plan::{Header, Implementation, Item};
use kilter_protocol::report::Start;

use self::inside::{DEPTH, told};
use super::call::{Call, Settings};
use super::files::InForce;
use super::library::{LATENCY, PER_BYTE, ScriptedLibrary};
use kilter_bench::launch::CommandSpec;
use kilter_bench::launch::scripted::{Ends, Launched, NotStarted, Play, Played, RowEnds, Script};
use kilter_model::config::library::{Column, Library};
use kilter_model::ranged;
use kilter_search::verification::type_in;

mod inside;
mod said;

/// Version of the library.
pub(super) const VERSION: &str = "1.0";

/// Interval at which jobs' words come into sight where no scenario says another one: what comes together is stored together.
const SHOWN_EVERY: Duration = Duration::from_millis(50);

/// The scripts of a library's jobs.
#[derive(Debug)]
pub(super) struct Jobs {
    pub(super) library: Rc<ScriptedLibrary>,
    pub(super) description: Rc<Library>,
}

impl Script for Jobs {
    fn launch(&self, command: &CommandSpec, header: &Header) -> Launched {
        let in_force = InForce::of(command, &self.description);
        let playing = Playing {
            library: Rc::clone(&self.library),
            description: Rc::clone(&self.description),
            in_force,
            counters: header.counters.clone(),
            says_bits: !header.bits_at.is_empty(),
            says_paths: header.call_paths,
        };
        match self.library.fault_of_start(&playing.settings(&[])) {
            Some(NotStarted::Ends) => Launched::Fails("the job does not start under these settings".to_owned()),
            Some(NotStarted::Hangs) => Launched::Silent,
            None => Launched::Runs {
                start: Box::new(playing.start(header)),
                play: Box::new(playing),
            },
        }
    }

    fn verifier_not_started(&self) -> Option<NotStarted> {
        self.library.fault_of_verifier()
    }

    fn shows_reports_every(&self, elapsed: Duration) -> Duration {
        let interval = self.library.shown_every.as_ref();
        interval.map_or(SHOWN_EVERY, |interval| {
            Duration::from_secs_f64(interval(elapsed.as_secs_f64()))
        })
    }

    fn verified(&self, row: &str) -> RowEnds {
        self.library.verified_rows.get(row).cloned().unwrap_or_default()
    }
}

/// A job.
#[derive(Debug)]
struct Playing {
    library: Rc<ScriptedLibrary>,
    description: Rc<Library>,
    in_force: InForce,
    counters: Vec<String>,
    says_bits: bool,
    says_paths: bool,
}

impl Playing {
    fn start(&self, header: &Header) -> Start {
        let ranks = self.in_force.ranks;
        let per_host = self.in_force.per_host();
        Start {
            library: format!("{}, scripted", self.description.reports.replace("1.", VERSION)),
            ranks,
            hosts: (0..ranks).map(|rank| format!("host{}", rank / per_host)).collect(),
            clock_tick_seconds: 1e-9,
            clock_read_seconds: 20e-9,
            loop_overhead_seconds: 50e-9,
            variables: self.read(&header.read_variables),
            environment: header
                .read_environment
                .iter()
                .filter_map(|name| Some((name.clone(), self.in_force.environment.get(name)?.clone())))
                .collect(),
            processing_units: header.asks_processing_units.then(|| ProcessingUnits {
                granted: kilter_protocol::cpus::list(0..ranks),
                of_ranks: Vec::new(),
                by: "the scripted library".to_owned(),
            }),
            ..Start::default()
        }
    }

    /// The library's report of its parameters: the value set, else the default where it knows it.
    fn read(&self, names: &[String]) -> BTreeMap<String, String> {
        let default = |name: &String| {
            let row = self.description.parameters.iter().find(|row| row.name == *name)?;
            Some(row.default.clone())
        };
        let value = |name: &String| {
            let InForce {
                parameters,
                environment,
                ..
            } = &self.in_force;
            // A library whose parameters are all variables has one form for both.
            let set = parameters.get(name).or_else(|| environment.get(name)).cloned();
            set.filter(|_| !self.library.deaf.contains(name))
                .or_else(|| default(name))
        };
        names
            .iter()
            .filter_map(|name| Some((name.clone(), value(name)?)))
            .collect()
    }

    /// Settings that act: the launch's, then an item's, without those that act as nothing.
    fn settings(&self, of_item: &[(String, String)]) -> Settings<'_> {
        let mut set = self.in_force.environment.clone();
        set.extend(self.in_force.parameters.clone());
        set.extend(of_item.iter().cloned());
        set.retain(|name, _| !self.library.idle.contains(name) && !self.library.deaf.contains(name));
        Settings::new(set, &self.description)
    }

    /// The component that carries a call out, where the library has several.
    fn component(&self, settings: &Settings<'_>, collective: Collective, bytes: u64) -> Option<&str> {
        let components = self.description.components.as_ref()?;
        self.in_force.component(components, settings, (collective, bytes))
    }

    /// True if a setting, or the file of components, hands a call to the component that has the algorithms.
    fn is_handed_on(&self, settings: &Settings<'_>, collective: Collective, bytes: u64) -> bool {
        let of_algorithms = self.description.components.as_ref().map(|one| &*one.of_algorithms);
        of_algorithms.is_some() && self.component(settings, collective, bytes) == of_algorithms
    }

    /// The library's algorithm that is in force for a call, 0 where it decides by itself; and the knobs that a rule sets along with it.
    fn algorithm(
        &self,
        settings: &Settings<'_>,
        collective: Collective,
        bytes: u64,
    ) -> (u64, BTreeMap<String, String>) {
        let own = (0, BTreeMap::new());
        let row = self
            .description
            .algorithms_of(collective)
            .filter(|_| self.library.admits(settings) || self.is_handed_on(settings, collective, bytes));
        let Some(row) = row else { return own };
        let value = settings.value(&row.parameter);
        if let Some(at_start) = row.at_start {
            let ranges = ranged::parse(at_start.form, &row.parameter, value).unwrap_or_default();
            let size = at_start
                .unit
                .map_or(bytes, |unit| unit.range((bytes, bytes), self.in_force.ranks as u64).0);
            return (
                ranged::lookup(at_start.form, &ranges, size).unwrap_or_default(),
                BTreeMap::new(),
            );
        }
        let chosen = value.parse().unwrap_or_default();
        if chosen > 0 {
            return (chosen, BTreeMap::new());
        }
        let (Some(rules), Some(id)) = (&self.in_force.rules, row.rules_id) else {
            return own;
        };
        let choice = rules.lookup(id, self.in_force.ranks as u64, bytes);
        let knobs = row.knobs.iter().filter_map(|(name, knob)| {
            let value = match knob.column? {
                Column::Segment => choice.segment_bytes,
                Column::Fan => choice.fan,
                Column::Requests => choice.requests?,
            };
            Some((format!("{}_{name}", row.parameter), value.to_string()))
        });
        (choice.algorithm, knobs.collect())
    }

    fn call<'c>(&self, item: &'c Item, settings: &Settings<'c>, collective: Collective, bytes: u64) -> Call<'c> {
        let (algorithm, knobs) = self.algorithm(settings, collective, bytes);
        Call {
            collective,
            bytes,
            ranks: self.in_force.ranks,
            nodes: self.in_force.ranks.div_ceil(self.in_force.per_host()),
            algorithm,
            form: Form::Blocking,
            sendtype: item.task.sendtype,
            item: &item.id,
            element: type_in(&item.id),
            arrival: item.arrival.as_ref(),
            settings: settings.with_defaults(knobs),
        }
    }

    /// A library call, which the drop-in may carry out in the library's place.
    fn library_call(&self, item: &Item, call: &Call<'_>, played: &mut Played) -> Result<f64, Ends> {
        let profile = self.in_force.profile.as_ref().filter(|_| call.form == Form::Blocking);
        let entry = profile.and_then(|table| table.lookup(call.collective, call.bytes));
        let Some(entry) = entry else {
            return match self.library.fault_of(call) {
                Some(ends) => Err(ends),
                None => Ok(self.library.seconds(call)),
            };
        };
        played.dropin.push(entry.implementation.clone());
        let replaced = Call {
            item: &entry.implementation,
            settings: call.settings.clone(),
            ..*call
        };
        if let Some(ends) = self.library.fault_of(&replaced) {
            return Err(ends);
        }
        let rows = |collective: Collective, bytes: u64| {
            let inner = profile.and_then(|table| table.lookup(collective, bytes))?;
            let values = inner.parameters.values().copied().collect();
            Some((inner.implementation.clone(), values))
        };
        let values: Vec<u64> = entry.parameters.values().copied().collect();
        let own = (entry.implementation.as_str(), values.as_slice());
        Ok(self.row_seconds(item, &replaced, own, &rows, DEPTH))
    }

    fn term(&self, term: &Term, item: &Item, settings: &Settings<'_>, played: &mut Played) -> Result<f64, Ends> {
        let ranks = self.in_force.ranks as u64;
        let values = Values {
            n_bytes: item.bytes,
            p_ranks: ranks,
            q_ranks: ranks,
        };
        let value = |quantity: &kilter_protocol::expression::Quantity| quantity.value(values).map_err(refused);
        let times = value(&term.repeat)?;
        let bytes = term.call.size.as_ref().map_or(Ok(0), value)?;
        let one = match &term.call.operation {
            Operation::Collective(Some(collective), form) => {
                let call = Call {
                    form: *form,
                    ..self.call(item, settings, *collective, bytes)
                };
                match item.deployed.iter().find(|one| one.answers(*collective, bytes)) {
                    Some(one) => {
                        let call = Call { item: &one.id, ..call };
                        self.row_seconds(item, &call, (&one.id, &one.parameters), &told(item), DEPTH)
                    }
                    None => self.library_call(item, &call, played)?,
                }
            }
            Operation::Collective(None, _) => return Err(refused("an `A` is left")),
            Operation::PointToPoint(_) => {
                let Some(collective) = item.task.collective() else {
                    return Err(refused("no collective to carry out"));
                };
                let call = self.call(item, settings, collective, bytes);
                self.library.seconds_of_row(&item.id, &call)
            }
            Operation::Single(single) => match single {
                Single::Wait | Single::Recv | Single::Irecv | Single::Fence => LATENCY / 10.0,
                Single::Copy | Single::Pack | Single::Unpack => LATENCY / 20.0 + bytes as f64 * PER_BYTE,
                Single::Combine => LATENCY / 20.0 + 2.0 * bytes as f64 * PER_BYTE,
                Single::Pingpong => {
                    let factor = match term.call.on {
                        Communicator::Pair(from, to) => self.library.factor_between(from, to),
                        _ => 1.0,
                    };
                    2.0 * factor * (LATENCY + bytes as f64 * PER_BYTE)
                }
                _ => LATENCY + bytes as f64 * PER_BYTE,
            },
        };
        Ok(times as f64 * one)
    }

    fn ends(&self, item: &Item, settings: &Settings<'_>, played: &mut Played) -> Result<f64, Ends> {
        if let Some((name, value)) = item.settings.iter().find(|(name, _)| self.library.deaf.contains(name)) {
            return Err(Ends::Fails(Fault::NoEffect {
                rank: 0,
                name: name.clone(),
                asked: value.clone(),
                read: "its default".to_owned(),
            }));
        }
        match &item.implementation {
            Implementation::Expression { text } => {
                let side: Side = text.parse().map_err(refused)?;
                side.terms
                    .iter()
                    .map(|term| self.term(term, item, settings, played))
                    .sum()
            }
            Implementation::Algorithm { id, parameters } | Implementation::Plugin { id, parameters, .. } => {
                let Some(collective) = item.task.collective() else {
                    return Err(refused("no collective to carry out"));
                };
                let call = self.call(item, settings, collective, item.bytes);
                match self.library.fault_of(&call) {
                    Some(ends) => Err(ends),
                    None => Ok(self.row_seconds(item, &call, (id, parameters), &told(item), DEPTH)),
                }
            }
            Implementation::Overlap(overlap) => Ok(self.overlapped(overlap, item.bytes, settings)),
            Implementation::Schedule(schedule) => {
                if let Some(collective) = item.task.collective()
                    && let Some(ends) = self
                        .library
                        .fault_of(&self.call(item, settings, collective, item.bytes))
                {
                    return Err(ends);
                }
                Ok(self.library.seconds_of_schedule(schedule))
            }
            Implementation::Among(among) => {
                let inner = Item {
                    implementation: among.implementation.clone(),
                    ..item.clone()
                };
                self.ends(&inner, settings, played)
            }
        }
    }

    /// A part of an overlap benchmark, in seconds.
    fn overlapped(&self, overlap: &Overlap, bytes: u64, settings: &Settings<'_>) -> f64 {
        let latency = LATENCY;
        let communication = 2.0 * latency + bytes as f64 * PER_BYTE;
        let computation = overlap.computation_ns as f64 * 1e-9;
        let hidden = self.library.hidden(overlap.benchmark, bytes, settings);
        match overlap.part {
            Part::Latency => latency,
            Part::Communication => communication,
            Part::Computation => computation,
            Part::Overlapped => computation + communication - hidden * (communication - latency).min(computation),
        }
    }
}

/// The end of an item that rank 0 cannot carry out.
fn refused(why: impl std::fmt::Display) -> Ends {
    Ends::Fails(Fault::Refused {
        rank: 0,
        why: why.to_string(),
    })
}

impl Play for Playing {
    fn item(&self, item: &Item) -> Played {
        let settings = self.settings(&item.settings);
        let mut played = Played {
            read_back: self.said(item, &settings),
            ..Played::default()
        };
        played.ends = match self.ends(item, &settings, &mut played) {
            Ok(seconds) => Ends::Takes(seconds),
            Err(ends) => ends,
        };
        played
    }
}
