//! A rule of the drop-in's profile. It has decided only if the drop-in counts calls of what it names.

use kilter_profile::{Placement, Profile};
use kilter_search::target::Target;
use kilter_which::answer::Decision;

use super::Known;

/// Variable that names the profile.
const PROFILE: &str = "KILTER_PROFILE";

/// The rule for a call, and the implementation that it names.
pub(super) fn decision(known: &Known<'_>, target: &Target) -> Option<(Decision, String)> {
    if known.dropin_calls.is_empty() {
        return None;
    }
    let file = known.places.variable(PROFILE)?;
    let text = std::fs::read_to_string(&file).ok()?;
    let profile = Profile::read(&text, &file).ok()?;
    // A job that does not say where its ranks are can only be on one host.
    let placement = known.placement.unwrap_or(Placement::even(1, known.ranks));
    let (number, rule) = profile.rules.iter().enumerate().find(|(_, rule)| {
        rule.collective == target.function
            && rule.communicators.contains(&placement)
            && (rule.min_bytes..=rule.max_bytes).contains(&target.bytes())
    })?;
    known
        .dropin_calls
        .get(&rule.implementation)
        .filter(|calls| **calls > 0)?;
    let place = match line(&text, number) {
        Some(line) => format!("{file}:{line}"),
        None => format!("`{file}`"),
    };
    let implementation = rule.implementation.clone();
    let decision = Decision::DropIn {
        place,
        implementation: implementation.clone(),
    };
    Some((decision, implementation))
}

/// Line, from 1, of a rule's collective: rules are the only objects of a profile that have one.
fn line(text: &str, number: usize) -> Option<usize> {
    let (at, _) = text.match_indices("\"collective\"").nth(number)?;
    Some(1 + text[..at].matches('\n').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_a_line() {
        let text = "{\n\"rules\": [\n{\"collective\": \"reduce\"},\n{\n\"collective\": \"bcast\"}]}";
        assert_eq!((line(text, 0), line(text, 1), line(text, 2)), (Some(3), Some(5), None));
    }
}
