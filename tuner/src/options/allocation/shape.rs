//! The hosts of an allocation, and their room for ranks.

use std::path::Path;

use kilter_model::config::launcher::{Allocation, HostfileForm};
use kilter_model::layout::Layout;

use super::Surroundings;

/// The hosts of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::options) struct Shape {
    /// CPUs of each host, as the batch system counts them: cores, or hardware threads if the site says so.
    pub cpus: Vec<usize>,
    /// Ranks of each host for which the library's launcher has room.
    pub slots: Vec<usize>,
}

/// A variable of a batch system that says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::options) enum Unread {
    /// It is no number, or list of numbers.
    #[error("{name} is `{value}`, which is no number of them")]
    Number { name: String, value: String },
    /// The host file cannot be read.
    #[error("the host file `{file}` of {name} cannot be read: {reason}")]
    File { name: String, file: String, reason: String },
    /// The host file has another form.
    #[error("line {line} of the host file `{file}`: `{text}` is no host with its number of slots")]
    Line { file: String, line: usize, text: String },
    /// The host file has no host.
    #[error("the host file `{file}` of {name} has no host")]
    Empty { name: String, file: String },
}

impl Shape {
    /// Reads what a batch system says of the allocation; `None` if it says nothing.
    pub(super) fn of(allocation: &Allocation, surroundings: &Surroundings<'_>) -> Result<Option<Shape>, Unread> {
        let value = |name: &Option<String>| name.as_deref().and_then(|name| surroundings.value(name));
        let unread = |name: &Option<String>, value: &str| Unread::Number {
            name: name.clone().unwrap_or_default(),
            value: value.to_owned(),
        };
        if let Some(hosts) = value(&allocation.hosts) {
            let count = hosts.parse().ok().filter(|count| *count > 0);
            let count: usize = count.ok_or_else(|| unread(&allocation.hosts, &hosts))?;
            let list = |name: &Option<String>| {
                let Some(text) = value(name) else { return Ok(None) };
                let read = expanded(&text, count).ok_or_else(|| unread(name, &text))?;
                Ok(Some(read))
            };
            // The other hosts are taken to be like this one where the batch system does not tell.
            let cpus = list(&allocation.cpus)?.unwrap_or_else(|| vec![surroundings.cpus_here; count]);
            let slots = list(&allocation.tasks)?.unwrap_or_else(|| cpus.clone());
            return Ok(Some(Shape { cpus, slots }));
        }
        let Some(file) = value(&allocation.hostfile) else {
            return Ok(None);
        };
        let name = allocation.hostfile.clone().unwrap_or_default();
        let text = (surroundings.read)(Path::new(&file)).map_err(|error| Unread::File {
            name: name.clone(),
            file: file.clone(),
            reason: error.to_string(),
        })?;
        let slots = slots_of_file(&text, allocation.hostfile_form).map_err(|(line, text)| Unread::Line {
            file: file.clone(),
            line,
            text,
        })?;
        if slots.is_empty() {
            return Err(Unread::Empty { name, file });
        }
        Ok(Some(Shape {
            cpus: slots.clone(),
            slots,
        }))
    }

    /// One rank on each host, and one on each CPU that all hosts have; none of a single rank.
    pub(in crate::options) fn layouts(&self) -> Vec<Layout> {
        let nodes = self.cpus.len();
        let cpus = self.cpus.iter().min().copied().unwrap_or(1);
        let mut layouts = [1, cpus].map(|per_node| Layout { nodes, per_node }).to_vec();
        layouts.dedup();
        layouts.retain(|layout| layout.ranks() > 1);
        layouts
    }

    /// So many ranks, on as many hosts as they can be shared evenly by: all, or one for each rank. `None` where they cannot.
    pub(in crate::options) fn spread(&self, ranks: usize) -> Option<Layout> {
        let nodes = self.cpus.len().min(ranks);
        (nodes > 0 && self.cpus.len() > 1 && ranks.is_multiple_of(nodes)).then(|| Layout {
            nodes,
            per_node: ranks / nodes,
        })
    }
}

/// Reads a list such as `16(x8),4`, which has a number for each of so many hosts.
fn expanded(text: &str, hosts: usize) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (number, times) = match part.trim().split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
            None => (part.trim(), 1),
        };
        let number: usize = number.parse().ok().filter(|number| *number > 0)?;
        if times > hosts {
            return None;
        }
        all.extend(std::iter::repeat_n(number, times));
    }
    (all.len() == hosts).then_some(all)
}

/// Slots of the hosts of a host file, in its order; or the number and the text of a line that says something else.
fn slots_of_file(text: &str, form: HostfileForm) -> Result<Vec<usize>, (usize, String)> {
    let mut hosts: Vec<(&str, usize)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let slots = match form {
            HostfileForm::Lines => Some(1),
            HostfileForm::Counted => words.next().and_then(|word| word.parse().ok()),
        };
        let slots = slots.ok_or_else(|| (number + 1, line.to_owned()))?;
        match hosts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known += slots,
            None => hosts.push((name, slots)),
        }
    }
    Ok(hosts.into_iter().map(|(_, slots)| slots).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_long_as_there_are_hosts() {
        assert_eq!(expanded("16(x2),4", 3), Some(vec![16, 16, 4]));
        assert_eq!(expanded("4", 1), Some(vec![4]));
        for (wrong, hosts) in [
            ("16(x2),4", 4),
            ("16(x9)", 8),
            ("many", 1),
            ("0", 1),
            ("4(x", 1),
            ("4(x999999999999)", 2),
        ] {
            assert_eq!(expanded(wrong, hosts), None, "{wrong}");
        }
    }

    #[test]
    fn host_files_are_read_in_both_forms() {
        let lines = "node1\nnode1\nnode2\n\nnode2\nnode2\n";
        assert_eq!(slots_of_file(lines, HostfileForm::Lines), Ok(vec![2, 3]));
        let counted = "node1.site 4 all.q@node1.site UNDEFINED\nnode2.site 2 all.q@node2.site 0,0:0,1\n";
        assert_eq!(slots_of_file(counted, HostfileForm::Counted), Ok(vec![4, 2]));
        assert_eq!(
            slots_of_file("node1 4\nnode2 all.q", HostfileForm::Counted),
            Err((2, "node2 all.q".to_owned()))
        );
    }

    #[test]
    fn ranks_are_shared_evenly_or_not_placed() {
        let shape = |cpus: &[usize]| Shape {
            cpus: cpus.to_vec(),
            slots: cpus.to_vec(),
        };
        let spread = |cpus: &[usize], ranks| shape(cpus).spread(ranks).map(|layout| layout.to_string());
        let eight = [16; 8];
        assert_eq!(spread(&eight, 128), Some("8x16".to_owned()));
        assert_eq!(spread(&eight, 2), Some("2x1".to_owned()));
        assert_eq!(spread(&eight, 12), None);
        assert_eq!(spread(&[16], 4), None, "one host needs no placement");
        let layouts = |cpus: &[usize]| {
            shape(cpus)
                .layouts()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(layouts(&[16, 4]), ["2x1", "2x4"]);
        assert_eq!(layouts(&[1, 1]), ["2x1"]);
        assert_eq!(layouts(&[4]), ["1x4"]);
        assert!(layouts(&[1]).is_empty());
    }
}
