//! Slow fallbacks: messages over TCP where hosts have InfiniBand, RoCE or Slingshot, and UCX that uses TCP within a host.

use super::super::facts::Facts;
use super::super::{Check, Judgement};
use super::some;
use crate::carriers;

/// Directories with a link for each device: InfiniBand and RoCE, and Slingshot.
pub(super) const DEVICES: [&str; 2] = ["/sys/class/infiniband", "/sys/class/cxi"];

/// Transports over the sockets of the kernel, by the last word of their names.
pub(super) const SOCKETS: [&str; 4] = ["tcp", "net", "sockets", "udp"];

pub(super) const CHECK: Check = Check {
    id: "fallback",
    what: "messages do not fall back to TCP where something faster is there",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    if facts.carriers.is_empty() {
        return Judgement::unknown("the library does not say what carries its messages");
    }
    let words = carriers::in_words(&facts.carriers);
    let is_socket = |name: &&String| SOCKETS.contains(&name.rsplit('/').next().unwrap_or_default());
    let slow: Vec<String> = facts.carriers.iter().filter(is_socket).cloned().collect();
    let devices: Vec<String> = facts
        .occupied()
        .flat_map(|(name, host, _)| {
            let texts = DEVICES.iter().filter_map(|path| host.text(path));
            let devices = texts
                .flat_map(str::lines)
                .map(move |device| format!("{device} of {name}"));
            devices.collect::<Vec<_>>()
        })
        .collect();
    if !slow.is_empty() && !devices.is_empty() {
        return Judgement::warning(
            format!(
                "messages go by {words}, that is over TCP, although there is {}",
                some(&devices)
            ),
            "use a build of the library with UCX or libfabric for this network, and look at UCX_TLS, UCX_NET_DEVICES, FI_PROVIDER and the \
             site's settings for what excludes the device (`ucx_info -d` and `fi_info -l` list what can be used)",
        );
    }
    let one_host = facts.ranks_by_host().len() <= 1;
    let has_other = facts
        .carriers
        .iter()
        .any(|name| name.contains('/') && !slow.contains(name) && !name.ends_with("/ofi_rxm"));
    let falls_back = slow.iter().any(|name| name.contains('/')) && !has_other;
    if one_host && falls_back {
        return Judgement::warning(
            format!("messages between ranks of one host go by {words}, that is over sockets"),
            "let it use shared memory: UCX_TLS=all, or with posix, sysv and cma in the list; of libfabric's providers, shm",
        );
    }
    Judgement::fit(format!("messages go by {words}"))
}
