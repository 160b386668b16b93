//! Lines of JSON: reading and writing whatever tuner and programs tell each other.
//!
//! Readers and writers are compiled here, once. A crate that asks `serde_json` itself has them compiled into it once more, and the worker is
//! compiled for each MPI library.

use std::collections::BTreeMap;

/// Data with a form as a line of JSON.
pub trait JsonLine: Sized {
    /// The line, without its end.
    fn to_json(&self) -> Result<String, serde_json::Error>;

    /// The data of a line.
    fn from_json(line: &[u8]) -> Result<Self, serde_json::Error>;
}

/// Makes these types [`JsonLine`]s; a module with a line invokes it.
macro_rules! json_lines {
    ($($data:ty),* $(,)?) => {$(
        impl $crate::json_line::JsonLine for $data {
            fn to_json(&self) -> Result<String, serde_json::Error> {
                serde_json::to_string(self)
            }

            fn from_json(line: &[u8]) -> Result<Self, serde_json::Error> {
                serde_json::from_slice(line)
            }
        }
    )*};
}

pub(crate) use json_lines;

// Told among the ranks of a job.
json_lines![
    Vec<u64>,
    Vec<Vec<u64>>,
    Vec<(String, String)>,
    BTreeMap<String, usize>,
    (String, BTreeMap<String, String>),
    (String, String, usize),
    (u64, bool),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let of_files = (
            "n0".to_owned(),
            BTreeMap::from([("/etc/x".to_owned(), "1\n2".to_owned())]),
        );
        let line = of_files.to_json().unwrap();
        assert_eq!(line, r#"["n0",{"/etc/x":"1\n2"}]"#);
        assert_eq!(
            <(String, BTreeMap<String, String>)>::from_json(line.as_bytes()).unwrap(),
            of_files
        );
        assert!(Vec::<u64>::from_json(b"[1, 2").is_err());
    }
}
