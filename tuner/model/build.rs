//! The command embeds the files under `configs`: a file that is added there must lead to a new build.

fn main() {
    println!("cargo::rerun-if-changed=../../configs");
}
