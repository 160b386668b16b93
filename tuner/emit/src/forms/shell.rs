//! A POSIX shell fragment.

use kilter_bench::launch::command::quote;

use super::{Daemon, Exported, Form};

/// Its row.
pub(super) const FORM: Form = Form {
    file: "kilter.sh",
    applied: "{library}/kilter.sh",
    mode: 0o644,
    what: "for `. kilter.sh` in a job script; KILTER_PRELOAD=1 before it loads the drop-in, too",
    text,
};

fn text(exported: &Exported) -> String {
    let mut text = exported.comments("#");
    text.push_str("# Read it in a job script with `.`, not in a login profile.\n");
    for (name, value) in &exported.variables {
        text.push_str(&format!("export {name}={}\n", quote(value)));
    }
    text.push_str(&daemons(exported, false));
    if !exported.preload.is_empty() {
        let paths = quote(&exported.preload.join(":"));
        text.push_str(&format!(
            "# Every program that is started with LD_PRELOAD loads the drop-in, the shell's own commands included. So it is set only\n\
             # where KILTER_PRELOAD=1 asks for it; `mpirun -x LD_PRELOAD={paths} ...` loads it into the ranks alone.\n\
             if [ \"${{KILTER_PRELOAD:-0}}\" = 1 ]; then\n\
             \x20 LD_PRELOAD={paths}\"${{LD_PRELOAD:+:$LD_PRELOAD}}\"\n\
             \x20 export LD_PRELOAD\n\
             {}fi\n",
            indented(&daemons(exported, true))
        ));
    }
    text
}

/// Command that starts daemons on other hosts with the same variables, before a command that is already there.
fn daemons(exported: &Exported, preload: bool) -> String {
    let Some(with) = exported.started_with(preload) else {
        return String::new();
    };
    let mut text = String::new();
    if !preload {
        text.push_str("# Over ssh the launcher's daemons have the other hosts' own environment: they are started with these variables.\n");
    }
    for Daemon { variable, command, .. } in exported.daemons {
        // The last one read comes first, and wins.
        text.push_str(&format!(
            "export {variable}={}\"${{{variable}:-{command}}}\"\n",
            quote(&format!("{with} "))
        ));
    }
    text
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect()
}
