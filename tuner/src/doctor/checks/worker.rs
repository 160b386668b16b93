//! Checks that the worker exists and was built for the library.

use super::super::facts::Facts;
use super::super::{Check, Judgement};

pub(super) const CHECK: Check = Check {
    id: "worker",
    what: "kilter-worker is built for that library",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    match &facts.problem {
        Some(problem) if problem.check == "worker" => {
            Judgement::error("there is no worker for the library", problem.text.clone())
        }
        Some(problem) if problem.check == "library" => Judgement::unknown("not looked for"),
        _ => Judgement::fit("kilter-worker is built for it"),
    }
}
