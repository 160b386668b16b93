//! Sets that are joined, as call sites, ranks and groups of messages are.

/// Sets that are joined step by step.
pub(crate) struct Joined {
    parent: Vec<usize>,
}

impl Joined {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            parent: (0..count).collect(),
        }
    }

    pub(crate) fn find(&mut self, mut one: usize) -> usize {
        while self.parent[one] != one {
            self.parent[one] = self.parent[self.parent[one]];
            one = self.parent[one];
        }
        one
    }

    /// Joins two sets; the smaller representative stays.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
    }
}
