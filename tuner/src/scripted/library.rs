//! A library that follows a scenario.

mod not_started;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kilter_algorithms::Collective;
use kilter_protocol::fault::{Buffer, Fault, WrongData, Zone};
use kilter_protocol::overlap::Benchmark;
use kilter_protocol::row::{Needs, Row, Rows};
use kilter_protocol::schedule::Schedule;

use super::call::{Call, Settings};
use kilter_bench::launch::scripted::{Ends, Noise, RowEnds};
use kilter_model::config::ConfigError;
use kilter_model::config::library::Library;

/// The descriptions, to which scenarios add tables.
const SWITCHED: &str = include_str!("library.toml");
const AT_START: &str = include_str!("at_start.toml");

/// Seconds of a call, from the call and its usual time.
type Cost = Box<dyn Fn(&Call<'_>, f64) -> f64>;
type Test = Box<dyn Fn(&Call<'_>) -> bool>;
/// Share of communication that is hidden behind computation, from benchmark, bytes and settings.
type Hidden = Box<dyn Fn(Benchmark, u64, &Settings<'_>) -> f64>;
/// A call's results on random doubles.
type Bits = Box<dyn Fn(&Call<'_>) -> String>;
type SettingsTest = Box<dyn Fn(&Settings<'_>) -> bool>;

/// A library that costs what a scenario says, and fails where it says so.
///
/// A scripted library. By default all guidelines hold: every collective takes the same time whatever is set, and Kilter's own algorithms take
/// [`OWN`] times as long.
pub struct ScriptedLibrary {
    description: String,
    pub(super) noise: Noise,
    /// Factor of all times.
    slower: f64,
    costs: Vec<(Collective, Cost)>,
    rows: BTreeMap<String, Cost>,
    faults: Vec<(Test, Ends)>,
    not_started: not_started::Faults,
    /// Condition under which the library uses the algorithms that are chosen.
    admits: Option<SettingsTest>,
    /// Settings that read back and act as nothing.
    pub(super) idle: BTreeSet<String>,
    /// Settings that read back as their default.
    pub(super) deaf: BTreeSet<String>,
    hidden: Option<Hidden>,
    bits: Option<Bits>,
    pub(super) verified_rows: BTreeMap<String, RowEnds>,
    pub(super) plugin: Option<Rows>,
    pub(super) other_cores: Option<f64>,
    pub(super) shown_every: Option<Box<dyn Fn(f64) -> f64>>,
    pub(super) said: Option<String>,
    /// The algorithm that the library's own decision comes to; without one it is none that can be forced.
    pub(super) own_choice: Option<u64>,
    /// Factor of a message between two ranks.
    between: Option<Box<dyn Fn(u64, u64) -> f64>>,
}

/// Time of Kilter's own rows over the library's, unless a scenario sets it.
const OWN: f64 = 4.0;

/// Latency of a message, in seconds.
pub(super) const LATENCY: f64 = 1e-6;

/// Seconds for a byte.
pub(super) const PER_BYTE: f64 = 1e-10;

impl fmt::Debug for ScriptedLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedLibrary")
            .field("noise", &self.noise)
            .finish_non_exhaustive()
    }
}

impl Default for ScriptedLibrary {
    fn default() -> ScriptedLibrary {
        ScriptedLibrary::new()
    }
}

impl ScriptedLibrary {
    /// A library in which every guideline holds, on a quiet machine. Its algorithms are switched in a running job, as Open MPI's are.
    #[must_use]
    pub fn new() -> ScriptedLibrary {
        ScriptedLibrary::by(SWITCHED)
    }

    /// A library whose algorithms are chosen when a job starts, as Intel MPI's are.
    #[must_use]
    pub fn choosing_at_start() -> ScriptedLibrary {
        ScriptedLibrary::by(AT_START)
    }

    /// A library by another description, such as one of another emitter.
    #[must_use]
    pub fn by(description: &str) -> ScriptedLibrary {
        ScriptedLibrary {
            description: description.to_owned(),
            noise: Noise::default(),
            slower: 1.0,
            costs: Vec::new(),
            rows: BTreeMap::new(),
            faults: Vec::new(),
            not_started: not_started::Faults::default(),
            admits: None,
            idle: BTreeSet::new(),
            deaf: BTreeSet::new(),
            hidden: None,
            bits: None,
            verified_rows: BTreeMap::new(),
            plugin: None,
            other_cores: None,
            shown_every: None,
            said: None,
            own_choice: None,
            between: None,
        }
    }

    /// Noise on all times.
    #[must_use]
    pub fn noise(mut self, noise: Noise) -> ScriptedLibrary {
        self.noise = noise;
        self
    }

    /// Everything usually takes so many times as long.
    #[must_use]
    pub fn slower(mut self, times: f64) -> ScriptedLibrary {
        self.slower = times;
        self
    }

    /// A parameter of whole launches with its default, and the values that are tried.
    #[must_use]
    pub fn setting(self, name: &str, default: &str, tried: &[&str]) -> ScriptedLibrary {
        self.described(&format!(
            "[[parameters]]\nname = \"{name}\"\ndefault = \"{default}\"\ntry = {tried:?}\nsummary = \"scripted\"\n"
        ))
    }

    /// Further tables of the library's description, such as `[[parameters]]`.
    #[must_use]
    pub fn described(mut self, tables: &str) -> ScriptedLibrary {
        self.description += &format!("\n{tables}");
        self
    }

    /// Sets the time of the library's calls of a collective, in seconds, from the usual time.
    ///
    /// # Panics
    /// No collective has this name.
    #[must_use]
    pub fn cost(mut self, collective: &str, cost: impl Fn(&Call<'_>, f64) -> f64 + 'static) -> ScriptedLibrary {
        let collective = collective.parse().unwrap_or_else(|error| panic!("{error}"));
        self.costs.push((collective, Box::new(cost)));
        self
    }

    /// Sets the time of a row of Kilter's or a plugin's, in seconds, from the library's usual time for the collective.
    #[must_use]
    pub fn row(mut self, id: &str, cost: impl Fn(&Call<'_>, f64) -> f64 + 'static) -> ScriptedLibrary {
        self.rows.insert(id.to_owned(), Box::new(cost));
        self
    }

    /// Jobs crash in these calls.
    #[must_use]
    pub fn crashes(self, when: impl Fn(&Call<'_>) -> bool + 'static) -> ScriptedLibrary {
        self.fault(when, Ends::Crashes)
    }

    /// Jobs hang in these calls.
    #[must_use]
    pub fn hangs(self, when: impl Fn(&Call<'_>) -> bool + 'static) -> ScriptedLibrary {
        self.fault(when, Ends::Hangs)
    }

    /// Makes all repetitions of calls void.
    #[must_use]
    pub fn voids(self, when: impl Fn(&Call<'_>) -> bool + 'static) -> ScriptedLibrary {
        self.fault(when, Ends::Void)
    }

    /// Makes calls deliver wrong data.
    #[must_use]
    pub fn wrong_data(self, when: impl Fn(&Call<'_>) -> bool + 'static) -> ScriptedLibrary {
        let wrong = WrongData {
            rank: 1,
            buffer: Buffer::Output,
            zone: Zone::Within,
            byte: 7,
            got: 0,
            expected: 1,
            slice: None,
        };
        self.fault(when, Ends::Fails(Fault::WrongData(wrong)))
    }

    fn fault(mut self, when: impl Fn(&Call<'_>) -> bool + 'static, ends: Ends) -> ScriptedLibrary {
        self.faults.push((Box::new(when), ends));
        self
    }

    /// The library's algorithms are asked for under these settings alone; else it decides by itself, whatever is chosen.
    #[must_use]
    pub fn admits_algorithms(mut self, when: impl Fn(&Settings<'_>) -> bool + 'static) -> ScriptedLibrary {
        self.admits = Some(Box::new(when));
        self
    }

    /// A setting that reads back as it was set, and acts as nothing.
    #[must_use]
    pub fn ignores(mut self, name: &str) -> ScriptedLibrary {
        self.idle.insert(name.to_owned());
        self
    }

    /// A setting that reads back as its default, whatever is set.
    #[must_use]
    pub fn does_not_take(mut self, name: &str) -> ScriptedLibrary {
        self.deaf.insert(name.to_owned());
        self
    }

    /// The share of communication that is hidden behind computation, from 0 to 1; without it, all of it is.
    #[must_use]
    pub fn hides(mut self, share: impl Fn(Benchmark, u64, &Settings<'_>) -> f64 + 'static) -> ScriptedLibrary {
        self.hidden = Some(Box::new(share));
        self
    }

    /// Sets a call's results on random doubles, in place of the same for all.
    #[must_use]
    pub fn bits(mut self, bits: impl Fn(&Call<'_>) -> String + 'static) -> ScriptedLibrary {
        self.bits = Some(Box::new(bits));
        self
    }

    /// A row of Kilter's or a plugin's that fails the correctness matrix.
    #[must_use]
    pub fn wrong_row(self, id: &str) -> ScriptedLibrary {
        self.verified_row(id, RowEnds::Wrong("rank 1: 7 in place of 8".to_owned()))
    }

    /// Sets the end of a row of Kilter's or a plugin's in the correctness matrix.
    #[must_use]
    pub fn verified_row(mut self, id: &str, ends: RowEnds) -> ScriptedLibrary {
        self.verified_rows.insert(id.to_owned(), ends);
        self
    }

    /// A row of the plugin that is given with `--plugin`.
    ///
    /// # Panics
    /// The id does not begin with a collective's name and a dot.
    #[must_use]
    pub fn plugin_row(mut self, id: &str, needs: Needs) -> ScriptedLibrary {
        let (collective, _) = id.split_once('.').expect("COLLECTIVE.NAME");
        let rows = self.plugin.get_or_insert_with(|| Rows {
            v: kilter_protocol::VERSION,
            rows: Vec::new(),
        });
        rows.rows.push(Row {
            id: id.to_owned(),
            collective: collective.parse().expect("the name of a collective"),
            needs,
            parameters: Vec::new(),
            scratch: None,
        });
        self
    }

    /// Other programs take so many processors beside all jobs.
    #[must_use]
    pub fn beside_others(mut self, cores: f64) -> ScriptedLibrary {
        self.other_cores = Some(cores);
        self
    }

    /// Reports of jobs become visible at intervals of these seconds, by the seconds since the clock's start; of 0.05 s if this is not called.
    #[must_use]
    pub fn shows_reports_every(mut self, interval: impl Fn(f64) -> f64 + 'static) -> ScriptedLibrary {
        self.shown_every = Some(Box::new(interval));
        self
    }

    /// A job that is asked what carries its messages prints this text.
    #[must_use]
    pub fn says(mut self, text: &str) -> ScriptedLibrary {
        self.said = Some(text.to_owned());
        self
    }

    /// Messages between two ranks take so many times as long.
    #[must_use]
    pub fn between(mut self, factor: impl Fn(u64, u64) -> f64 + 'static) -> ScriptedLibrary {
        self.between = Some(Box::new(factor));
        self
    }

    /// Factor of messages of a pair of ranks.
    pub(super) fn factor_between(&self, from: u64, to: u64) -> f64 {
        self.between.as_ref().map_or(1.0, |factor| factor(from, to))
    }

    /// The library's description.
    pub fn description(&self) -> Result<Library, ConfigError> {
        Library::parse(&self.description, "scripted library")
    }

    /// Seconds of a call of the library's.
    pub(super) fn seconds(&self, call: &Call<'_>) -> f64 {
        let costs = self
            .costs
            .iter()
            .filter(|(collective, _)| *collective == call.collective);
        costs.fold(self.usual(call), |seconds, (_, cost)| cost(call, seconds))
    }

    /// Seconds of a row in place of a call.
    pub(super) fn seconds_of_row(&self, id: &str, call: &Call<'_>) -> f64 {
        match self.rows.get(id) {
            Some(cost) => cost(call, self.usual(call)),
            None => OWN * self.usual(call),
        }
    }

    /// Seconds of messages by hand, of which one follows the other.
    pub(super) fn seconds_of_schedule(&self, schedule: &Schedule) -> f64 {
        let bytes: u64 = schedule.messages.iter().map(|message| message.bytes).sum();
        self.slower * (schedule.messages.len() as f64 * LATENCY + bytes as f64 * PER_BYTE)
    }

    fn usual(&self, call: &Call<'_>) -> f64 {
        self.slower * usual(call)
    }

    /// The fault of a call; `None` if it has none.
    pub(super) fn fault_of(&self, call: &Call<'_>) -> Option<Ends> {
        let fault = self.faults.iter().find(|(when, _)| when(call));
        fault.map(|(_, ends)| ends.clone())
    }

    pub(super) fn admits(&self, settings: &Settings<'_>) -> bool {
        self.admits.as_ref().is_none_or(|when| when(settings))
    }

    pub(super) fn hidden(&self, benchmark: Benchmark, bytes: u64, settings: &Settings<'_>) -> f64 {
        let share = self.hidden.as_ref().map(|share| share(benchmark, bytes, settings));
        share.unwrap_or(1.0)
    }

    pub(super) fn bits_of(&self, call: &Call<'_>) -> String {
        self.bits.as_ref().map_or_else(|| "same".to_owned(), |bits| bits(call))
    }
}

/// Seconds in which every guideline between collectives holds with room.
fn usual(call: &Call<'_>) -> f64 {
    let weight = match call.collective.name() {
        "barrier" => 0.5,
        "scatter" | "scatterv" | "gather" | "gatherv" => 0.8,
        "reduce" => 1.1,
        "scan" | "exscan" => 1.2,
        "reduce_scatter_block" => 1.3,
        "allgather" | "allgatherv" | "reduce_scatter" => 1.4,
        "alltoall" | "alltoallv" => 1.6,
        "allreduce" => 1.8,
        _ => 1.0,
    };
    let rounds = (call.ranks.max(2) as f64).log2();
    weight * (rounds * LATENCY + call.bytes as f64 * PER_BYTE)
}
