//! UCX's log at level `info`, a line for each kind of connection:
//!
//! ```text
//! ... UCX  INFO    ep_cfg[1]: tag(posix/memory cma/memory)
//! ... UCX  INFO    ucp_context_0 intra-node cfg#1 tag(sysv/memory cma/memory)  rma(sysv/memory posix/memory)  am(sysv/memory cma/memory)
//! ```
//!
//! Transport and device of messages with tags stand in `tag(...)`. A rank's connection to itself begins with `self`.

use super::Names;

const ITSELF: &str = "self";

/// Before the version, in a line of its own: `... UCX  INFO  Version 1.17.0 (loaded from /usr/lib/libucp.so.0)`.
const VERSION: &str = "UCX  INFO  Version ";

pub(super) fn version(text: &str) -> Option<String> {
    let rest = text.lines().find_map(|line| Some(line.split_once(VERSION)?.1))?;
    rest.split_whitespace().next().map(str::to_owned)
}

pub(super) fn read(text: &str) -> Names {
    let of_tags = |line: &str| -> Names {
        let is_connection = line.contains("ep_cfg[") || line.contains("cfg#");
        let lanes = line.split_once(" tag(").filter(|_| is_connection);
        let lanes = lanes
            .and_then(|(_, rest)| rest.split_once(')'))
            .map_or("", |(lanes, _)| lanes);
        let lane = |word: &str| word.split_once('/').map(|(transport, _)| transport.to_owned());
        lanes.split_whitespace().filter_map(lane).collect()
    };
    let connections = text.lines().map(of_tags);
    let others = connections.filter(|lanes| lanes.first().is_some_and(|first| first != ITSELF));
    others.flatten().collect()
}
