//! Data that are combined: elements, and the operator.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Element;

/// Operators of MPI that every library has for numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    Sum,
    Product,
    Max,
    Min,
    And,
    Or,
    Xor,
}

impl Operator {
    /// All operators.
    pub const ALL: [Operator; 7] = [
        Operator::Sum,
        Operator::Product,
        Operator::Max,
        Operator::Min,
        Operator::And,
        Operator::Or,
        Operator::Xor,
    ];

    /// The name in MPI.
    #[must_use]
    pub const fn mpi_name(self) -> &'static str {
        match self {
            Operator::Sum => "MPI_SUM",
            Operator::Product => "MPI_PROD",
            Operator::Max => "MPI_MAX",
            Operator::Min => "MPI_MIN",
            Operator::And => "MPI_BAND",
            Operator::Or => "MPI_BOR",
            Operator::Xor => "MPI_BXOR",
        }
    }

    /// The operator of this name in MPI.
    #[must_use]
    pub fn named(name: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|one| one.mpi_name() == name)
    }

    /// True if the operator combines single bits.
    #[must_use]
    pub const fn is_bitwise(self) -> bool {
        matches!(self, Operator::And | Operator::Or | Operator::Xor)
    }

    /// True if MPI combines such elements by this operator.
    #[must_use]
    pub const fn takes(self, element: Element) -> bool {
        match element {
            Element::Byte => self.is_bitwise(),
            Element::Int => true,
            Element::Float | Element::Double => !self.is_bitwise(),
        }
    }
}

/// Elements and the operator that combines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operand {
    /// Type of the elements.
    pub element: Element,
    /// Operator, which takes them.
    pub operator: Operator,
}

impl Operand {
    /// Size of an element, in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.element.bytes()
    }
}

impl From<Element> for Operand {
    /// Elements as they are combined where nothing else is said.
    fn from(element: Element) -> Self {
        let operator = match element {
            Element::Byte => Operator::Or,
            Element::Int | Element::Float | Element::Double => Operator::Sum,
        };
        Operand { element, operator }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.operator.mpi_name(), self.element.mpi_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_an_operator_that_takes_it() {
        for element in Element::ALL {
            let operand = Operand::from(element);
            assert!(operand.operator.takes(element), "{operand}");
        }
        assert_eq!(Operand::from(Element::Double).to_string(), "MPI_SUM of MPI_DOUBLE");
        assert_eq!(Operator::named("MPI_BXOR"), Some(Operator::Xor));
        assert_eq!(Operator::named("MPI_MAXLOC"), None);
    }
}
