//! Facts about the hosts and the library: files of `/proc` and `/sys`, read by a short job on every host, what carries the messages, and what the
//! library's own program prints.

use std::collections::BTreeMap;

use kilter_bench::programs::Programs;
use kilter_guard::Facts;
use kilter_guard::changes::MEMORY;
use kilter_guard::facts::{NOT_TOLD, PRINTED};
use kilter_model::config::library::Library;
use kilter_model::options::Options;

use crate::library_info::ask;
use crate::{carriers, launcher};

/// A text made of a host's files; `None` where it does not tell.
type Reader = fn(&dyn Fn(&str) -> Option<String>) -> Option<String>;

/// A subject that every host is asked about: its name, the files, and what is made of them.
struct Asked {
    subject: &'static str,
    files: &'static [&'static str],
    read: Reader,
}

/// The first file as it is.
const PLAIN: Reader = |file| file("");

/// A subject whose text is that of one file.
const fn plain(subject: &'static str, files: &'static [&'static str]) -> Asked {
    Asked {
        subject,
        files,
        read: PLAIN,
    }
}

const CPU: &str = "/proc/cpuinfo";
const FIRMWARE: [&str; 3] = [
    "/sys/class/dmi/id/bios_vendor",
    "/sys/class/dmi/id/bios_version",
    "/sys/class/dmi/id/bios_date",
];
const MEMINFO: &str = "/proc/meminfo";

/// Everything that is the same on every kind of host. A subject of one file has its text; others are made of several.
const ASKED: &[Asked] = &[
    plain("kernel", &["/proc/sys/kernel/osrelease"]),
    plain("kernel's command line", &["/proc/cmdline"]),
    Asked {
        subject: "BIOS",
        files: &FIRMWARE,
        read: |file| {
            let parts: Vec<String> = FIRMWARE.iter().filter_map(|path| file(path)).collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        },
    },
    plain("board", &["/sys/class/dmi/id/product_name"]),
    Asked {
        subject: "CPU model",
        files: &[CPU],
        read: |file| line(&file(CPU)?, "model name"),
    },
    Asked {
        subject: "microcode",
        files: &[CPU],
        read: |file| line(&file(CPU)?, "microcode"),
    },
    plain("processors", &["/sys/devices/system/cpu/online"]),
    plain("hyper-threading", &["/sys/devices/system/cpu/smt/control"]),
    Asked {
        subject: MEMORY,
        files: &[MEMINFO],
        read: |file| {
            let kib = line(&file(MEMINFO)?, "MemTotal")?;
            let kib: f64 = kib.split(' ').next()?.parse().ok()?;
            Some(format!("{:.1} GiB", kib / f64::from(1 << 20)))
        },
    },
    plain("governor", &["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"]),
    plain("turbo forbidden", &["/sys/devices/system/cpu/intel_pstate/no_turbo"]),
    plain("boost", &["/sys/devices/system/cpu/cpufreq/boost"]),
    plain(
        "clock source",
        &["/sys/devices/system/clocksource/clocksource0/current_clocksource"],
    ),
    plain("huge pages", &["/sys/kernel/mm/transparent_hugepage/enabled"]),
    plain("NUMA balancing", &["/proc/sys/kernel/numa_balancing"]),
    plain("InfiniBand devices", &["/sys/class/infiniband"]),
    plain("Slingshot devices", &["/sys/class/cxi"]),
    plain("driver mlx5_core", &["/sys/module/mlx5_core/version"]),
];

/// Devices of networks that a host may have, whose firmware and links are asked after one by one.
const DEVICES: [&str; 8] = [
    "mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3", "mlx4_0", "hfi1_0", "hfi1_1", "bnxt_re0",
];

/// The text behind the first `KEY :` of a file.
fn line(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// A device's file, with its subject.
fn of_devices() -> impl Iterator<Item = (String, String)> {
    DEVICES.iter().flat_map(|device| {
        let at = format!("/sys/class/infiniband/{device}");
        [
            (format!("firmware of {device}"), format!("{at}/fw_ver")),
            (format!("link of {device}"), format!("{at}/ports/1/rate")),
        ]
    })
}

/// All facts that no measuring job reports. What cannot be had is left out, with a warning.
///
/// # Errors
/// The job that reads the hosts' files does not start.
pub fn facts(
    options: &Options,
    (library, version): (&Library, &str),
    programs: &Programs,
    warn: &dyn Fn(&str),
) -> anyhow::Result<Facts> {
    let mut facts = Facts::default();
    facts.of_job("kilter", env!("CARGO_PKG_VERSION"));
    facts.of_job("library", format!("{} {version}", library.name));
    let mut question: Vec<String> = ASKED
        .iter()
        .flat_map(|asked| asked.files.iter().map(|path| (*path).to_owned()))
        .chain(of_devices().map(|(_, path)| path))
        .collect();
    question.sort();
    question.dedup();
    let described = launcher::describe(options, library, programs, &options.site_environment, &question)?;
    for machine in &described.machines {
        for (host, files) in &machine.hosts {
            of_host(&mut facts, host, files);
        }
        for (host, said) in &machine.libraries {
            facts.of_host("library of the host", host, said.clone());
        }
    }
    match carriers::ask(options, library, programs) {
        Ok(heard) if heard.transports.is_empty() => {}
        Ok(heard) => facts.of_job("messages go by", carriers::in_words(&heard.transports)),
        Err(error) => warn(&format!("no job said what carries its messages: {error:#}")),
    }
    if let Some(tool) = library.info {
        match ask::ask(tool, &options.mpirun, version) {
            Ok(info) => {
                for (name, reported) in info.parameters {
                    // A value that a site's file or this environment has set is told without its default.
                    let value = reported.default.unwrap_or_else(|| "set here".to_owned());
                    facts.of_job(&format!("{PRINTED}{name}"), value);
                }
            }
            Err(error) => warn(&format!(
                "the library's parameters are compared as far as a running job reports them: {error}"
            )),
        }
    }
    Ok(facts)
}

/// Adds what a host's files say. A subject that a host does not tell is left out, but for devices that others may have.
fn of_host(facts: &mut Facts, host: &str, files: &BTreeMap<String, String>) {
    let text = |path: &str| files.get(path).map(|text| text.trim().replace('\n', ", "));
    for asked in ASKED {
        let whole = |path: &str| {
            let path = if path.is_empty() { asked.files[0] } else { path };
            let text = files.get(path).map(|text| text.trim().to_owned());
            // Tables are read line by line, names of a directory in one.
            text.map(|text| {
                if asked.files == [CPU] || asked.files == [MEMINFO] {
                    text
                } else {
                    text.replace('\n', ", ")
                }
            })
        };
        facts.of_host(
            asked.subject,
            host,
            (asked.read)(&whole).unwrap_or_else(|| NOT_TOLD.to_owned()),
        );
    }
    for (subject, path) in of_devices() {
        if let Some(text) = text(&path) {
            facts.of_host(&subject, host, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn a_hosts_files_become_facts_and_what_it_does_not_tell_is_said() {
        let mut facts = Facts::default();
        let told = files(&[
            ("/proc/sys/kernel/osrelease", "6.1.0-18-amd64"),
            (FIRMWARE[1], "2.14.0"),
            (FIRMWARE[2], "09/01/2025"),
            (CPU, "processor\t: 0\nmodel name\t: Fast 9000\nmicrocode\t: 0x2b\n"),
            (MEMINFO, "MemTotal:       131072000 kB\nMemFree: 1 kB\n"),
            ("/sys/class/infiniband", "mlx5_0\nmlx5_1"),
            ("/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002"),
        ]);
        of_host(&mut facts, "a", &told);
        let mut found: Vec<(String, String)> = facts
            .subjects()
            .filter_map(|(subject, texts)| Some((subject.to_owned(), texts.get("a")?.clone())))
            .filter(|(_, text)| text != NOT_TOLD)
            .collect();
        found.sort();
        let expected = [
            ("BIOS", "2.14.0 09/01/2025"),
            ("CPU model", "Fast 9000"),
            ("InfiniBand devices", "mlx5_0, mlx5_1"),
            ("firmware of mlx5_0", "28.39.1002"),
            ("kernel", "6.1.0-18-amd64"),
            ("memory", "125.0 GiB"),
            ("microcode", "0x2b"),
        ];
        assert_eq!(
            found,
            expected.map(|(subject, text)| (subject.to_owned(), text.to_owned()))
        );
        let untold = facts.subjects().filter(|(_, texts)| texts["a"] == NOT_TOLD);
        assert_eq!(untold.count(), ASKED.len() - 6);
    }
}
