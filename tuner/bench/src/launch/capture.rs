//! Short commands whose output is wanted, such as `mpirun --version`.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::command::CommandSpec;
use super::process::{Process, ProcessError};

/// Limit of the output that is kept.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// Result of a short command.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output and error together; what is not UTF-8 is replaced.
    pub output: String,
}

/// A short command that gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It did not start, or could not be ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It took too long and was ended.
    #[error("`{command}` did not end within {seconds} s")]
    TimedOut {
        /// Command line.
        command: String,
        /// The limit.
        seconds: f64,
    },
    /// It ended with an error.
    #[error("`{command}` failed ({status}): {output}")]
    Failed {
        /// Command line.
        command: String,
        /// Exit status.
        status: ExitStatus,
        /// First line of its output.
        output: String,
    },
    /// It printed nothing.
    #[error("`{command}` printed nothing")]
    Silent {
        /// Command line.
        command: String,
    },
}

/// Runs a command to its end. Ends it with everything it started if it takes longer than `limit`, which is an error.
pub fn capture(spec: &CommandSpec, limit: Duration) -> Result<Captured, CaptureError> {
    capture_at_most(spec, limit, MAX_OUTPUT_BYTES)
}

/// Same as [`capture`], with a limit on the bytes that are kept of its output.
pub fn capture_at_most(spec: &CommandSpec, limit: Duration, max_bytes: u64) -> Result<Captured, CaptureError> {
    let failed = |source| ProcessError::Spawn {
        command: spec.to_string(),
        source,
    };
    let (mut reader, writer) = std::io::pipe().map_err(failed)?;
    let mut process = Process::spawn(
        spec,
        &format!("capture-{}", crate::store::unique()),
        File::from(OwnedFd::from(writer)),
    )?;
    // A thread of its own, so that a command that prints more than a pipe holds can go on; it ends when the last writer does.
    let collector = std::thread::spawn(move || {
        let mut kept = Vec::new();
        let _ = reader.by_ref().take(max_bytes).read_to_end(&mut kept);
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
        kept
    });
    let in_time = process.wait(limit);
    let status = process.kill_all(Duration::ZERO)?;
    if !in_time {
        return Err(CaptureError::TimedOut {
            command: spec.to_string(),
            seconds: limit.as_secs_f64(),
        });
    }
    let output = collector.join().unwrap_or_default();
    Ok(Captured {
        status,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

/// First line that `LAUNCHER --version` prints, such as `mpirun (Open MPI) 4.1.4`. The next line is added if the first
/// is only a heading: `HYDRA build details: Version: 4.0.2`. A launcher that refuses the option is asked with `-v`
/// (`mpirun_rsh`). An error if it does not start, fails, takes longer than `limit`, or prints nothing.
pub fn launcher_version(launcher: &Path, limit: Duration) -> Result<String, CaptureError> {
    let refused = |line: &str| {
        ["unrecognized option", "unknown option", "invalid option"]
            .iter()
            .any(|part| line.contains(part))
    };
    match version(launcher, "--version", limit) {
        Ok(line) if !refused(&line) => Ok(line),
        // If both options are refused, the refusal of the usual one is reported.
        Err(CaptureError::TimedOut { command, seconds }) => Err(CaptureError::TimedOut { command, seconds }),
        other => version(launcher, "-v", limit).or(other),
    }
}

/// Output of the launcher with this option.
fn version(launcher: &Path, option: &str, limit: Duration) -> Result<String, CaptureError> {
    let spec = CommandSpec {
        argv: vec![launcher.to_string_lossy().into_owned(), option.to_owned()],
        environment: Vec::new(),
    };
    let captured = capture(&spec, limit)?;
    let mut lines = captured.output.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next();
    match first {
        _ if !captured.status.success() => Err(CaptureError::Failed {
            command: spec.to_string(),
            status: captured.status,
            output: first.unwrap_or("no output").to_owned(),
        }),
        None => Err(CaptureError::Silent {
            command: spec.to_string(),
        }),
        Some(heading) if heading.ends_with(':') => {
            let words = heading
                .split_whitespace()
                .chain(lines.next().unwrap_or_default().split_whitespace());
            Ok(words.collect::<Vec<_>>().join(" "))
        }
        Some(line) => Ok(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMPLE: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> CommandSpec {
        CommandSpec {
            argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
            environment: Vec::new(),
        }
    }

    #[test]
    fn output_and_status_come_back() {
        let captured = capture(&shell("echo out; echo err >&2; exit 3"), AMPLE).unwrap();
        assert_eq!(
            (captured.output.as_str(), captured.status.code()),
            ("out\nerr\n", Some(3))
        );
    }

    #[test]
    fn more_than_a_pipe_holds_does_not_block() {
        let captured = capture(&shell("head -c 3000000 /dev/zero"), AMPLE).unwrap();
        assert_eq!(captured.output.len() as u64, MAX_OUTPUT_BYTES);
    }

    #[test]
    fn who_takes_too_long_is_ended() {
        let error = capture(&shell("trap '' TERM; sleep 600 & wait"), Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, CaptureError::TimedOut { .. }), "{error}");
    }

    #[test]
    fn versions_are_first_lines() {
        let directory = kilter_fixtures::directory();
        // Another process writes the script: a descriptor open for writing here could be inherited by a child that another
        // test starts at this moment, and the script could then not be run.
        let script = |name: &str, body: &str| {
            let path = directory.path().join(name);
            let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
            let mut command = std::process::Command::new("/bin/sh");
            assert!(
                command
                    .arg("-c")
                    .arg(write)
                    .arg(&path)
                    .arg(body)
                    .status()
                    .unwrap()
                    .success()
            );
            path
        };
        let version = |name: &str, body: &str| launcher_version(&script(name, body), AMPLE);
        assert_eq!(
            version("a", "echo; echo 'mpirun (Some MPI) 1.2'; echo more").unwrap(),
            "mpirun (Some MPI) 1.2"
        );
        assert_eq!(
            version(
                "d",
                "echo 'HYDRA build details:'; echo '    Version:          4.0.2'; echo '    CC: gcc'"
            )
            .unwrap(),
            "HYDRA build details: Version: 4.0.2"
        );
        let rsh = r#"[ "$1" = -v ] || { echo "mpirun_rsh: unrecognized option '$1'"; exit 1; }; echo Version: mvapich2-2.3.7"#;
        assert_eq!(version("e", rsh).unwrap(), "Version: mvapich2-2.3.7");
        assert!(
            version("b", "echo no such option; exit 2")
                .unwrap_err()
                .to_string()
                .contains("no such option")
        );
        assert!(matches!(version("c", ":").unwrap_err(), CaptureError::Silent { .. }));
        let missing = launcher_version(&directory.path().join("missing"), AMPLE).unwrap_err();
        assert!(missing.to_string().contains("missing"), "{missing}");
    }
}
