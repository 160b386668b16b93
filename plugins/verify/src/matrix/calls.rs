//! Calls on buffers of a case, and comparison of what they leave with the reference.

use std::ffi::{c_int, c_void};

use kilter_algorithms::Collective;
use kilter_mpi::constants;

use super::Matrix;
use crate::bits::{self, NoBits};
use crate::call::{Call, Lists};
use crate::case::Case;
use crate::elements::TYPES;
use crate::image::Image;
use crate::problem::Problem;

/// A case on this rank.
#[derive(Clone, Copy)]
pub(super) struct Posed<'c> {
    pub(super) collective: Collective,
    pub(super) case: &'c Case,
    pub(super) problem: &'c Problem,
    /// Place of its communicator in [`Matrix::places`].
    pub(super) at: usize,
}

impl Matrix<'_> {
    /// Makes calls on random doubles: what they leave, bit by bit, or why that is nothing to compare.
    pub(super) fn bits(
        &self,
        posed: &Posed<'_>,
        mut call: impl FnMut(&Call<'_>, &Lists) -> c_int,
    ) -> Result<Vec<u64>, NoBits> {
        let lists = Lists::new(posed.problem);
        let rank = self.places[posed.at].1.rank;
        bits::left(posed.problem, rank, |doubles| {
            let (send, recv) = (doubles.send.as_ptr().cast(), doubles.recv.as_mut_ptr().cast());
            call(&self.call_on(posed, send, recv), &lists)
        })
    }

    /// Makes a call on fresh buffers and says what is wrong with what it left. `strict` looks at every byte, not at data alone:
    /// libraries do write into holes.
    pub(super) fn attempt(
        &self,
        posed: &Posed<'_>,
        strict: bool,
        mut call: impl FnMut(&Call<'_>, &Lists) -> c_int,
    ) -> Option<String> {
        let problem = posed.problem;
        let type_ = &TYPES[posed.case.type_];
        let mut send = Image::new(type_, problem.send_span, &problem.send);
        let sent = send.clone();
        let mut recv = Image::new(type_, problem.recv_span, &problem.before);
        let mut expected = recv.clone();
        expected.put(type_, &problem.after);
        let of_case = self.call_on(posed, send.address().cast_const().cast(), recv.address().cast());
        let code = call(&of_case, &Lists::new(problem));
        if code != 0 {
            return Some(format!("returned code {code}"));
        }
        if !strict {
            return recv
                .missing(type_, &problem.after, &problem.open)
                .map(|what| format!("receive buffer: {what}"));
        }
        expected.adopt(type_, &recv, &problem.open);
        if let Some(what) = recv.difference(&expected, type_) {
            return Some(format!("receive buffer: {what}"));
        }
        send.difference(&sent, type_).map(|what| format!("send buffer: {what}"))
    }

    /// The call of a case on these buffers.
    fn call_on<'c>(&self, posed: &Posed<'c>, send: *const c_void, recv: *mut c_void) -> Call<'c> {
        let case = posed.case;
        Call {
            collective: posed.collective,
            problem: posed.problem,
            datatype: self.types[case.type_],
            element_bytes: TYPES[case.type_].size(),
            op: case.op.map_or(constants::op_null(), |op| self.ops[op]),
            root: case.root,
            send,
            recv,
        }
    }
}
