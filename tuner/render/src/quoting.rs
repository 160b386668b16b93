//! Text inside of formats that give some characters a meaning.

use crate::table::printable;

/// Text for element content and double-quoted attributes. Characters that XML forbids become U+FFFD.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Quoted where a separator, quote or line break asks for it. Text that a spreadsheet would run as a formula gets an
/// apostrophe in front.
pub fn field(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Text on one line that Markdown (as GitHub has it) shows as a terminal does. A backslash stands before characters that are markup where they
/// stand, and before no others: `btl_tcp_eager_limit`, `a * b` and `< 5 %` remain as they are.
pub fn markdown(text: &str) -> String {
    let chars: Vec<char> = printable(text).chars().collect();
    let mut out = String::with_capacity(text.len());
    for (at, c) in chars.iter().enumerate() {
        if is_markup(&chars, at) {
            out.push('\\');
        }
        out.push(*c);
    }
    out
}

fn is_markup(text: &[char], at: usize) -> bool {
    let next = text.get(at + 1).copied();
    match text[at] {
        '`' | '|' => true,
        // The end of the line is the caller's.
        '\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
        '*' | '_' | '~' => is_emphasis(text, at),
        '<' => next.is_none_or(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?')),
        '&' => is_entity(&text[at + 1..]),
        '>' | '[' => at == 0,
        // As the sign or the number of an item of a list.
        '-' | '+' => at == 0 && next == Some(' '),
        '.' | ')' => at > 0 && text[..at].iter().all(char::is_ascii_digit) && next == Some(' '),
        // At the end of a heading as well.
        '#' => at == 0 || next.is_none(),
        ']' => next.is_none_or(|next| matches!(next, '(' | '[')),
        _ => false,
    }
}

/// True if a run of one character may begin or end emphasis: one between blanks may not, nor one of underscores within a word.
fn is_emphasis(text: &[char], at: usize) -> bool {
    let is_other = |c: &&char| **c != text[at];
    let before = text[..at].iter().rev().find(is_other);
    let after = text[at..].iter().find(is_other);
    let both = |is: fn(&char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    let is_within_word = text[at] == '_' && both(char::is_ascii_alphanumeric);
    !is_within_word && !both(|c| *c == ' ')
}

/// True if an ampersand before this would make an entity of it, such as `&lt;`.
fn is_entity(after: &[char]) -> bool {
    let name = after.strip_prefix(&['#']).unwrap_or(after);
    let length = name.iter().take_while(|c| c.is_ascii_alphanumeric()).count();
    length > 0 && name.get(length) == Some(&';')
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn markdown_shows_identifiers_and_numbers_as_they_are() {
        for bare in [
            "btl_tcp_eager_limit=4096",
            "a__b_c",
            "MPI_Gatherv then MPI_Bcast",
            "3 * 4",
            "a _ b",
            "< 5 %",
            "<0.001",
            "x <= y && y >= z",
            "AT&T",
            "2.61 [2.54, 2.69] (A: B)",
            "C:\\temp",
            "issue #17 -> done!",
            "-",
            "-1.5 %",
            "",
        ] {
            assert_eq!(markdown(bare), bare);
        }
    }

    #[test]
    fn markdown_does_not_read_text_as_markup() {
        for (text, escaped) in [
            ("a | b", r"a \| b"),
            (r"a \| b", r"a \\\| b"),
            ("*bold*", r"\*bold\*"),
            ("MPI_*_init", r"MPI\_\*\_init"),
            ("2*3*4", r"2\*3\*4"),
            ("_threshold_", r"\_threshold\_"),
            ("MALLOC_TRIM_THRESHOLD_", r"MALLOC_TRIM_THRESHOLD\_"),
            ("é_e_", r"é\_e\_"),
            ("~~no~~", r"\~\~no\~\~"),
            ("`code`", r"\`code\`"),
            ("<b>x</b>", r"\<b>x\</b>"),
            ("<!-- x", r"\<!-- x"),
            ("&lt; &#60; &x", r"\&lt; \&#60; &x"),
            ("[a](b) ![c](d) [x]: y", r"\[a\](b) ![c\](d) [x]: y"),
            ("# title #", r"\# title \#"),
            ("> said", r"\> said"),
            ("- 1", r"\- 1"),
            ("12. one", r"12\. one"),
            ("one\ntwo\tthree", "one two three"),
            ("end\\", r"end\\"),
        ] {
            assert_eq!(markdown(text), escaped, "{text}");
        }
    }
}
