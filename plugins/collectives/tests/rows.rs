//! The rows as the drop-in gets them: from the plugin's object, in C.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::collections::BTreeSet;
use std::ffi::CStr;

use kilter_abi::{Algorithm, Parameter};
use kilter_algorithms::{closing, mockup, registry};
use kilter_collectives::PLUGIN;

fn rows() -> &'static [Algorithm] {
    let mut count = 0;
    // SAFETY: `count` is valid for a write; the plugin's rows live as long as the process.
    unsafe {
        let rows = PLUGIN.algorithms.unwrap()(&raw mut count);
        std::slice::from_raw_parts(rows, count as usize)
    }
}

fn id(row: &Algorithm) -> &'static str {
    // SAFETY: ids are C strings that live as long as the process.
    unsafe { CStr::from_ptr(row.id) }.to_str().unwrap()
}

fn parameters(row: &Algorithm) -> &'static [Parameter] {
    if row.parameter_count == 0 {
        return &[];
    }
    // SAFETY: an array of the length given, which lives as long as the process.
    unsafe { std::slice::from_raw_parts(row.parameters, row.parameter_count as usize) }
}

#[test]
fn every_algorithm_and_every_mockup_has_its_row() {
    let ids: BTreeSet<&str> = rows().iter().map(id).collect();
    let wanted: BTreeSet<&str> = registry::algorithms()
        .map(|row| row.id)
        .chain(mockup::MOCKUPS.iter().map(|row| row.id))
        .chain(closing::CLOSING.iter().map(|row| row.id))
        .collect();
    assert_eq!(ids, wanted);
    assert_eq!(rows().len(), wanted.len());
}

#[test]
fn rows_say_what_the_registry_says() {
    for row in rows() {
        let collective = kilter_abi::COLLECTIVES[row.collective as usize];
        assert!(id(row).starts_with(&format!("{collective}.")), "{}", id(row));
        let mockup = mockup::MOCKUPS.iter().find(|mockup| mockup.id == id(row));
        if let Some(mockup) = mockup {
            assert_eq!(collective, mockup.collective.name());
            continue;
        }
        if let Some(closing) = closing::find(id(row)) {
            let parameter = closing.way.parameter();
            let in_c = parameters(row)[0];
            assert_eq!(
                (in_c.min, in_c.max, in_c.default_value),
                (parameter.min, parameter.max, parameter.default)
            );
            assert_eq!((collective, parameters(row).len()), (closing.collective.name(), 1));
            continue;
        }
        let algorithm = registry::find(id(row)).unwrap();
        assert_eq!(collective, algorithm.collective.name());
        assert_eq!(parameters(row).len(), algorithm.parameters.len());
        assert_eq!(row.needs.count_ones() as usize, algorithm.needs.len());
        for (in_c, parameter) in parameters(row).iter().zip(algorithm.parameters) {
            let range = (in_c.min, in_c.max, in_c.default_value);
            assert_eq!(range, (parameter.min, parameter.max, parameter.default));
        }
    }
}
