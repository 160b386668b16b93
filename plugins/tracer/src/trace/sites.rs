//! Numbers of call sites. An address is defined in the file when it is first seen.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use kilter_protocol::trace::record::Definition;
use kilter_protocol::trace::space::Space;

use crate::site;

const PLACE_BITS: u32 = 14;

/// Addresses by their numbers, which are their places; bit 63 is set if the call site is in a library of Kilter's.
static ADDRESSES: [AtomicU64; 1 << PLACE_BITS] = [const { AtomicU64::new(0) }; 1 << PLACE_BITS];
const OWN: u64 = 1 << 63;
const MOST_PROBES: usize = 64;

/// A call site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    /// Number and 1; 0 if it is not known.
    pub(crate) number: u32,
    /// True if it is in a library of Kilter's, whose calls are not the program's.
    pub(crate) is_own: bool,
}

const UNKNOWN: Site = Site {
    number: 0,
    is_own: false,
};

/// Site of a return address.
#[inline]
pub(crate) fn find(space: &Space, address: usize) -> Site {
    if address == 0 {
        return UNKNOWN;
    }
    match probe(address) {
        Ok(site) => site,
        Err(_) => add(space, address),
    }
}

/// The site, or the free place for it.
#[inline]
fn probe(address: usize) -> Result<Site, Option<usize>> {
    let spread = (address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACE_BITS);
    for probe in 0..MOST_PROBES {
        let place = (spread as usize + probe) % ADDRESSES.len();
        let known = ADDRESSES[place].load(Ordering::Acquire);
        if known & !OWN == address as u64 {
            return Ok(Site {
                number: place as u32 + 1,
                is_own: known & OWN != 0,
            });
        }
        if known == 0 {
            return Err(Some(place));
        }
    }
    Err(None)
}

#[cold]
fn add(space: &Space, address: usize) -> Site {
    static LOCK: Mutex<()> = Mutex::new(());
    let _held = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let place = match probe(address) {
        Ok(site) => return site,
        Err(None) => return UNKNOWN,
        Err(Some(place)) => place,
    };
    super::payload::look_for_devices();
    let is_own = site::is_own(address);
    let found = site::place(address);
    space.define(&Definition::Site {
        number: place as u32,
        offset: found.offset,
        module: found.module,
        symbol: found.symbol,
    });
    ADDRESSES[place].store(address as u64 | if is_own { OWN } else { 0 }, Ordering::Release);
    Site {
        number: place as u32 + 1,
        is_own,
    }
}
