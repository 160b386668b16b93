//! Schemas that are published in `configs/schema`: a test of each says that it is what the program writes.

/// Compares the schema `name` with its file; `KILTER_BLESS=1 cargo test -p kilter schema` rewrites the file.
pub(crate) fn assert_current(name: &str, current: &str) {
    let path = format!("{}/../configs/schema/{name}.schema.json", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("KILTER_BLESS").is_some() {
        std::fs::write(&path, current).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap();
    assert!(
        published == current,
        "{path} is stale; run KILTER_BLESS=1 cargo test -p kilter schema"
    );
}
