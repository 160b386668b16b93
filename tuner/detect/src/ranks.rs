//! Sets of ranks of a communicator.

/// Set of ranks, a bit each.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RankSet {
    words: Vec<u64>,
}

impl RankSet {
    /// Empty set with room for `size` ranks.
    pub(crate) fn new(size: usize) -> Self {
        Self {
            words: vec![0; size.div_ceil(64)],
        }
    }

    /// Some ranks of `size`.
    pub(crate) fn of(size: usize, ranks: &[u32]) -> Self {
        let mut set = Self::new(size);
        ranks.iter().for_each(|&rank| {
            set.insert(rank);
        });
        set
    }

    /// One rank of `size`.
    pub(crate) fn one(size: usize, rank: u32) -> Self {
        let mut set = Self::new(size);
        set.insert(rank);
        set
    }

    /// Adds a rank; true if it is new. A rank beyond the size is not added.
    pub(crate) fn insert(&mut self, rank: u32) -> bool {
        let Some(word) = self.words.get_mut(rank as usize / 64) else {
            return false;
        };
        let bit = 1 << (rank % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub(crate) fn contains(&self, rank: u32) -> bool {
        self.words
            .get(rank as usize / 64)
            .is_some_and(|word| word & (1 << (rank % 64)) != 0)
    }

    pub(crate) fn unite(&mut self, other: &Self) {
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    pub(crate) fn is_disjoint(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & b == 0)
    }

    /// Number of ranks that both have.
    pub(crate) fn common(&self, other: &Self) -> usize {
        let both = self.words.iter().zip(&other.words);
        both.map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    pub(crate) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Ranks, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = |(at, word): (usize, &u64)| {
            let word = *word;
            (0..64)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| (at * 64 + bit) as u32)
        };
        self.words.iter().enumerate().flat_map(bits)
    }
}
