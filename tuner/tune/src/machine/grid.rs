//! Layouts that say something about a machine.
//!
//! Nodes are the powers of two and all of them, ranks per node 1, one per core, and a number between. The ends come first: what holds between them is
//! predicted, and what was not measured at the ends cannot be. One layout between them is held out of the prediction, and confirms or refutes it.

use std::fmt;

use kilter_model::layout::Layout;

use super::Machine;

/// The part that a layout has in what is known of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It bounds the machine.
    End,
    /// It lies between the ends, and confirms what they predict.
    Between,
    /// It is measured where decisions are uncertain.
    Further,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::End => "end of the machine",
            Role::Between => "held out, between the ends",
            Role::Further => "where decisions are least certain",
        })
    }
}

/// All layouts of the machine, in the order in which they are measured as long as nothing else is known.
#[must_use]
pub fn layouts(machine: Machine) -> Vec<(Layout, Role)> {
    let Machine { nodes, cores } = machine;
    let layout = |nodes, per_node| Layout { nodes, per_node };
    let mut all: Vec<(Layout, Role)> = Vec::new();
    let mut add = |layout: Layout, role| {
        if layout.ranks() > 1 && !all.iter().any(|(known, _)| *known == layout) {
            all.push((layout, role));
        }
    };
    for end in [
        layout(nodes, cores),
        layout(nodes, 1),
        layout(1, cores),
        layout(nodes.min(2), 1),
    ] {
        add(end, Role::End);
    }
    let middle = between(nodes, &powers_of_two(nodes));
    let per_node = between(cores, &divisors(cores));
    if middle.is_some() || per_node.is_some() {
        add(
            layout(middle.unwrap_or(nodes), per_node.unwrap_or(cores)),
            Role::Between,
        );
    }
    let mut further = Vec::new();
    for nodes in powers_of_two(nodes).into_iter().chain([nodes]) {
        for per_node in [Some(1), per_node, Some(cores)].into_iter().flatten() {
            further.push(layout(nodes, per_node));
        }
    }
    further.sort_by_key(|layout| (layout.ranks(), layout.nodes));
    for layout in further {
        add(layout, Role::Further);
    }
    all
}

/// The one of these numbers that is nearest to the middle of 1 and `most` as factors go; the larger of two. `None` if none lies between.
fn between(most: usize, numbers: &[usize]) -> Option<usize> {
    let off = |number: usize| {
        let square = (number * number) as f64 / most as f64;
        square.ln().abs()
    };
    let inner = numbers.iter().copied().filter(|number| (2..most).contains(number));
    inner.rev().min_by(|a, b| off(*a).total_cmp(&off(*b)))
}

fn powers_of_two(most: usize) -> Vec<usize> {
    std::iter::successors(Some(1_usize), |power| power.checked_mul(2))
        .take_while(|power| *power <= most)
        .collect()
}

/// Divisors, so that ranks fill sockets evenly.
fn divisors(number: usize) -> Vec<usize> {
    (1..=number).filter(|divisor| number.is_multiple_of(*divisor)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(nodes: usize, cores: usize) -> String {
        let all = layouts(Machine { nodes, cores });
        let each = all.iter().map(|(layout, role)| {
            let mark = match role {
                Role::End => "",
                Role::Between => "?",
                Role::Further => "+",
            };
            format!("{mark}{layout}")
        });
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_ends_come_first_then_one_between_and_then_the_rest() {
        assert_eq!(names(8, 48), "8x48 8x1 1x48 2x1 ?4x8 +4x1 +1x8 +2x8 +8x8 +2x48 +4x48");
        assert_eq!(names(6, 2), "6x2 6x1 1x2 2x1 ?2x2 +4x1 +4x2", "six is no power of two");
    }

    #[test]
    fn small_machines_have_few_layouts_and_none_of_one_rank() {
        assert_eq!(names(1, 2), "1x2");
        assert_eq!(names(1, 16), "1x16 ?1x4");
        assert_eq!(names(2, 1), "2x1");
        assert_eq!(names(2, 7), "2x7 2x1 1x7");
        assert_eq!(names(1, 1), "");
    }
}
