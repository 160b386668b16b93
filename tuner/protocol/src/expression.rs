//! Guideline expressions: `allreduce(n) <= reduce_scatter_block(n) + allgather(n)`.
//!
//! Grammar (white space is free between tokens):
//!
//! ```text
//! guideline    = side ( "<=" | "~" ) side
//! side         = term { "+" term }
//! term         = { factor ( "*" | "/" ) } call
//! factor       = integer | "n" | "p" | "q" | "k"
//! call         = word [ "(" [ size ] { "," attribute } ")" ] [ "{" communicator "}" ]
//! size         = factor { ( "*" | "/" ) factor }
//! attribute    = "inplace" | "posted" | "op=user" | "counts=" counts | ( "type" | "sendtype" | "recvtype" ) "=" layout
//! communicator = "node" | "part:" integer | "pair:" rank ":" rank | "leaders" | "lane" | "permuted" | "reversed" | "grid" | "grid_reordered"
//! word         = collective | "i" collective | "start_" collective | "A" | "iA" | "start_A" | "p2p." algorithm
//!              | "send" | "ssend" | "rsend" | "isend" | "recv" | "irecv" | "sendrecv" | "wait"
//!              | "pingpong" | "copy" | "combine" | "pack" | "unpack" | "win_fence" | "put" | "get"
//! ```
//!
//! * Sizes are bytes: `n` is the total volume, `p` the number of ranks, `q` the number of ranks of the call's communicator,
//!   `k` a number that the guideline's file or split-robustness fills in.
//! * `a ~ b` means both `a <= b` and `b <= a`.
//! * `A` stands for each of the guideline's `functions` in turn.
//! * `p2p.NAME` is Kilter's own schedule over point-to-point calls for the collective on the guideline's left side: the
//!   registry's row `<collective>.NAME`, a constraining implementation in the sense of Traeff et al. 2010, guideline (35).
//! * `pingpong`, `copy` and `combine` are for what the cost model measures: a message and its answer, and what rank 0 does alone.
//! * Sends without receives go from rank 0 to the last rank, or from A to B on `{pair:A:B}`; with `recv`, `irecv` or `sendrecv`, every rank sends to its right
//!   neighbour and receives from its left one.
//! * A call whose size does not mention `n` moves data of its own, beside the data of the side: `scatter(4*p) + bcast(n)`.

use kilter_algorithms::Collective;

pub use operation::{Communicator, Counts, Form, Layout, Operation, Single};
pub use parse::ExpressionError;
pub use quantity::{Factor, Quantity, QuantityError, Values, WrongQuantity};

mod display;
mod operation;
mod parse;
mod quantity;

/// `left <= right`, or `left ~ right`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guideline {
    /// The functionality that should not be slower.
    pub left: Side,
    /// Bound in one direction or in both.
    pub relation: Relation,
    /// The side that bounds it.
    pub right: Side,
}

/// Order of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The left side takes no longer.
    AtMost,
    /// Neither takes longer than the other.
    Similar,
}

/// Calls one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Side {
    /// Terms of the sum, at least one.
    pub terms: Vec<Term>,
}

/// A call, perhaps several times.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    /// Number of calls.
    pub repeat: Quantity,
    /// The call.
    pub call: Call,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call {
    /// The operation that is called.
    pub operation: Operation,
    /// Its volume in bytes; `None` for calls that have none.
    pub size: Option<Quantity>,
    /// Layout and combination of its data.
    pub attributes: Attributes,
    /// The communicator.
    pub on: Communicator,
}

/// Attributes of a call, written behind its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Attributes {
    /// `MPI_IN_PLACE` where the function allows it.
    pub in_place: bool,
    /// The receive is posted, and the sender knows it, before the send begins.
    pub posted: bool,
    /// A user-defined operator with the built-in one's function.
    pub user_operator: bool,
    /// Division of a v-variant.
    pub counts: Counts,
    /// Layout of the input.
    pub sendtype: Layout,
    /// Layout of the output.
    pub recvtype: Layout,
}

impl Call {
    /// A plain blocking collective on `n`.
    #[must_use]
    pub fn plain(collective: Collective) -> Call {
        Call {
            operation: Operation::Collective(Some(collective), Form::Blocking),
            size: collective.has_data().then(Quantity::n),
            attributes: Attributes::default(),
            on: Communicator::World,
        }
    }

    /// The collective, where the call is plain: blocking, on `n` bytes, on all ranks, without attributes.
    #[must_use]
    pub fn as_plain(&self) -> Option<Collective> {
        match &self.operation {
            Operation::Collective(Some(collective), Form::Blocking)
                if collective.has_data() && *self == Call::plain(*collective) =>
            {
                Some(*collective)
            }
            _ => None,
        }
    }

    /// The form in which a collective is called; `None` for other operations.
    #[must_use]
    pub fn form(&self) -> Option<Form> {
        match self.operation {
            Operation::Collective(_, form) => Some(form),
            _ => None,
        }
    }

    /// The function, whatever its form.
    #[must_use]
    pub fn function(&self) -> Option<Collective> {
        match self.operation {
            Operation::Collective(function, _) => function,
            _ => None,
        }
    }

    /// True if some of its data is not contiguous.
    #[must_use]
    pub fn is_typed(&self) -> bool {
        self.attributes.sendtype != Layout::Contiguous || self.attributes.recvtype != Layout::Contiguous
    }
}

impl Side {
    /// One plain library call on `n`.
    #[must_use]
    pub fn of(collective: Collective) -> Side {
        Side {
            terms: vec![Term {
                repeat: Quantity::one(),
                call: Call::plain(collective),
            }],
        }
    }

    /// The collective, where the side is one plain library call on `n`.
    #[must_use]
    pub fn single(&self) -> Option<Collective> {
        match self.plain_calls()?.as_slice() {
            [collective] => Some(*collective),
            _ => None,
        }
    }

    /// The calls, where every term is a plain library call on `n`.
    #[must_use]
    pub fn plain_calls(&self) -> Option<Vec<Collective>> {
        self.terms
            .iter()
            .map(|term| term.call.as_plain().filter(|_| term.repeat.is_one()))
            .collect()
    }

    /// Replaces `k` by a number.
    #[must_use]
    pub fn with_k(&self, k: u64) -> Side {
        self.map_calls(|term| Term {
            repeat: term.repeat.with_k(k),
            call: Call {
                size: term.call.size.as_ref().map(|size| size.with_k(k)),
                ..term.call.clone()
            },
        })
    }

    /// Replaces `A` by a function.
    #[must_use]
    pub fn with_function(&self, function: Collective) -> Side {
        self.map_calls(|term| {
            let mut term = term.clone();
            if let Operation::Collective(any @ None, _) = &mut term.call.operation {
                *any = Some(function);
            }
            if function == Collective::Barrier && term.call.function() == Some(function) {
                term.call.size = None;
            }
            term
        })
    }

    fn map_calls(&self, map: impl Fn(&Term) -> Term) -> Side {
        Side {
            terms: self.terms.iter().map(map).collect(),
        }
    }

    /// True if it still contains `k`.
    #[must_use]
    pub fn mentions_k(&self) -> bool {
        self.terms.iter().any(|term| {
            let size = term.call.size.as_ref();
            term.repeat.mentions(Factor::K) || size.is_some_and(|size| size.mentions(Factor::K))
        })
    }

    /// True if any size or repeat depends on the total volume.
    #[must_use]
    pub fn mentions_n(&self) -> bool {
        self.terms.iter().any(|term| {
            let size = term.call.size.as_ref();
            term.repeat.mentions(Factor::N) || size.is_some_and(|size| size.mentions(Factor::N))
        })
    }

    /// True if the side can be stated for a volume of `n_bytes`: every repeat that depends on it is a whole number above one, and every size a
    /// whole number.
    #[must_use]
    pub fn divides(&self, n_bytes: u64, p_ranks: u64) -> bool {
        let values = Values {
            n_bytes,
            p_ranks,
            q_ranks: p_ranks,
        };
        self.terms.iter().all(|term| {
            let repeat = !term.repeat.mentions(Factor::N) || term.repeat.value(values).is_ok_and(|times| times > 1);
            let size = term.call.size.as_ref();
            repeat && size.is_none_or(|size| size.value(values).is_ok())
        })
    }

    /// True if it still contains `A`.
    #[must_use]
    pub fn mentions_any(&self) -> bool {
        self.terms
            .iter()
            .any(|term| matches!(term.call.operation, Operation::Collective(None, _)))
    }

    /// True if it has calls on lanes of the nodes, which say nothing where each node has one rank.
    #[must_use]
    pub fn has_lanes_of_nodes(&self) -> bool {
        let on = |communicator| self.terms.iter().any(|term| term.call.on == communicator);
        on(Communicator::Lane) && on(Communicator::Node)
    }

    /// True if it waits for something started.
    #[must_use]
    pub fn has_wait(&self) -> bool {
        self.terms
            .iter()
            .any(|term| term.call.operation == Operation::Single(Single::Wait))
    }

    /// True if any call divides its buffer into `p` blocks.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.terms
            .iter()
            .any(|term| term.call.function().is_some_and(Collective::has_blocks))
    }

    /// Divisor of `n`, in bytes, that lets every call move whole elements of `element_bytes` and whole blocks.
    #[must_use]
    pub fn unit_bytes(&self, p_ranks: u64, element_bytes: u64) -> u64 {
        self.terms.iter().fold(1, |unit, term| {
            let unit = lcm(unit, term.repeat.divisor(p_ranks));
            let Some(size) = &term.call.size else { return unit };
            if !size.times.contains(&Factor::N) {
                return unit;
            }
            let typed = if term.call.is_typed() { Layout::UNIT_BYTES } else { 1 };
            let blocks = term.call.function().is_some_and(Collective::has_blocks);
            // A call on a group has its share of the blocks, and its size says so by dividing by p.
            let ranks = if blocks && !size.over.contains(&Factor::P) {
                p_ranks
            } else {
                1
            };
            let own = size
                .divisor(p_ranks)
                .saturating_mul(ranks)
                .saturating_mul(lcm(typed, element_bytes));
            lcm(unit, own)
        })
    }

    /// The call that the side is named after: the first that moves data.
    #[must_use]
    pub fn head(&self) -> &Call {
        let is_data = |call: &&Call| {
            !matches!(
                call.operation,
                Operation::Single(Single::Fence | Single::Wait | Single::Irecv)
            )
        };
        let calls = || self.terms.iter().map(|term| &term.call);
        calls().find(is_data).unwrap_or(&self.terms[0].call)
    }
}

/// Least common multiple; saturates.
#[must_use]
pub fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a.checked_div(x).map_or(0, |quotient| quotient.saturating_mul(b))
}

impl Guideline {
    /// Replaces `k` by a number.
    #[must_use]
    pub fn with_k(&self, k: u64) -> Guideline {
        Guideline {
            left: self.left.with_k(k),
            relation: self.relation,
            right: self.right.with_k(k),
        }
    }

    /// Replaces `A` by a function.
    #[must_use]
    pub fn with_function(&self, function: Collective) -> Guideline {
        Guideline {
            left: self.left.with_function(function),
            relation: self.relation,
            right: self.right.with_function(function),
        }
    }

    /// The orderings it states: one, or for `~` both.
    #[must_use]
    pub fn orderings(&self) -> Vec<(&Side, &Side)> {
        match self.relation {
            Relation::AtMost => vec![(&self.left, &self.right)],
            Relation::Similar => vec![(&self.left, &self.right), (&self.right, &self.left)],
        }
    }
}
