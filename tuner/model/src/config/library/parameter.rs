//! Parameters of a whole launch: the values to try, and the range if they are ordered.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_protocol::expression::{Call, Form, Side};
use serde::Deserialize;

use super::{ByConnection, Grammar, Unreadable, Verified};

/// A parameter of a whole launch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Name as the library spells it.
    pub name: String,
    /// True if it is an environment variable of the ranks.
    #[serde(default)]
    pub environment: bool,
    /// Collectives on which alone it acts. It is tried only if one of them is too slow. Empty if it may act on all.
    #[serde(default, deserialize_with = "crate::config::collective_name::list")]
    pub collectives: Vec<Collective>,
    /// True if it acts on non-blocking and persistent calls of its `collectives` alone, and not on blocking ones.
    #[serde(default)]
    pub nonblocking: bool,
    /// Transport without which it does nothing.
    #[serde(default)]
    pub transport: Option<String>,
    /// Transports of that transport, such as UCX's `posix`, by the beginning of their names: without one of them it does nothing.
    #[serde(default)]
    pub lanes: Vec<String>,
    /// Transports in whose place it acts: with one of them it does not exist.
    #[serde(default)]
    pub not_with: Vec<String>,
    /// True if it is left as the site has set it.
    #[serde(default)]
    pub leaves_site: bool,
    /// Placement of ranks in which it acts; without one it always acts.
    #[serde(default)]
    pub placement: Option<Placement>,
    /// The library's default.
    pub default: String,
    /// Values of the screening.
    pub r#try: Vec<Value>,
    /// Further values to try for a missed overlap target.
    #[serde(default)]
    pub overlap: Vec<ForOverlap>,
    /// The range, where values are ordered.
    #[serde(default)]
    pub ordered: Option<Ordered>,
    /// Words by which a value holds for connections within hosts or between them alone, where the transport has such.
    #[serde(default)]
    pub by_connection: Option<ByConnection>,
    /// Values that need a device of the kernel, and its name in `/sys/class/misc`. They are tried only where every host has it.
    #[serde(default)]
    pub devices: BTreeMap<String, String>,
    /// Parameter of a part that not every build of the library has. It is tried only where the library's own program prints that one.
    #[serde(default)]
    pub built_with: Option<String>,
    /// Language of its values, where they have one.
    #[serde(default)]
    pub grammar: Option<Grammar>,
    /// Other names of values, as the library may report them.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// Settings made along with it; `{value}` stands for its value.
    #[serde(default)]
    pub together: BTreeMap<String, String>,
    /// Group of parameters whose values are tried in one launch. Each of them acts on its `collectives` alone, and none
    /// of these collectives is carried out by another's.
    #[serde(default)]
    pub screened_with: Option<String>,
    /// True if it is the fair competitor of other candidates. A requested contest then always measures it.
    #[serde(default)]
    pub confirm_always: bool,
    /// Unit.
    #[serde(default)]
    pub unit: Option<String>,
    /// Effect of the parameter.
    pub summary: String,
    /// Verification of this row, if it differs from that of all rows.
    #[serde(default)]
    pub verified: Option<Verified>,
}

/// Placement of ranks on hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Hosts are filled one after the other; a single host counts as block.
    Block,
    /// Ranks go to each host in turn.
    Cyclic,
    /// All ranks are on one host.
    OneHost,
}

impl Placement {
    /// True if ranks lie so on `hosts`, one for each rank in order.
    #[must_use]
    pub fn is_that_of(self, hosts: &[String]) -> bool {
        let distinct: std::collections::BTreeSet<&String> = hosts.iter().collect();
        let changes = hosts.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let is_block = changes + 1 == distinct.len();
        let turns = |(rank, host): (usize, &String)| hosts.get(rank % distinct.len()) == Some(host);
        match self {
            Placement::Block => is_block,
            Placement::Cyclic => !is_block && hosts.iter().enumerate().all(turns),
            Placement::OneHost => distinct.len() == 1,
        }
    }
}

/// Value to try for a missed overlap target: a value, or `{ value = 1, together = { NAME = "TEXT" } }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "ForOverlapWritten")]
pub struct ForOverlap {
    /// The parameter's value.
    pub value: Value,
    /// Variables set along with it in the ranks' environment, in addition to those of every value. `{spare}` stands for
    /// a list of a free processing unit for each rank of a host. A host without free ones leaves the value untried.
    pub together: BTreeMap<String, String>,
}

/// [`ForOverlap`] as it is written.
#[derive(Deserialize)]
#[serde(untagged)]
enum ForOverlapWritten {
    Alone(Value),
    Together(Together),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Together {
    value: Value,
    together: BTreeMap<String, String>,
}

impl From<ForOverlapWritten> for ForOverlap {
    fn from(written: ForOverlapWritten) -> ForOverlap {
        match written {
            ForOverlapWritten::Alone(value) => ForOverlap {
                value,
                together: BTreeMap::new(),
            },
            ForOverlapWritten::Together(Together { value, together }) => ForOverlap { value, together },
        }
    }
}

/// Placeholder for the numbers of free processing units, such as `6,7`.
pub const SPARE: &str = "{spare}";

/// A value, given in TOML as an integer or a string.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A word.
    Word(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Word(word) => f.write_str(word),
        }
    }
}

/// The range of an ordered parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ordered {
    /// Smallest value worth trying.
    pub min: u64,
    /// Largest value worth trying.
    pub max: u64,
    /// Spacing.
    pub scale: Scale,
}

/// Spacing of an ordered value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Powers of two.
    Log2,
    /// Integers.
    Linear,
}

impl Parameter {
    /// True if it acts on one of these transports, or on all. A transport whose own ones are unknown may have any.
    #[must_use]
    pub fn acts_on(&self, transports: &[String]) -> bool {
        let Some(transport) = &self.transport else {
            return !self.not_with.iter().any(|other| transports.contains(other));
        };
        let lanes = lanes_of(transport, transports);
        let carries = |wanted: &String| lanes.iter().any(|lane| lane.starts_with(wanted.as_str()));
        transports.contains(transport) && (self.lanes.is_empty() || lanes.is_empty() || self.lanes.iter().any(carries))
    }

    /// True if a value can change anything with these transports: one that leaves out a transport (`^cma`) needs that one in use.
    #[must_use]
    pub fn tries(&self, value: &Value, transports: &[String]) -> bool {
        let (Some(transport), Value::Word(word)) = (&self.transport, value) else {
            return true;
        };
        let lanes = lanes_of(transport, transports);
        let is_used = |left_out: &str| lanes.iter().any(|lane| lane.starts_with(left_out));
        lanes.is_empty() || word.strip_prefix('^').is_none_or(is_used)
    }

    /// The mistake in a value that has a language; `None` if there is none.
    #[must_use]
    pub fn mistake(&self, value: &str) -> Option<Unreadable> {
        let of_grammar = self.grammar.and_then(|grammar| grammar.mistake(value));
        let words = self.by_connection.as_ref();
        of_grammar.or_else(|| words.and_then(|words| words.read(value).err()).map(Unreadable::from))
    }

    /// True if a value may act on the collective of a target, as far as it names collectives itself.
    #[must_use]
    pub fn concerns(&self, value: &str, collective: Option<Collective>) -> bool {
        let of_one = self.grammar.zip(collective);
        of_one.is_none_or(|(grammar, collective)| grammar.concerns(value, collective))
    }

    /// A value beside what is in force, where one variable speaks of several collectives: what it says of others stays.
    #[must_use]
    pub fn beside(&self, in_force: &str, value: &str) -> String {
        match self.grammar {
            Some(grammar) => grammar.beside(in_force, value),
            None => value.to_owned(),
        }
    }

    /// True if it acts on a plain blocking call of the collective of a target, which may have none; a parameter that lists no collectives acts on
    /// everything.
    #[must_use]
    pub fn serves(&self, collective: Option<Collective>) -> bool {
        self.collectives.is_empty()
            || !self.nonblocking && collective.is_some_and(|one| self.collectives.contains(&one))
    }

    /// True if it acts on a call of this side, as one of its collectives in one of its forms.
    #[must_use]
    pub fn acts_within(&self, side: &Side) -> bool {
        let is_its = |call: &Call| {
            let is_of_form = !self.nonblocking || call.form() != Some(Form::Blocking);
            is_of_form && call.function().is_some_and(|one| self.collectives.contains(&one))
        };
        side.terms.iter().any(|term| is_its(&term.call))
    }
}

/// The transports in use that are `transport`'s own.
fn lanes_of<'t>(transport: &str, transports: &'t [String]) -> Vec<&'t str> {
    let own = |name: &'t String| name.strip_prefix(transport)?.strip_prefix('/');
    transports.iter().filter_map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(more: &str) -> Parameter {
        let text = format!("name = \"x\"\ndefault = \"1\"\ntry = [2]\nsummary = \"\"\n{more}");
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn a_parameter_acts_on_its_transport_or_on_all() {
        let in_use = ["tcp".to_owned(), "vader".to_owned()];
        for (more, in_use, acts) in [
            ("", &in_use[..], true),
            ("", &[], true),
            ("transport = \"vader\"", &in_use, true),
            ("transport = \"ofi\"", &in_use, false),
            ("transport = \"vader\"", &[], false),
            ("not_with = [\"ucx\"]", &in_use, true),
            ("not_with = [\"ucx\", \"tcp\"]", &in_use, false),
        ] {
            assert_eq!(parameter(more).acts_on(in_use), acts, "{more} {in_use:?}");
        }
    }

    #[test]
    fn a_setting_of_a_shared_transport_acts_on_its_own_transports() {
        let in_use = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let row = parameter("transport = \"ucx\"\nlanes = [\"rc\", \"tcp\"]");
        for (names, acts) in [
            (&["ucx"][..], true),
            (&["ucx", "ucx/rc_mlx5"], true),
            (&["ucx", "ucx/posix", "ucx/tcp"], true),
            (&["ucx", "ucx/posix", "ucx/cma"], false),
            (&["tcp"], false),
            (&["ucx/tcp"], false),
            // Another transport's own ones are none of its.
            (&["ucx", "ucx/posix", "ofi", "ofi/tcp"], false),
        ] {
            assert_eq!(row.acts_on(&in_use(names)), acts, "{names:?}");
        }
        let leaves_out = Value::Word("^cma".to_owned());
        for (names, tries) in [
            (&["ucx"][..], true),
            (&["ucx", "ucx/posix", "ucx/cma"], true),
            (&["ucx", "ucx/tcp"], false),
        ] {
            assert_eq!(row.tries(&leaves_out, &in_use(names)), tries, "{names:?}");
            assert!(row.tries(&Value::Number(1), &in_use(names)));
        }
    }

    #[test]
    fn a_parameter_serves_its_collectives_or_all() {
        let its = parameter("collectives = [\"bcast\"]");
        assert!(its.serves(Some(Collective::Bcast)));
        assert!(!its.serves(Some(Collective::Reduce)) && !its.serves(None));
        let all = parameter("");
        assert!(all.serves(Some(Collective::Reduce)) && all.serves(None));
        let nonblocking = parameter("collectives = [\"bcast\"]\nnonblocking = true");
        assert!(!nonblocking.serves(Some(Collective::Bcast)));
        let named = |row: &Parameter, text: &str| row.acts_within(&text.parse().unwrap());
        for (text, its_own, of_nonblocking) in [
            ("bcast(n)", true, false),
            ("ibcast(n) + wait", true, true),
            ("start_bcast(n) + wait", true, true),
            ("ireduce(n) + wait", false, false),
            ("isend(n) + irecv(n) + wait", false, false),
        ] {
            assert_eq!(
                (named(&its, text), named(&nonblocking, text)),
                (its_own, of_nonblocking),
                "{text}"
            );
        }
    }
}
