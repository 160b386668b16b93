//! The rows: the registry, the mock-ups and the calls at another volume, in C.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

use kilter_abi::{
    Algorithm, NEEDS_COMMUTATIVE, NEEDS_EVEN_RANKS, NEEDS_INT_VOLUME, NEEDS_ONE_NODE, NEEDS_POWER_OF_TWO_RANKS,
    NEEDS_PREDEFINED_OPERATOR, Parameter,
};
use kilter_algorithms::closing::CLOSING;
use kilter_algorithms::{Entry, Need, mockup, registry};
use kilter_mpi::Pipeline;

use crate::row::Row;
use crate::run::run_of;

/// The row as the drop-in sees it.
fn in_c(row: &'static Row) -> Option<Algorithm> {
    let needs = match row {
        Row::Algorithm(entry) => needs(entry.row().needs),
        // They call the library's functions with int counts.
        Row::Mockup(mockup, _) => {
            let bit = |is_needed: bool, bit: u32| if is_needed { bit } else { 0 };
            NEEDS_INT_VOLUME
                | bit(mockup.pads_for_operator(), NEEDS_PREDEFINED_OPERATOR)
                | bit(mockup.needs_commutative(), NEEDS_COMMUTATIVE)
        }
        Row::Closing(_) => NEEDS_INT_VOLUME,
    };
    let parameters: Vec<Parameter> = match row {
        Row::Algorithm(entry) => entry.row().parameters.iter().filter_map(parameter).collect(),
        Row::Mockup(..) => Vec::new(),
        Row::Closing(closing) => parameter(closing.way.parameter()).into_iter().collect(),
    };
    let parameters: &'static [Parameter] = Vec::leak(parameters);
    Some(Algorithm {
        id: c_string(row.id())?,
        collective: kilter_abi::collective_number(row.collective().name())?,
        needs,
        parameter_count: u32::try_from(parameters.len()).ok()?,
        reserved: 0,
        parameters: parameters.as_ptr(),
        data: std::ptr::from_ref(row).cast::<c_void>(),
        run: Some(run_of(row.collective())),
    })
}

fn needs(of_row: &[Need]) -> u32 {
    let bit = |need: &Need| match need {
        Need::Commutative => NEEDS_COMMUTATIVE,
        Need::PowerOfTwoRanks => NEEDS_POWER_OF_TWO_RANKS,
        Need::EvenRanks => NEEDS_EVEN_RANKS,
        Need::OneNode => NEEDS_ONE_NODE,
    };
    of_row.iter().fold(0, |bits, need| bits | bit(need))
}

/// A text that C reads and that lives as long as the process.
fn c_string(text: &str) -> Option<*const c_char> {
    CString::new(text).ok().map(|text| text.into_raw().cast_const())
}

fn parameter(parameter: &kilter_algorithms::Parameter) -> Option<Parameter> {
    let kilter_algorithms::Parameter {
        name,
        min,
        max,
        default,
        ..
    } = *parameter;
    Some(Parameter {
        name: c_string(name)?,
        min,
        max,
        default_value: default,
    })
}

/// All rows; made once.
fn table() -> &'static [Algorithm] {
    static TABLE: OnceLock<&'static [Algorithm]> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mockups = mockup::MOCKUPS
            .iter()
            .filter_map(|row| Some(Row::Mockup(row, Pipeline::of(row).ok()?)));
        let rows: Vec<Row> = registry::algorithms()
            .map(|row| Row::Algorithm(Entry::new(row)))
            .chain(mockups)
            .chain(CLOSING.iter().map(Row::Closing))
            .collect();
        let rows: &'static [Row] = Vec::leak(rows);
        Vec::leak(rows.iter().filter_map(in_c).collect())
    })
}

/// `kilter_plugin.algorithms`.
///
/// # Safety
/// `count` is valid for a write.
pub(crate) unsafe extern "C" fn algorithms(count: *mut u32) -> *const Algorithm {
    let table = table();
    // SAFETY: by this function's contract.
    unsafe { *count = u32::try_from(table.len()).unwrap_or(0) };
    table.as_ptr()
}
