//! Names of classes and operators.

/// Names of the classes of datatypes, by their numbers; the first is that of calls without a datatype.
pub const CLASSES: [&str; 8] = ["", "byte", "integer", "real", "complex", "logical", "pair", "derived"];

/// Name of a class; empty if there is none.
#[must_use]
pub fn class_name(class: u8) -> &'static str {
    CLASSES.get(usize::from(class)).copied().unwrap_or_default()
}

/// Names of the operators, by their numbers from 1; 0 is for calls without one.
pub const OPERATORS: [&str; 13] = [
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MAXLOC",
    "MPI_MINLOC",
    "user",
];

/// Name of an operator; empty if there is none.
#[must_use]
pub fn operator_name(operator: u8) -> &'static str {
    let at = usize::from(operator).checked_sub(1);
    at.and_then(|at| OPERATORS.get(at)).copied().unwrap_or_default()
}
