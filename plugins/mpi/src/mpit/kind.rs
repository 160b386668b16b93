//! C types of control variables, and their values as text.

use std::ffi::{CStr, CString, c_int, c_long, c_longlong, c_uint, c_ulong, c_ulonglong};

use mpi_sys::MPI_Datatype;

use crate::constants;

/// The C type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Unsigned,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Bool,
    Text,
    Double,
}

impl Kind {
    pub(super) fn of(datatype: MPI_Datatype) -> Option<Kind> {
        let kinds = [
            (constants::int(), Kind::Int),
            (constants::unsigned(), Kind::Unsigned),
            (constants::long(), Kind::Long),
            (constants::unsigned_long(), Kind::UnsignedLong),
            (constants::long_long(), Kind::LongLong),
            (constants::unsigned_long_long(), Kind::UnsignedLongLong),
            (constants::count(), Kind::LongLong),
            (constants::int32(), Kind::Int),
            (constants::uint32(), Kind::Unsigned),
            (constants::int64(), Kind::LongLong),
            (constants::uint64(), Kind::UnsignedLongLong),
            (constants::c_bool(), Kind::Bool),
            (constants::char(), Kind::Text),
            (constants::double(), Kind::Double),
        ];
        kinds
            .into_iter()
            .find(|(candidate, _)| *candidate == datatype)
            .map(|(_, kind)| kind)
    }

    pub(super) fn allowed(self) -> &'static str {
        match self {
            Kind::Int => "an int",
            Kind::Unsigned => "an unsigned int",
            Kind::Long => "a long",
            Kind::UnsignedLong => "an unsigned long",
            Kind::LongLong => "a long long",
            Kind::UnsignedLongLong => "an unsigned long long",
            Kind::Bool => "true, false, 1 or 0",
            Kind::Text => "text without NUL",
            Kind::Double => "a finite number",
        }
    }

    pub(super) fn parse(self, value: &str) -> Option<Vec<u8>> {
        let trimmed = value.trim();
        Some(match self {
            Kind::Int => trimmed.parse::<c_int>().ok()?.to_ne_bytes().to_vec(),
            Kind::Unsigned => trimmed.parse::<c_uint>().ok()?.to_ne_bytes().to_vec(),
            Kind::Long => trimmed.parse::<c_long>().ok()?.to_ne_bytes().to_vec(),
            Kind::UnsignedLong => trimmed.parse::<c_ulong>().ok()?.to_ne_bytes().to_vec(),
            Kind::LongLong => trimmed.parse::<c_longlong>().ok()?.to_ne_bytes().to_vec(),
            Kind::UnsignedLongLong => trimmed.parse::<c_ulonglong>().ok()?.to_ne_bytes().to_vec(),
            Kind::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "enabled" => vec![1],
                "0" | "false" | "no" | "disabled" => vec![0],
                _ => return None,
            },
            Kind::Text => CString::new(value).ok()?.into_bytes_with_nul(),
            Kind::Double => trimmed
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite())?
                .to_ne_bytes()
                .to_vec(),
        })
    }

    /// The value of a variable of an integer type, where an `i64` holds it.
    pub(super) fn integer(self, bytes: &[u8]) -> Option<i64> {
        match self {
            Kind::Double | Kind::Text => None,
            Kind::Bool => bytes.first().map(|byte| i64::from(*byte != 0)),
            _ => self.to_text(bytes).parse().ok(),
        }
    }

    pub(super) fn to_text(self, bytes: &[u8]) -> String {
        macro_rules! number {
            ($type:ty) => {
                bytes
                    .first_chunk()
                    .map(|chunk| <$type>::from_ne_bytes(*chunk).to_string())
                    .unwrap_or_default()
            };
        }
        match self {
            Kind::Int => number!(c_int),
            Kind::Unsigned => number!(c_uint),
            Kind::Long => number!(c_long),
            Kind::UnsignedLong => number!(c_ulong),
            Kind::LongLong => number!(c_longlong),
            Kind::UnsignedLongLong => number!(c_ulonglong),
            Kind::Bool => bytes.first().map(|byte| (*byte != 0).to_string()).unwrap_or_default(),
            Kind::Text => text(bytes),
            Kind::Double => number!(f64),
        }
    }
}

/// A C string in a buffer.
pub(super) fn text(bytes: &[u8]) -> String {
    CStr::from_bytes_until_nul(bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn text_and_bytes_agree() {
        for (kind, value) in [
            (Kind::Int, "-3"),
            (Kind::Unsigned, "4294967295"),
            (Kind::Long, "-9"),
            (Kind::UnsignedLong, "18446744073709551615"),
            (Kind::LongLong, "-1"),
            (Kind::UnsignedLongLong, "7"),
            (Kind::Bool, "true"),
            (Kind::Bool, "false"),
            (Kind::Text, "self,vader"),
            (Kind::Double, "0.25"),
        ] {
            assert_eq!(kind.to_text(&kind.parse(value).unwrap()), value, "{kind:?}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for (kind, value) in [
            (Kind::Int, "2147483648"),
            (Kind::Int, "ring"),
            (Kind::Unsigned, "-1"),
            (Kind::Bool, "2"),
            (Kind::Text, "a\0b"),
            (Kind::Double, "inf"),
        ] {
            assert_eq!(kind.parse(value), None, "{kind:?} {value}");
        }
    }
}
