//! Description of the job: the report's first line, gathered from all ranks.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

use anyhow::Context;
use kilter_mpi::info;
use kilter_mpi::mpit::ControlVariables;
use kilter_protocol::cpus::ProcessingUnits;
use kilter_protocol::plan::Header;
use kilter_protocol::report::Start;
use serde_json::json;

use crate::clock;
use crate::control::Control;
use crate::processing_units;

/// Sizes that the allocator is asked for, from 4 KiB to 64 MiB.
const ALLOCATIONS: std::ops::RangeInclusive<u32> = 12..=26;

/// Free bytes that the heap may hold; they are used up first, since `malloc` maps nothing while a free block fits.
const FREE_IN_HEAP: usize = 4 << 20;

/// Gathers the facts on rank 0; elsewhere a line without them. Called by all ranks.
pub(crate) fn start(control: &Control, variables: &ControlVariables, header: &Header) -> anyhow::Result<Start> {
    let own = json!({
        "host": info::host_name()?,
        "variables": header.read_variables.iter().map(|name| variables.read(name).ok()).collect::<Vec<_>>(),
        "environment": header
            .read_environment
            .iter()
            .map(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
            .collect::<Vec<_>>(),
        "cpus": processing_units::bound(),
    });
    let (mut hosts, mut cpus) = (Vec::new(), Vec::new());
    let (mut values, mut environment) = (Vec::new(), Vec::new());
    for facts in control.gather(own.to_string().into_bytes())? {
        let facts: serde_json::Value = serde_json::from_slice(&facts).context("facts of a rank")?;
        hosts.push(facts["host"].as_str().unwrap_or_default().to_owned());
        cpus.push(facts["cpus"].as_str().unwrap_or_default().to_owned());
        values.push(facts["variables"].clone());
        environment.push(facts["environment"].clone());
    }
    // A simulated rank's allocator is the simulator's, and to ask it walks the memory of all ranks.
    let malloc_maps_from_bytes = if control.is_root() && !clock::SIMULATED {
        malloc_maps_from_bytes()
    } else {
        None
    };
    // After the allocator, which it uses.
    let asked = header.asks_processing_units && control.is_root() && !clock::SIMULATED;
    let processing_units = asked.then(|| {
        let (granted, by) = processing_units::granted();
        let here = hosts.iter().zip(cpus).filter(|(host, _)| Some(*host) == hosts.first());
        ProcessingUnits {
            granted,
            of_ranks: here.map(|(_, cpus)| cpus).collect(),
            by,
        }
    });
    Ok(Start {
        library: info::library_version()?,
        ranks: control.p_ranks(),
        hosts,
        clock_tick_seconds: clock::tick_seconds(),
        clock_read_seconds: clock::read_seconds(),
        variables: combine(&header.read_variables, &values),
        environment: combine(&header.read_environment, &environment),
        malloc_maps_from_bytes,
        processing_units,
        // The caller adds the facts of measuring.
        ..Start::default()
    })
}

/// One value for each name, or each rank's value if they differ; names that no rank knows are left out.
fn combine(names: &[String], ranks: &[serde_json::Value]) -> BTreeMap<String, String> {
    let mut combined = BTreeMap::new();
    for (i, name) in names.iter().enumerate() {
        let values: Vec<Option<&str>> = ranks.iter().map(|values| values[i].as_str()).collect();
        let Some(first) = values.first() else { continue };
        if values.iter().all(|value| value == first) {
            if let Some(value) = first {
                combined.insert(name.clone(), (*value).to_owned());
            }
            continue;
        }
        let parts: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(rank, value)| format!("rank {rank}: {}", value.unwrap_or("(not set)")))
            .collect();
        combined.insert(name.clone(), parts.join("; "));
    }
    combined
}

/// The smallest power of two for which `malloc` maps pages of its own; `None` where it does for none up to 64 MiB, or where the
/// allocator does not tell (`mallinfo2` is glibc's, from 2.33 on).
pub(crate) fn malloc_maps_from_bytes() -> Option<u64> {
    let mapped_blocks = mallinfo2()?;
    ALLOCATIONS
        .map(|power| 1_usize << power)
        .find(|bytes| is_mapped(*bytes, &mapped_blocks))
        .map(|bytes| bytes as u64)
}

/// True if a block of this size gets pages of its own once the heap's free memory is used up.
///
/// Freeing a mapped block would raise glibc's threshold and so change the answer; so that one block stays. It is never written: only address
/// space is spent.
fn is_mapped(bytes: usize, mapped_blocks: &impl Fn() -> usize) -> bool {
    let mut blocks = Vec::with_capacity(FREE_IN_HEAP / bytes + 1);
    let before = mapped_blocks();
    let mut mapped = false;
    while !mapped && blocks.len() < blocks.capacity() {
        // SAFETY: any size may be asked for.
        let block = unsafe { std::hint::black_box(libc::malloc(bytes)) };
        mapped = mapped_blocks() > before;
        if !mapped {
            blocks.push(block);
        }
    }
    for block in blocks.into_iter().rev() {
        // SAFETY: allocated above, freed once.
        unsafe { libc::free(block) };
    }
    mapped
}

/// The number of mapped blocks according to glibc, where it can be asked.
#[cfg(target_env = "gnu")]
fn mallinfo2() -> Option<impl Fn() -> usize> {
    // SAFETY: looks up a name; where glibc has it, it is the function that the libc crate declares.
    let function = unsafe {
        let symbol: *mut c_void = libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr());
        if symbol.is_null() {
            return None;
        }
        std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> libc::mallinfo2>(symbol)
    };
    // SAFETY: takes nothing and returns a struct by value.
    Some(move || unsafe { function() }.hblks)
}

/// Other C libraries do not tell.
#[cfg(not(target_env = "gnu"))]
fn mallinfo2() -> Option<fn() -> usize> {
    None
}

/// Asks Linux to kill this process when the one that started it dies, and to wake it from sleep without slack. On other systems
/// the plan's silence ends an orphaned job.
pub(crate) fn prepare_process() {
    #[cfg(target_os = "linux")]
    {
        let (kill, one_ns): (c_int, libc::c_ulong) = (libc::SIGKILL, 1);
        // SAFETY: both change an attribute of this process and fail without consequence.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, kill as libc::c_ulong, 0, 0, 0);
            libc::prctl(libc::PR_SET_TIMERSLACK, one_ns, 0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_and_unequal_ones_name_the_ranks() {
        let names: Vec<String> = ["same", "differs", "unknown", "on_one"].map(str::to_owned).to_vec();
        let ranks = [json!(["1", "a", null, null]), json!(["1", "b", null, "x"])];
        let combined = combine(&names, &ranks);
        assert_eq!(combined.get("same").map(String::as_str), Some("1"));
        assert_eq!(
            combined.get("differs").map(String::as_str),
            Some("rank 0: a; rank 1: b")
        );
        assert_eq!(combined.get("unknown"), None);
        assert_eq!(
            combined.get("on_one").map(String::as_str),
            Some("rank 0: (not set); rank 1: x")
        );
    }
}
