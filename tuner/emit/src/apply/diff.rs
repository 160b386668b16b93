//! Changes as a unified diff.

use std::fmt::Write as _;

use similar::TextDiff;

use super::Change;

/// Lines of context.
const CONTEXT: usize = 3;

/// The diff of all changes; `patch` reads it for text files. Links and files that are no text are described in a line.
#[must_use]
pub fn text(changes: &[Change]) -> String {
    let text: String = changes.iter().map(of).collect();
    visible(&text)
}

/// Shows control characters, and those that turn the direction of writing, as escapes: the text shown must be the text asked about.
#[must_use]
pub fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn of(change: &Change) -> String {
    let path = change.path.display().to_string();
    let mut text = String::new();
    // Writing to a string does not fail.
    if let Some(link) = &change.link {
        let _ = writeln!(text, "`{}` is a link to `{path}`", link.display());
    }
    let side = |content: &Option<Vec<u8>>| match content {
        None => Some(String::new()),
        Some(bytes) if bytes.contains(&0) => None,
        // Bytes that are no UTF-8 are only shown, not written.
        Some(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    };
    let (Some(old), Some(new)) = (side(&change.old), side(&change.new)) else {
        let length = |content: &Option<Vec<u8>>| content.as_ref().map_or(0, Vec::len);
        let what = match (&change.old, &change.new) {
            (None, _) => format!("is made, {} bytes", length(&change.new)),
            (_, None) => "is removed".to_owned(),
            _ => format!("is replaced, {} bytes by {}", length(&change.old), length(&change.new)),
        };
        let _ = writeln!(text, "`{path}` {what}");
        return text;
    };
    let name = |content: &Option<Vec<u8>>| {
        if content.is_some() {
            path.clone()
        } else {
            "/dev/null".to_owned()
        }
    };
    let diff = TextDiff::from_lines(&old, &new);
    let mut unified = diff.unified_diff();
    unified
        .context_radius(CONTEXT)
        .header(&name(&change.old), &name(&change.new));
    text.push_str(&unified.to_string());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: Option<&[u8]>, new: Option<&[u8]>) -> Change {
        Change {
            path: "/home/u/f".into(),
            link: None,
            old: old.map(<[u8]>::to_vec),
            new: new.map(<[u8]>::to_vec),
            mode: 0o644,
            block: None,
        }
    }

    #[test]
    fn changed_made_removed_and_binary_files_are_shown() {
        let linked = Change {
            link: Some("/home/u/link".into()),
            ..change(Some(b"a\nb"), Some(b"a\nc\n"))
        };
        let changes = [
            linked,
            change(None, Some(b"x\n")),
            change(Some(b"x\n"), None),
            change(None, Some(b"\x7fELF\0")),
        ];
        insta::assert_snapshot!(text(&changes), @r"
        `/home/u/link` is a link to `/home/u/f`
        --- /home/u/f
        +++ /home/u/f
        @@ -1,2 +1,2 @@
         a
        -b
        \ No newline at end of file
        +c
        --- /dev/null
        +++ /home/u/f
        @@ -0,0 +1 @@
        +x
        --- /home/u/f
        +++ /dev/null
        @@ -1 +0,0 @@
        -x
        `/home/u/f` is made, 5 bytes
        ");
    }

    /// A carriage return and an escape would take the line back that the reader is asked about.
    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let hidden = change(None, Some("x = 1\r\u{1b}[2Ky = 2\u{202e}\n\tz\n".as_bytes()));
        let text = text(&[hidden]);
        // A carriage return ends a line.
        assert!(text.contains("+x = 1\\r+\\u{1b}[2Ky = 2\\u{202e}\n+\tz\n"), "{text}");
    }
}
