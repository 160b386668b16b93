//! The operators of the matrix.

use crate::common::Op;

/// The matrix is as strong as its operators: each must notice a swap of operands, a missing and a doubled contribution.
#[test]
fn operators_notice_what_they_should() {
    for element_bytes in [1, 4, 12] {
        let contribution = |rank| Op::Compose.contribution(rank, 50, element_bytes);
        let combine = |op: Op, left: &[u8], right: &[u8]| {
            let mut result = right.to_vec();
            op.apply(element_bytes, left, &mut result);
            result
        };
        let (a, b, c) = (contribution(0), contribution(1), contribution(2));
        let ab = combine(Op::Compose, &a, &b);
        let bc = combine(Op::Compose, &b, &c);
        assert_eq!(
            combine(Op::Compose, &ab, &c),
            combine(Op::Compose, &a, &bc),
            "associative"
        );
        assert_ne!(ab, combine(Op::Compose, &b, &a), "not commutative");
        assert_ne!(combine(Op::Compose, &a, &ab), ab, "not idempotent");
        assert_ne!(
            combine(Op::Sum, &a, &combine(Op::Sum, &a, &b)),
            combine(Op::Sum, &a, &b),
            "not idempotent"
        );
    }
}
