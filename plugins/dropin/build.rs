//! An unresolved symbol is an error when the drop-in is built, not when a program starts.
//!
//! The large count forms `MPI_X_c` are exported only where the library has them (MPI 4): programs that look for them with
//! `dlsym` must not find what would then have nothing behind it.

use std::process::Command;

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
    println!("cargo:rerun-if-changed=src/probe.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rustc-check-cfg=cfg(large_counts)");
    let mpicc = std::env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
    match Command::new(&mpicc).args(["-E", "-P", "src/probe.c"]).output() {
        Ok(output) if output.status.success() => {
            if String::from_utf8_lossy(&output.stdout).contains("kilter_large_counts yes") {
                println!("cargo:rustc-cfg=large_counts");
            }
        }
        Ok(output) => panic!(
            "`{} -E src/probe.c` failed: {}",
            mpicc.display(),
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => panic!(
            "cannot run `{}`: {error}; name the MPI library's compiler in MPICC",
            mpicc.display()
        ),
    }
}
