//! Which connections are listed.

use super::column::state;
use super::model::Row;
use crate::observe::words::set_by;
use std::str::FromStr;

/// Words that must all hold. `cpl=2`, `cpl>0`, `cpl<=3` and the like speak of the level; any other word is a part of the
/// name, the peer, the state or the input that sets the level, in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Part(String),
    Level(Operator, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    Equal,
    AtLeast,
    Greater,
}

// === impl Filter ===

impl Filter {
    /// Of what was typed. A comparison that is not yet whole holds for all.
    pub fn new(text: &str) -> Self {
        Self(text.split_whitespace().filter_map(|word| term(&word.to_lowercase())).collect())
    }

    /// Does it hold for a connection?
    pub fn holds(&self, row: &Row) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let now = &row.now;
        let text = format!("{}\n{}\n{}\n{}", now.name, now.peer, state(row), set_by(now)).to_lowercase();
        self.0.iter().all(|term| match term {
            Term::Part(part) => text.contains(part),
            Term::Level(operator, level) => operator.holds(now.cpl, *level),
        })
    }
}

fn term(word: &str) -> Option<Term> {
    let Some(comparison) = word.strip_prefix("cpl").filter(|rest| rest.starts_with(['<', '=', '>'])) else {
        return Some(Term::Part(word.to_owned()));
    };
    let digits = comparison.trim_start_matches(['<', '=', '>']);
    match (comparison[..comparison.len() - digits.len()].parse(), digits.parse()) {
        (Ok(operator), Ok(level)) => Some(Term::Level(operator, level)),
        _ if digits.is_empty() => None,
        _ => Some(Term::Part(word.to_owned())),
    }
}

// === impl Operator ===

impl Operator {
    const fn holds(self, a: u8, b: u8) -> bool {
        match self {
            Self::Less => a < b,
            Self::AtMost => a <= b,
            Self::Equal => a == b,
            Self::AtLeast => a >= b,
            Self::Greater => a > b,
        }
    }
}

impl FromStr for Operator {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "<" => Self::Less,
            "<=" => Self::AtMost,
            "=" => Self::Equal,
            ">=" => Self::AtLeast,
            ">" => Self::Greater,
            _ => return Err(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(filter: &str) -> bool {
        let mut row = Row::default();
        let now = &mut row.now;
        (now.name, now.peer, now.state) = ("HSS1-a".into(), "hss1.example.net".into(), "I-Open".into());
        (now.cpl, now.set_by) = (2, Some("remote_busy".into()));
        Filter::new(filter).holds(&row)
    }

    #[test]
    fn every_word_must_hold() {
        for yes in ["", "  ", "hss1", "EXAMPLE", "s1-A", "open", "busy", "hss example open"] {
            assert!(holds(yes), "{yes:?}");
        }
        for no in ["hss2", "hss1 hss2", "remote_busy", "ahss1", "netI-Open"] {
            assert!(!holds(no), "{no:?}");
        }
    }

    #[test]
    fn levels_are_compared() {
        for yes in ["cpl=2", "cpl>=2", "cpl<=2", "cpl>0", "cpl<98", "CPL>1 cpl<3", "hss cpl=2"] {
            assert!(holds(yes), "{yes:?}");
        }
        for no in ["cpl=0", "cpl>2", "cpl<2", "cpl>=98", "cpl=2 cpl=3", "cpl=x", "cpl==2", "cpl=999"] {
            assert!(!holds(no), "{no:?}");
        }
        for typing in ["cpl=", "cpl>", "cpl>=", "hss cpl<"] {
            assert!(holds(typing), "{typing:?}");
        }
    }
}
