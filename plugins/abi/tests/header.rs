//! The C header and the Rust types are one ABI; the header stands alone, in C and in C++.

use std::path::{Path, PathBuf};
use std::process::Command;

use kilter_abi::{Algorithm, Arguments, Context, Parameter, Plugin, Scratch};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Runs the MPI compiler wrapper (`$MPICC`, default `mpicc`) with strict warnings.
fn compile(arguments: &[&str], input: &Path, output: &Path) {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let result = Command::new(&mpicc)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I"])
        .arg(source("include"))
        .args(arguments)
        .arg(input)
        .arg("-o")
        .arg(output)
        .output()
        .unwrap_or_else(|error| panic!("cannot run `{mpicc}`: {error}; install an MPI library or set MPICC"));
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
}

macro_rules! structure {
    ($lines:ident, $c:literal, $rust:ty, $($field:ident),*) => {
        $lines.push(format!("{} {}", $c, size_of::<$rust>()));
        $($lines.push(format!("{}.{} {}", $c, stringify!($field), std::mem::offset_of!($rust, $field)));)*
    };
}

fn expected() -> Vec<String> {
    let mut lines = vec![
        format!("magic {}", kilter_abi::MAGIC),
        format!("abi_version {}", kilter_abi::ABI_VERSION),
        format!("mpi_identity {}", kilter_abi::MPI_IDENTITY),
        format!("needs_commutative {}", kilter_abi::NEEDS_COMMUTATIVE),
        format!("needs_power_of_two_ranks {}", kilter_abi::NEEDS_POWER_OF_TWO_RANKS),
        format!("needs_even_ranks {}", kilter_abi::NEEDS_EVEN_RANKS),
        format!("needs_int_volume {}", kilter_abi::NEEDS_INT_VOLUME),
        format!("needs_one_node {}", kilter_abi::NEEDS_ONE_NODE),
        format!("unavailable {}", kilter_abi::UNAVAILABLE),
    ];
    lines.extend(
        kilter_abi::COLLECTIVES
            .iter()
            .enumerate()
            .map(|(number, name)| format!("{name} {number}")),
    );
    structure!(lines, "kilter_parameter", Parameter, name, min, max, default_value);
    structure!(
        lines,
        "kilter_context",
        Context,
        struct_size,
        rank,
        size,
        reserved,
        comm,
        state,
        host,
        grow,
        call
    );
    structure!(
        lines,
        "kilter_arguments",
        Arguments,
        struct_size,
        collective,
        algorithm,
        send,
        recv,
        send_count,
        recv_count,
        send_type,
        recv_type,
        send_counts,
        send_displacements,
        recv_counts,
        recv_displacements,
        op,
        root,
        bytes,
        parameters
    );
    structure!(
        lines,
        "kilter_algorithm",
        Algorithm,
        id,
        collective,
        needs,
        parameter_count,
        reserved,
        parameters,
        data,
        run
    );
    structure!(
        lines,
        "kilter_scratch",
        Scratch,
        is_known,
        fixed_bytes,
        bytes_per_rank,
        volumes,
        blocks,
        segments
    );
    structure!(
        lines,
        "kilter_plugin_v1",
        Plugin,
        magic,
        abi_version,
        struct_size,
        mpi_identity,
        reserved,
        name,
        algorithms,
        release,
        scratch
    );
    lines
}

#[test]
fn sizes_offsets_and_constants_agree() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kilter_plugin_layout");
    compile(&["-std=c11"], &source("tests/layout.c"), &program);
    let output = Command::new(&program).output().expect("the program was just built");
    let printed = String::from_utf8(output.stdout).expect("it prints ASCII");
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(printed, expected());
}

#[test]
fn the_example_compiles_as_a_shared_object() {
    let plugin = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libkilter_example.so");
    compile(
        &["-std=c11", "-shared", "-fPIC"],
        &source("../example/c/kilter_plugin.c"),
        &plugin,
    );
}

#[test]
fn the_header_is_cplusplus_too() {
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kilter_plugin_layout.o");
    compile(
        &[
            "-DOMPI_SKIP_MPICXX",
            "-DMPICH_SKIP_MPICXX",
            "-x",
            "c++",
            "-std=c++17",
            "-c",
        ],
        &source("include/kilter_plugin.h"),
        &object,
    );
}
