//! JSON as Open MPI reads it, with the order of keys, keys that stand twice, and lines.
//!
//! Its parser differs from the standard: a comma may stand before the end of a list or an object, a mark of UTF-8 before everything, an
//! unknown escape is the character itself, and a string may go over lines. It has no comments. A number with a point, an exponent or more than 63 bits is no integer.
//! Source: `opal/util/json` of the development branch.

use crate::rules::RulesError;

/// Lists and objects in each other at most, lest a file of brackets exhausts the stack.
const DEEPEST: usize = 64;

/// A value and the line on which it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// `null`, `true` or `false`.
    Word(&'static str),
    Integer(i64),
    /// A number that is no integer, as it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// Keys in their order.
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Reads a file's text.
    pub(super) fn parse(text: &str) -> Result<Node, RulesError> {
        let mut reader = Reader {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            line: 1,
        };
        let node = reader.node(0)?;
        reader.blanks();
        match reader.rest.chars().next() {
            None => Ok(node),
            Some(other) => Err(reader.unexpected(other, "nothing follows the last bracket")),
        }
    }

    /// The first value of a key, which is the one that the library finds; `None` if it is no object or has no such key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let (_, node) = self.entries().iter().find(|(own, _)| own == key)?;
        Some(node)
    }

    /// Keys and values of an object.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Object(entries) => entries,
            _ => &[],
        }
    }

    /// The text, indented.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, depth: usize) {
        let indent = |text: &mut String, depth: usize| {
            text.push('\n');
            text.push_str(&"  ".repeat(depth));
        };
        match &self.value {
            Value::Word(word) => text.push_str(word),
            Value::Integer(number) => text.push_str(&number.to_string()),
            Value::Number(number) => text.push_str(number),
            Value::Text(string) => text.push_str(&quoted(string)),
            Value::List(list) => {
                text.push('[');
                for (position, node) in list.iter().enumerate() {
                    text.push_str(if position == 0 { "" } else { "," });
                    indent(text, depth + 1);
                    node.write(text, depth + 1);
                }
                if !list.is_empty() {
                    indent(text, depth);
                }
                text.push(']');
            }
            Value::Object(entries) => {
                text.push('{');
                for (position, (key, node)) in entries.iter().enumerate() {
                    text.push_str(if position == 0 { "" } else { "," });
                    indent(text, depth + 1);
                    text.push_str(&quoted(key));
                    text.push_str(": ");
                    node.write(text, depth + 1);
                }
                if !entries.is_empty() {
                    indent(text, depth);
                }
                text.push('}');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
}

impl Reader<'_> {
    fn error(&self, message: String) -> RulesError {
        RulesError {
            line: self.line,
            message,
        }
    }

    fn unexpected(&self, found: char, allowed: &str) -> RulesError {
        let comment = if matches!(found, '/' | '#') {
            " (Open MPI reads no comments in JSON)"
        } else {
            ""
        };
        self.error(format!("`{found}` is not expected{comment}; {allowed}"))
    }

    fn next(&mut self) -> Result<char, RulesError> {
        let Some(next) = self.rest.chars().next() else {
            return Err(self.error("the file ends within a value".to_owned()));
        };
        self.rest = &self.rest[next.len_utf8()..];
        if next == '\n' {
            self.line += 1;
        }
        Ok(next)
    }

    fn blanks(&mut self) {
        while self.rest.starts_with([' ', '\t', '\r', '\n']) {
            // There is one.
            let _ = self.next();
        }
    }

    /// The next character behind blanks, which stays.
    fn seen(&mut self) -> Result<char, RulesError> {
        self.blanks();
        match self.rest.chars().next() {
            Some(found) => Ok(found),
            None => Err(self.error("the file ends where a bracket should close".to_owned())),
        }
    }

    fn node(&mut self, depth: usize) -> Result<Node, RulesError> {
        if depth > DEEPEST {
            return Err(self.error(format!("more than {DEEPEST} brackets in each other")));
        }
        let found = self.seen()?;
        let line = self.line;
        let value = match found {
            '{' => self.object(depth)?,
            '[' => self.list(depth)?,
            '"' => Value::Text(self.string()?),
            '-' | '0'..='9' => self.number()?,
            other => {
                let words = ["null", "true", "false"];
                let Some(word) = words.into_iter().find(|word| self.rest.starts_with(word)) else {
                    return Err(self.unexpected(other, "a value begins with `{`, `[`, `\"`, `-` or a digit"));
                };
                self.rest = &self.rest[word.len()..];
                Value::Word(word)
            }
        };
        Ok(Node { line, value })
    }

    fn object(&mut self, depth: usize) -> Result<Value, RulesError> {
        self.next()?;
        let mut entries = Vec::new();
        loop {
            match self.seen()? {
                '}' => break,
                '"' => {
                    let key = self.string()?;
                    match self.seen()? {
                        ':' => self.next()?,
                        other => return Err(self.unexpected(other, "a key is followed by `:`")),
                    };
                    entries.push((key, self.node(depth + 1)?));
                    if !self.comma('}')? {
                        break;
                    }
                }
                other => return Err(self.unexpected(other, "an object has keys in `\"`, with commas between")),
            }
        }
        self.next()?;
        Ok(Value::Object(entries))
    }

    fn list(&mut self, depth: usize) -> Result<Value, RulesError> {
        self.next()?;
        let mut list = Vec::new();
        while self.seen()? != ']' {
            list.push(self.node(depth + 1)?);
            if !self.comma(']')? {
                break;
            }
        }
        self.next()?;
        Ok(Value::List(list))
    }

    /// Takes a comma behind a value; false if `end` follows instead.
    fn comma(&mut self, end: char) -> Result<bool, RulesError> {
        match self.seen()? {
            ',' => self.next().map(|_| true),
            found if found == end => Ok(false),
            other => Err(self.unexpected(other, &format!("a value is followed by `,` or `{end}`"))),
        }
    }

    fn string(&mut self) -> Result<String, RulesError> {
        self.next()?;
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => return Ok(text),
                '\\' => text.push(self.escape()?),
                other => text.push(other),
            }
        }
    }

    fn escape(&mut self) -> Result<char, RulesError> {
        Ok(match self.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let mut code = self.hexadecimal()?;
                if code & 0xf800 == 0xd800 {
                    if (self.next()?, self.next()?) != ('\\', 'u') {
                        return Err(self.error("half a pair of `\\u`".to_owned()));
                    }
                    code = 0x1_0000 | ((code & 0x3ff) << 10) | (self.hexadecimal()? & 0x3ff);
                }
                char::from_u32(code).ok_or_else(|| self.error(format!("`\\u{code:04x}` is no character")))?
            }
            other => other,
        })
    }

    fn hexadecimal(&mut self) -> Result<u32, RulesError> {
        let mut code = 0;
        for _ in 0..4 {
            let found = self.next()?;
            let digit = found
                .to_digit(16)
                .ok_or_else(|| self.unexpected(found, "`\\u` is followed by four hexadecimal digits"))?;
            code = code * 16 + digit;
        }
        Ok(code)
    }

    fn number(&mut self) -> Result<Value, RulesError> {
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c)));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let digits = word.strip_prefix('-').unwrap_or(word);
        let zero_first = digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit();
        // Numbers of the standard are numbers to the library.
        if zero_first || serde_json::from_str::<f64>(word).is_err() {
            return Err(self.error(format!("`{word}` is no number")));
        }
        self.rest = rest;
        let magnitude: Option<i64> = digits.parse().ok();
        Ok(match magnitude {
            Some(number) if word.starts_with('-') => Value::Integer(-number),
            Some(number) => Value::Integer(number),
            None => Value::Number(word.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the library takes it, and a standard parser does not.
    #[test]
    fn commas_may_stand_last_and_keys_twice() {
        let node =
            Node::parse("\u{feff}{ \"b\": [1, -2,],\n\"a\": \"x\\qy\n\\u00e4\\ud83d\\ude00\", \"b\": null, }").unwrap();
        let list = Value::List(
            [1, -2]
                .map(|number| Node {
                    line: 1,
                    value: Value::Integer(number),
                })
                .to_vec(),
        );
        assert_eq!(node.get("b").unwrap().value, list);
        assert_eq!(
            node.get("a").unwrap().value,
            Value::Text("xqy\n\u{e4}\u{1f600}".to_owned())
        );
        let keys: Vec<&str> = node.entries().iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["b", "a", "b"]);
        assert_eq!(node.entries()[2].1.line, 3);
        assert_eq!(Node::parse(&node.to_text()).unwrap().to_text(), node.to_text());
    }

    #[test]
    fn what_is_no_integer_keeps_its_text() {
        for text in ["4.0", "1e3", "9223372036854775808", "-9223372036854775808"] {
            assert_eq!(Node::parse(text).unwrap().value, Value::Number(text.to_owned()));
        }
        assert_eq!(
            Node::parse("9223372036854775807").unwrap().value,
            Value::Integer(i64::MAX)
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, line, part) in [
            ("{\n// why\n\"a\": 1 }", 2, "reads no comments"),
            ("{ \"a\": 1\n# why\n}", 2, "reads no comments"),
            ("[1 2]", 1, "followed by `,` or `]`"),
            ("{ , }", 1, "keys in `\"`"),
            ("[,]", 1, "a value begins"),
            ("{ \"a\"\n1 }", 2, "followed by `:`"),
            ("{ \"a\": 010 }", 1, "`010` is no number"),
            ("[1..2]", 1, "`1..2` is no number"),
            ("[-]", 1, "`-` is no number"),
            ("[yes]", 1, "a value begins"),
            ("[1,\n", 2, "ends where a bracket"),
            ("\"a", 1, "ends within a value"),
            ("[] []", 1, "nothing follows"),
            ("[\"\\ud800x\"]", 1, "half a pair"),
            ("[\"\\u12g4\"]", 1, "four hexadecimal digits"),
        ] {
            let error = Node::parse(text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
            assert_eq!(error.line, line, "{text}: {error}");
        }
        assert!(
            Node::parse(&"[".repeat(10_000))
                .unwrap_err()
                .message
                .contains("64 brackets")
        );
    }
}
