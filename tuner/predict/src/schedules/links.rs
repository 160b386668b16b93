//! Links that several messages pass at a time, each with an even share: flows, as networks and their simulators carry them (max-min fairness where
//! all messages of a link are held up at it; a share that a message cannot use, since its other end is slower, is left).

/// Shares of a link are given anew when the number of its messages has changed by this part of it: with hundreds of messages, one more changes little.
const NOTICED: usize = 16;

/// One direction of an end.
#[derive(Debug, Clone, Default)]
struct Link {
    flows: Vec<usize>,
    /// Messages when shares were last given.
    rated: usize,
    /// Seconds during which it carried anything, until it was last empty.
    busy: f64,
    /// Time since which it carries something.
    since: f64,
}

impl Link {
    fn busy_at(&self, now: f64) -> f64 {
        self.busy + if self.flows.is_empty() { 0.0 } else { now - self.since }
    }
}

/// A message on its way out of one end and into another.
#[derive(Debug, Clone)]
struct Flow {
    links: [usize; 2],
    /// Seconds that are left at full speed.
    left: f64,
    /// Part of the full speed.
    speed: f64,
    /// The time that `left` is of.
    since: f64,
    version: u32,
    began: f64,
    /// Bytes that the other directions of its links had carried when it began.
    against: [f64; 2],
}

/// The end of a flow as it is known now; a later one of the same flow has a higher version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ending {
    pub(super) flow: usize,
    pub(super) version: u32,
    pub(super) seconds: f64,
}

/// All links and the flows on them.
pub(super) struct Links {
    links: Vec<Link>,
    flows: Vec<Flow>,
    endings: Vec<Ending>,
}

/// Links out of an end and into it; each other's opposite.
const fn out(end: usize) -> usize {
    2 * end
}

const fn into(end: usize) -> usize {
    2 * end + 1
}

const fn opposite(link: usize) -> usize {
    link ^ 1
}

impl Links {
    pub(super) fn of(ends: usize) -> Links {
        Links {
            links: vec![Link::default(); 2 * ends],
            flows: Vec::new(),
            endings: Vec::new(),
        }
    }

    /// A flow from one end to another that would take `seconds` alone; its number.
    pub(super) fn enter(&mut self, from: usize, to: usize, seconds: f64, now: f64) -> usize {
        let links = [out(from), into(to)];
        let flow = self.flows.len();
        self.flows.push(Flow {
            links,
            left: seconds,
            speed: 0.0,
            since: now,
            version: 0,
            began: now,
            against: links.map(|link| self.links[opposite(link)].busy_at(now)),
        });
        for link in links {
            let link = &mut self.links[link];
            if link.flows.is_empty() {
                link.since = now;
            }
            link.flows.push(flow);
        }
        self.rate(flow, now);
        links.into_iter().for_each(|link| self.share(link, now));
        flow
    }

    /// True if nothing has changed the end of the flow since `ending` was told.
    pub(super) fn is_last(&self, ending: Ending) -> bool {
        self.flows[ending.flow].version == ending.version
    }

    /// Takes a flow off its links: the seconds that it took, and how many of them its links also carried something the other way.
    pub(super) fn leave(&mut self, flow: usize, now: f64) -> (f64, f64) {
        let Flow {
            links, began, against, ..
        } = self.flows[flow];
        for link in links {
            let link = &mut self.links[link];
            link.flows.retain(|other| *other != flow);
            if link.flows.is_empty() {
                link.busy += now - link.since;
            }
        }
        links.into_iter().for_each(|link| self.share(link, now));
        let met = links.iter().zip(against);
        let met = met.map(|(link, before)| self.links[opposite(*link)].busy_at(now) - before);
        (now - began, met.fold(0.0, f64::max))
    }

    /// Ends that became known since this was last asked.
    pub(super) fn endings(&mut self) -> Vec<Ending> {
        std::mem::take(&mut self.endings)
    }

    /// Gives the flows of a link their shares, if their number has changed enough.
    fn share(&mut self, link: usize, now: f64) {
        let Link { flows, rated, .. } = &self.links[link];
        let (number, rated) = (flows.len(), *rated);
        if number.abs_diff(rated) * NOTICED < rated {
            return;
        }
        self.links[link].rated = number;
        for at in 0..number {
            self.rate(self.links[link].flows[at], now);
        }
    }

    fn rate(&mut self, number: usize, now: f64) {
        let flow = &mut self.flows[number];
        let most = flow.links.map(|link| self.links[link].flows.len()).into_iter().max();
        let speed = 1.0 / most.unwrap_or(1).max(1) as f64;
        if speed == flow.speed {
            return;
        }
        flow.left = (flow.left - flow.speed * (now - flow.since)).max(0.0);
        (flow.since, flow.speed) = (now, speed);
        flow.version += 1;
        self.endings.push(Ending {
            flow: number,
            version: flow.version,
            seconds: now + flow.left / speed,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of each flow in seconds, and for how many seconds its links also carried something the other way. A flow is given by its begin, its ends,
    /// and the seconds that it would take alone.
    fn run(flows: &[(f64, usize, usize, f64)]) -> Vec<(f64, f64)> {
        let mut links = Links::of(4);
        let (mut next, mut known, mut ended) = (0, Vec::new(), vec![(0.0, 0.0); flows.len()]);
        loop {
            known.extend(links.endings());
            known.retain(|ending| links.is_last(*ending));
            let first = known.iter().copied().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
            let begins = flows
                .get(next)
                .filter(|(begin, ..)| first.is_none_or(|first| *begin < first.seconds));
            if let Some((begin, from, to, seconds)) = begins {
                links.enter(*from, *to, *seconds, *begin);
                next += 1;
            } else if let Some(first) = first {
                known.retain(|ending| ending.flow != first.flow);
                ended[first.flow] = (first.seconds, links.leave(first.flow, first.seconds).1);
            } else {
                return ended;
            }
        }
    }

    fn ends(flows: &[(f64, usize, usize, f64)], expected: &[(f64, f64)]) {
        let found = run(flows);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let all = found.iter().zip(expected);
        let mut alike = all.map(|(a, b)| near(a.0, b.0) && near(a.1, b.1));
        assert!(alike.all(|alike| alike), "{found:?} {expected:?}");
    }

    #[test]
    fn flows_out_of_one_end_share_it_evenly() {
        // The second one comes when half of the first is through: both at half speed, until the first one has left.
        ends(&[(0.0, 0, 1, 2.0), (1.0, 0, 2, 2.0)], &[(3.0, 0.0), (4.0, 0.0)]);
    }

    #[test]
    fn flows_into_one_end_share_it_and_others_do_not() {
        let flows = [(0.0, 0, 3, 1.0), (0.0, 1, 3, 1.0), (0.0, 2, 0, 1.0)];
        // The third one shares neither of its directions; what comes out of 0 goes against it all the time.
        ends(&flows, &[(2.0, 1.0), (2.0, 0.0), (1.0, 1.0)]);
    }

    #[test]
    fn the_slower_end_sets_the_speed() {
        // Three into 3, one of them from an end that sends to 1 as well.
        let flows = [(0.0, 0, 3, 1.0), (0.0, 1, 3, 1.0), (0.0, 2, 3, 1.0), (0.0, 2, 1, 1.0)];
        ends(&flows, &[(3.0, 0.0), (3.0, 2.0), (3.0, 0.0), (2.0, 2.0)]);
    }

    #[test]
    fn hundreds_of_flows_end_nearly_when_they_should() {
        let found = run(&vec![(0.0, 0, 1, 0.01); 200]);
        let last = found.iter().map(|(seconds, _)| *seconds).fold(0.0, f64::max);
        assert!((last - 2.0).abs() < 2.0 / NOTICED as f64, "{last}");
    }
}
