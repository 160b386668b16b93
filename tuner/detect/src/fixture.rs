//! Invented findings for the tests of several modules.

use crate::model::finding::{Collective, Confidence, Finding, Instance, Replacement, Root, Sent};

/// Message of 8 bytes.
pub(crate) fn sent(from: u32, to: u32, sent_ns: u64, received_ns: u64) -> Sent {
    Sent {
        from,
        to,
        bytes: 8,
        sent_ns,
        received_ns,
        send_event: 0,
        receive_event: 0,
    }
}

/// Broadcast of rank 0 that occurs once.
pub(crate) fn finding(messages: Vec<Sent>, ranks: u32) -> Finding {
    let instance = Instance {
        begin_ns: messages.iter().map(|one| one.sent_ns).min().unwrap_or(0),
        end_ns: messages.iter().map(|one| one.received_ns).max().unwrap_or(0),
        root: Some(0),
        bytes: 8,
        messages,
    };
    Finding {
        collective: Collective::Broadcast,
        communicator: 0,
        ranks: (0..ranks).collect(),
        is_subset: false,
        missing: Vec::new(),
        root: Root::One(0),
        operators: Vec::new(),
        sites: Vec::new(),
        seconds: instance.seconds(),
        instances: vec![instance],
        bytes: 8,
        confidence: Confidence::Certain,
        why: Vec::new(),
        replacement: Replacement::Blocking("MPI_Bcast".to_owned()),
        proof: None,
    }
}
