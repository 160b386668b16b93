//! The switch: one process between all hosts' cards, which delivers every packet when the model says so.
//!
//! It builds the cluster, reports to `up`, and takes the cluster down when it ends: on a signal, or with its owner.

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::{
        fd::{AsFd, AsRawFd},
        unix::net::UnixListener,
    },
    time::Instant,
};

use anyhow::{Context, Result};
use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
};

use crate::{
    assemble,
    counters::Counters,
    frame::{self, Destination},
    model::{Delivery, Model},
    packets::{Packet, Packets},
    poller::Poller,
    process::{self, Process},
    quantity::Nanos,
    realtime,
    state::{Cluster, State},
    tap::Tap,
    teardown,
};

/// The word that the switch sends to `up` when the cluster is up; lines of warnings follow.
pub(crate) const READY: &str = "ready";
/// Packets taken from one card before the others get their turn.
const BURST: usize = 16;

struct Switch {
    taps: Vec<Tap>,
    model: Model<Packet>,
    packets: Packets,
    counters: Counters,
    started: Instant,
}

/// Everything that can wake the switch, in the order of its tokens after those of the cards.
struct Watched {
    signals: SignalFd,
    requests: UnixListener,
    owner: Option<Process>,
}

/// Builds the cluster and carries its packets until a signal or the end of its owner; then removes every trace of it.
pub(crate) fn run(state: &State) -> Result<()> {
    let result = build(state).and_then(|(switch, poller, watched)| switch.carry(poller, &watched));
    // The cards have gone with the switch by now, so what is left of the cluster is of no use to anyone.
    result.and(teardown::remove(state))
}

fn build(state: &State) -> Result<(Switch, Poller, Watched)> {
    let signals = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]
        .into_iter()
        .collect::<SigSet>();
    signals.thread_block().context("cannot block signals")?;
    let cluster = state.load()?;
    let owner = cluster.owner.map(|pid| {
        Process::open(pid).with_context(|| format!("the owner of the cluster, process {pid}, cannot be watched"))
    });
    let watched = Watched {
        signals: SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).context("cannot make a signal descriptor")?,
        requests: listen(state)?,
        owner: owner.transpose()?,
    };
    process::record_switch(state)?;
    let taps = assemble::hosts(state, &cluster)?;
    assemble::files(state, &cluster)?;

    let poller = Poller::new().context("cannot make an epoll descriptor")?;
    let sources = taps
        .iter()
        .map(AsFd::as_fd)
        .chain([watched.signals.as_fd(), watched.requests.as_fd()]);
    for (token, source) in sources.chain(watched.owner.iter().map(AsFd::as_fd)).enumerate() {
        poller.add(source, token).context("cannot watch a descriptor")?;
    }
    report_ready(&realtime::claim())?;
    Ok((Switch::new(taps, &cluster), poller, watched))
}

fn listen(state: &State) -> Result<UnixListener> {
    let path = state.path("switch.sock");
    let listener = UnixListener::bind(&path).with_context(|| format!("cannot listen at {}", path.display()))?;
    listener
        .set_nonblocking(true)
        .context("cannot make the socket of the switch non-blocking")?;
    Ok(listener)
}

/// Tells `up` that the cluster is up, and lets go of its pipe.
fn report_ready(warnings: &[String]) -> Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{READY}").context("nobody waits for the cluster")?;
    for warning in warnings {
        writeln!(output, "{warning}").context("nobody waits for the cluster")?;
    }
    output.flush().context("nobody waits for the cluster")?;
    let null = OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .context("cannot open /dev/null")?;
    // SAFETY: both descriptors are open; standard output is not owned by any value of Rust's.
    let result = unsafe { libc::dup2(null.as_raw_fd(), libc::STDOUT_FILENO) };
    nix::errno::Errno::result(result)
        .map(drop)
        .context("cannot close standard output")
}

impl Switch {
    fn new(taps: Vec<Tap>, cluster: &Cluster) -> Self {
        Self {
            model: Model::new(taps.len(), cluster.link),
            packets: Packets::default(),
            counters: Counters::new(cluster),
            started: Instant::now(),
            taps,
        }
    }

    fn now(&self) -> Nanos {
        self.started.elapsed().as_nanos() as Nanos
    }

    /// The loop. Returns when the cluster is to end.
    fn carry(mut self, mut poller: Poller, watched: &Watched) -> Result<()> {
        let signals = self.taps.len();
        let requests = signals + 1;
        loop {
            let timeout = self.model.next_event().map(|at| at.saturating_sub(self.now()));
            for token in poller.wait(timeout).context("the switch cannot wait for packets")? {
                if token < self.taps.len() {
                    self.take(token);
                } else if token == requests {
                    self.answer(&watched.requests);
                } else {
                    // A signal, or the owner has ended.
                    return Ok(());
                }
            }
            self.hand_over();
        }
    }

    /// Takes what host `from` has sent.
    fn take(&mut self, from: usize) {
        for _ in 0..BURST {
            let Some(length) = self.taps[from].receive(self.packets.landing()) else {
                return;
            };
            let now = self.now();
            let packet = self.packets.take(length);
            let wire = frame::wire_bytes(packet.bytes());
            self.counters.sent(from, wire);
            match frame::destination(packet.bytes(), self.taps.len()) {
                Some(Destination::Host(to)) if to != from => self.model.send(now, from, wire, [(to, packet)]),
                Some(Destination::Everyone) => {
                    let others = (0..self.taps.len()).filter(|to| *to != from);
                    let copies: Vec<_> = others.map(|to| (to, self.packets.copy(&packet))).collect();
                    self.model.send(now, from, wire, copies);
                    self.packets.give_back(packet);
                }
                _ => {
                    self.counters.unroutable();
                    self.packets.give_back(packet);
                }
            }
        }
    }

    /// Hands over what is due.
    fn hand_over(&mut self) {
        let mut now = self.now();
        while let Some(Delivery { to, due, payload }) = self.model.deliver(now) {
            let accepted = self.taps[to].deliver(payload.bytes()).is_ok();
            self.counters.delivered(now - due, accepted);
            self.packets.give_back(payload);
            now = self.now();
        }
    }

    /// Answers one request for the counters. A client that does not take its answer loses it.
    fn answer(&mut self, requests: &UnixListener) {
        if let Ok((mut client, _)) = requests.accept()
            && client.set_nonblocking(true).is_ok()
        {
            let _ = client.write_all(self.counters.page(self.model.in_flight()).as_bytes());
        }
    }
}
