//! `MPI_T` by name. The variables are Open MPI's; on another library only the general errors are looked at.

use kilter_mpi::constants;
use kilter_mpi::mpit::{ControlVariables, MpitError};

pub(crate) fn all(rank: usize) {
    let mut variables = ControlVariables::open().expect("MPI_T");
    let unknown = variables.read("kilter_no_such_variable");
    assert!(
        matches!(unknown, Err(MpitError::Unknown { .. })),
        "rank {rank}: {unknown:?}"
    );
    assert!(matches!(variables.write("a\0b", "1"), Err(MpitError::Unknown { .. })));
    if constants::mpi_family() == 1 {
        open_mpi(&mut variables);
    }
}

fn open_mpi(variables: &mut ControlVariables) {
    let algorithm = "coll_tuned_reduce_algorithm";
    assert!(variables.is_writable(algorithm).expect("a variable of Open MPI"));
    let items = variables
        .enumeration(algorithm)
        .expect("a variable of Open MPI")
        .expect("an enumeration");
    assert!(items.contains(&(1, "linear".to_owned())), "{items:?}");
    let before = variables.read(algorithm).expect("readable");
    variables.write(algorithm, "pipeline").expect("writable by name");
    assert_eq!(variables.read(algorithm).as_deref(), Ok("pipeline"));
    variables.write(algorithm, "1").expect("writable by number");
    assert_eq!(variables.read(algorithm).as_deref(), Ok("linear"));
    let bad = variables
        .write(algorithm, "no_such_algorithm")
        .expect_err("not an item");
    assert!(
        matches!(&bad, MpitError::BadValue { allowed, .. } if allowed.contains("1 (linear)")),
        "{bad}"
    );
    variables.write(algorithm, &before).expect("writable");

    let flag = "coll_tuned_use_dynamic_rules";
    assert_eq!(variables.read(flag).as_deref(), Ok("false"));
    assert!(matches!(
        variables.write(flag, "true"),
        Err(MpitError::NotWritable { .. })
    ));

    let segment = "coll_tuned_reduce_algorithm_segmentsize";
    variables.write(segment, "32768").expect("an integer");
    assert_eq!(variables.read(segment).as_deref(), Ok("32768"));
    variables.write(segment, "0").expect("an integer");

    // Read-only: known, readable, refused with the reason.
    let limit = "btl_vader_eager_limit";
    if let Ok(value) = variables.read(limit) {
        assert!(value.parse::<u64>().is_ok_and(|bytes| bytes > 0), "{value}");
        assert!(matches!(
            variables.write(limit, "32768"),
            Err(MpitError::NotWritable { .. })
        ));
        assert_eq!(variables.read(limit), Ok(value));
    }
}
