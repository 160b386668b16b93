//! The map of a machine: for each collective and size, what was chosen on which layout, and how that is known.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use askama::Template;
use kilter_model::layout::Layout;
use kilter_render::format;
use serde::{Serialize, Serializer};

/// Choices over the layouts of a machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Template)]
#[template(path = "layouts_map.html")]
pub struct MachineMap {
    /// A map for each collective and size.
    pub calls: Vec<CallMap>,
}

/// The map of one collective and size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallMap {
    /// The collective.
    pub function: String,
    /// Total volume in bytes.
    pub bytes: u64,
    /// Layouts, each once.
    pub cells: Vec<MapCell>,
}

/// A layout.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MapCell {
    /// Nodes by ranks per node.
    #[serde(serialize_with = "name")]
    pub layout: Layout,
    /// Ground of the choice.
    pub standing: Standing,
    /// The implementation, such as `bcast.chain`; `default` is the library's own.
    pub choice: String,
    /// Its seconds, measured or predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Layouts from which it was predicted.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "names")]
    pub from: Vec<Layout>,
    /// Layouts that were held out of the prediction and confirmed it.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "names")]
    pub confirmed_by: Vec<Layout>,
    /// Reason why the default stays where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Ground of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It was measured there.
    Measured,
    /// It was predicted, and confirmed by a layout that was held out.
    Confirmed,
    /// The default stays.
    Default,
}

impl Standing {
    /// A letter that tells it without colour.
    fn mark(self) -> &'static str {
        match self {
            Standing::Measured => "M",
            Standing::Confirmed => "P",
            Standing::Default => "·",
        }
    }
}

fn name<S: Serializer>(layout: &Layout, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(layout)
}

fn names<S: Serializer>(layouts: &[Layout], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(layouts.iter().map(Layout::to_string))
}

/// A row of a map: its ranks per node, and a cell for each number of nodes.
type Row<'a> = (usize, Vec<Option<&'a MapCell>>);

impl MachineMap {
    /// Maps on which something other than the default was chosen.
    fn shown(&self) -> Vec<&CallMap> {
        self.calls.iter().filter(|call| !call.is_default()).collect()
    }

    /// Calls for which the default stays everywhere, in words; `None` if there are none.
    fn silent(&self) -> Option<String> {
        let silent: Vec<String> = self
            .calls
            .iter()
            .filter(|call| call.is_default())
            .map(CallMap::title)
            .collect();
        (!silent.is_empty()).then(|| silent.join(", "))
    }

    /// The maps for a terminal; empty without any.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for call in self.shown() {
            text.push_str(&call.to_text());
        }
        if let Some(silent) = self.silent() {
            // Writing to a string does not fail.
            let _ = writeln!(text, "the default on all layouts: {silent}");
        }
        text
    }
}

impl CallMap {
    fn is_default(&self) -> bool {
        self.cells.iter().all(|cell| cell.choice == DEFAULT)
    }

    fn title(&self) -> String {
        format!("{} of {}", self.function, format::bytes(self.bytes))
    }

    /// Numbers of nodes, ascending.
    fn nodes(&self) -> Vec<usize> {
        let all: BTreeSet<usize> = self.cells.iter().map(|cell| cell.layout.nodes).collect();
        all.into_iter().collect()
    }

    /// Rows, the most ranks per node first.
    fn rows(&self) -> Vec<Row<'_>> {
        let per_node: BTreeSet<usize> = self.cells.iter().map(|cell| cell.layout.per_node).collect();
        let row = |per_node: &usize| {
            let at = |nodes: usize| {
                let is_it = |cell: &&MapCell| cell.layout.nodes == nodes && cell.layout.per_node == *per_node;
                self.cells.iter().find(is_it)
            };
            (*per_node, self.nodes().into_iter().map(at).collect())
        };
        per_node.iter().rev().map(row).collect()
    }

    fn to_text(&self) -> String {
        let mut text = format!("\n{}: nodes across, ranks per node down\n", self.title());
        let _ = write!(text, "{:>8}", "");
        for nodes in self.nodes() {
            let _ = write!(text, "{nodes:>5}");
        }
        text.push('\n');
        for (per_node, cells) in self.rows() {
            let _ = write!(text, "{per_node:>8}");
            for cell in cells {
                let _ = write!(text, "{:>5}", cell.map_or(" ", |cell| cell.standing.mark()));
            }
            text.push('\n');
        }
        for cell in self.cells.iter().filter(|cell| cell.choice != DEFAULT) {
            let _ = writeln!(text, "  {}: {}", cell.layout, cell.told());
        }
        text
    }
}

impl MapCell {
    /// The choice and how it is known, in words.
    fn told(&self) -> String {
        let list = |layouts: &[Layout]| layouts.iter().map(Layout::to_string).collect::<Vec<_>>().join(", ");
        match self.standing {
            Standing::Measured => format!("{}, measured", self.choice),
            Standing::Confirmed => format!(
                "{}, predicted from {}, confirmed by {}",
                self.choice,
                list(&self.from),
                list(&self.confirmed_by)
            ),
            Standing::Default => match &self.because {
                Some(because) => format!("{}: {because}", self.choice),
                None => self.choice.clone(),
            },
        }
    }

    fn class(&self) -> &'static str {
        match (self.standing, self.choice == DEFAULT) {
            (Standing::Measured, false) => "chosen",
            (Standing::Measured, true) => "kept",
            (Standing::Confirmed, _) => "predicted",
            (Standing::Default, _) => "default",
        }
    }
}

/// The library's own implementation.
const DEFAULT: &str = "default";

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(layout: &str, standing: Standing, choice: &str) -> MapCell {
        let parsed = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
        let is_predicted = standing == Standing::Confirmed;
        MapCell {
            layout: layout.parse().unwrap(),
            standing,
            choice: choice.to_owned(),
            seconds: None,
            from: parsed(if is_predicted { &["2x8", "8x8"] } else { &[] }),
            confirmed_by: parsed(if is_predicted { &["4x4"] } else { &[] }),
            because: (standing == Standing::Default).then(|| "it does not lie between measured layouts".to_owned()),
        }
    }

    fn map() -> MachineMap {
        let call = |function: &str, cells: Vec<MapCell>| CallMap {
            function: function.to_owned(),
            bytes: 8192,
            cells,
        };
        MachineMap {
            calls: vec![
                call(
                    "bcast",
                    vec![
                        cell("2x8", Standing::Measured, "bcast.chain"),
                        cell("8x8", Standing::Measured, "bcast.chain"),
                        cell("4x8", Standing::Confirmed, "bcast.chain"),
                        cell("2x1", Standing::Measured, DEFAULT),
                        cell("16x8", Standing::Default, DEFAULT),
                    ],
                ),
                call("reduce", vec![cell("2x8", Standing::Measured, DEFAULT)]),
            ],
        }
    }

    #[test]
    fn a_map_has_nodes_across_and_ranks_down() {
        insta::assert_snapshot!(map().to_text(), @r"

        bcast of 8 KiB: nodes across, ranks per node down
                    2    4    8   16
               8    M    P    M    ·
               1    M               
          2x8: bcast.chain, measured
          8x8: bcast.chain, measured
          4x8: bcast.chain, predicted from 2x8, 8x8, confirmed by 4x4
        the default on all layouts: reduce of 8 KiB
        ");
        assert_eq!(MachineMap::default().to_text(), "");
    }

    #[test]
    fn the_page_tells_each_cell_and_why() {
        let page = map().render().unwrap();
        for part in [
            "class=\"predicted\" title=\"4x8: bcast.chain, predicted from 2x8, 8x8, confirmed by 4x4\"",
            "class=\"default\" title=\"16x8: default: it does not lie between measured layouts\"",
            "class=\"kept\"",
            "reduce of 8 KiB",
        ] {
            assert!(page.contains(part), "`{part}` is missing: {page}");
        }
    }

    #[test]
    fn programs_read_layouts_by_their_names() {
        let json = serde_json::to_value(map()).unwrap();
        let cell = &json["calls"][0]["cells"][2];
        assert_eq!(cell["layout"], "4x8");
        assert_eq!(cell["standing"], "confirmed");
        assert_eq!(cell["from"], serde_json::json!(["2x8", "8x8"]));
    }
}
