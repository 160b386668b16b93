//! Contents of a call's buffers before and after it, computed once for all items of a block with the same problem.
//!
//! Every byte of a [`Problem`] follows from a hash; items are filled and checked twice each. With the bytes at hand that is copying and
//! comparing.

use std::rc::Rc;

use crate::clock::SIMULATED;
use crate::problem::{Problem, Wrong};

/// The bytes of one problem.
#[derive(Debug)]
pub(crate) struct Images {
    problem: Problem,
    /// Input of this rank.
    given: Vec<u8>,
    /// Output before the call.
    before: Vec<u8>,
    /// Required output after the call.
    after: Vec<u8>,
}

impl Images {
    fn new(problem: Problem) -> Images {
        let mut given = vec![0; problem.send_bytes()];
        problem.fill_send(&mut given);
        let (before, after) = problem.recv_images();
        Images {
            problem,
            given,
            before,
            after,
        }
    }
}

/// The problem of a call with its bytes, where they are kept. In a simulation, whose ranks share the memory of one machine, they are not.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    problem: Problem,
    images: Option<Rc<Images>>,
}

impl Data {
    /// Writes this rank's input.
    pub(crate) fn fill_send(&self, send: &mut [u8]) {
        match &self.images {
            Some(images) => send.copy_from_slice(&images.given),
            None => self.problem.fill_send(send),
        }
    }

    /// Writes the output's contents before the call.
    pub(crate) fn fill_recv(&self, recv: &mut [u8]) {
        match &self.images {
            Some(images) => recv.copy_from_slice(&images.before),
            None => self.problem.fill_recv(recv),
        }
    }

    /// Finds a changed byte in this rank's input.
    pub(crate) fn check_send(&self, send: &[u8]) -> Option<Wrong> {
        let right = self.images.as_ref().is_some_and(|images| send == images.given);
        if right { None } else { self.problem.check_send(send) }
    }

    /// Looks whether the output is right, where the task defines it.
    pub(crate) fn check_recv(&self, recv: &[u8]) -> Option<Wrong> {
        let right = self.images.as_ref().is_some_and(|images| recv == images.after);
        if right { None } else { self.problem.check_recv(recv) }
    }
}

/// The images of a block's problems.
#[derive(Debug, Default)]
pub(crate) struct Gallery {
    images: Vec<Rc<Images>>,
    keeps_none: bool,
}

impl Gallery {
    /// One for problems whose buffers hold something else.
    pub(crate) fn empty() -> Gallery {
        Gallery {
            images: Vec::new(),
            keeps_none: true,
        }
    }

    /// The data of a problem; computed if no item before posed it.
    pub(crate) fn data(&mut self, problem: &Problem) -> Data {
        let known = self.images.iter().find(|images| images.problem == *problem);
        let images = match known {
            _ if SIMULATED || self.keeps_none => None,
            Some(images) => Some(images.clone()),
            None => {
                let images = Rc::new(Images::new(problem.clone()));
                self.images.push(images.clone());
                Some(images)
            }
        };
        Data {
            problem: problem.clone(),
            images,
        }
    }
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    fn problem(collective: Collective, rank: usize, in_place: bool) -> Problem {
        Problem {
            task: collective.into(),
            operand: kilter_protocol::plan::Element::Byte.into(),
            n_bytes: 96,
            p_ranks: 4,
            rank,
            root: 1,
            source: 0,
            slice: 0,
            in_place,
            lengths: None,
        }
    }

    #[test]
    fn images_are_what_the_problem_writes_and_accept_what_it_accepts() {
        for collective in Collective::of_several_ranks() {
            for rank in 0..4 {
                let problem = problem(collective, rank, false);
                let data = Gallery::default().data(&problem);
                let (mut send, mut recv) = (vec![1; problem.send_bytes()], vec![1; problem.recv_bytes()]);
                data.fill_send(&mut send);
                data.fill_recv(&mut recv);
                let (mut own_send, mut own_recv) = (send.clone(), recv.clone());
                problem.fill_send(&mut own_send);
                problem.fill_recv(&mut own_recv);
                assert_eq!((&send, &recv), (&own_send, &own_recv), "{problem:?}");
                assert_eq!(data.check_recv(&recv), problem.check_recv(&recv), "{problem:?}");
                recv.copy_from_slice(&problem.recv_images().1);
                assert_eq!(
                    (data.check_send(&send), data.check_recv(&recv)),
                    (None, None),
                    "{problem:?}"
                );
                for i in 0..recv.len() {
                    let mut other = recv.clone();
                    other[i] ^= 1;
                    assert_eq!(
                        data.check_recv(&other),
                        problem.check_recv(&other),
                        "{problem:?} byte {i}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_problem_is_computed_once() {
        let mut gallery = Gallery::default();
        let first = gallery.data(&problem(Collective::Bcast, 0, false));
        let again = gallery.data(&problem(Collective::Bcast, 0, false));
        let other = gallery.data(&problem(Collective::Bcast, 2, false));
        assert!(Rc::ptr_eq(
            first.images.as_ref().unwrap(),
            again.images.as_ref().unwrap()
        ));
        assert!(!Rc::ptr_eq(
            first.images.as_ref().unwrap(),
            other.images.as_ref().unwrap()
        ));
        assert_eq!(gallery.images.len(), 2);
    }
}
