use std::sync::Arc;

use kilter_algorithms::registry;

use super::super::recorder::record;
use super::*;

const EAGER: Wire = Wire {
    eager_bytes: usize::MAX,
    has_ports: true,
};

/// A blocking send.
fn send(to: usize, bytes: usize) -> Vec<Step> {
    vec![Step::Send { to, bytes }, Step::Sent { to, number: 0 }]
}

/// A blocking receive.
fn receive(from: usize) -> Vec<Step> {
    vec![Step::Post { from, number: 0 }, Step::Receive { from, number: 0 }]
}

/// Counts by the names of their kinds.
fn counts(found: &Counts, kinds: [usize; 3]) -> [f64; 3] {
    kinds.map(|kind| found[kind])
}

fn near(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-9
}

#[test]
fn messages_one_after_the_other_add_up() {
    // 0 and 1 share a node.
    let nodes = Nodes::new(&[0, 0, 1]);
    let steps = [
        send(1, 100),
        [receive(0), vec![Step::Combine { bytes: 100 }], send(2, 50)].concat(),
        receive(1),
    ];
    let found = path(&steps, &nodes, EAGER, &USUAL).unwrap();
    assert_eq!(
        counts(&found, [OVERHEAD, LATENCY.across, LATENCY.within]),
        [4.0, 1.0, 1.0]
    );
    let bytes = counts(&found, [BYTES.across, BYTES.within, COMBINED]);
    assert!(
        bytes.iter().zip([50.0, 100.0, 100.0]).all(|(a, b)| near(*a, b)),
        "{bytes:?}"
    );
    assert_eq!((found[HANDSHAKE], found[BOTH_WAYS]), (0.0, 0.0));
}

#[test]
fn ranks_of_a_node_share_its_link() {
    let bytes = 1 << 20;
    let steps = [send(2, bytes), send(3, bytes), receive(0), receive(1)];
    let sent = |names: [usize; 4]| path(&steps, &Nodes::new(&names), EAGER, &USUAL).unwrap()[BYTES.across];
    assert!(near(sent([0, 0, 1, 1]), 2.0 * bytes as f64));
    assert!(near(sent([0, 0, 1, 2]), 2.0 * bytes as f64), "the link of the senders");
    assert!(near(sent([0, 1, 2, 3]), bytes as f64));
}

#[test]
fn messages_on_a_node_share_ports_if_it_has_any() {
    let bytes = 1 << 20;
    let steps = [
        vec![
            Step::Send { to: 1, bytes },
            Step::Send { to: 2, bytes },
            Step::Sent { to: 1, number: 0 },
            Step::Sent { to: 2, number: 0 },
        ],
        receive(0),
        receive(0),
    ];
    let within = |has_ports: bool| {
        let wire = Wire { has_ports, ..EAGER };
        path(&steps, &Nodes::new(&[0, 0, 0]), wire, &USUAL).unwrap()[BYTES.within]
    };
    // The second message begins an overhead later, and has the port alone for as long at the end.
    assert!((within(true) / bytes as f64 - 2.0).abs() < 0.01, "{}", within(true));
    assert!(near(within(false), bytes as f64));
}

#[test]
fn a_message_that_is_not_eager_waits_for_its_receiver_and_its_sender_for_it() {
    // 1 receives from 2 first, which sends late; 0 has nothing else to do.
    let steps = [
        [send(1, 4096), send(3, 8)].concat(),
        [receive(2), receive(0)].concat(),
        [vec![Step::Combine { bytes: 1 << 20 }], send(1, 8)].concat(),
        receive(0),
    ];
    let nodes = Nodes::each_alone(4);
    let at = |eager_bytes: usize| {
        let wire = Wire { eager_bytes, ..EAGER };
        path(&steps, &nodes, wire, &USUAL).unwrap()
    };
    let (eager, rendezvous) = (at(4096), at(4095));
    assert_eq!(eager[HANDSHAKE], 0.0);
    assert!(eager[BYTES.across] < 4096.0, "it came while 1 waited for 2: {eager:?}");
    // 3 has its message last: after the long one, which began when 1 had that of 2.
    assert_eq!(rendezvous[COMBINED], (1 << 20) as f64);
    assert_eq!(rendezvous[LATENCY.across], 3.0);
    assert!((4096.0..4128.0).contains(&rendezvous[BYTES.across]), "{rendezvous:?}");
}

#[test]
fn both_ways_are_counted_while_both_are_used() {
    let exchange = |peer: usize| {
        vec![
            Step::Post { from: peer, number: 0 },
            Step::Send { to: peer, bytes: 1000 },
            Step::Sent { to: peer, number: 0 },
            Step::Receive { from: peer, number: 0 },
        ]
    };
    let nodes = Nodes::each_alone(2);
    let exchanged = path(&[exchange(1), exchange(0)], &nodes, EAGER, &USUAL).unwrap();
    assert!(near(exchanged[BYTES.across], 1000.0) && near(exchanged[BOTH_WAYS], 1000.0));
    let passed = path(&[send(1, 1000), receive(0)], &nodes, EAGER, &USUAL).unwrap();
    assert_eq!(passed[BOTH_WAYS], 0.0);
}

#[test]
fn ranks_that_wait_for_each_other_have_no_path() {
    let nodes = Nodes::each_alone(2);
    let steps = [[receive(1), send(1, 8)].concat(), [receive(0), send(0, 8)].concat()];
    assert_eq!(path(&steps, &nodes, EAGER, &USUAL), None);
    // Sends that both wait for their receivers as well.
    let steps = [[send(1, 8), receive(1)].concat(), [send(0, 8), receive(0)].concat()];
    assert!(path(&steps, &nodes, EAGER, &USUAL).is_some());
    let wire = Wire {
        eager_bytes: 0,
        ..EAGER
    };
    assert_eq!(path(&steps, &nodes, wire, &USUAL), None);
}

/// Bytes on the critical path of a row whose messages wait for their receivers, on 32 nodes of a rank.
fn bytes_across(id: &str, bytes: u64) -> f64 {
    let row = registry::find(id).unwrap();
    let nodes = Arc::new(Nodes::each_alone(32));
    let steps = record(row, &[], &nodes, bytes).unwrap();
    let wire = Wire {
        eager_bytes: 0,
        ..EAGER
    };
    path(&steps, &nodes, wire, &USUAL).unwrap()[BYTES.across]
}

/// Messages of a rank that were under way at once would share its link: the largest subtree's data would come last.
#[test]
fn a_binomial_tree_passes_each_link_once_in_a_round() {
    let bytes = 1 << 20;
    let (all, blocks) = (
        bytes_across("bcast.binomial", bytes),
        bytes_across("scatter.binomial", bytes),
    );
    assert!(near(all, 5.0 * bytes as f64), "{all}");
    assert!(near(blocks, 31.0 / 32.0 * bytes as f64), "{blocks}");
}
