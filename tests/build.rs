//! One test at a time: launchers and measurements share the machine's cores. Cargo sets the variable when it runs the tests.

fn main() {
    println!("cargo::rustc-env=RUST_TEST_THREADS=1");
    println!("cargo::rerun-if-changed=build.rs");
}
