//! The file of one rank.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use kilter_protocol::calls::{self, Line};

use super::GatherError;
use crate::members::MOST_RANKS;

/// The lines of a rank.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) rank: calls::Rank,
    pub(super) communicators: Vec<calls::Communicator>,
    pub(super) sites: Vec<calls::Site>,
    pub(super) calls: Vec<calls::Calls>,
    pub(super) samples: Vec<calls::Samples>,
    pub(super) messages: Vec<calls::Messages>,
    pub(super) received: Vec<calls::Received>,
    pub(super) end: calls::End,
    pub(super) clock_at_end: Option<calls::Reading>,
}

impl Found {
    /// Reads the file of a rank.
    pub(super) fn read(path: &Path) -> Result<Found, GatherError> {
        let cannot = |source| GatherError::Read {
            path: path.to_owned(),
            source,
        };
        let wrong = |line: usize, message: String| GatherError::Line {
            path: path.to_owned(),
            line,
            message,
        };
        let mut found: Option<Found> = None;
        let mut complete = false;
        for (number, text) in (1..).zip(BufReader::new(File::open(path).map_err(cannot)?).lines()) {
            let text = text.map_err(cannot)?;
            let line: Line = serde_json::from_str(&text).map_err(|error| wrong(number, error.to_string()))?;
            if let Line::Rank(rank) = line {
                if rank.v != calls::VERSION {
                    return Err(wrong(
                        number,
                        format!("version {}, and {} is read", rank.v, calls::VERSION),
                    ));
                }
                if rank.rank >= rank.ranks || rank.ranks > MOST_RANKS {
                    return Err(wrong(number, format!("rank {} of {}", rank.rank, rank.ranks)));
                }
                found = Some(Found {
                    name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    rank,
                    communicators: Vec::new(),
                    sites: Vec::new(),
                    calls: Vec::new(),
                    samples: Vec::new(),
                    messages: Vec::new(),
                    received: Vec::new(),
                    end: calls::End::default(),
                    clock_at_end: None,
                });
                continue;
            }
            let Some(found) = found.as_mut() else {
                return Err(wrong(number, "the first line is not the rank's".to_owned()));
            };
            match line {
                Line::Rank(_) => {}
                Line::Communicator(one) => found.communicators.push(one),
                Line::Site(one) => found.sites.push(one),
                Line::Calls(one) => found.calls.push(one),
                Line::Samples(one) => {
                    let lists = [one.begins_ns.len(), one.took_ns.len()];
                    if one.of >= found.calls.len() || lists.iter().any(|length| *length != one.numbers.len()) {
                        return Err(wrong(
                            number,
                            "samples of calls that are in no line, or lists that differ in length".to_owned(),
                        ));
                    }
                    found.samples.push(one);
                }
                Line::Messages(one) => found.messages.push(one),
                Line::Received(one) => found.received.push(one),
                Line::ClockAtEnd(reading) => found.clock_at_end = Some(reading),
                Line::End(end) => {
                    found.end = end;
                    complete = true;
                }
            }
        }
        found
            .filter(|_| complete)
            .ok_or_else(|| GatherError::Torn { path: path.to_owned() })
    }
}
