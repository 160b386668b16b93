//! What a site tries beside the library's own: implementations that the profile's rules name for its sizes, then the rows that are named to be tried.

use std::rc::Rc;

use crate::communicator::{State, bit};
use crate::online::key::{Key, is_comparable};
use crate::rules::{Action, Rules};

/// Bits of the collectives for which anything is tried on communicators of any size.
pub(super) fn collectives(rules: &'static Rules) -> u32 {
    let tried = rules
        .tried()
        .map(|action| action.implementation.callable.row.collective);
    let comparable = tried.filter(|collective| is_comparable(*collective));
    comparable.fold(0, |bits, collective| bits | bit(collective))
}

/// The actions of a site, in an order that is the same on all ranks; none twice.
pub(super) fn of(key: Key, state: &State) -> Vec<Rc<Action>> {
    let (from, to) = key.bytes();
    let ruled = state.table.within(key.collective, from, to).cloned();
    let mut actions: Vec<Rc<Action>> = Vec::new();
    for action in ruled.chain(state.rules.tried()) {
        let is_there = |known: &Rc<Action>| {
            std::ptr::eq(known.implementation, action.implementation) && known.parameters == action.parameters
        };
        let is_legal = key.admits(action.implementation, state) && state.may_run(action.implementation);
        if is_legal && !actions.iter().any(is_there) {
            actions.push(Rc::new(action));
        }
    }
    actions
}
