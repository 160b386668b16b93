//! The ABI's numbers of collectives.

use std::sync::OnceLock;

use kilter_algorithms::Collective;

/// The collective of this number, if there is one.
#[must_use]
pub(crate) fn collective(number: u32) -> Option<Collective> {
    static ALL: OnceLock<Vec<Option<Collective>>> = OnceLock::new();
    let all = || kilter_abi::COLLECTIVES.iter().map(|name| name.parse().ok()).collect();
    ALL.get_or_init(all).get(number as usize).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_a_collective_of_several_ranks() {
        let all = (0..16).map(|number| collective(number).unwrap());
        assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), 16);
        assert_eq!(collective(2), Some(Collective::Bcast));
        assert_eq!(collective(16), None);
    }
}
