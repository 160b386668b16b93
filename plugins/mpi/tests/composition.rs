//! Calls that may stand for a collective.

use kilter_algorithms::{Collective, Shape, mockup};
use kilter_mpi::{Pipeline, PipelineError};

#[test]
fn every_mockup_of_the_table_fits() {
    for row in mockup::MOCKUPS {
        assert_eq!(
            Pipeline::of(row).map(|pipeline| pipeline.target()),
            Ok(row.collective),
            "{}",
            row.id
        );
    }
}

#[test]
fn every_collective_stands_for_itself() {
    for collective in Collective::of_several_ranks() {
        assert!(Pipeline::new(collective, &[collective]).is_ok(), "{collective}");
    }
}

#[test]
fn what_does_not_fit_is_named_with_both_shapes() {
    use Collective::{Allgather, Allreduce, Bcast, Exscan, Gather, Reduce, ReduceLocal, Scan, Scatter};
    let input = |target, calls: &[Collective]| match Pipeline::new(target, calls) {
        Err(PipelineError::Input {
            position,
            available,
            needed,
            ..
        }) => (position, available, needed),
        other => panic!("{target} by {calls:?}: {other:?}"),
    };
    assert_eq!(input(Allreduce, &[Allgather]), (1, Shape::Contributions, Shape::Blocks));
    assert_eq!(
        input(Allgather, &[Gather, Allgather]),
        (2, Shape::AtRoot, Shape::Blocks)
    );
    assert_eq!(
        input(Scan, &[ReduceLocal]),
        (1, Shape::Contributions, Shape::ExclusivePrefix)
    );
    // Everyone's copy must not be combined again.
    assert_eq!(
        input(Allreduce, &[Allreduce, Allreduce]),
        (2, Shape::Everywhere, Shape::Contributions)
    );
    let output = |target, calls: &[Collective]| match Pipeline::new(target, calls) {
        Err(PipelineError::Output { available, needed, .. }) => (available, needed),
        other => panic!("{target} by {calls:?}: {other:?}"),
    };
    assert_eq!(output(Allreduce, &[Reduce]), (Shape::AtRoot, Shape::Everywhere));
    assert_eq!(
        output(Scan, &[Exscan]),
        (Shape::ExclusivePrefix, Shape::InclusivePrefix)
    );
    assert_eq!(output(Bcast, &[Scatter]), (Shape::Blocks, Shape::Everywhere));
    assert_eq!(Pipeline::new(Bcast, &[]), Err(PipelineError::Empty(Bcast)));
    let text = Pipeline::new(Allreduce, &[Reduce])
        .expect_err("no result off the root")
        .to_string();
    assert!(text.contains("AtRoot") && text.contains("Everywhere"), "{text}");
}
