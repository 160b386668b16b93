//! Compares the output of the library's own program with the description: names, defaults and legal values, including
//! parameters that no running job reports.

use super::super::facts::{Facts, Printed};
use super::super::{Check, Judgement};
use super::{count, some};
use crate::library_info::Difference;

pub(super) const CHECK: Check = Check {
    id: "printed",
    what: "the library's own program (ompi_info, mpivars, impi_info) prints the names, defaults and legal values of the description",
    quick: false,
    judge,
};

fn judge(facts: &Facts) -> Judgement {
    let (program, parameters, description, differences) = match &facts.printed {
        Printed::NotAsked => return Judgement::unknown("no library was found"),
        Printed::NoProgram => {
            return Judgement::unknown(
                "Kilter reads no program that prints this library's parameters and their legal values",
            );
        }
        Printed::NoAnswer(why) => {
            return Judgement::unknown(format!("{why}: the legal values of parameters were not compared"));
        }
        Printed::Compared {
            program,
            parameters,
            description,
            differences,
        } => (program, parameters, description, differences),
    };
    let (more, other): (Vec<&Difference>, Vec<&Difference>) =
        differences.iter().partition(|difference| difference.is_more());
    let lines = |which: &[&Difference]| which.iter().map(ToString::to_string).collect::<Vec<String>>();
    let not_tried = match more.len() {
        0 => String::new(),
        number => format!("; not tried, as not described ({number}): {}", some(&lines(&more))),
    };
    if other.is_empty() {
        return Judgement::fit(format!(
            "`{program}` prints {parameters} parameters, and those of the description `{description}` are as it says{not_tried}"
        ));
    }
    let says = format!(
        "`{program}` prints otherwise than the description `{description}` has it, in {}: {}{not_tried}",
        count(other.len(), "place"),
        some(&lines(&other))
    );
    let describe = format!(
        "describe this release in a file with `like = \"{description}\"` and what differs, and give it with --library-description"
    );
    if differences.iter().any(Difference::misleads) {
        // The name stands for another algorithm, which would be tried and reported by it.
        Judgement::warning(says, describe)
    } else {
        Judgement::note(format!("{says}; to tune them, too, {describe}"))
    }
}
