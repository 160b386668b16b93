//! Files that call the command every night: a script, and what systemd, Slurm and ReFrame read. Written for the administrator to look at and to
//! copy; nothing is installed.

use std::path::Path;

use anyhow::Context as _;
use kilter_bench::launch::command::quote;

/// Templates by file name.
const TEMPLATES: [(&str, &str); 5] = [
    (SCRIPT, include_str!("../../../configs/guard/kilter-guard.sh")),
    (
        "kilter-guard.service",
        include_str!("../../../configs/guard/kilter-guard.service"),
    ),
    (
        "kilter-guard.timer",
        include_str!("../../../configs/guard/kilter-guard.timer"),
    ),
    (
        "kilter-guard.scrontab",
        include_str!("../../../configs/guard/kilter-guard.scrontab"),
    ),
    (
        "kilter_guard.py",
        include_str!("../../../configs/guard/kilter_guard.py"),
    ),
];

/// The script that the other files call.
const SCRIPT: &str = "kilter-guard.sh";

/// Time for starts and for the last launch, over the budget.
const ROOM: f64 = 2.0;

/// Facts that the files say.
#[derive(Debug, Clone, PartialEq)]
pub struct Hints {
    /// The command with its arguments.
    pub command: Vec<String>,
    /// Seconds of its budget.
    pub budget_seconds: f64,
    /// Hosts on which its jobs run.
    pub nodes: usize,
}

/// Writes the files into a directory, which must be absolute, and returns their names.
///
/// # Errors
/// A directory or a file that cannot be written.
pub fn write(hints: &Hints, directory: &Path) -> anyhow::Result<Vec<String>> {
    use std::os::unix::fs::PermissionsExt as _;
    let unwritable = |path: &Path| format!("`{}` cannot be written", path.display());
    std::fs::create_dir_all(directory).with_context(|| unwritable(directory))?;
    for (name, template) in TEMPLATES {
        let path = directory.join(name);
        std::fs::write(&path, filled(template, hints, directory)).with_context(|| unwritable(&path))?;
    }
    let script = directory.join(SCRIPT);
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).with_context(|| unwritable(&script))?;
    Ok(TEMPLATES.map(|(name, _)| name.to_owned()).to_vec())
}

fn filled(template: &str, hints: &Hints, directory: &Path) -> String {
    let words: Vec<String> = hints.command.iter().map(|word| quote(word)).collect();
    let seconds = (ROOM * hints.budget_seconds).ceil() as u64;
    template
        .replace("{script}", &directory.join(SCRIPT).display().to_string())
        .replace("{directory}", &directory.display().to_string())
        .replace("{seconds}", &seconds.to_string())
        .replace("{minutes}", &seconds.div_ceil(60).to_string())
        .replace("{nodes}", &hints.nodes.to_string())
        .replace("{command}", &words.join(" "))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn every_file_calls_the_script_and_the_script_calls_the_command() {
        let directory = tempfile::tempdir().unwrap();
        let hints = Hints {
            command: ["/opt/kilter/bin/kilter", "guard", "-n", "8", "--env", "A=b c"]
                .map(str::to_owned)
                .to_vec(),
            budget_seconds: 300.0,
            nodes: 4,
        };
        let names = write(&hints, directory.path()).unwrap();
        assert_eq!(names.len(), 5);
        let text = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        let script = directory.path().join(SCRIPT);
        assert!(
            text(SCRIPT).contains("exec /opt/kilter/bin/kilter guard -n 8 --env 'A=b c' \"$@\""),
            "{}",
            text(SCRIPT)
        );
        assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o755);
        for name in names {
            let text = text(&name);
            let calls = name.ends_with(".timer") || name == SCRIPT || text.contains(&script.display().to_string());
            assert!(calls, "{name}: {text}");
            let left = [
                "{script}",
                "{directory}",
                "{seconds}",
                "{minutes}",
                "{nodes}",
                "{command}",
            ];
            assert!(left.iter().all(|hole| !text.contains(hole)), "{name}: {text}");
        }
        assert!(text("kilter-guard.scrontab").contains("#SCRON --nodes=4\n"));
        assert!(text("kilter-guard.service").contains("TimeoutStartSec=600\n"));
    }
}
