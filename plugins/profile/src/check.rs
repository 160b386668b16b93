//! Checks the meaning of a profile's rules against the implementations there are.

use std::collections::BTreeMap;

use kilter_algorithms::Collective;
use kilter_protocol::row::Row;

use crate::catalogue::Catalogue;
use crate::error::{Problem, ProfileError};
use crate::{Profile, Rule, VERSION};

impl Profile {
    /// Checks the profile against the implementations of a catalogue; `origin` is named in errors.
    ///
    /// The first mistake is returned: another version; a path that cannot be one; an unknown collective, implementation
    /// or parameter; a value or a number of ranks out of range; an empty range of bytes, or one that depends on a
    /// volume that not every rank knows; two rules that overlap.
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
        self.overlap(&collectives)
    }

    /// The first two rules that answer one call; `collectives` are those of the rules.
    fn overlap(&self, collectives: &[Collective]) -> Option<Problem> {
        let mut groups: BTreeMap<(Collective, usize), Vec<usize>> = BTreeMap::new();
        for (index, (rule, collective)) in self.rules.iter().zip(collectives).enumerate() {
            groups.entry((*collective, rule.ranks)).or_default().push(index);
        }
        for ((collective, ranks), mut group) in groups {
            group.sort_by_key(|index| self.rules[*index].min_bytes);
            // Rules in the order of their starts are disjoint exactly when neighbours are.
            for pair in group.windows(2) {
                let (lower, upper) = (&self.rules[pair[0]], &self.rules[pair[1]]);
                if upper.min_bytes <= lower.max_bytes {
                    return Some(Problem::Overlap {
                        first: pair[0].min(pair[1]),
                        second: pair[0].max(pair[1]),
                        collective,
                        ranks,
                        from: upper.min_bytes,
                        to: upper.max_bytes.min(lower.max_bytes),
                    });
                }
            }
        }
        None
    }
}

/// Checks a rule by itself.
fn check_rule(rule: usize, written: &Rule, catalogue: &Catalogue) -> Result<Collective, Problem> {
    let Some(collective) = written.collective() else {
        return Err(Problem::Collective {
            rule,
            name: written.collective.clone(),
        });
    };
    if !(1..=i32::MAX as usize).contains(&written.ranks) {
        return Err(Problem::Ranks {
            rule,
            ranks: written.ranks,
        });
    }
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
    if implementation.needs.power_of_two_ranks && !written.ranks.is_power_of_two() {
        return Err(Problem::PowerOfTwo {
            rule,
            id,
            ranks: written.ranks,
        });
    }
    if implementation.needs.even_ranks && !written.ranks.is_multiple_of(2) {
        return Err(Problem::Even {
            rule,
            id,
            ranks: written.ranks,
        });
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
