//! Reads, writes and checks values of `UCC_TL_UCP_TUNE`, by which UCC's component on UCX is told its scores and algorithms. Never run: no UCC is
//! here. From its user guide and the source of 1.8 (`ucc_coll_score.c`).
//!
//! ```text
//! allreduce:0-4k:@knomial#allreduce:4k-inf:host:[2-8,16]:20:@sra_knomial
//! ```
//!
//! `#` divides tokens and `:` a token's qualifiers, each of them at most once and in any order: collectives, sizes in bytes (`FROM-BELOW`), types
//! of memory, sizes of teams in brackets (both ends included), a score (`inf` wins over every other component, 0 takes this one out), and an
//! algorithm after `@`, by number or name. What is left out means all. The score or the algorithm must be there.
//!
//! The library takes a part of a wrong value, or does without the component, and says so in its log alone. So what is read here is stricter: a token that does nothing is refused,
//! also an empty range, an algorithm that not all of the token's collectives have, and two tokens that name an algorithm for the same call.

use std::fmt::Write as _;

/// Collectives by UCC's names, with the algorithms of its component on UCX in the order of their numbers.
///
/// `reduce_scatter` is `MPI_Reduce_scatter_block`, and `reduce_scatterv` is `MPI_Reduce_scatter`.
const COLLECTIVES: [(&str, &[&str]); 16] = [
    (
        "allgather",
        &["knomial", "ring", "neighbor", "bruck", "sparbit", "linear", "batched"],
    ),
    ("allgatherv", &["ring", "knomial"]),
    (
        "allreduce",
        &["knomial", "sra_knomial", "dbt", "sliding_window", "ring"],
    ),
    ("alltoall", &["pairwise", "bruck", "onesided"]),
    ("alltoallv", &["pairwise", "hybrid", "onesided"]),
    ("barrier", &["knomial"]),
    ("bcast", &["knomial", "sag_knomial", "dbt"]),
    ("fanin", &[]),
    ("fanout", &[]),
    ("gather", &["knomial"]),
    ("gatherv", &["linear"]),
    ("reduce", &["knomial", "dbt", "srg"]),
    ("reduce_scatter", &["ring", "knomial"]),
    ("reduce_scatterv", &["ring"]),
    ("scatter", &[]),
    ("scatterv", &["linear"]),
];

/// Types of memory. The guide also says `cpu`, which no release reads.
const MEMORY: [&str; 5] = ["host", "cuda", "cuda_managed", "rocm", "rocm_managed"];

/// No end of a range, and the highest score.
pub const INF: u64 = u64::MAX;

/// A mistake in the text of the variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// Two tokens name an algorithm for a call that both are about.
    #[error("`{first}` and `{second}` name an algorithm for the same call; divide their sizes")]
    SameCall {
        /// The first token.
        first: String,
        /// The second token.
        second: String,
    },
    /// A word is none of what a token may have.
    #[error("`{token}`: `{word}` is no qualifier; allowed: {}", allowed())]
    NoQualifier {
        /// The token.
        token: String,
        /// The word.
        word: String,
    },
    /// Sizes of teams cannot be read.
    #[error("`{token}`: `{word}` is no qualifier; allowed: [FROM-TO,...] or [RANKS,...]")]
    NoTeams {
        /// The token.
        token: String,
        /// The word in brackets.
        word: String,
    },
    /// A token has two qualifiers of one kind.
    #[error("`{token}`: `{word}` is the second of its kind; leave one out")]
    Second {
        /// The token.
        token: String,
        /// The second word.
        word: String,
    },
    /// A token, which is given, does nothing.
    #[error("`{0}` has neither a score nor an algorithm, and would do nothing")]
    Idle(String),
    /// An algorithm, which is given, is for no collective.
    #[error("`@{0}` stands without a collective; name one, since each has its own")]
    NoCollective(String),
    /// The collective has no such algorithm.
    #[error("`@{algorithm}` is no algorithm for {collective}; allowed: {}, or their numbers from 0", listed(.known))]
    NoAlgorithm {
        /// Its name or number.
        algorithm: String,
        /// The collective.
        collective: String,
        /// The algorithms that it has.
        known: &'static [&'static str],
    },
}

/// The words on some calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Token {
    /// Collectives by UCC's names; empty for all.
    pub collectives: Vec<String>,
    /// Sizes in bytes, the second end not included; empty for all.
    pub sizes: Vec<(u64, u64)>,
    /// Types of memory; empty for all.
    pub memory: Vec<String>,
    /// Numbers of ranks, both ends included; empty for all.
    pub teams: Vec<(u64, u64)>,
    /// Score.
    pub score: Option<u64>,
    /// Algorithm, by name or number.
    pub algorithm: Option<String>,
}

/// The name of UCC for MPI's collective of this name.
#[must_use]
pub fn name_of(collective: &str) -> &str {
    match collective {
        "reduce_scatter_block" => "reduce_scatter",
        "reduce_scatter" => "reduce_scatterv",
        same => same,
    }
}

/// True if a token is about MPI's collective of this name.
#[must_use]
pub fn concern(tokens: &[Token], collective: &str) -> bool {
    let named = name_of(collective);
    tokens
        .iter()
        .any(|token| token.collectives.is_empty() || token.collectives.iter().any(|name| name == named))
}

/// `value` beside what is in force, of which tokens on the same collectives go. What cannot be read there is replaced whole.
#[must_use]
pub fn beside(in_force: &str, value: &str) -> String {
    let (Ok(mut all), Ok(new)) = (read(in_force), read(value)) else {
        return value.to_owned();
    };
    let is_named_anew = |name: &String| new.iter().any(|token| token.collectives.contains(name));
    all.retain(|token| !token.collectives.iter().any(is_named_anew));
    all.extend(new);
    to_text(&all)
}

/// Text of the variable.
#[must_use]
pub fn to_text(tokens: &[Token]) -> String {
    let texts: Vec<String> = tokens.iter().map(token_text).collect();
    texts.join("#")
}

fn token_text(token: &Token) -> String {
    let ranges = |list: &[(u64, u64)], word: fn(u64) -> String| {
        let words: Vec<String> = list.iter().map(|(a, b)| format!("{}-{}", word(*a), word(*b))).collect();
        words.join(",")
    };
    let mut qualifiers = Vec::new();
    if !token.collectives.is_empty() {
        qualifiers.push(token.collectives.join(","));
    }
    if !token.sizes.is_empty() {
        qualifiers.push(ranges(&token.sizes, bytes_text));
    }
    if !token.memory.is_empty() {
        qualifiers.push(token.memory.join(","));
    }
    if !token.teams.is_empty() {
        qualifiers.push(format!("[{}]", ranges(&token.teams, number_text)));
    }
    qualifiers.extend(token.score.map(number_text));
    qualifiers.extend(token.algorithm.iter().map(|algorithm| format!("@{algorithm}")));
    qualifiers.join(":")
}

fn number_text(number: u64) -> String {
    if number == INF {
        "inf".to_owned()
    } else {
        number.to_string()
    }
}

/// A number of bytes with the largest unit that divides it.
fn bytes_text(bytes: u64) -> String {
    let units = [(30, 'g'), (20, 'm'), (10, 'k')];
    let fitting = units
        .iter()
        .find(|(shift, _)| bytes != 0 && bytes.is_multiple_of(1 << shift));
    match fitting {
        Some((shift, unit)) if bytes != INF => format!("{}{unit}", bytes >> shift),
        _ => number_text(bytes),
    }
}

/// Reads a variable's text.
///
/// # Errors
/// The first mistake.
pub fn read(text: &str) -> Result<Vec<Token>, Mistake> {
    let tokens = text.split('#').map(token).collect::<Result<Vec<Token>, Mistake>>()?;
    for (index, one) in tokens.iter().enumerate() {
        if let Some(other) = tokens[..index].iter().find(|other| is_same_call(one, other)) {
            return Err(Mistake::SameCall {
                first: token_text(other),
                second: token_text(one),
            });
        }
    }
    Ok(tokens)
}

fn token(text: &str) -> Result<Token, Mistake> {
    let said = |word: &str| (text.to_owned(), word.to_owned());
    let mut token = Token::default();
    for word in text.split(':') {
        let is_new = if let Some(list) = names(word, &COLLECTIVES.map(|(name, _)| name)) {
            std::mem::replace(&mut token.collectives, list).is_empty()
        } else if let Some(list) = names(word, &MEMORY) {
            std::mem::replace(&mut token.memory, list).is_empty()
        } else if let Some(score) = number(word) {
            token.score.replace(score).is_none()
        } else if let Some(list) = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let teams = ranges(list, number, true).ok_or_else(|| {
                let (token, word) = said(word);
                Mistake::NoTeams { token, word }
            })?;
            std::mem::replace(&mut token.teams, teams).is_empty()
        } else if let Some(name) = word.strip_prefix('@').filter(|name| !name.is_empty()) {
            token.algorithm.replace(name.to_owned()).is_none()
        } else if let Some(sizes) = ranges(word, bytes, false) {
            std::mem::replace(&mut token.sizes, sizes).is_empty()
        } else {
            let (token, word) = said(word);
            return Err(Mistake::NoQualifier { token, word });
        };
        if !is_new {
            let (token, word) = said(word);
            return Err(Mistake::Second { token, word });
        }
    }
    if token.score.is_none() && token.algorithm.is_none() {
        return Err(Mistake::Idle(text.to_owned()));
    }
    match &token.algorithm {
        Some(algorithm) => known(&token, algorithm).map(|()| token.clone()),
        None => Ok(token),
    }
}

/// Refuses an algorithm that one of the token's collectives does not have.
fn known(token: &Token, algorithm: &str) -> Result<(), Mistake> {
    if token.collectives.is_empty() {
        return Err(Mistake::NoCollective(algorithm.to_owned()));
    }
    for name in &token.collectives {
        let row = COLLECTIVES.iter().find(|(known, _)| known == name);
        let all = row.map_or(&[][..], |(_, all)| *all);
        let by_number = number(algorithm).and_then(|number| all.get(usize::try_from(number).ok()?));
        if by_number.is_none() && !all.contains(&algorithm) {
            return Err(Mistake::NoAlgorithm {
                algorithm: algorithm.to_owned(),
                collective: name.clone(),
                known: all,
            });
        }
    }
    Ok(())
}

/// True if both tokens name an algorithm for a call that both are about.
fn is_same_call(one: &Token, other: &Token) -> bool {
    let share = |a: &[String], b: &[String]| a.is_empty() || b.is_empty() || a.iter().any(|name| b.contains(name));
    let meet = |a: &[(u64, u64)], b: &[(u64, u64)], last: u64| {
        let meets = |(from, to): &(u64, u64)| {
            b.iter()
                .any(|(other, end)| *from < end.saturating_add(last) && *other < to.saturating_add(last))
        };
        a.is_empty() || b.is_empty() || a.iter().any(meets)
    };
    one.algorithm.is_some()
        && other.algorithm.is_some()
        && share(&one.collectives, &other.collectives)
        && share(&one.memory, &other.memory)
        && meet(&one.sizes, &other.sizes, 0)
        && meet(&one.teams, &other.teams, 1)
}

/// The names of a list, in small letters; `None` if one is not among `known`.
fn names(word: &str, known: &[&str]) -> Option<Vec<String>> {
    let name = |name: &str| {
        let name = name.to_ascii_lowercase();
        known.contains(&name.as_str()).then_some(name)
    };
    word.split(',').map(name).collect()
}

/// A number, or `inf`.
fn number(word: &str) -> Option<u64> {
    if word.eq_ignore_ascii_case("inf") {
        return Some(INF);
    }
    let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    word.parse().ok().filter(|_| is_number)
}

/// A number of bytes with or without a unit, or `inf`.
fn bytes(word: &str) -> Option<u64> {
    let word = word.to_ascii_lowercase();
    let word = word.strip_suffix('b').unwrap_or(&word);
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let with_unit = units
        .iter()
        .find_map(|(unit, shift)| Some((word.strip_suffix(*unit)?, *shift)));
    match with_unit {
        None => number(word),
        Some((digits, shift)) => number(digits).filter(|number| *number != INF)?.checked_mul(1 << shift),
    }
}

/// Ranges `FROM-TO`, of which none is empty; single values as well where both ends are included.
fn ranges(list: &str, read: fn(&str) -> Option<u64>, includes_end: bool) -> Option<Vec<(u64, u64)>> {
    let range = |word: &str| {
        let (from, to) = match word.split_once('-') {
            Some((from, to)) => (read(from)?, read(to)?),
            None if includes_end => (read(word)?, read(word)?),
            None => return None,
        };
        (from < to || includes_end && from == to && from != INF).then_some((from, to))
    };
    list.split(',').map(range).collect()
}

/// Algorithms in words.
fn listed(algorithms: &[&str]) -> String {
    if algorithms.is_empty() {
        return "none".to_owned();
    }
    algorithms.join(", ")
}

/// The qualifiers in words.
fn allowed() -> String {
    let mut text = String::from("collectives (");
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "{}), sizes (FROM-BELOW in bytes, with k, m, g or inf), memory ({}), teams ([FROM-TO]), a score, @ALGORITHM",
        COLLECTIVES.map(|(name, _)| name).join(", "),
        MEMORY.join(", ")
    );
    text
}

#[cfg(test)]
mod tests;
