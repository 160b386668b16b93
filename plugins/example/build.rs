//! An unresolved symbol is an error when the plugin is built, not when a program starts.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,defs");
}
