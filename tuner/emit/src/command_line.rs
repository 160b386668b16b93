//! Settings that files make for every job, as words of one job's command line: nothing is to be installed for a trial.

use kilter_bench::launch::command::quote;
use kilter_model::config::library::Launcher;

/// The words of a library's launcher that give these parameters and the ranks' environment to one job.
#[must_use]
pub fn words(launcher: &Launcher, parameters: &[(String, String)], variables: &[(String, String)]) -> Vec<String> {
    let filled = |form: &[String], pairs: &[(String, String)]| -> Vec<String> {
        let one = |(name, value): &(String, String)| -> Vec<String> {
            // A name has no braces, so what a value has is left alone.
            form.iter()
                .map(|part| part.replace("{name}", name).replace("{value}", value))
                .collect()
        };
        pairs.iter().flat_map(one).collect()
    };
    [
        filled(&launcher.parameter, parameters),
        filled(&launcher.environment, variables),
    ]
    .concat()
}

/// The words as a POSIX shell takes them.
#[must_use]
pub fn line(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use kilter_model::config::library::find_for;
    use proptest::prelude::*;

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// The words that a program gets which a real shell starts with this line.
    fn as_a_shell_reads(line: &str) -> Vec<String> {
        let script = format!("printf '%s\\0' {line}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(
            output.status.success(),
            "{script}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8(output.stdout).unwrap();
        text.strip_suffix('\0')
            .unwrap()
            .split('\0')
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn one_job_is_given_parameters_and_variables() {
        let launcher = find_for("mpirun (Open MPI) 4.1.4").unwrap().launcher;
        let parameters = pairs(&[
            ("btl_vader_eager_limit", "32768"),
            ("coll_tuned_dynamic_rules_filename", "/tmp/it's here/rules.conf"),
        ]);
        let words = words(
            &launcher,
            &parameters,
            &pairs(&[("MALLOC_TRIM_THRESHOLD_", "-1"), ("X", "{name}")]),
        );
        insta::assert_snapshot!(
            line(&words),
            @r"--mca btl_vader_eager_limit 32768 --mca coll_tuned_dynamic_rules_filename '/tmp/it'\''s here/rules.conf' -x MALLOC_TRIM_THRESHOLD_=-1 -x 'X={name}'"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_shell_reads_the_words_that_were_meant(words in prop::collection::vec("[^\\x00]{0,12}", 1..5)) {
            prop_assert_eq!(as_a_shell_reads(&line(&words)), words);
        }

        #[test]
        fn what_shells_give_a_meaning_has_none(words in prop::collection::vec("[-~!*?$`'\"\\\\ \t\n#&;|<>(){}=a\\[\\]]{0,9}", 1..5)) {
            prop_assert_eq!(as_a_shell_reads(&line(&words)), words);
        }
    }
}
