use kilter_algorithms::Collective;
use kilter_model::config::library::{Library, find_for};
use kilter_model::config::transport::Transport;

use super::ask::{InfoError, ask};
use super::*;

fn lines(library: &Library, tool: InfoTool, text: &str) -> Vec<String> {
    let info = (program(tool).parse)(text);
    let transports = &library.transports;
    let all = [transports.one_host.as_slice(), &transports.several_hosts].concat();
    differences(library, tool, &info, &all)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// The comparison sees each kind of difference, with or without a library at hand.
#[test]
fn differences_from_ompi_info_are_found() {
    let library = find_for("mpirun (Open MPI) 4.1.4").unwrap();
    let scan = library.algorithms_of(Collective::Scan).unwrap().clone();
    let eager = library
        .parameters
        .iter()
        .find(|row| row.name == "btl_vader_eager_limit")
        .unwrap()
        .clone();
    let small = Library {
        algorithms: vec![scan],
        parameters: vec![eager],
        ..library
    };
    let text = "ompi:version:full:4.1.4\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:value:ignore\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:source:default\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:enumerator:value:0:ignore\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:enumerator:value:1:linear\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm:enumerator:value:2:recursive_doubling\n\
                mca:coll:tuned:param:coll_tuned_scan_algorithm_count:value:3\n\
                mca:coll:tuned:param:coll_tuned_use_dynamic_rules:help:a: b\n\
                mca:plm:rsh:param:plm_rsh_agent:type:string\n\
                mca:pml:base:param:pml:type:string\n\
                mca:pml:monitoring:param:pml_monitoring_enable:type:int\n\
                mca:btl:vader:param:btl_vader_eager_limit:value:4096\n\
                mca:btl:vader:param:btl_vader_eager_limit:source:default\n\
                mca:btl:vader:param:btl_vader_eager_limit:type:size_t\n";
    let found = |text: &str| lines(&small, InfoTool::OmpiInfo, text);
    assert_eq!(found(text), Vec::<String>::new());
    let version = (program(InfoTool::OmpiInfo).parse)(text).version;
    assert_eq!(version.as_deref(), Some("4.1.4"));
    for (from, to, part) in [
        (
            "2:recursive_doubling",
            "2:doubling",
            "value 2 doubling is only reported",
        ),
        (
            "2:recursive_doubling",
            "2:doubling",
            "value 2 recursive_doubling is only described",
        ),
        (
            "algorithm_count:",
            "algorithm_segmentsize:",
            "coll_tuned_scan_algorithm_segmentsize is not described",
        ),
        (
            "value:4096",
            "value:8192",
            "btl_vader_eager_limit: default `4096` is described, `8192` is reported",
        ),
        (
            "type:size_t",
            "type:size_t\nmca:btl:vader:param:btl_vader_eager_limit:enumerator:value:0:small",
            "is tried, which is no legal size_t",
        ),
        (
            "btl_vader_eager_limit:",
            "btl_sm_eager_limit:",
            "btl_vader_eager_limit is unknown",
        ),
        (
            "coll_tuned_use_dynamic_rules:",
            "coll_tuned_rules:",
            "coll_tuned_use_dynamic_rules is unknown",
        ),
        ("plm_rsh_agent:", "plm_agent:", "plm_rsh_agent is unknown"),
        (
            "pml_monitoring_enable:",
            "pml_monitoring:",
            "pml_monitoring_enable is unknown",
        ),
    ] {
        let found = found(&text.replace(from, to));
        assert!(found.iter().any(|line| line.contains(part)), "{part}: {found:?}");
    }
    // Changed by a site's file: its value is no default.
    let changed = text
        .replace("limit:value:4096", "limit:value:9")
        .replace("limit:source:default", "limit:source:file");
    assert_eq!(found(&changed), Vec::<String>::new());
}

#[test]
fn differences_from_impi_info_are_found() {
    let library = find_for("Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 1").unwrap();
    let bcast = library.algorithms_of(Collective::Bcast).unwrap().clone();
    let asynchronous = library
        .parameters
        .iter()
        .filter(|row| row.name.starts_with("I_MPI_ASYNC"));
    let small = Library {
        algorithms: vec![bcast],
        parameters: asynchronous.cloned().collect(),
        ..library
    };
    let text = "I_MPI_ADJUST_BCAST \n  MPI Datatype:\n    MPI_CHAR\n  Description:\n    Controls bcast algorithm: \u{fffd}\n    \
                Arguments\n    range: 0-22 \nI_MPI_ADJUST_BCAST_NODE \n  MPI Datatype:\n    MPI_CHAR\n    expert range: 0-13 \n\
                I_MPI_ASYNC_PROGRESS\n  MPI Datatype:\n    MPI_INT\n   Default:\n    \nI_MPI_ASYNC_PROGRESS_THREADS\n\
                I_MPI_ASYNC_PROGRESS_PIN \nI_MPI_ADJUST_FAILURE_ON_COLL_FALLBACK\n";
    let found = |text: &str| lines(&small, InfoTool::ImpiInfo, text);
    assert_eq!(found(text), Vec::<String>::new());
    for (from, to, wanted) in [
        (
            "0-22",
            "0-21",
            "I_MPI_ADJUST_BCAST: numbers up to 22 are described, up to 21 reported",
        ),
        (
            "0-22",
            "0-23",
            "I_MPI_ADJUST_BCAST: numbers up to 22 are described, up to 23 reported",
        ),
        (
            "Default:\n    \n",
            "Default:\n    1\n",
            "I_MPI_ASYNC_PROGRESS: default `` is described, `1` is reported",
        ),
        (
            "I_MPI_ASYNC_PROGRESS_THREADS",
            "I_MPI_THREADS",
            "I_MPI_ASYNC_PROGRESS_THREADS is unknown to the library",
        ),
        (
            "I_MPI_ADJUST_FAILURE",
            "I_MPI_FAILURE",
            "I_MPI_ADJUST_FAILURE_ON_COLL_FALLBACK is unknown to the library",
        ),
        (
            "I_MPI_ADJUST_BCAST \n",
            "I_MPI_BCAST \n",
            "I_MPI_ADJUST_BCAST is unknown to the library",
        ),
    ] {
        assert_eq!(found(&text.replace(from, to)), [wanted], "{from} -> {to}");
    }
}

#[test]
fn differences_from_mpivars_are_found() {
    let library = find_for("HYDRA build details: Version: 4.3.2").unwrap();
    let scan = library.algorithms_of(Collective::Scan).unwrap().clone();
    let device = library
        .parameters
        .iter()
        .find(|row| row.name == "MPIR_CVAR_DEVICE_COLLECTIVES")
        .unwrap()
        .clone();
    let small = Library {
        algorithms: vec![scan],
        parameters: vec![device],
        ..library
    };
    let about = "SCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tVariable to select";
    let text = format!(
        "4 MPI Control Variables\n\tMPIR_CVAR_SCAN_INTRA_ALGORITHM =0\t{about}\nauto - Internal algorithm selection\n\
         nb                 - Force nonblocking algorithm\nsmp                - Force smp algorithm\n\
         recursive_doubling - Force recursive doubling algorithm\n\tMPIR_CVAR_SCAN_DEVICE_COLLECTIVE=1\t{about} a - b\n\
         \tMPIR_CVAR_DEVICE_COLLECTIVES    =2\t{about} whether the device can override the\nMPIR-level collective algorithms.\n\
         all     - Always prefer\nnone    - Never pick\npercoll - Use the per-collective CVARs\n\
         \tMPIR_CVAR_COLLECTIVE_FALLBACK   =2\t{about} what\n\n0 MPI Performance Variables\n\nother - text\n"
    );
    let found = |text: &str| lines(&small, InfoTool::Mpivars, text);
    let smp = "MPIR_CVAR_SCAN_INTRA_ALGORITHM: value 2 smp is only reported";
    assert_eq!(found(&text), [smp]);
    for (from, to, part) in [
        ("\nsmp   ", "\nother ", "value 2 other is only reported"),
        ("nb    ", "nc    ", "value 1 nb is only described"),
        (
            "none    -",
            "no      -",
            "MPIR_CVAR_DEVICE_COLLECTIVES: `none` is tried, which is no legal MPI_INT",
        ),
        (
            "none    -",
            "no      -",
            "MPIR_CVAR_DEVICE_COLLECTIVES: value 1 none is only described",
        ),
        (
            "_FALLBACK",
            "_FALL",
            "MPIR_CVAR_COLLECTIVE_FALLBACK is unknown to the library",
        ),
        (
            "SCAN_DEVICE",
            "SCANS_DEVICE",
            "MPIR_CVAR_SCAN_DEVICE_COLLECTIVE is unknown to the library",
        ),
    ] {
        let found = found(&text.replace(from, to));
        assert!(found.iter().any(|line| line.contains(part)), "{part}: {found:?}");
    }
    // The values are part of the text in 4.0.
    let together = text
        .replace("\nall  ", "all  ")
        .replace("\nnone", "none")
        .replace("\npercoll", "percoll");
    assert_eq!(found(&together), [smp]);
}

fn transport(id: &str, names: &[&str]) -> Transport {
    let mut transport = kilter_model::config::transport::load_embedded()
        .unwrap()
        .remove(id)
        .unwrap();
    transport.parameters.retain(|row| names.contains(&row.name.as_str()));
    assert_eq!(transport.parameters.len(), names.len());
    transport
}

fn transport_lines(transport: &Transport, text: &str) -> Vec<String> {
    let info = (program_of_transport(transport.info).parse)(text);
    let found = differences_of_transport(transport, &info);
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn differences_from_ucx_info_are_found() {
    let small = transport(
        "ucx",
        &[
            "UCX_RNDV_THRESH",
            "UCX_RNDV_SCHEME",
            "UCX_TCP_TX_SEG_SIZE",
            "UCX_TCP_PUT_ENABLE",
            "UCX_RC_MLX5_TM_ENABLE",
        ],
    );
    let text = "# UCX library configuration file\n#\n# Threshold\n#\n# syntax:    memory units: <number>[b|kb|mb|gb], \"inf\", or \"auto\"\n#\n\
                UCX_RNDV_THRESH=auto\n\n#\n# syntax:    [auto|get_zcopy|put_zcopy|am|rkey_ptr]\n#\nUCX_RNDV_SCHEME=auto\n\
                # syntax:    memory units: <number>[b|kb|mb|gb], \"inf\", or \"auto\"\nUCX_TCP_TX_SEG_SIZE=8192\n\
                # syntax:    <y|n>\nUCX_TCP_PUT_ENABLE=y\n";
    let found = |text: &str| transport_lines(&small, text);
    // InfiniBand is not built in: its settings are not missed.
    assert_eq!(found(text), Vec::<String>::new());
    for (from, to, wanted) in [
        (
            "UCX_RNDV_THRESH=auto",
            "UCX_RNDV_THRESH=8K",
            "UCX_RNDV_THRESH: default `auto` is described, `8K` is reported",
        ),
        (
            "SEG_SIZE=8192",
            "SEG_SIZE=16k",
            "UCX_TCP_TX_SEG_SIZE: default `8K` is described, `16k` is reported",
        ),
        (
            "[auto|get_zcopy|",
            "[auto|",
            "UCX_RNDV_SCHEME: `get_zcopy` is tried, which is no legal [auto|put_zcopy|am|rkey_ptr]",
        ),
        (
            "UCX_TCP_PUT_ENABLE",
            "UCX_TCP_PUTS",
            "UCX_TCP_PUT_ENABLE is unknown to the library",
        ),
    ] {
        assert_eq!(found(&text.replace(from, to)), [wanted], "{from} -> {to}");
    }
}

/// The words of 1.20.1, where a value may be one for each kind of connection.
#[test]
fn a_value_for_each_kind_of_connection_is_read_from_ucx_info() {
    let small = transport("ucx", &["UCX_RNDV_THRESH"]);
    let text = "# syntax:    comma-separated list of value or key:value pairs, where key is one of [intra,inter] and value is: memory units: \
                <number>[b|kb|mb|gb], \"inf\", or \"auto\". A value without a key is the default.\n#\nUCX_RNDV_THRESH=intra:auto,inter:auto\n";
    assert_eq!(transport_lines(&small, text), Vec::<String>::new());
    let other = "UCX_RNDV_THRESH: default `auto` is described, `intra:auto,inter:64k` is reported";
    assert_eq!(
        transport_lines(&small, &text.replace("inter:auto", "inter:64k")),
        [other]
    );
    let words = text.replace("memory units: <number>[b|kb|mb|gb]", "<auto|inf>");
    let illegal = transport_lines(&small, &words);
    assert!(
        illegal.is_empty(),
        "what is no list of words is not checked: {illegal:?}"
    );
}

#[test]
fn differences_from_fi_info_are_found() {
    let small = transport(
        "libfabric",
        &[
            "FI_OFI_RXM_EAGER_LIMIT",
            "FI_OFI_RXM_USE_RNDV_WRITE",
            "FI_SHM_TX_SIZE",
            "FI_CXI_RX_MATCH_MODE",
        ],
    );
    let text = "# FI_SHM_TX_SIZE: size_t\n# shm: Max number of outstanding tx operations \t\t\t Default: 1024\n\n\
                # FI_OFI_RXM_EAGER_LIMIT: size_t\n# ofi_rxm: Specifies: the maximum.(default: 16384)\n\n\
                # FI_OFI_RXM_USE_RNDV_WRITE: Boolean (0/1, on/off, true/false, yes/no)\n# ofi_rxm: Set this. (default: false/no).\n\n\
                # FI_OFI_RXM_DEF: String\n# ofi_rxm: x (default: UNSPEC, tcp provider will select).\n";
    let found = |text: &str| transport_lines(&small, text);
    assert_eq!(found(text), Vec::<String>::new());
    for (from, to, wanted) in [
        (
            "Default: 1024",
            "Default: 256",
            "FI_SHM_TX_SIZE: default `1024` is described, `256` is reported",
        ),
        (
            "16384)",
            "8192).",
            "FI_OFI_RXM_EAGER_LIMIT: default `16384` is described, `8192` is reported",
        ),
        (
            "false/no",
            "true/yes",
            "FI_OFI_RXM_USE_RNDV_WRITE: default `no` is described, `true` is reported",
        ),
        (
            "FI_OFI_RXM_EAGER_LIMIT",
            "FI_OFI_RXM_EAGER",
            "FI_OFI_RXM_EAGER_LIMIT is unknown to the library",
        ),
    ] {
        assert_eq!(found(&text.replace(from, to)), [wanted], "{from} -> {to}");
    }
}

#[test]
fn what_misleads_a_search_is_told_apart() {
    let value = |described| Difference::Value {
        parameter: "p".to_owned(),
        number: "1".to_owned(),
        name: "n".to_owned(),
        described,
    };
    let last = |described| Difference::Last {
        parameter: "p".to_owned(),
        described,
        reported: 5,
    };
    let unknown = Difference::Unknown("p".to_owned());
    for (difference, misleads, is_more) in [
        (value(true), true, false),
        (value(false), false, true),
        (last(6), true, false),
        (last(4), false, true),
        (unknown, false, false),
    ] {
        assert_eq!(
            (difference.misleads(), difference.is_more()),
            (misleads, is_more),
            "{difference}"
        );
    }
}

/// A launcher with a program of its library beside it that is a script.
fn installed(script: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    // Another process writes it: a descriptor open for writing here could be inherited by a child of another test.
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    let mut command = std::process::Command::new("/bin/sh");
    let command = command.args(["-c", write]).arg(directory.path().join("ompi_info"));
    assert!(command.arg(script).status().unwrap().success());
    let launcher = directory.path().join("mpirun");
    (directory, launcher)
}

#[test]
fn a_program_that_does_not_answer_is_an_error_that_names_it() {
    let says = "echo ompi:version:full:5.0.1; echo mca:a:b:param:a_b_c:value:1";
    let (_directory, launcher) = installed(says);
    let info = ask(InfoTool::OmpiInfo, &launcher, "5.0.1").unwrap();
    assert_eq!(info.parameters["a_b_c"].default.as_deref(), Some("1"));
    let other = ask(InfoTool::OmpiInfo, &launcher, "4.1.4").unwrap_err();
    assert!(
        other
            .to_string()
            .contains("is of version 5.0.1, and the launcher of 4.1.4"),
        "{other}"
    );
    let missing = ask(InfoTool::ImpiInfo, &launcher, "5.0.1").unwrap_err();
    assert!(matches!(missing, InfoError::Missing { .. }), "{missing}");
    for (script, part) in [("exit 3", "exit status: 3"), ("true", "printed no parameters")] {
        let (_directory, launcher) = installed(script);
        let error = ask(InfoTool::OmpiInfo, &launcher, "5.0.1").unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
