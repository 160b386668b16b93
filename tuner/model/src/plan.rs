//! Makes cells from guidelines and sizes, and blocks that the worker measures from cells. Pure.
//!
//! Both sides of a guideline always move the same volume `n`. If a side divides its buffer into `p` blocks, `n` is
//! rounded up to the next multiple of `p` on both sides (Traeff et al. 2010), and the cell keeps the requested size.

use std::collections::{BTreeMap, BTreeSet};

use kilter_algorithms::Collective;
use kilter_protocol::expression::{Side, lcm};
use kilter_protocol::plan::{Block, Implementation, Item, Repetitions};
use kilter_protocol::task::Task;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::guideline::{Guideline, Kind};
use crate::place::{Place, measured_bytes};
use crate::scope::Scope;

/// Something to time: a side of a guideline at one volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// Task that is achieved.
    pub task: Task,
    /// Expression that achieves it, without `k` and `A`.
    pub text: String,
    /// Volume in bytes that stands for `n`.
    pub bytes: u64,
}

impl Subject {
    /// The library's own collective.
    #[must_use]
    pub fn library(collective: Collective, bytes: u64) -> Subject {
        Subject {
            task: collective.into(),
            text: Side::of(collective).to_string(),
            bytes,
        }
    }

    /// The collective, if the subject is a plain call of the library's own, which an algorithm or a mock-up can
    /// replace.
    #[must_use]
    pub fn collective(&self) -> Option<Collective> {
        let collective = self.task.collective()?;
        (*self == Subject::library(collective, self.bytes)).then_some(collective)
    }

    /// Subject that an item times; `None` for an algorithm of the registry or a plugin, which is no side of a
    /// guideline.
    #[must_use]
    pub fn of(item: &Item) -> Option<Subject> {
        match &item.implementation {
            Implementation::Expression { text } => Some(Subject {
                task: item.task,
                text: text.clone(),
                bytes: item.bytes,
            }),
            Implementation::Algorithm { .. } | Implementation::Plugin { .. } | Implementation::Overlap(_) => None,
        }
    }

    /// Subject that an item times. An item that is no side of a guideline is identified by its id.
    #[must_use]
    pub fn timed_by(item: &Item) -> Subject {
        Subject::of(item).unwrap_or_else(|| Subject {
            task: item.task,
            text: item.id.clone(),
            bytes: item.bytes,
        })
    }

    /// Id inside a block: unique, readable.
    #[must_use]
    pub fn item_id(&self) -> String {
        format!("{} @{}", self.text, self.bytes)
    }

    /// Id of the block in which it is measured, with everything of its task and volume.
    #[must_use]
    pub fn block_id(&self) -> String {
        block_id(self.task, self.bytes)
    }

    /// The item for the worker.
    #[must_use]
    pub fn item(&self) -> Item {
        Item {
            id: self.item_id(),
            task: self.task,
            bytes: self.bytes,
            implementation: Implementation::Expression {
                text: self.text.clone(),
            },
            settings: Vec::new(),
        }
    }
}

/// One guideline at one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCell {
    /// Guideline id.
    pub guideline: String,
    /// Its kind.
    pub kind: Kind,
    /// The function that the left side is named after, such as `reduce` or `isend`.
    pub function: String,
    /// The guideline for this cell, as text.
    pub expression: String,
    /// Requested volume in bytes.
    pub bytes: u64,
    /// The side that should not be slower.
    pub left: Subject,
    /// The side that bounds it.
    pub right: Subject,
}

impl PlannedCell {
    /// Name for people: `GL8 reduce 4096`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.guideline, self.target())
    }

    /// The call that has to become faster if the cell is violated: `reduce 4096`.
    #[must_use]
    pub fn target(&self) -> String {
        target_name(&self.function, self.left.bytes)
    }
}

/// Name for people of a function at a total volume in bytes: `reduce 4096`.
#[must_use]
pub fn target_name(function: &str, bytes: u64) -> String {
    format!("{function} {bytes}")
}

/// Everything that is verified.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Pattern cells. The sizes and parts that the other cells compare follow from the measurements.
    pub cells: Vec<PlannedCell>,
    /// Collectives whose monotony is judged over all their volumes, with the guideline's id.
    pub monotony_functions: Vec<(String, Collective)>,
    /// Collectives and volumes whose split-robustness is judged, with the guideline's id.
    pub split_functions: Vec<(String, Collective)>,
    /// The volumes at which each collective is measured, ascending.
    pub volumes: BTreeMap<Collective, BTreeSet<u64>>,
    /// Calls of each left side by an application; empty without a call mix.
    pub calls: BTreeMap<Subject, Called>,
    /// Guidelines that cannot be verified here, with the reason.
    pub left_out: BTreeMap<String, String>,
}

/// Calls of a function by an application.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Called {
    /// Such as `reduce`.
    pub function: String,
    /// Calls by requested volume in bytes; several may round to one measured volume.
    pub calls: BTreeMap<u64, f64>,
}

impl Plan {
    /// Lays out the cells of these guidelines at these sizes.
    ///
    /// `functions`, unless empty, keeps only cells with one of these names on the left.
    #[must_use]
    pub fn new(guidelines: &[Guideline], functions: &[String], sizes: &[u64], place: Place) -> Plan {
        let scope = Scope {
            functions,
            sizes,
            mix: None,
            ranks: place.ranks,
        };
        Plan::within(guidelines, &scope, place)
    }

    /// Lays out the cells of these guidelines whose left sides are in the scope.
    #[must_use]
    pub fn within(guidelines: &[Guideline], scope: &Scope<'_>, place: Place) -> Plan {
        let mut plan = Plan::default();
        for guideline in guidelines {
            if let Some(reason) = guideline.unmet(place) {
                plan.left_out.insert(guideline.id.clone(), reason);
                continue;
            }
            match guideline.kind {
                Kind::Pattern => plan.add_pattern(guideline, scope, place),
                Kind::Monotony | Kind::Split => {
                    for collective in collectives(guideline) {
                        let calls = scope.calls(collective.name());
                        if calls.is_empty() {
                            continue;
                        }
                        for (size, calls) in calls {
                            let bytes = place.volume(collective, size);
                            plan.volumes.entry(collective).or_default().insert(bytes);
                            if scope.mix.is_some() {
                                let left = Subject::library(collective, bytes);
                                plan.add_calls(left, collective.name(), size, calls);
                            }
                        }
                        let functions = match guideline.kind {
                            Kind::Split => &mut plan.split_functions,
                            _ => &mut plan.monotony_functions,
                        };
                        functions.push((guideline.id.clone(), collective));
                    }
                }
            }
        }
        plan
    }

    fn add_calls(&mut self, left: Subject, function: &str, size: u64, calls: f64) {
        let called = self.calls.entry(left).or_default();
        called.function = function.to_owned();
        called.calls.insert(size, calls);
    }

    /// Number of an application's calls of a left side; 1 without a call mix, 0 if the mix does not call it.
    #[must_use]
    pub fn calls_of(&self, left: &Subject) -> f64 {
        if self.calls.is_empty() {
            return 1.0;
        }
        self.calls.get(left).map_or(0.0, |called| called.calls.values().sum())
    }

    fn add_pattern(&mut self, guideline: &Guideline, scope: &Scope<'_>, place: Place) {
        for filled in guideline.filled() {
            let Ok(task) = Task::of(&filled.left) else { continue };
            for (left, right) in filled.orderings() {
                self.add_ordering(guideline, (left, right), task, scope, place);
            }
        }
    }

    fn add_ordering(
        &mut self,
        guideline: &Guideline,
        (left, right): (&Side, &Side),
        task: Task,
        scope: &Scope<'_>,
        place: Place,
    ) {
        let function = left.head().operation.to_string();
        let calls = scope.calls(&function);
        if calls.is_empty() {
            return;
        }
        let ranks = place.ranks as u64;
        let unit = [left, right]
            .into_iter()
            .map(|side| side.unit_bytes(ranks, place.element_bytes))
            .fold(1, lcm);
        // A guideline without an `n` on either side has one cell.
        let has_volume = left.mentions_n() || right.mentions_n();
        let volume = |size: u64| if has_volume { measured_bytes(size, unit) } else { 0 };
        let mut seen = BTreeMap::new();
        for &size in calls.keys() {
            // If several sizes round to one volume, the cell is named after the exact one.
            seen.insert(volume(size), if has_volume { size } else { 0 });
        }
        for (measured, asked) in seen {
            // A block as large as the whole, or larger, divides nothing.
            if [left, right].into_iter().any(|side| !side.divides(measured, ranks)) {
                continue;
            }
            let side = |side: &Side| Subject {
                task,
                text: side.to_string(),
                bytes: measured,
            };
            if let Some(collective) = left.single() {
                self.volumes.entry(collective).or_default().insert(measured);
            }
            if scope.mix.is_some() {
                for (size, calls) in calls.iter().filter(|(size, _)| volume(**size) == measured) {
                    self.add_calls(side(left), &function, *size, *calls);
                }
            }
            self.cells.push(PlannedCell {
                guideline: guideline.id.clone(),
                kind: Kind::Pattern,
                function: function.clone(),
                expression: format!("{left} <= {right}"),
                bytes: asked,
                left: side(left),
                right: side(right),
            });
        }
    }

    /// Every subject to be timed: the sides of all cells and each collective at all its volumes.
    #[must_use]
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let mut subjects: BTreeSet<Subject> = self
            .cells
            .iter()
            .flat_map(|cell| [cell.left.clone(), cell.right.clone()])
            .collect();
        subjects.extend(self.library_subjects());
        subjects
    }

    /// The measured volumes of a collective, ascending.
    #[must_use]
    pub fn volumes_of(&self, collective: Collective) -> Vec<u64> {
        self.volumes.get(&collective).into_iter().flatten().copied().collect()
    }

    /// The left sides: each collective at all its volumes.
    #[must_use]
    pub fn library_subjects(&self) -> BTreeSet<Subject> {
        self.volumes
            .iter()
            .flat_map(|(collective, volumes)| volumes.iter().map(|bytes| Subject::library(*collective, *bytes)))
            .collect()
    }
}

/// Collectives for which a monotony or split guideline is stated.
fn collectives(guideline: &Guideline) -> impl Iterator<Item = Collective> {
    guideline.functions.iter().copied()
}

/// A monotony cell: a function at one volume against itself at a larger one.
#[must_use]
pub fn monotony_cell(guideline: &str, collective: Collective, small: u64, large: u64) -> PlannedCell {
    PlannedCell {
        guideline: guideline.to_owned(),
        kind: Kind::Monotony,
        function: collective.name().to_owned(),
        expression: format!("{collective}({small}) <= {collective}({large})"),
        bytes: small,
        left: Subject::library(collective, small),
        right: Subject::library(collective, large),
    }
}

/// A split cell: `left(n)` against `k` calls of `m` bytes.
#[must_use]
pub fn split_cell(guideline: &str, collective: Collective, n_bytes: u64, m_bytes: u64) -> PlannedCell {
    let k = n_bytes.div_ceil(m_bytes);
    PlannedCell {
        guideline: guideline.to_owned(),
        kind: Kind::Split,
        function: collective.name().to_owned(),
        expression: format!("{collective}({n_bytes}) <= {k} * {collective}({m_bytes})"),
        bytes: n_bytes,
        left: Subject::library(collective, n_bytes),
        right: Subject {
            task: collective.into(),
            text: format!("{k} * {collective}(n)"),
            bytes: m_bytes,
        },
    }
}

/// The default's item id.
pub const DEFAULT: &str = "default";

/// First letters of the ids of bounds.
pub const BOUND: &str = "bound ";

/// True if an item with this id is a candidate, rather than the default or a bound.
#[must_use]
pub fn is_candidate(id: &str) -> bool {
    id != DEFAULT && !id.starts_with(BOUND)
}

/// Draws a seed for a part of the run from the run's seed. The same name gives the same seed.
#[must_use]
pub fn derived_seed(seed: u64, name: &str) -> u64 {
    // FNV-1a over the name, mixed with the seed by SplitMix64's finaliser: stable across versions, unlike std's hashers.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let mut z = seed.wrapping_add(hash).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn block_id(task: Task, bytes: u64) -> String {
    format!("{task}@{bytes}")
}

/// Blocks of one launch. Subjects of one task and volume share a block, so that they are interleaved. The order of
/// blocks is drawn from the seed; `launch` names the launch.
#[must_use]
pub fn blocks(subjects: &BTreeSet<Subject>, seed: u64, launch: &str, repetitions: Repetitions) -> Vec<Block> {
    let mut groups: BTreeMap<(Task, u64), Vec<&Subject>> = BTreeMap::new();
    for subject in subjects {
        groups.entry((subject.task, subject.bytes)).or_default().push(subject);
    }
    let mut blocks: Vec<Block> = groups
        .into_iter()
        .map(|((task, bytes), members)| {
            let id = block_id(task, bytes);
            Block {
                seed: derived_seed(seed, &format!("{launch}/{id}")),
                repetitions: Repetitions {
                    seconds: repetitions.seconds * members.len() as f64,
                    ..repetitions
                },
                items: members.into_iter().map(Subject::item).collect(),
                id,
            }
        })
        .collect();
    blocks.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(derived_seed(seed, launch)));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::guideline::load_embedded;

    fn plan(ids: &[&str], functions: &[&str], sizes: &[u64], place: Place) -> Plan {
        let all = load_embedded().unwrap();
        let chosen: Vec<Guideline> = all.into_iter().filter(|g| ids.contains(&g.id.as_str())).collect();
        assert_eq!(chosen.len(), ids.len());
        let functions: Vec<String> = functions.iter().map(|name| (*name).to_owned()).collect();
        Plan::new(&chosen, &functions, sizes, place)
    }

    fn cells(plan: &Plan) -> Vec<(String, u64, u64)> {
        let cell = |cell: &PlannedCell| (cell.expression.clone(), cell.bytes, cell.left.bytes);
        plan.cells.iter().map(cell).collect()
    }

    /// PGMPI's script skips monotony and split-robustness of functions without a pattern.
    #[test]
    fn a_function_without_a_pattern_has_its_monotony_and_splits_judged() {
        let plan = plan(&["GL1", "GL2", "GL8"], &["scan"], &[8, 64], Place::on_one_node(2));
        assert!(plan.cells.is_empty());
        assert_eq!(plan.monotony_functions, [("GL1".to_owned(), Collective::Scan)]);
        assert_eq!(plan.split_functions, [("GL2".to_owned(), Collective::Scan)]);
        assert_eq!(plan.subjects().len(), 2);
    }

    #[test]
    fn both_sides_move_the_same_rounded_volume_and_the_cell_keeps_the_exact_size() {
        let place = Place {
            element_bytes: 8,
            ..Place::on_one_node(3)
        };
        let plan = plan(&["GL3"], &[], &[1, 24, 25], place);
        let expression = "gather(n) <= allgather(n)".to_owned();
        assert_eq!(cells(&plan), [(expression.clone(), 24, 24), (expression, 25, 48)]);
        assert!(plan.cells.iter().all(|cell| cell.left.bytes == cell.right.bytes));
    }

    #[test]
    fn similar_sides_are_two_cells_named_after_their_own_left_side() {
        let plan = plan(&["NB1"], &["ibcast", "bcast"], &[64], Place::on_one_node(2));
        let found: Vec<(String, String)> = plan
            .cells
            .iter()
            .map(|cell| (cell.function.clone(), cell.expression.clone()))
            .collect();
        let both = [
            ("ibcast", "ibcast(n) + wait <= bcast(n)"),
            ("bcast", "bcast(n) <= ibcast(n) + wait"),
        ];
        assert_eq!(found, both.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn blocks_by_hand_need_more_than_one_block() {
        let plan = plan(&["TGT02"], &["bcast"], &[8, 1024, 4096], Place::on_one_node(2));
        let expression = "bcast(n) <= n/512/p * bcast(512*p)".to_owned();
        // 8 bytes round up to one block, which divides nothing.
        assert_eq!(cells(&plan), [(expression, 4096, 4096)]);
    }

    #[test]
    fn what_needs_more_ranks_or_nodes_is_left_out_with_the_reason() {
        let ids = ["TGT37", "TGT38_BCAST_NODE", "TGT38_BCAST_PART"];
        let alone = plan(&ids, &[], &[64], Place::on_one_node(2));
        assert!(alone.cells.is_empty());
        assert_eq!(alone.left_out["TGT37"], "it needs 4 ranks or more");
        assert_eq!(alone.left_out["TGT38_BCAST_NODE"], "it needs ranks on several nodes");
        let cluster = Place {
            several_nodes: true,
            ..Place::on_one_node(8)
        };
        let cluster = plan(&ids, &[], &[64], cluster);
        assert!(cluster.left_out.is_empty());
        assert_eq!(cluster.cells.len(), 3);
    }

    #[test]
    fn a_mix_keeps_its_functions_at_its_sizes_and_counts_its_calls() {
        let text = r#"
            [[call]]
            function = "reduce"
            bytes = 1001
            calls = 10
            [[call]]
            function = "reduce"
            bytes = 1002
            calls = 5
            [[call]]
            function = "bcast"
            bytes = "4KiB"
            ranks = 16
        "#;
        let mix = crate::config::mix::Mix::parse(text, "mix.toml").unwrap();
        let all = load_embedded().unwrap();
        let scope = Scope {
            functions: &[],
            sizes: &[8, 64],
            mix: Some(&mix),
            ranks: 2,
        };
        let plan = Plan::within(&all, &scope, Place::on_one_node(2));
        assert!(!plan.cells.is_empty());
        assert!(
            plan.cells
                .iter()
                .all(|cell| cell.function == "reduce" && (1001..=1002).contains(&cell.left.bytes))
        );
        assert_eq!(
            plan.volumes,
            BTreeMap::from([(Collective::Reduce, BTreeSet::from([1001, 1002]))])
        );
        // A guideline with two blocks on one side measures both sizes at 1002.
        let calls = |bytes| plan.calls[&Subject::library(Collective::Reduce, bytes)].calls.clone();
        assert_eq!(calls(1001), BTreeMap::from([(1001, 10.0)]));
        assert_eq!(calls(1002), BTreeMap::from([(1001, 10.0), (1002, 5.0)]));
        assert_eq!(plan.calls_of(&Subject::library(Collective::Reduce, 1001)), 10.0);
        assert_eq!(plan.calls_of(&Subject::library(Collective::Bcast, 4096)), 0.0);
        assert_eq!(
            Plan::default().calls_of(&Subject::library(Collective::Bcast, 4096)),
            1.0
        );
    }

    #[test]
    fn without_a_volume_there_is_one_cell() {
        let plan = plan(&["BA1"], &[], &[8, 64], Place::on_one_node(2));
        assert_eq!(cells(&plan), [("barrier <= allreduce(8)".to_owned(), 0, 0)]);
    }
}
