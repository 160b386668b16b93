//! Sizes and classes of datatypes. Those of predefined types are remembered; a derived type's handle can come back as another type.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use kilter_mpi::{MPI_Datatype, constants, envelope, handle, layout};
use kilter_protocol::trace::record::{self, OPERATORS};

const INTEGER: u8 = 2;
const DERIVED: u8 = 7;

/// Name of a class; `None` for calls without a datatype.
pub(crate) fn class_name(class: u8) -> Option<&'static str> {
    Some(record::class_name(class)).filter(|name| !name.is_empty())
}

/// Size and class of a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) bytes: u64,
    pub(crate) class: u8,
    /// True for a predefined type whose elements lie in memory as in a message. Others may do so, too.
    pub(crate) is_plain: bool,
}

impl Element {
    /// In a word: size in bytes times 32, class, and the bit of a plain one. Not 0, since no class is.
    fn bits(self) -> u64 {
        self.bytes << 5 | u64::from(self.class & 15) << 1 | u64::from(self.is_plain)
    }

    #[inline]
    fn of_bits(bits: u64) -> Element {
        Element {
            bytes: bits >> 5,
            class: (bits >> 1) as u8 & 15,
            is_plain: bits & 1 != 0,
        }
    }
}

const PLACE_BITS: u32 = 7;

struct Place {
    /// The handle's bits and 1; 0 while the place is free.
    handle: AtomicUsize,
    /// [`Element::bits`]; 0 until it is known.
    element: AtomicU64,
}

static KNOWN: [Place; 1 << PLACE_BITS] = [const {
    Place {
        handle: AtomicUsize::new(0),
        element: AtomicU64::new(0),
    }
}; 1 << PLACE_BITS];

/// Size and class of `datatype`.
///
/// # Safety
/// `datatype` is valid.
#[inline]
pub(crate) unsafe fn element(datatype: MPI_Datatype) -> Element {
    let bits = handle::bits(datatype);
    let spread = (bits as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACE_BITS);
    let place = &KNOWN[spread as usize];
    if place.handle.load(Ordering::Acquire) == bits.wrapping_add(1) {
        let known = place.element.load(Ordering::Relaxed);
        if known != 0 {
            return Element::of_bits(known);
        }
    }
    // SAFETY: by this function's contract.
    unsafe { ask(datatype, place) }
}

/// # Safety
/// `datatype` is valid.
#[cold]
unsafe fn ask(datatype: MPI_Datatype, place: &Place) -> Element {
    let mut bytes: mpi_sys::MPI_Count = 0;
    // SAFETY: a count is written; the type is valid by this function's contract.
    let is_named = unsafe {
        mpi_sys::PMPI_Type_size_x(datatype, &raw mut bytes);
        envelope::is_named(datatype)
    };
    let bytes = u64::try_from(bytes).unwrap_or(0);
    if !is_named {
        return Element {
            bytes,
            class: DERIVED,
            is_plain: false,
        };
    }
    let element = Element {
        bytes,
        class: class_of(&name(datatype)),
        is_plain: layout::is_stream(datatype).unwrap_or(false),
    };
    if place
        .handle
        .compare_exchange(
            0,
            handle::bits(datatype).wrapping_add(1),
            Ordering::AcqRel,
            Ordering::Acquire,
        )
        .is_ok()
    {
        place.element.store(element.bits(), Ordering::Release);
    }
    element
}

/// Name of a predefined type; empty if the library has none.
fn name(datatype: MPI_Datatype) -> String {
    // The standard's MPI_MAX_OBJECT_NAME is at most 256 in every library.
    let mut text = [0_u8; 1024];
    let mut length: c_int = 0;
    // SAFETY: the buffer is longer than any name.
    unsafe { mpi_sys::PMPI_Type_get_name(datatype, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
    CStr::from_bytes_until_nul(&text)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Predefined types of a value and an index. `LONG_LONG_INT` is no pair.
const PAIRS: [&str; 5] = ["FLOAT_INT", "DOUBLE_INT", "LONG_DOUBLE_INT", "LONG_INT", "SHORT_INT"];

/// Class of the predefined type of this name.
fn class_of(name: &str) -> u8 {
    let name = name.strip_prefix("MPI_").unwrap_or(name);
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if PAIRS.contains(&name) || name.starts_with('2') {
        6
    } else if has(&["BYTE", "CHAR", "PACKED"]) {
        1
    } else if has(&["BOOL", "LOGICAL"]) {
        5
    } else if has(&["COMPLEX"]) {
        4
    } else if has(&["FLOAT", "DOUBLE", "REAL"]) {
        3
    } else {
        INTEGER
    }
}

/// Number of the program's own operators.
const USER: u8 = OPERATORS.len() as u8;

/// Number of an operator: 1 to 12 for the standard's, whose names are in the order of [`constants::predefined_ops`], 13 for the program's own.
#[inline]
pub(crate) fn operator(op: kilter_mpi::MPI_Op) -> u8 {
    let number = constants::predefined_ops().iter().position(|known| *known == op);
    number.map_or(USER, |number| number as u8 + 1)
}

/// Name of an operator; `None` for calls without one.
pub(crate) fn operator_name(number: u8) -> Option<&'static str> {
    Some(record::operator_name(number)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_a_word() {
        for bytes in [0, 1, 16, 1 << 40] {
            for class in 1..=DERIVED {
                for is_plain in [false, true] {
                    let element = Element { bytes, class, is_plain };
                    assert_ne!(element.bits(), 0);
                    assert_eq!(Element::of_bits(element.bits()), element);
                }
            }
        }
    }

    #[test]
    fn classes_follow_from_names() {
        for (names, expected) in [
            (["MPI_BYTE", "MPI_CHAR", "MPI_CHARACTER"], "byte"),
            (["MPI_INT", "MPI_INTEGER8", "MPI_UNSIGNED_LONG"], "integer"),
            (["MPI_LONG_LONG_INT", "MPI_LONG_LONG", "MPI_UNSIGNED"], "integer"),
            (["MPI_LONG_INT", "MPI_SHORT_INT", "MPI_LONG_DOUBLE_INT"], "pair"),
            (["MPI_DOUBLE", "MPI_REAL", "MPI_DOUBLE_PRECISION"], "real"),
            (["MPI_C_DOUBLE_COMPLEX", "MPI_COMPLEX", "MPI_DOUBLE_COMPLEX"], "complex"),
            (["MPI_C_BOOL", "MPI_LOGICAL", "MPI_CXX_BOOL"], "logical"),
            (["MPI_DOUBLE_INT", "MPI_2INT", "MPI_2REAL"], "pair"),
        ] {
            for name in names {
                assert_eq!(class_name(class_of(name)), Some(expected), "{name}");
            }
        }
        assert_eq!((class_name(0), class_name(15)), (None, None));
        assert_eq!(
            (operator_name(0), operator_name(3), operator_name(USER)),
            (None, Some("MPI_SUM"), Some("user"))
        );
        assert_eq!(operator_name(15), None);
    }
}
