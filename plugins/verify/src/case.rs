//! A case of the matrix, its name, and the list of them.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, bail};
use kilter_algorithms::Collective;
use kilter_protocol::row::{Parameter, Row};
use kilter_protocol::verifying::Depth;

use crate::elements::TYPES;
use crate::operators::OPERATORS;

/// A prime of a few hundred bytes, and a volume beyond what libraries send eagerly.
const PRIME: usize = 97;
const LARGE: usize = 20_011;

/// The communicator of a case: its ranks and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comm {
    World,
    /// Even and odd ranks at once, each in a communicator of their own.
    Split,
    Reversed,
}

const COMMS: [(Comm, &str); 3] = [
    (Comm::World, "world"),
    (Comm::Split, "split"),
    (Comm::Reversed, "reversed"),
];

/// Values of a row's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Values {
    Default,
    Min,
    Max,
    These(Vec<u64>),
}

/// All that a run depends on beside row and number of ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) comm: Comm,
    /// Place in [`TYPES`].
    pub(crate) type_: usize,
    /// Place in [`OPERATORS`].
    pub(crate) op: Option<usize>,
    /// Elements of a block, or of the whole where there are none.
    pub(crate) count: usize,
    pub(crate) root: usize,
    pub(crate) in_place: bool,
    pub(crate) values: Values,
    /// True if calls inside the row are carried out by rows; false if by the library.
    pub(crate) inside: bool,
    /// True if the case compares the bits of random doubles; false if it checks exact results.
    pub(crate) random: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comm = COMMS
            .iter()
            .find(|(comm, _)| *comm == self.comm)
            .map_or("", |(_, name)| name);
        let op = self.op.map_or("none", |op| OPERATORS[op].name);
        let place = if self.in_place { "in" } else { "out" };
        let Case { count, root, .. } = self;
        let type_ = TYPES[self.type_].name;
        write!(
            f,
            "comm={comm},type={type_},op={op},count={count},root={root},place={place},values="
        )?;
        match &self.values {
            Values::Default => f.write_str("default"),
            Values::Min => f.write_str("min"),
            Values::Max => f.write_str("max"),
            Values::These(values) => {
                let values: Vec<String> = values.iter().map(u64::to_string).collect();
                f.write_str(&values.join("/"))
            }
        }?;
        f.write_str(if self.inside { ",inside=rows" } else { "" })?;
        f.write_str(if self.random { ",data=random" } else { "" })
    }
}

impl FromStr for Case {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Case> {
        let mut case = Case {
            comm: Comm::World,
            type_: 0,
            op: None,
            count: 1,
            root: 0,
            in_place: false,
            values: Values::Default,
            inside: false,
            random: false,
        };
        for part in text.split(',') {
            let (name, value) = part
                .split_once('=')
                .with_context(|| format!("case: `{part}` is not NAME=VALUE"))?;
            let number = || {
                let number = value.parse::<usize>();
                number.with_context(|| format!("case: `{part}`: `{value}` is no number"))
            };
            match name {
                "comm" => {
                    let found = COMMS.iter().find(|(_, name)| *name == value);
                    case.comm = found
                        .with_context(|| format!("case: `{part}`; allowed: world, split, reversed"))?
                        .0;
                }
                "type" => {
                    let found = TYPES.iter().position(|type_| type_.name == value);
                    case.type_ =
                        found.with_context(|| format!("case: `{part}`; allowed: int, double, pair, vector, struct"))?;
                }
                "op" if value == "none" => case.op = None,
                "op" => {
                    let found = OPERATORS.iter().position(|op| op.name == value);
                    case.op =
                        Some(found.with_context(|| {
                            format!("case: `{part}`; allowed: none, sum, max, minloc, user, ordered")
                        })?);
                }
                "count" => case.count = number()?,
                "root" => case.root = number()?,
                "place" if ["in", "out"].contains(&value) => case.in_place = value == "in",
                "inside" if ["rows", "library"].contains(&value) => case.inside = value == "rows",
                "data" if ["exact", "random"].contains(&value) => case.random = value == "random",
                "values" => {
                    case.values = match value {
                        "default" => Values::Default,
                        "min" => Values::Min,
                        "max" => Values::Max,
                        list => Values::These(list.split('/').map(str::parse).collect::<Result<_, _>>().with_context(
                            || format!("case: `{part}`; allowed: default, min, max, or numbers such as 8/2"),
                        )?),
                    };
                }
                _ => bail!(
                    "case: `{part}`; allowed: comm, type, op, count, root, place=in|out, values, inside=rows|library, \
                     data=exact|random"
                ),
            }
        }
        Ok(case)
    }
}

/// Reason why a case is not run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoCase {
    /// The root is outside of the communicator.
    #[error("root={root} is no rank of a communicator of {size}")]
    Root { root: usize, size: usize },
    /// The operator is missing, or too much.
    #[error("{0} and op do not fit: a reduction has an operator, nothing else has")]
    Operator(Collective),
    /// MPI does not define the operator on the type.
    #[error("op={op} is not defined on type={type_}")]
    Undefined { op: &'static str, type_: &'static str },
    /// Random data are combined in one way only.
    #[error("data=random is about type=double,op=sum,place=out")]
    OtherRandom,
    /// Random data are for reductions.
    #[error("data=random is about reductions, which {0} is none of")]
    NoReduction(Collective),
    /// The row has more parameters, or fewer.
    #[error("{row} has {has} parameter(s), not {given}")]
    Parameters { row: String, has: usize, given: usize },
    /// A parameter does not have the value.
    #[error("{name}={value} of {row} is not in {min}..{max}")]
    Outside {
        row: String,
        name: String,
        value: u64,
        min: u64,
        max: u64,
    },
}

impl Values {
    /// The values themselves, for the parameters of a row.
    pub(crate) fn of(&self, row: &Row) -> Result<Vec<u64>, NoCase> {
        let by = |choose: fn(&Parameter) -> u64| row.parameters.iter().map(choose).collect();
        match self {
            Values::Default => Ok(row.default_parameters()),
            Values::Min => Ok(by(|parameter| parameter.min)),
            Values::Max => Ok(by(|parameter| parameter.max)),
            Values::These(list) if list.len() != row.parameters.len() => Err(NoCase::Parameters {
                row: row.id.clone(),
                has: row.parameters.len(),
                given: list.len(),
            }),
            Values::These(list) => {
                for (&value, parameter) in list.iter().zip(&row.parameters) {
                    let &Parameter { ref name, min, max, .. } = parameter;
                    if !(min..=max).contains(&value) {
                        let (row, name) = (row.id.clone(), name.clone());
                        return Err(NoCase::Outside {
                            row,
                            name,
                            value,
                            min,
                            max,
                        });
                    }
                }
                Ok(list.clone())
            }
        }
    }
}

impl Case {
    /// Why it is no case of `collective` on `ranks` ranks.
    pub(crate) fn check(&self, collective: Collective, ranks: usize) -> Result<(), NoCase> {
        let size = match self.comm {
            Comm::Split => (ranks / 2).max(1),
            _ => ranks,
        };
        if collective.has_root() && self.root >= size {
            return Err(NoCase::Root { root: self.root, size });
        }
        if collective.has_operator() != self.op.is_some() {
            return Err(NoCase::Operator(collective));
        }
        match self.op.map(|op| &OPERATORS[op]) {
            Some(op) if !op.types.contains(&TYPES[self.type_].name) => Err(NoCase::Undefined {
                op: op.name,
                type_: TYPES[self.type_].name,
            }),
            Some(op) if self.random && (TYPES[self.type_].name, op.name, self.in_place) != RANDOM => {
                Err(NoCase::OtherRandom)
            }
            None if self.random => Err(NoCase::NoReduction(collective)),
            _ => Ok(()),
        }
    }
}

/// Type, operator and `in_place` of all cases with random doubles.
const RANDOM: (&str, &str, bool) = ("double", "sum", false);

/// True if MPI lets the collective be called in place.
fn may_be_in_place(collective: Collective) -> bool {
    !matches!(collective, Collective::Barrier | Collective::Bcast)
}

/// The types and operators that a collective meets, the plainest first.
fn data(collective: Collective) -> Vec<(usize, Option<usize>)> {
    if !collective.has_operator() {
        return (0..TYPES.len()).map(|type_| (type_, None)).collect();
    }
    let mut pairs = Vec::new();
    for (type_, of_type) in TYPES.iter().enumerate() {
        for (op, operator) in OPERATORS.iter().enumerate() {
            if operator.types.contains(&of_type.name) {
                pairs.push((type_, Some(op)));
            }
        }
    }
    pairs
}

/// The cases of a collective on `ranks` ranks, with default parameters.
pub(crate) fn cases(collective: Collective, ranks: usize, depth: Depth) -> Vec<Case> {
    let plain = |comm| Case {
        comm,
        type_: 0,
        op: None,
        count: 0,
        root: 0,
        in_place: false,
        values: Values::Default,
        inside: false,
        random: false,
    };
    if collective == Collective::Barrier {
        return COMMS.iter().map(|(comm, _)| plain(*comm)).collect();
    }
    let places: &[bool] = if may_be_in_place(collective) {
        &[false, true]
    } else {
        &[false]
    };
    let mut list: Vec<Case> = Vec::new();
    let mut add = |comm, (type_, op), count, root, in_place| {
        let case = Case {
            type_,
            op,
            count,
            root,
            in_place,
            ..plain(comm)
        };
        if !list.contains(&case) {
            list.push(case);
        }
    };
    let is = |(type_, op): &(usize, Option<usize>), name: &str| {
        TYPES[*type_].name == name && op.is_none_or(|op| ["sum", "ordered"].contains(&OPERATORS[op].name))
    };
    let data = data(collective);
    let last = |size: usize| if collective.has_root() { size.max(1) - 1 } else { 0 };
    let smaller_half = (ranks / 2).max(1);
    let of_doubles = |counts: &[usize], roots: &[usize]| -> Vec<Case> {
        let is_it = |(type_, op): &&(usize, Option<usize>)| {
            op.is_some_and(|op| (TYPES[*type_].name, OPERATORS[op].name, false) == RANDOM)
        };
        let pair = data.iter().find(is_it);
        let each = pair.into_iter().flat_map(|(type_, op)| {
            let all = counts
                .iter()
                .flat_map(|count| roots.iter().map(move |root| (*count, *root)));
            all.map(|(count, root)| Case {
                type_: *type_,
                op: *op,
                count,
                root,
                random: true,
                ..plain(Comm::World)
            })
        });
        each.collect()
    };
    if depth == Depth::Reduced {
        for pair in data.iter().filter(|pair| is(pair, "int") || is(pair, "struct")) {
            for &in_place in places {
                for count in [1, ranks + 1, PRIME] {
                    add(Comm::World, *pair, count, last(ranks), in_place);
                }
                add(Comm::Reversed, *pair, PRIME, 0, in_place);
            }
        }
        list.extend(of_doubles(&[1, PRIME], &[last(ranks)]));
        return list;
    }
    for (place, pair) in data.iter().enumerate() {
        for &in_place in places {
            for count in [0, 1, ranks - 1, ranks, ranks + 1, PRIME] {
                let all = collective.has_root() && place == 0;
                for root in if all { 0..ranks } else { last(ranks)..last(ranks) + 1 } {
                    add(Comm::World, *pair, count, root, in_place);
                }
            }
            if is(pair, "int") || is(pair, "struct") {
                for root in [0, last(ranks)] {
                    add(Comm::World, *pair, LARGE, root, in_place);
                }
                for count in [1, ranks + 1, PRIME] {
                    add(Comm::Split, *pair, count, last(smaller_half), in_place);
                    add(Comm::Reversed, *pair, count, last(ranks), in_place);
                }
            }
        }
    }
    let mut roots = vec![0, last(ranks)];
    roots.dedup();
    list.extend(of_doubles(&[1, ranks + 1, PRIME, LARGE], &roots));
    list
}

/// The values with which a row of parameters is run in a case; `further` are such that somebody asked for.
pub(crate) fn values(case: &Case, has_parameters: bool, further: &[Vec<u64>]) -> Vec<Values> {
    let mut list = vec![case.values.clone()];
    if has_parameters && case.values == Values::Default {
        // With values at their ends the smallest segments make a message of each byte.
        if case.comm == Comm::World && TYPES[case.type_].name == "int" && case.count <= PRIME && further.is_empty() {
            list.extend([Values::Min, Values::Max]);
        }
        list.extend(further.iter().cloned().map(Values::These));
    }
    list
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;
    use kilter_protocol::verifying::Depth;

    use super::{Case, cases};

    #[test]
    fn a_case_is_read_as_it_is_written() {
        for collective in Collective::of_several_ranks() {
            for depth in [Depth::Full, Depth::Reduced] {
                let list = cases(collective, 5, depth);
                assert!(!list.is_empty(), "{collective}");
                for case in list {
                    assert_eq!(case.to_string().parse::<Case>().ok().as_ref(), Some(&case));
                    assert_eq!(case.check(collective, 5), Ok(()), "{collective} {case}");
                    let with_rows = Case { inside: true, ..case };
                    assert_eq!(with_rows.to_string().parse::<Case>().ok().as_ref(), Some(&with_rows));
                }
            }
        }
        for (text, word) in [
            ("comm=moon", "reversed"),
            ("x", "NAME=VALUE"),
            ("values=a", "8/2"),
            ("size=1", "count"),
        ] {
            let error = text.parse::<Case>().map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
