//! Decides which ranks of a node get a thread, and on which CPUs.
//!
//! Every computing thread of a rank needs a CPU that the launcher gave to this rank. Every progress thread needs one
//! more, from its rank's CPUs or from those that the job has and no rank uses. If they do not suffice for all, no rank
//! gets a thread, because the ranks of a parallel program wait for the slowest.
//!
//! The question is a matching between threads and CPUs, found by augmenting paths (Kuhn 1955,
//! doi:10.1002/nav.3800020109).

use crate::cpus::Cpus;
use crate::settings::Mode;

/// Place that a rank wants for its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A free CPU, to which the thread is bound.
    Auto,
    /// The same, but not bound to it.
    Unbound,
    /// This CPU.
    Cpu(usize),
}

/// Wish and means of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) mode: Mode,
    pub(crate) place: Place,
    /// Its threads that compute, at least 1.
    pub(crate) computing: usize,
    /// CPUs to which the launcher bound it.
    pub(crate) allowed: Cpus,
    /// CPUs of the job on this node, as far as the rank knows.
    pub(crate) given: Cpus,
}

/// Decision on a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// No thread, as was wished.
    Off,
    /// No thread: the node has no core free.
    Refused(Node),
    /// A thread, bound to `cpu` if there is one; `alone` where nothing else needs a core of those it may run on.
    Run { cpu: Option<usize>, alone: bool },
}

/// Load of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) ranks: usize,
    /// Computing threads of all of them.
    pub(crate) computing: usize,
    /// CPUs that the job has.
    pub(crate) cpus: usize,
}

/// Decides for the ranks of a node, in their order.
pub(crate) fn place(wishes: &[Wish]) -> Vec<Decision> {
    let union = |set: fn(&Wish) -> Cpus| wishes.iter().map(set).fold(Cpus::default(), Cpus::or);
    let (bound, given) = (union(|wish| wish.allowed), union(|wish| wish.given));
    let spare = given.without(bound);
    let mut threads = Vec::new();
    for wish in wishes {
        let own: Vec<usize> = wish.allowed.iter().collect();
        threads.extend(std::iter::repeat_n(own, wish.computing));
    }
    let first = threads.len();
    let wanting: Vec<usize> = (0..wishes.len())
        .filter(|rank| wishes[*rank].mode != Mode::Off)
        .collect();
    for &rank in &wanting {
        let wish = &wishes[rank];
        threads.push(match wish.place {
            Place::Cpu(cpu) => vec![cpu],
            // Last first: launchers and systems begin at the front.
            Place::Auto | Place::Unbound => {
                let mut own: Vec<usize> = wish.allowed.iter().collect();
                own.reverse();
                own.extend(wish.given.and(spare).iter());
                own
            }
        });
    }
    let node = Node {
        ranks: wishes.len(),
        computing: first,
        cpus: bound.or(given).count(),
    };
    let found = matching(&threads);
    let mut decisions = vec![Decision::Off; wishes.len()];
    for (index, &rank) in wanting.iter().enumerate() {
        let wish = &wishes[rank];
        decisions[rank] = match (&found, wish.mode, wish.place) {
            (Some(_), _, Place::Unbound) => Decision::Run { cpu: None, alone: true },
            (Some(cpus), _, _) => Decision::Run {
                cpu: Some(cpus[first + index]),
                alone: true,
            },
            (None, Mode::Force, Place::Cpu(cpu)) => Decision::Run {
                cpu: Some(cpu),
                alone: false,
            },
            (None, Mode::Force, _) => Decision::Run {
                cpu: None,
                alone: false,
            },
            (None, _, _) => Decision::Refused(node),
        };
    }
    decisions
}

/// A CPU for each thread, no two the same, out of those that it may have; `None` where there is not one for each.
fn matching(threads: &[Vec<usize>]) -> Option<Vec<usize>> {
    let size = threads.iter().flatten().max().map_or(0, |cpu| cpu + 1);
    let mut owner: Vec<Option<usize>> = vec![None; size];
    for thread in 0..threads.len() {
        let mut seen = vec![false; size];
        if !augment(thread, threads, &mut owner, &mut seen) {
            return None;
        }
    }
    let mut cpus = vec![0; threads.len()];
    for (cpu, thread) in owner.iter().enumerate() {
        if let Some(thread) = thread {
            cpus[*thread] = cpu;
        }
    }
    Some(cpus)
}

fn augment(thread: usize, threads: &[Vec<usize>], owner: &mut [Option<usize>], seen: &mut [bool]) -> bool {
    for &cpu in &threads[thread] {
        if std::mem::replace(&mut seen[cpu], true) {
            continue;
        }
        if owner[cpu].is_none_or(|other| augment(other, threads, owner, seen)) {
            owner[cpu] = Some(thread);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Decision, Node, Place, Wish, place};
    use crate::settings::Mode;

    fn wish(mode: Mode, allowed: &[usize], given: std::ops::Range<usize>) -> Wish {
        Wish {
            mode,
            place: Place::Auto,
            computing: 1,
            allowed: allowed.iter().copied().collect(),
            given: given.collect(),
        }
    }

    fn run(cpu: usize) -> Decision {
        Decision::Run {
            cpu: Some(cpu),
            alone: true,
        }
    }

    const SHARED: Decision = Decision::Run {
        cpu: None,
        alone: false,
    };

    #[test]
    fn a_rank_with_a_core_to_spare_gets_the_thread_there() {
        assert_eq!(place(&[wish(Mode::On, &[0, 1], 0..2)]), [run(1)]);
        // Bound to one, but the job has another that no rank was given.
        assert_eq!(place(&[wish(Mode::On, &[0], 0..2)]), [run(1)]);
        // The launcher's own set is not known to be larger: nothing is free.
        let node = Node {
            ranks: 1,
            computing: 1,
            cpus: 1,
        };
        assert_eq!(place(&[wish(Mode::On, &[0], 0..1)]), [Decision::Refused(node)]);
    }

    #[test]
    fn two_ranks_on_two_cores_are_refused_unless_forced() {
        let node = Node {
            ranks: 2,
            computing: 2,
            cpus: 2,
        };
        let refused = Decision::Refused(node);
        for allowed in [[&[0][..], &[1]], [&[0, 1], &[0, 1]]] {
            let both = |mode| allowed.map(|allowed| wish(mode, allowed, 0..2));
            assert_eq!(place(&both(Mode::On)), [refused, refused]);
            assert_eq!(place(&both(Mode::Force)), [SHARED, SHARED]);
            assert_eq!(place(&both(Mode::Off)), [Decision::Off, Decision::Off]);
        }
    }

    #[test]
    fn threads_of_several_ranks_get_different_cores() {
        let halves = [wish(Mode::On, &[0, 1], 0..4), wish(Mode::On, &[2, 3], 0..4)];
        assert_eq!(place(&halves), [run(1), run(3)]);
        let anywhere = [wish(Mode::On, &[0, 1, 2, 3], 0..4); 2];
        assert_eq!(place(&anywhere), [run(2), run(3)]);
        // The first rank's only way is over the second's.
        let one = [wish(Mode::On, &[0, 1], 0..3), wish(Mode::On, &[1, 2], 0..3)];
        assert!(
            place(&one)
                .iter()
                .all(|decision| matches!(decision, Decision::Refused(_)))
        );
    }

    #[test]
    fn a_rank_without_a_thread_needs_its_core_all_the_same() {
        let two = [wish(Mode::On, &[0, 1], 0..2), wish(Mode::Off, &[0, 1], 0..2)];
        assert!(matches!(place(&two)[..], [Decision::Refused(_), Decision::Off]));
        let three = [wish(Mode::On, &[0, 1, 2], 0..3), wish(Mode::Off, &[0, 1, 2], 0..3)];
        assert_eq!(place(&three), [run(2), Decision::Off]);
    }

    #[test]
    fn computing_threads_need_cores_too() {
        let mut wishes = [wish(Mode::On, &[0, 1, 2, 3], 0..4)];
        wishes[0].computing = 3;
        assert_eq!(place(&wishes), [run(3)]);
        wishes[0].computing = 4;
        let node = Node {
            ranks: 1,
            computing: 4,
            cpus: 4,
        };
        assert_eq!(place(&wishes), [Decision::Refused(node)]);
    }

    #[test]
    fn a_named_core_must_be_free_too() {
        let mut wishes = [wish(Mode::On, &[0], 0..2), wish(Mode::On, &[1], 0..2)];
        wishes[0].place = Place::Cpu(6);
        wishes[1].place = Place::Cpu(7);
        assert_eq!(place(&wishes), [run(6), run(7)]);
        wishes[1].place = Place::Cpu(0);
        assert!(
            place(&wishes)
                .iter()
                .all(|decision| matches!(decision, Decision::Refused(_)))
        );
        wishes = wishes.map(|wish| Wish {
            mode: Mode::Force,
            ..wish
        });
        let shared = |cpu| Decision::Run {
            cpu: Some(cpu),
            alone: false,
        };
        assert_eq!(place(&wishes), [shared(6), shared(0)]);
        wishes[0].place = Place::Unbound;
        wishes[1].place = Place::Cpu(5);
        wishes[0].allowed = [0, 2].into_iter().collect();
        assert_eq!(place(&wishes), [Decision::Run { cpu: None, alone: true }, run(5)]);
    }

    #[test]
    fn no_rank_and_no_cpu() {
        assert_eq!(place(&[]), []);
        assert!(matches!(
            place(&[wish(Mode::On, &[], 0..0)])[..],
            [Decision::Refused(_)]
        ));
        assert_eq!(place(&[wish(Mode::Force, &[], 0..0)]), [SHARED]);
    }
}
