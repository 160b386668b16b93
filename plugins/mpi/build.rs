//! Compiles `src/constants.c` with the MPI compiler wrapper, which is `$MPICC` or `mpicc`.
//!
//! One target directory serves one MPI library: `mpi-sys` looks at the same variable, but only when it is built first.

fn main() {
    println!("cargo:rerun-if-changed=src/constants.c");
    println!("cargo:rerun-if-changed=smpi");
    println!("cargo:rerun-if-env-changed=MPICC");
    let mpicc = std::env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
    cc::Build::new()
        .compiler(&mpicc)
        .file("src/constants.c")
        .warnings(true)
        .extra_warnings(true)
        .compile("kilter_constants");
}
