//! From the structures of the plugin ABI to the description of a row.

use std::ffi::{CStr, c_char};

use kilter_abi::{
    Algorithm, NEEDS_COMMUTATIVE, NEEDS_EVEN_RANKS, NEEDS_INT_VOLUME, NEEDS_KNOWN, NEEDS_ONE_NODE,
    NEEDS_POWER_OF_TWO_RANKS, NEEDS_PREDEFINED_OPERATOR,
};
use kilter_algorithms::Collective;
use kilter_protocol::row::{Needs, Parameter, Row, Scratch};

/// Checks a row and describes it, but for its scratch.
///
/// # Errors
/// The row violates the ABI.
///
/// # Safety
/// Its pointers are null or as the ABI says.
pub(crate) unsafe fn row(algorithm: &Algorithm) -> Result<Row, &'static str> {
    // SAFETY: by this function's contract.
    let id = unsafe { text(algorithm.id) }.ok_or("its id is no text")?;
    let name = kilter_abi::COLLECTIVES.get(algorithm.collective as usize).copied();
    let collective: Collective = name
        .and_then(|name| name.parse().ok())
        .ok_or("its collective is unknown")?;
    if id.split_once('.').is_none_or(|(before, _)| before != collective.name()) {
        return Err("its id does not begin with its collective and a dot");
    }
    if algorithm.needs & !NEEDS_KNOWN != 0 {
        return Err("it needs what this drop-in does not know");
    }
    let list: &[kilter_abi::Parameter] = if algorithm.parameter_count == 0 || algorithm.parameters.is_null() {
        &[]
    } else {
        // SAFETY: by this function's contract.
        unsafe { std::slice::from_raw_parts(algorithm.parameters, algorithm.parameter_count as usize) }
    };
    if list.len() != algorithm.parameter_count as usize {
        return Err("its parameters are missing");
    }
    // SAFETY: by this function's contract.
    let parameters = list.iter().map(|one| unsafe { parameter(one) });
    Ok(Row {
        id: id.to_owned(),
        collective,
        needs: needs(algorithm.needs),
        parameters: parameters.collect::<Result<_, _>>()?,
        scratch: None,
    })
}

/// # Safety
/// As for [`row`].
unsafe fn parameter(parameter: &kilter_abi::Parameter) -> Result<Parameter, &'static str> {
    let kilter_abi::Parameter {
        name,
        min,
        max,
        default_value: default,
    } = *parameter;
    // SAFETY: by this function's contract.
    let name = unsafe { text(name) }.ok_or("a parameter's name is no text")?;
    if !(min..=max).contains(&default) {
        return Err("a parameter's default lies out of its range");
    }
    Ok(Parameter {
        name: name.to_owned(),
        min,
        max,
        default,
    })
}

fn needs(bits: u32) -> Needs {
    Needs {
        commutative: bits & NEEDS_COMMUTATIVE != 0,
        predefined_operator: bits & NEEDS_PREDEFINED_OPERATOR != 0,
        power_of_two_ranks: bits & NEEDS_POWER_OF_TWO_RANKS != 0,
        even_ranks: bits & NEEDS_EVEN_RANKS != 0,
        int_volume: bits & NEEDS_INT_VOLUME != 0,
        one_node: bits & NEEDS_ONE_NODE != 0,
    }
}

/// `None` where the row does not say what it keeps.
pub(crate) fn scratch(said: kilter_abi::Scratch) -> Option<Scratch> {
    let kilter_abi::Scratch {
        is_known,
        fixed_bytes,
        bytes_per_rank,
        volumes,
        blocks,
        segments,
    } = said;
    (is_known != 0).then_some(Scratch {
        fixed_bytes,
        bytes_per_rank,
        volumes,
        blocks,
        segments,
    })
}

/// # Safety
/// Null, or a C string that lives as long as the result is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: by this function's contract.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: [kilter_abi::Parameter; 1] = [kilter_abi::Parameter {
        name: c"segment_bytes".as_ptr(),
        min: 1,
        max: 9,
        default_value: 3,
    }];

    const GOOD: Algorithm = Algorithm {
        id: c"bcast.test".as_ptr(),
        collective: 2,
        needs: NEEDS_ONE_NODE | NEEDS_EVEN_RANKS,
        parameter_count: 1,
        reserved: 0,
        parameters: PARAMETERS.as_ptr(),
        data: std::ptr::null(),
        run: None,
    };

    fn described(algorithm: &Algorithm) -> Result<Row, &'static str> {
        // SAFETY: the row's pointers are those of constants.
        unsafe { row(algorithm) }
    }

    #[test]
    fn a_row_is_described_as_it_is() {
        let segment = Parameter {
            name: "segment_bytes".to_owned(),
            min: 1,
            max: 9,
            default: 3,
        };
        let expected = Row {
            id: "bcast.test".to_owned(),
            collective: Collective::Bcast,
            needs: Needs {
                one_node: true,
                even_ranks: true,
                ..Needs::default()
            },
            parameters: vec![segment],
            scratch: None,
        };
        assert_eq!(described(&GOOD), Ok(expected));
    }

    #[test]
    fn each_bit_is_a_need_of_its_own() {
        let all: Vec<Needs> = (0..NEEDS_KNOWN.count_ones()).map(|bit| needs(1 << bit)).collect();
        for (place, one) in all.iter().enumerate() {
            assert_ne!(*one, Needs::default(), "bit {place}");
            assert!(!all[..place].contains(one), "bit {place}");
        }
        let power_of_two = Needs {
            power_of_two_ranks: true,
            ..Needs::default()
        };
        assert_eq!(needs(NEEDS_POWER_OF_TWO_RANKS), power_of_two);
    }

    #[test]
    fn what_the_abi_does_not_allow_is_refused() {
        let refused = |algorithm: Algorithm| described(&algorithm).unwrap_err();
        for (algorithm, what) in [
            (
                Algorithm {
                    id: std::ptr::null(),
                    ..GOOD
                },
                "no text",
            ),
            (Algorithm { collective: 99, ..GOOD }, "unknown"),
            (Algorithm { collective: 1, ..GOOD }, "begin with its collective"),
            (Algorithm { needs: 1 << 31, ..GOOD }, "does not know"),
            (
                Algorithm {
                    parameters: std::ptr::null(),
                    ..GOOD
                },
                "missing",
            ),
        ] {
            let said = refused(algorithm);
            assert!(said.contains(what), "{said}");
        }
        let out_of_range = [kilter_abi::Parameter {
            default_value: 10,
            ..PARAMETERS[0]
        }];
        let said = refused(Algorithm {
            parameters: out_of_range.as_ptr(),
            ..GOOD
        });
        assert!(said.contains("out of its range"), "{said}");
    }
}
