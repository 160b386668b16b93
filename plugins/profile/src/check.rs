//! Checks the meaning of a profile's rules against the implementations there are.

use kilter_algorithms::Collective;
use kilter_protocol::row::Row;

use crate::catalogue::Catalogue;
use crate::communicators::Communicators;
use crate::error::{Numbers, Problem, ProfileError};
use crate::{Profile, Rule, VERSION};

impl Profile {
    /// Checks the profile against the implementations of a catalogue; `origin` is named in errors.
    ///
    /// The first mistake is returned: another version; a path that cannot be one; an unknown collective, implementation
    /// or parameter; a value or a number of ranks out of range; communicators that there are none of; an empty range of
    /// bytes, or one that depends on a volume that not every rank knows; two rules that overlap without a stated order.
    pub fn check(&self, catalogue: &Catalogue, origin: &str) -> Result<(), ProfileError> {
        self.problem(catalogue).map_or(Ok(()), |problem| {
            Err(ProfileError {
                origin: origin.to_owned(),
                problem,
            })
        })
    }

    fn problem(&self, catalogue: &Catalogue) -> Option<Problem> {
        if self.version != VERSION {
            return Some(Problem::Version {
                got: u64::from(self.version),
            });
        }
        if let Some((index, path)) = self
            .plugins
            .iter()
            .enumerate()
            .find(|(_, path)| path.is_empty() || path.contains('\0'))
        {
            return Some(Problem::Plugin {
                index,
                path: path.clone(),
            });
        }
        let mut collectives = Vec::with_capacity(self.rules.len());
        for (index, rule) in self.rules.iter().enumerate() {
            match check_rule(index, rule, catalogue) {
                Ok(collective) => collectives.push(collective),
                Err(problem) => return Some(problem),
            }
        }
        if self.order.is_some() {
            return None;
        }
        self.overlap(&collectives)
    }

    /// The first two rules that answer one call; `collectives` are those of the rules.
    fn overlap(&self, collectives: &[Collective]) -> Option<Problem> {
        let mut order: Vec<usize> = (0..self.rules.len()).collect();
        order.sort_by_key(|index| (collectives[*index], self.rules[*index].min_bytes));
        for (place, &lower) in order.iter().enumerate() {
            let (collective, below) = (collectives[lower], &self.rules[lower]);
            // Rules stand in the order of their starts: none behind the first one that begins above this one's end meets it.
            let meet =
                |upper: &&usize| collectives[**upper] == collective && self.rules[**upper].min_bytes <= below.max_bytes;
            for &upper in order[place + 1..].iter().take_while(meet) {
                let above = &self.rules[upper];
                let both = below.communicators.and(&above.communicators);
                if both.smallest().is_some() {
                    return Some(Problem::Overlap {
                        first: lower.min(upper),
                        second: lower.max(upper),
                        collective,
                        communicators: Box::new(both),
                        from: above.min_bytes,
                        to: above.max_bytes.min(below.max_bytes),
                    });
                }
            }
        }
        None
    }
}

/// Checks for which communicators a rule holds.
fn check_communicators(rule: usize, communicators: &Communicators) -> Result<(), Problem> {
    let Communicators {
        ranks,
        nodes,
        ranks_per_node,
    } = communicators;
    let bounds = [("ranks", ranks), ("nodes", nodes), ("ranks_per_node", ranks_per_node)];
    for (name, bounds) in bounds {
        for (end, number) in [("min", bounds.min), ("max", bounds.max)] {
            if let Some(number) = number.filter(|number| !(1..=i32::MAX as usize).contains(number)) {
                let key = format!("communicators.{name}.{end}");
                return Err(Problem::Ranks { rule, key, number });
            }
        }
    }
    if communicators.smallest().is_none() {
        let communicators = Box::new(*communicators);
        return Err(Problem::NoCommunicator { rule, communicators });
    }
    Ok(())
}

/// Checks a rule by itself.
fn check_rule(rule: usize, written: &Rule, catalogue: &Catalogue) -> Result<Collective, Problem> {
    let Some(collective) = written.collective() else {
        return Err(Problem::Collective {
            rule,
            name: written.collective.clone(),
        });
    };
    check_communicators(rule, &written.communicators)?;
    if written.min_bytes > written.max_bytes {
        return Err(Problem::Empty {
            rule,
            min: written.min_bytes,
            max: written.max_bytes,
        });
    }
    if !collective.volume_is_known() && (written.min_bytes, written.max_bytes) != (0, u64::MAX) {
        return Err(Problem::Volume { rule, collective });
    }
    let id = written.implementation.clone();
    let known = || catalogue.ids_of(collective).map(str::to_owned).collect();
    let Some(implementation) = catalogue.find(&id) else {
        return Err(Problem::Implementation {
            rule,
            id,
            collective,
            known: known(),
        });
    };
    if implementation.collective != collective {
        return Err(Problem::OtherCollective {
            rule,
            id,
            of: implementation.collective,
            collective,
            known: known(),
        });
    }
    let (least, most) = written.communicators.ranks_between();
    let ranks = Numbers(least, most);
    // Among numbers that follow each other, 1 and 2 are the only ones that are powers of two throughout.
    let are_powers = least.is_power_of_two() && (most == least || (least, most) == (1, 2));
    if implementation.needs.power_of_two_ranks && !are_powers {
        return Err(Problem::PowerOfTwo { rule, id, ranks });
    }
    let per_node = written.communicators.ranks_per_node.only();
    let are_even = least.is_multiple_of(2) && most == least || per_node.is_some_and(|ranks| ranks.is_multiple_of(2));
    if implementation.needs.even_ranks && !are_even {
        return Err(Problem::Even { rule, id, ranks });
    }
    check_parameters(rule, written, implementation)?;
    Ok(collective)
}

fn check_parameters(rule: usize, written: &Rule, implementation: &Row) -> Result<(), Problem> {
    for (name, &value) in &written.parameters {
        let Some(range) = implementation.parameters.iter().find(|range| range.name == *name) else {
            return Err(Problem::Parameter {
                rule,
                id: written.implementation.clone(),
                name: name.clone(),
                known: implementation
                    .parameters
                    .iter()
                    .map(|range| range.name.clone())
                    .collect(),
            });
        };
        if !(range.min..=range.max).contains(&value) {
            return Err(Problem::Value {
                rule,
                id: written.implementation.clone(),
                name: name.clone(),
                value,
                min: range.min,
                max: range.max,
            });
        }
    }
    Ok(())
}
