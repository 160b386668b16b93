//! UCX statistics in the text forms `full` and `agg`, as UCX_STATS_DEST has them written.
//!
//! Nodes are nested by two blanks each: `host:pid:` is the process, `ucp_worker-0x2d2f020:` a node of the class `ucp_worker`, `ucp_ep*:`
//! the sum of all nodes of a class, and `tx_eager: 1000` a counter of the node above. A counter has the name `ucp_ep.tx_eager`. The
//! process's `runtime` is printed in nanoseconds and becomes seconds. A process that prints again, on a timer or a signal, replaces what
//! it printed before.

use super::Format;
use crate::listing::{Found, Unit, number};

/// Nodes below each other that are followed.
const DEEPEST: usize = 64;

/// Classes that are a sign of the form.
const CLASSES: [&str; 4] = ["ucp_worker", "ucp_ep", "uct_iface", "uct_ep"];

pub(super) static FORMAT: Format = Format {
    id: "ucx-stats",
    title: "statistics of UCX",
    made_by: "UCX_STATS_DEST=file:ucx.%h.%p.txt with UCX_STATS_TRIGGER=exit and UCX_STATS_FORMAT=full, with a UCX that was configured with \
              --enable-stats",
    source: "UCX 1.13.1, 1.17.0 and master of 2026-08-21, src/ucs/stats/serialization.c and the classes of counters",
    leaves_out_zeros: false,
    file_per_process: true,
    is_sign: |line| match node(line.trim()) {
        Some(Node::Class(class)) => CLASSES.contains(&class),
        _ => false,
    },
    read,
};

/// Meaning of a head.
#[derive(Debug, PartialEq)]
enum Node<'a> {
    /// A process, `host:pid`.
    Process(&'a str),
    /// A node of a class.
    Class(&'a str),
}

/// The node of a head such as `ucp_ep-0x2edb5b0:`.
fn node(head: &str) -> Option<Node<'_>> {
    let head = head.strip_suffix(':')?;
    if head.is_empty() || head.contains(char::is_whitespace) {
        return None;
    }
    let pid = head.rsplit_once(':').map(|(_, pid)| pid);
    if let Some(pid) = pid {
        return pid
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(Node::Process(head));
    }
    let class = head.split(['-', '*']).next().unwrap_or(head);
    (!class.is_empty()).then_some(Node::Class(class))
}

fn read(text: &str, found: &mut Found) {
    let mut process = None;
    let mut above: Vec<(usize, &str)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = line.trim();
        let indent = line.len() - line.trim_start().len();
        match node(words) {
            Some(Node::Process(label)) => {
                process = Some(found.process_anew(label));
                above.clear();
                continue;
            }
            Some(Node::Class(class)) => {
                above.retain(|(level, _)| *level < indent);
                if above.len() < DEEPEST {
                    above.push((indent, class));
                }
                continue;
            }
            None => {}
        }
        let Some((name, value)) = counter(words) else {
            continue;
        };
        above.retain(|(level, _)| *level < indent);
        if let Some((_, class)) = above.last() {
            let process = *process.get_or_insert_with(|| found.process("process 1"));
            let unit = if name.contains("bytes") {
                Unit::Bytes
            } else {
                Unit::Count
            };
            found.push(process, &format!("{class}.{name}"), value, unit, index + 1);
        } else if let (Some(process), "runtime") = (process, name) {
            found.push(process, "runtime", value / 1e9, Unit::Seconds, index + 1);
        }
    }
}

/// Name and value of `tx_eager: 1000`.
fn counter(words: &str) -> Option<(&str, f64)> {
    let (name, value) = words.split_once(": ")?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = number(value).filter(|value| *value >= 0.0)?;
    is_name.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_processes_or_classes() {
        assert_eq!(node("n1:123:"), Some(Node::Process("n1:123")));
        assert_eq!(node("ucp_worker-0x7f:"), Some(Node::Class("ucp_worker")));
        assert_eq!(node("ucp_ep*:"), Some(Node::Class("ucp_ep")));
        assert_eq!(node("rc_fc:"), Some(Node::Class("rc_fc")));
        for other in ["", ":", "warning: slow:", "-:", "a b:", "no end"] {
            assert_eq!(node(other), None, "{other}");
        }
    }
}
