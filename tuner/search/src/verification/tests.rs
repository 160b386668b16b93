//! Subjects that no launch came to.

use kilter_algorithms::Collective;

use super::*;

#[test]
fn what_no_launch_came_to_is_named_and_what_failed_keeps_its_reason() {
    let all: BTreeSet<Subject> = [1, 2, 4].map(|bytes| Subject::library(Collective::Bcast, bytes)).into();
    let name = |bytes| Subject::library(Collective::Bcast, bytes).item_id();
    let mut found = Verification::default();
    found.medians.insert(Subject::library(Collective::Bcast, 1), vec![1e-6]);
    found.failed.insert(name(2), "wrong data".to_owned());
    found.note_unreached(&all);
    assert_eq!(found.failed, [(name(2), "wrong data".to_owned())].into());
    assert_eq!(found.unreached, [name(4)].into());
}
