//! Guideline expressions as text that the parser reads back.

use std::fmt;

use super::{Attributes, Call, Communicator, Counts, Guideline, Layout, Relation, Side, Term};

impl fmt::Display for Attributes {
    /// Each behind a comma.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = [
            (self.in_place, "inplace"),
            (self.posted, "posted"),
            (self.user_operator, "op=user"),
        ];
        for (_, word) in flags.iter().filter(|(set, _)| *set) {
            write!(f, ", {word}")?;
        }
        if self.counts != Counts::Uniform {
            write!(f, ", counts={}", self.counts)?;
        }
        match (self.sendtype, self.recvtype) {
            (send, recv) if send == recv && send != Layout::Contiguous => write!(f, ", type={send}"),
            (send, recv) => {
                for (name, layout) in [("sendtype", send), ("recvtype", recv)] {
                    if layout != Layout::Contiguous {
                        write!(f, ", {name}={layout}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        if let Some(size) = &self.size {
            write!(f, "({size}{})", self.attributes)?;
        }
        if self.on != Communicator::World {
            write!(f, "{{{}}}", self.on.name())?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.repeat.is_one() {
            write!(f, "{} * ", self.repeat)?;
        }
        write!(f, "{}", self.call)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.terms.iter().enumerate() {
            if i > 0 {
                f.write_str(" + ")?;
            }
            write!(f, "{term}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Relation::AtMost => "<=",
            Relation::Similar => "~",
        })
    }
}

impl fmt::Display for Guideline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.relation, self.right)
    }
}
