//! One application with many exchanges in turn: collectives by hand between halo exchanges, work and messages between two ranks.

use std::ops::Range;

use kilter_detect::detect;
use kilter_detect::model::finding::{Collective, Finding};
use kilter_detect::model::trace::Class;

use crate::fixture::{Rank, on_part, on_world};
use crate::patterns::{binomial, block};

/// Signs by which exchanges can be told apart.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Signs {
    /// Every exchange has call sites of its own, and its tag.
    Sites,
    /// One wrapper sends and one receives; tags differ.
    Tags,
}

/// Ranks exchange by calls that are given.
struct Calls<'r> {
    rank: &'r mut Rank,
    signs: Signs,
}

fn wrapped_send(rank: &mut Rank, to: u32, tag: i32, range: Range<usize>) {
    rank.send(to, tag, range);
}

fn wrapped_receive(rank: &mut Rank, from: u32, tag: i32, range: Range<usize>) {
    rank.receive(from, tag, range);
}

impl Calls<'_> {
    #[track_caller]
    fn send(&mut self, to: u32, tag: i32, range: Range<usize>) {
        match self.signs {
            Signs::Sites => self.rank.send(to, tag, range),
            Signs::Tags => wrapped_send(self.rank, to, tag, range),
        }
    }

    #[track_caller]
    fn receive(&mut self, from: u32, tag: i32, range: Range<usize>) {
        match self.signs {
            Signs::Sites => self.rank.receive(from, tag, range),
            Signs::Tags => wrapped_receive(self.rank, from, tag, range),
        }
    }

    /// Parameters from rank 0, by a tree.
    fn parameters(&mut self, time: u64) {
        let (parent, children) = binomial(self.rank.rank, self.rank.size);
        match parent {
            Some(parent) => self.receive(parent, 1, 0..104),
            None => self.rank.fill(0..104, time),
        }
        for (child, _) in children {
            self.send(child, 1, 0..104);
        }
    }

    /// Borders of a field of numbers, in place.
    fn halo(&mut self, time: u64) {
        self.rank.fill(1040..1400, 1000 + time);
        let (left, right) = (self.rank.before(1), self.rank.after(1));
        self.send(right, 2, 1360..1400);
        self.send(left, 3, 1040..1080);
        self.receive(left, 2, 1000..1040);
        self.receive(right, 3, 1400..1440);
    }

    /// Norm: the sum of all parts, at rank 0, and back.
    fn norm(&mut self, time: u64) {
        self.rank.of(Class::Real, 8);
        let own = (f64::from(self.rank.rank) * 0.9 + time as f64 * 0.4).cos() + 1.5;
        self.rank.put(2000, &[own, own * own]);
        self.rank.show(2000..2016);
        let (parent, children) = binomial(self.rank.rank, self.rank.size);
        for (child, _) in children.iter().rev() {
            self.receive(*child, 4, 2064..2080);
            self.rank.combine(2000..2016, 2064, |a, b| a + b);
        }
        if let Some(parent) = parent {
            self.send(parent, 4, 2000..2016);
            self.receive(parent, 5, 2000..2016);
        }
        for (child, _) in children {
            self.send(child, 5, 2000..2016);
        }
        self.rank.of(Class::Byte, 1);
    }

    /// Blocks of the field for all ranks.
    fn transpose(&mut self, time: u64) {
        let size = self.rank.size;
        self.rank.fill(3000..3000 + size as usize * 32, 2000 + time);
        let at = |base: usize, one: u32| base + block(one, 32).start..base + block(one, 32).end;
        for places in 1..size {
            let (to, from) = (self.rank.after(places), self.rank.before(places));
            self.send(to, 6, at(3000, to));
            self.receive(from, 6, at(4000, from));
        }
    }

    /// Results at rank 0.
    fn output(&mut self, time: u64) {
        self.rank.fill(5000..5064, 3000 + time);
        if self.rank.rank == 0 {
            for from in 1..self.rank.size {
                let range = block(from, 64);
                self.receive(from, 7, 6000 + range.start..6000 + range.end);
            }
        } else {
            self.send(0, 7, 5000..5064);
        }
    }

    /// Ranks wait for each other.
    fn wait(&mut self) {
        let mut places = 1;
        while places < self.rank.size {
            self.send(self.rank.after(places), 8, 0..0);
            self.receive(self.rank.before(places), 8, 0..0);
            places *= 2;
        }
    }

    /// Counts of all ranks, in a ring.
    fn counts(&mut self, time: u64) {
        let own = block(self.rank.rank, 40);
        self.rank.fill(7000 + own.start..7000 + own.end, 4000 + time);
        let at = |one: u32| 7000 + block(one, 40).start..7000 + block(one, 40).end;
        for step in 0..self.rank.size - 1 {
            self.send(self.rank.after(1), 9, at(self.rank.before(step)));
            self.receive(self.rank.before(1), 9, at(self.rank.before(step + 1)));
        }
    }

    /// Ranks 0 and 1 have things to tell each other.
    fn talk(&mut self, time: u64) {
        if self.rank.rank < 2 {
            let other = 1 - self.rank.rank;
            self.rank.fill(8000..8040, 5000 + time);
            self.send(other, 10, 8000..8040);
            self.receive(other, 10, 8100..8140);
        }
    }
}

fn application(rank: &mut Rank, signs: Signs) {
    let mut calls = Calls { rank, signs };
    for time in 0..4 {
        calls.parameters(time);
        calls.halo(time);
        calls.norm(time);
        calls.talk(time);
        calls.transpose(time);
        calls.halo(time + 100);
        calls.counts(time);
        calls.wait();
        calls.output(time);
    }
}

#[test]
fn an_application_has_each_of_its_collectives_once_a_step() {
    let mut expected = [
        Collective::Broadcast,
        Collective::Gather,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::Barrier,
        Collective::Allreduce,
    ];
    expected.sort_unstable();
    for signs in [Signs::Sites, Signs::Tags] {
        let program = move |rank: &mut Rank| application(rank, signs);
        for ranks in [4, 5, 7, 8] {
            for trace in [on_world(ranks, &program), on_part(ranks, &program)] {
                let detection = detect(&trace);
                let shown: Vec<String> = detection.findings.iter().map(crate::table::shown).collect();
                let mut found: Vec<Collective> = detection.findings.iter().map(|one| one.collective).collect();
                found.sort_unstable();
                assert_eq!(
                    found, expected,
                    "{signs:?} on {ranks}: {shown:#?} {:?}",
                    detection.filtered
                );
                let is_whole = |one: &Finding| one.instances.len() == 4 && one.ranks.len() == ranks as usize;
                assert!(
                    detection.findings.iter().all(is_whole),
                    "{signs:?} on {ranks}: {shown:#?}"
                );
            }
        }
    }
}
