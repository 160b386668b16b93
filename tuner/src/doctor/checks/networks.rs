//! Networks that reach from host to host: a device that every host has with the same address, such as a bridge of containers, connects none of them.
//!
//! A transport over TCP that tries such a device waits for ever, or ends the job (UCX's issues 9383 and 9908). Loopbacks are no concern: from 1.12 on UCX
//! tells hosts apart before it tries them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use super::super::facts::{Facts, Host};
use super::super::{Check, Judgement};
use super::fallback::SOCKETS;
use super::{count, some};

/// Routes of the kernel: device, network and mask, among others.
pub(super) const ROUTES: &str = "/proc/net/route";

/// Tables of the kernel in which own addresses are marked.
pub(super) const ADDRESSES: &str = "/proc/net/fib_trie";

pub(super) const CHECK: Check = Check {
    id: "networks",
    what: "network devices of one name reach each other between hosts",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    if facts.job.is_none() {
        return Judgement::unknown("no job was started");
    }
    let hosts: Vec<(&str, &Host)> = facts.occupied().map(|(name, host, _)| (name, host)).collect();
    if hosts.len() < 2 {
        return Judgement::fit("all ranks are on one host");
    }
    let devices: Vec<Devices> = hosts.iter().map(|(_, host)| of(host)).collect();
    if devices.iter().any(Devices::is_empty) {
        return Judgement::unknown("not every host tells its addresses");
    }
    let alone = unreaching(&devices);
    let common = reaching(&devices);
    let is_tcp = facts.carriers.iter().any(|name| is_socket(name));
    if !is_tcp || alone.is_empty() {
        return Judgement::fit(match common.as_slice() {
            [] => format!("no device is in the same network on all {} hosts", hosts.len()),
            devices => format!("{} between {}", some(devices), count(hosts.len(), "host")),
        });
    }
    let which: Vec<String> = alone
        .iter()
        .map(|(name, address)| format!("{name} ({address})"))
        .collect();
    let use_these = if common.is_empty() {
        "DEVICE".to_owned()
    } else {
        common.join(",")
    };
    Judgement::warning(
        format!(
            "messages go over TCP, and some devices have the same address on several hosts, so that they reach none of them: {}",
            some(&which)
        ),
        format!(
            "name the devices that reach the others, unless that is done: UCX_NET_DEVICES={use_these}, --mca btl_tcp_if_include {use_these}, or \
             FI_TCP_IFACE for libfabric; a job that tries another one may hang"
        ),
    )
}

fn is_socket(name: &str) -> bool {
    SOCKETS.contains(&name.rsplit('/').next().unwrap_or_default())
}

/// A device's own address and its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Device {
    address: Ipv4Addr,
    network: Ipv4Addr,
    mask: Ipv4Addr,
}

type Devices = BTreeMap<String, Device>;

/// The devices of a host that have an address in a network of their own, loopback left out.
fn of(host: &Host) -> Devices {
    let own = addresses(host.text(ADDRESSES).unwrap_or_default());
    let networks = networks(host.text(ROUTES).unwrap_or_default());
    let with_address = |(name, network, mask): (String, Ipv4Addr, Ipv4Addr)| {
        let is_in = |address: &&Ipv4Addr| **address & mask == network;
        let address = *own.iter().find(is_in)?;
        Some((name, Device { address, network, mask }))
    };
    networks.into_iter().filter_map(with_address).collect()
}

/// Devices, each with a network that needs no gateway: `eth0 0000A8C0 00000000 0001 0 0 0 00FFFFFF`, numbers as the machine stores them.
fn networks(text: &str) -> Vec<(String, Ipv4Addr, Ipv4Addr)> {
    let number = |word: &str| Some(Ipv4Addr::from(u32::from_str_radix(word, 16).ok()?.to_ne_bytes()));
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (network, gateway, mask) = (number(words.get(1)?)?, number(words.get(2)?)?, number(words.get(7)?)?);
        let is_own = gateway.is_unspecified() && !mask.is_unspecified();
        is_own.then(|| ((*words[0]).to_owned(), network, mask))
    };
    text.lines().filter_map(line).collect()
}

/// Own addresses: the line before `/32 host LOCAL` names each.
fn addresses(text: &str) -> BTreeSet<Ipv4Addr> {
    let lines: Vec<&str> = text.lines().collect();
    let own = lines.windows(2).filter(|pair| pair[1].contains("/32 host LOCAL"));
    let address = |pair: &[&str]| pair[0].rsplit(' ').next()?.parse::<Ipv4Addr>().ok();
    own.filter_map(address)
        .filter(|address| !address.is_loopback())
        .collect()
}

/// Devices with an address that a device of another host has as well, each once.
fn unreaching(hosts: &[Devices]) -> Vec<(String, Ipv4Addr)> {
    let mut seen: BTreeMap<Ipv4Addr, (String, usize)> = BTreeMap::new();
    for (name, device) in hosts.iter().flatten() {
        seen.entry(device.address).or_insert_with(|| (name.clone(), 0)).1 += 1;
    }
    let several = seen.into_iter().filter(|(_, (_, count))| *count > 1);
    several.map(|(address, (name, _))| (name, address)).collect()
}

/// Names of devices that lie in one network on all hosts, each with an address of its own.
fn reaching(hosts: &[Devices]) -> Vec<String> {
    let Some((first, others)) = hosts.split_first() else {
        return Vec::new();
    };
    let is_common = |name: &&String| {
        let own = first[*name];
        let mut addresses = BTreeSet::from([own.address]);
        others.iter().all(|host| {
            host.get(*name).is_some_and(|other| {
                (other.network, other.mask) == (own.network, own.mask) && addresses.insert(other.address)
            })
        })
    };
    first.keys().filter(is_common).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

    fn hexadecimal(address: [u8; 4]) -> String {
        format!("{:08X}", u32::from_ne_bytes(address))
    }

    #[test]
    fn networks_without_a_gateway_are_read() {
        let (network, mask) = (hexadecimal([10, 0, 0, 0]), hexadecimal([255, 255, 255, 0]));
        let gateway = hexadecimal([10, 0, 0, 1]);
        let text = format!(
            "{HEAD}eth0\t00000000\t{gateway}\t0003\t0\t0\t0\t00000000\t0\t0\t0\neth0\t{network}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n"
        );
        let expected = (
            "eth0".to_owned(),
            Ipv4Addr::new(10, 0, 0, 0),
            Ipv4Addr::new(255, 255, 255, 0),
        );
        assert_eq!(networks(&text), [expected]);
    }

    #[test]
    fn own_addresses_are_read_without_the_loopback() {
        let text = "Main:\n  +-- 0.0.0.0/0 2 0 2\n     +-- 10.0.0.0/24 2 0 2\n        |-- 10.0.0.0\n           /24 link UNICAST\n        |-- 10.0.0.3\n           \
                    /32 host LOCAL\n        |-- 10.0.0.255\n           /32 link BROADCAST\n        |-- 127.0.0.1\n           /32 host LOCAL\n";
        assert_eq!(addresses(text), BTreeSet::from([Ipv4Addr::new(10, 0, 0, 3)]));
    }

    fn devices(all: &[(&str, [u8; 4])]) -> Devices {
        let each = all.iter().map(|(name, address)| {
            let [a, b, c, _] = *address;
            let device = Device {
                address: Ipv4Addr::from(*address),
                network: Ipv4Addr::new(a, b, c, 0),
                mask: Ipv4Addr::new(255, 255, 255, 0),
            };
            ((*name).to_owned(), device)
        });
        each.collect()
    }

    #[test]
    fn a_bridge_of_every_host_reaches_none_and_an_address_of_its_own_does() {
        let host = |last: u8| {
            devices(&[
                ("docker0", [172, 17, 0, 1]),
                ("eth0", [10, 0, 0, last]),
                ("eth1", [10, 1, last, 1]),
            ])
        };
        let hosts = [host(1), host(2)];
        assert_eq!(
            unreaching(&hosts),
            [("docker0".to_owned(), Ipv4Addr::new(172, 17, 0, 1))]
        );
        assert_eq!(reaching(&hosts), ["eth0"], "eth1 is in another network on each");
    }
}
