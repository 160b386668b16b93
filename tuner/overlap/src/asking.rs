//! Questions that survive hanging blocks: a block that takes its job down is left out, and the rest is asked again.

use kilter_bench::launch::session::{BlockOutcome, JobFailure, SessionError};
use kilter_protocol::plan::Block;

/// Fate of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// It was measured to its end.
    Done(BlockOutcome),
    /// It took its job down.
    TookDown(JobFailure),
    /// It was not asked any more, because too many others had taken their jobs down.
    GivenUp,
}

/// Measures blocks together, as a session does.
type Ask<'a> = dyn FnMut(&[Block]) -> Result<Vec<BlockOutcome>, SessionError> + 'a;

/// Asks all blocks until each has its answer, in their order. `patience` is the number of blocks that may still take
/// their jobs down; at 0 no block is asked. Errors are a job that does not start, a failure for which no block is to
/// blame, and other errors of the session.
pub(super) fn ask_all(blocks: &[Block], patience: &mut usize, ask: &mut Ask<'_>) -> Result<Vec<Answer>, SessionError> {
    let mut answers = vec![Answer::GivenUp; blocks.len()];
    let mut left: Vec<usize> = (0..blocks.len()).collect();
    while !left.is_empty() && *patience > 0 {
        let asked: Vec<Block> = left.iter().map(|index| blocks[*index].clone()).collect();
        let failure = match ask(&asked) {
            Ok(outcomes) => {
                for (index, outcome) in left.drain(..).zip(outcomes) {
                    answers[index] = Answer::Done(outcome);
                }
                break;
            }
            Err(SessionError::Job(failure)) => failure,
            Err(error) => return Err(error),
        };
        let blamed = failure.place().block.as_ref();
        let culprit = left.iter().position(|index| blamed == Some(&blocks[*index].id));
        match culprit {
            Some(culprit) if !matches!(failure, JobFailure::DidNotStart { .. }) => {
                *patience -= 1;
                answers[left.remove(culprit)] = Answer::TookDown(failure);
            }
            _ => return Err(failure.into()),
        }
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use kilter_bench::launch::session::Place;
    use kilter_protocol::plan::Repetitions;

    use super::*;

    fn blocks() -> Vec<Block> {
        let block = |id: &str| Block {
            id: id.to_owned(),
            seed: 0,
            items: Vec::new(),
            repetitions: Repetitions::fixed(1, 1.0),
        };
        ["a", "b", "c", "d"].map(block).to_vec()
    }

    fn place(block: Option<&str>) -> Box<Place> {
        Box::new(Place {
            block: block.map(str::to_owned),
            ..Place::default()
        })
    }

    fn hung(block: &str) -> JobFailure {
        JobFailure::Hung {
            seconds: 20.0,
            place: place(Some(block)),
        }
    }

    /// A session in which these blocks hang; `asked` records the questions.
    fn session(hanging: &[&str], asked: &mut Vec<String>, patience: &mut usize) -> Result<Vec<Answer>, SessionError> {
        ask_all(&blocks(), patience, &mut |blocks| {
            asked.push(blocks.iter().map(|block| block.id.as_str()).collect());
            match blocks.iter().find(|block| hanging.contains(&block.id.as_str())) {
                Some(block) => Err(hung(&block.id).into()),
                None => Ok(vec![BlockOutcome::default(); blocks.len()]),
            }
        })
    }

    fn word(answer: &Answer) -> &'static str {
        match answer {
            Answer::Done(_) => "done",
            Answer::TookDown(_) => "down",
            Answer::GivenUp => "given up",
        }
    }

    #[test]
    fn what_takes_its_job_down_is_left_out_and_the_rest_goes_on() {
        let (mut asked, mut patience) = (Vec::new(), 5);
        let answers = session(&["b", "d"], &mut asked, &mut patience).unwrap();
        let words: Vec<&str> = answers.iter().map(word).collect();
        assert_eq!(words, ["done", "down", "done", "down"]);
        assert_eq!((asked, patience), (vec!["abcd".into(), "acd".into(), "ac".into()], 3));
        assert_eq!(answers[1], Answer::TookDown(hung("b")));
    }

    #[test]
    fn patience_ends() {
        let (mut asked, mut patience) = (Vec::new(), 2);
        let answers = session(&["a", "b", "c"], &mut asked, &mut patience).unwrap();
        let words: Vec<&str> = answers.iter().map(word).collect();
        assert_eq!(words, ["down", "down", "given up", "given up"]);
        assert_eq!(asked.len(), 2);
        let none = session(&[], &mut asked, &mut patience).unwrap();
        assert_eq!((none.len(), asked.len()), (4, 2));
    }

    #[test]
    fn what_no_block_is_to_blame_for_is_an_error() {
        let failures = [
            JobFailure::Crashed {
                status: "exit status: 1".to_owned(),
                place: place(None),
            },
            JobFailure::DidNotStart {
                reason: "not within 40 s".to_owned(),
                ended: false,
                place: place(Some("a")),
            },
        ];
        for failure in failures {
            let result = ask_all(&blocks(), &mut 5, &mut |_| Err(failure.clone().into()));
            assert!(matches!(result, Err(SessionError::Job(other)) if other == failure));
        }
    }
}
