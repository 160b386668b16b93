//! The language of conditions: `retries >= 0.01 * requests` compares two sums of products of numbers and names.
//!
//! ```text
//! comparison = sum ( ">" | ">=" | "<" | "<=" | "==" ) sum
//! sum        = product { ( "+" | "-" ) product }
//! product    = factor { ( "*" | "/" ) factor }
//! factor     = number | name | "(" sum ")"
//! ```
//!
//! A name has letters, digits and `_`, and begins with a letter. A comparison whose value is not finite, such as one that divides by 0,
//! does not hold.

/// Parentheses within each other that are read.
const DEEPEST: usize = 32;

/// Characters that an expression may have.
const LONGEST: usize = 400;

/// A sum of products.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    /// A number.
    Number(f64),
    /// A name's value.
    Name(String),
    /// Two expressions and their operator.
    Of(Box<Expression>, Operator, Box<Expression>),
}

/// An operation on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
}

/// A way to compare two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
}

/// A statement on values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Comparison {
    left: Expression,
    order: Order,
    right: Expression,
}

impl Expression {
    /// Reads a whole text. The error says what is allowed.
    pub(crate) fn parse(text: &str) -> Result<Expression, ConditionError> {
        let mut reader = Reader::new(text)?;
        let expression = reader.sum(0)?;
        reader.end()?;
        Ok(expression)
    }

    /// The value, by the values of names; not finite where a name has none.
    pub(crate) fn value(&self, of: &dyn Fn(&str) -> f64) -> f64 {
        match self {
            Expression::Number(number) => *number,
            Expression::Name(name) => of(name),
            Expression::Of(left, operator, right) => {
                let (left, right) = (left.value(of), right.value(of));
                match operator {
                    Operator::Plus => left + right,
                    Operator::Minus => left - right,
                    Operator::Times => left * right,
                    Operator::Over => left / right,
                }
            }
        }
    }

    /// Adds the names that occur.
    pub(crate) fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Expression::Number(_) => {}
            Expression::Name(name) => names.push(name),
            Expression::Of(left, _, right) => {
                left.names(names);
                right.names(names);
            }
        }
    }
}

impl Comparison {
    /// Reads a whole text. The error says what is allowed.
    pub(crate) fn parse(text: &str) -> Result<Comparison, ConditionError> {
        let mut reader = Reader::new(text)?;
        let left = reader.sum(0)?;
        let order = reader.order()?;
        let right = reader.sum(0)?;
        reader.end()?;
        Ok(Comparison { left, order, right })
    }

    /// True if it holds for the values of names.
    pub(crate) fn holds(&self, of: &dyn Fn(&str) -> f64) -> bool {
        let (left, right) = (self.left.value(of), self.right.value(of));
        if !left.is_finite() || !right.is_finite() {
            return false;
        }
        match self.order {
            Order::Above => left > right,
            Order::AtLeast => left >= right,
            Order::Below => left < right,
            Order::AtMost => left <= right,
            Order::Equal => (left - right).abs() == 0.0,
        }
    }

    /// Adds the names that occur.
    pub(crate) fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        self.left.names(names);
        self.right.names(names);
    }
}

/// Mistake in an expression or a comparison.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConditionError {
    /// The text is too long.
    #[error("it has {0} characters; allowed: {LONGEST}")]
    TooLong(usize),
    /// The parentheses are too deep.
    #[error("more than {DEEPEST} parentheses are within each other")]
    TooDeep,
    /// A word begins as a number and is none.
    #[error("`{0}` is no number such as 0.01")]
    NoNumber(String),
    /// Something is missing at the end.
    #[error("it ends where {0} is expected")]
    Ends(&'static str),
    /// The rest of the text is something else.
    #[error("`{rest}` stands where {expected} is expected")]
    Expected { rest: String, expected: &'static str },
    /// The rest of the text is too much.
    #[error("`{0}` stands behind its end")]
    Behind(String),
}

/// A text that is read from its beginning.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Result<Reader<'a>, ConditionError> {
        if text.len() > LONGEST {
            return Err(ConditionError::TooLong(text.len()));
        }
        Ok(Reader { rest: text.trim() })
    }

    /// Skips what is expected, if it is next.
    fn takes(&mut self, expected: &str) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self, depth: usize) -> Result<Expression, ConditionError> {
        let mut left = self.product(depth)?;
        loop {
            let operator = match self.rest.chars().next() {
                Some('+') => Operator::Plus,
                Some('-') => Operator::Minus,
                _ => return Ok(left),
            };
            self.rest = self.rest[1..].trim_start();
            left = Expression::Of(Box::new(left), operator, Box::new(self.product(depth)?));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Expression, ConditionError> {
        let mut left = self.factor(depth)?;
        loop {
            let operator = match self.rest.chars().next() {
                Some('*') => Operator::Times,
                Some('/') => Operator::Over,
                _ => return Ok(left),
            };
            self.rest = self.rest[1..].trim_start();
            left = Expression::Of(Box::new(left), operator, Box::new(self.factor(depth)?));
        }
    }

    fn factor(&mut self, depth: usize) -> Result<Expression, ConditionError> {
        if self.takes("(") {
            if depth >= DEEPEST {
                return Err(ConditionError::TooDeep);
            }
            let inner = self.sum(depth + 1)?;
            return if self.takes(")") {
                Ok(inner)
            } else {
                Err(self.expected("a `)`"))
            };
        }
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.')
            .unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let expression = match word.chars().next() {
            Some(first) if first.is_ascii_digit() => {
                let number = word.parse().ok().filter(|number: &f64| number.is_finite());
                Expression::Number(number.ok_or_else(|| ConditionError::NoNumber(word.to_owned()))?)
            }
            Some(first) if first.is_ascii_alphabetic() && !word.contains('.') => Expression::Name(word.to_owned()),
            _ => {
                return Err(self.expected("a number, a quantity's name or a `(`"));
            }
        };
        self.rest = self.rest[end..].trim_start();
        Ok(expression)
    }

    fn order(&mut self) -> Result<Order, ConditionError> {
        let orders = [
            (">=", Order::AtLeast),
            ("<=", Order::AtMost),
            ("==", Order::Equal),
            (">", Order::Above),
            ("<", Order::Below),
        ];
        for (sign, order) in orders {
            if self.takes(sign) {
                return Ok(order);
            }
        }
        Err(self.expected("one of > >= < <= =="))
    }

    /// Error for something else that stands next.
    fn expected(&self, expected: &'static str) -> ConditionError {
        if self.rest.is_empty() {
            return ConditionError::Ends(expected);
        }
        ConditionError::Expected {
            rest: self.rest.to_owned(),
            expected,
        }
    }

    fn end(&self) -> Result<(), ConditionError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(ConditionError::Behind(self.rest.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> f64 {
        match name {
            "retries" => 50.0,
            "requests" => 1000.0,
            _ => f64::NAN,
        }
    }

    #[test]
    fn comparisons_hold_or_not() {
        for (text, wanted) in [
            ("retries > 0", true),
            ("retries >= 0.05 * requests", true),
            ("retries > 0.05 * requests", false),
            ("retries / requests == 0.05", true),
            ("2 + 3 * 4 == 14", true),
            ("(2 + 3) * 4 == 20", true),
            ("10 - 3 - 2 == 5", true),
            ("8 / 2 / 2 <= 2", true),
            ("retries / 0 > 1", false),
            ("retries / 0 < 1", false),
            ("unknown >= 0", false),
        ] {
            assert_eq!(Comparison::parse(text).unwrap().holds(&value), wanted, "{text}");
        }
    }

    #[test]
    fn errors_say_what_is_expected() {
        let errors: Vec<String> = [
            "",
            "retries",
            "retries >",
            "retries > 1 1",
            "(retries > 1",
            "1.2.3 > 0",
            "retries ~ 1",
            "1 > -2",
        ]
        .into_iter()
        .map(|text| Comparison::parse(text).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"), @r"
        it ends where a number, a quantity's name or a `(` is expected
        it ends where one of > >= < <= == is expected
        it ends where a number, a quantity's name or a `(` is expected
        `1` stands behind its end
        `> 1` stands where a `)` is expected
        `1.2.3` is no number such as 0.01
        `~ 1` stands where one of > >= < <= == is expected
        `-2` stands where a number, a quantity's name or a `(` is expected
        ");
        let error = |text: &str| Expression::parse(text).unwrap_err();
        assert_eq!(error(&"(".repeat(LONGEST)), ConditionError::TooDeep);
        assert_eq!(error(&"1".repeat(LONGEST + 1)), ConditionError::TooLong(LONGEST + 1));
    }
}
