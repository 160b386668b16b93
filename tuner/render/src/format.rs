//! Numbers as text, the same in every rendering: sizes, times, ratios, p-values.
//!
//! Values that are not finite are shown as `-`: a report must be writable whatever the samples were.

use std::time::Duration;

/// Shown in place of a number that does not exist.
pub const NONE: &str = "-";

/// A size with the largest binary unit that divides it: `1 B`, `1000 B`, `4 KiB`, `1 MiB`.
///
/// Nothing is rounded, so two different sizes never look alike.
pub fn bytes(n_bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, name) in UNITS {
        if n_bytes >= unit && n_bytes.is_multiple_of(unit) {
            return format!("{} {name}", n_bytes / unit);
        }
    }
    format!("{n_bytes} B")
}

/// A time with three significant digits: `950 ns`, `8.41 us`, `1.20 ms`, `12.0 s`.
pub fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return NONE.to_owned();
    }
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    const UNITS: [(f64, &str); 4] = [(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")];
    for (unit, name) in UNITS {
        let value = seconds / unit;
        // 999.5 would be printed as 1000: it belongs to the next unit.
        if value.abs() < 999.5 || name == "s" {
            return format!("{} {name}", three_digits(value));
        }
    }
    NONE.to_owned()
}

/// A difference of times, with its sign in front: `1.20 ms`, `-0.90 s`.
pub fn signed_seconds(difference: f64) -> String {
    let sign = if difference < 0.0 { "-" } else { "" };
    format!("{sign}{}", seconds(difference.abs()))
}

/// A ratio with three significant digits, at least two decimals below ten: `2.10`, `0.97`, `12.5`, `310`.
pub fn ratio(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NONE.to_owned();
    }
    if ratio.abs() < 10.0 && ratio.abs() >= 0.005 {
        let text = format!("{ratio:.2}");
        return if text == "10.00" { "10.0".to_owned() } else { text };
    }
    three_digits(ratio)
}

/// An interval of ratios: `[2.02, 2.19]`.
pub fn interval((low, high): (f64, f64)) -> String {
    format!("[{}, {}]", ratio(low), ratio(high))
}

/// A p-value with three decimals, `<0.001` below that, `exact` for 0, which no test gives but exact times do; a fourth decimal where rounding would move it across 0.05.
pub fn p_value(p: f64) -> String {
    if !p.is_finite() {
        return NONE.to_owned();
    }
    if p == 0.0 {
        return "exact".to_owned();
    }
    if p < 0.001 {
        return "<0.001".to_owned();
    }
    let text = format!("{p:.3}");
    let rounded: f64 = text.parse().unwrap_or(p);
    if (p <= 0.05) == (rounded <= 0.05) && (p < 0.05) == (rounded < 0.05) {
        text
    } else {
        format!("{p:.4}")
    }
}

/// Asterisks of an adjusted p-value: `***` up to 0.001, `**` up to 0.01, `*` up to 0.05, nothing above and for exact times.
pub fn stars(p: f64) -> &'static str {
    match p {
        0.0 => "",
        p if p <= 0.001 => "***",
        p if p <= 0.01 => "**",
        p if p <= 0.05 => "*",
        _ => "",
    }
}

/// A fraction as a percentage: `5 %`, `2.5 %`.
pub fn percent(fraction: f64) -> String {
    if !fraction.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{:.1}", fraction * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// A span of seconds for people: `42 s`, `3 min 12 s`, `2 h 5 min`.
pub fn span(seconds: f64) -> String {
    let Ok(whole) = Duration::try_from_secs_f64(seconds.round()) else {
        return NONE.to_owned();
    };
    let s = whole.as_secs();
    match s {
        0..60 => format!("{s} s"),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// A number with its noun: `1 cell`, `3 cells`, `2 launches`.
pub fn count(n: usize, noun: &str) -> String {
    let ending = match n {
        1 => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{n} {noun}{ending}")
}

/// A collective as the standard spells it: `reduce` becomes `MPI_Reduce`. Names with a dot are not the standard's and stay.
pub fn function(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) if !name.contains('.') && !name.starts_with("MPI_") => {
            format!("MPI_{}{}", first.to_ascii_uppercase(), letters.as_str())
        }
        _ => name.to_owned(),
    }
}

/// The two sides of a guideline's text, split at `<=`; the right one is empty when there is no such sign.
pub fn sides(expression: &str) -> (&str, &str) {
    expression
        .split_once("<=")
        .map_or((expression.trim(), ""), |(left, right)| (left.trim(), right.trim()))
}

/// Three significant digits without an exponent.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    match size {
        s if s >= 99.95 => format!("{value:.0}"),
        s if s >= 9.995 => format!("{value:.1}"),
        s if s >= 0.9995 || s == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        let shown: Vec<_> = [0, 1, 1000, 1024, 1500, 4096, 1 << 20, 3 << 19, 1 << 30, 1025]
            .into_iter()
            .map(bytes)
            .collect();
        insta::assert_snapshot!(shown.join(" | "), @"0 B | 1 B | 1000 B | 1 KiB | 1500 B | 4 KiB | 1 MiB | 1536 KiB | 1 GiB | 1025 B");
    }

    #[test]
    fn times_carry_their_unit() {
        let shown: Vec<_> = [
            0.0,
            2.5e-8,
            9.9951e-7,
            1e-6,
            8.4149e-6,
            99.96e-6,
            123.4e-6,
            999.6e-6,
            1.2e-3,
            12.0,
            4000.0,
            f64::NAN,
        ]
        .into_iter()
        .map(seconds)
        .collect();
        insta::assert_snapshot!(
            shown.join(" | "),
            @"0 s | 25.0 ns | 1.00 us | 1.00 us | 8.41 us | 100 us | 123 us | 1.00 ms | 1.20 ms | 12.0 s | 4000 s | -"
        );
    }

    #[test]
    fn ratios_and_p_values() {
        let ratios: Vec<_> = [2.1, 0.97, 9.996, 12.5, 310.0, 0.001, f64::INFINITY]
            .into_iter()
            .map(ratio)
            .collect();
        insta::assert_snapshot!(ratios.join(" | "), @"2.10 | 0.97 | 10.0 | 12.5 | 310 | 0.001 | -");
        let ps: Vec<_> = [0.0, 0.0009, 0.001, 0.0499, 0.0501, 0.05, 0.5, 1.0]
            .into_iter()
            .map(p_value)
            .collect();
        insta::assert_snapshot!(ps.join(" | "), @"exact | <0.001 | 0.001 | 0.0499 | 0.0501 | 0.050 | 0.500 | 1.000");
        assert_eq!(["***", "**", "*", ""], [0.001, 0.01, 0.05, 0.051].map(stars));
        assert_eq!(stars(f64::NAN), "");
    }

    #[test]
    fn words() {
        assert_eq!(function("reduce_scatter_block"), "MPI_Reduce_scatter_block");
        assert_eq!(function("p2p.recursive_doubling"), "p2p.recursive_doubling");
        assert_eq!(function(""), "");
        assert_eq!(
            sides("bcast(n) <= scatter(n) + allgather(n)"),
            ("bcast(n)", "scatter(n) + allgather(n)")
        );
        assert_eq!(sides("no sign"), ("no sign", ""));
        let spans: Vec<_> = [0.4, 42.0, 192.0, 7500.0, -3.0, f64::NAN]
            .into_iter()
            .map(span)
            .collect();
        insta::assert_snapshot!(spans.join(" | "), @"0 s | 42 s | 3 min 12 s | 2 h 5 min | - | -");
        assert_eq!((percent(0.05), percent(0.025)), ("5 %".to_owned(), "2.5 %".to_owned()));
    }
}
