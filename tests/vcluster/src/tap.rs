//! TAP devices: the network cards of the hosts. One end is `eth0` in a host's namespace, the other end a descriptor here.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
};

use anyhow::Result;
use nix::errno::Errno;

use crate::unavailable::{Unavailable, missing};

/// Name of the card in every host.
pub(crate) const INTERFACE: &str = "eth0";
/// The device that makes TAPs.
const TUN: &str = "/dev/net/tun";

/// One end of a host's network card.
pub(crate) struct Tap {
    file: File,
}

impl Tap {
    /// Makes `eth0` in the network namespace of the calling thread, with checksums and segmentation left to the card:
    /// one read is then up to 64 KiB, which is what lets one process carry the traffic of a whole cluster.
    pub(crate) fn create() -> Result<Self> {
        let file = open_tun()?;
        // SAFETY: all-zero bytes are a valid ifreq: an empty name and a union of integers and addresses.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(INTERFACE.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq, which outlives the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
        missing(Errno::result(result).map(drop), "making a TAP device")?;

        let offload = libc::c_ulong::from(libc::TUN_F_CSUM | libc::TUN_F_TSO4);
        // SAFETY: TUNSETOFFLOAD takes its flags by value.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, offload) };
        missing(
            Errno::result(result).map(drop),
            "switching on segmentation offload of a TAP device",
        )?;

        // Loss-free: the host must never find its card's queue full.
        let bytes: libc::c_int = 1 << 30;
        // SAFETY: TUNSETSNDBUF reads one int, which outlives the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETSNDBUF, &raw const bytes) };
        missing(Errno::result(result).map(drop), "setting the buffer of a TAP device")?;
        Ok(Self { file })
    }

    /// The next packet that the host has sent, if any.
    pub(crate) fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        (&self.file).read(buffer).ok().filter(|length| *length > 0)
    }

    /// Hands a packet to the host.
    pub(crate) fn deliver(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(drop)
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Opens the device that makes TAPs, or says why there can be none.
pub(crate) fn open_tun() -> Result<File> {
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(TUN);
    opened.map_err(|error| Unavailable(format!("cannot open {TUN}: {error}")).into())
}
