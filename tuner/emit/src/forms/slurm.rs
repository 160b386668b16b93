//! A task prolog for Slurm: a script that prints `export NAME=value`, which slurmstepd puts into the task's environment. It takes the value as
//! it is to the end of the line, quotes included; so the printed text has no quotes, only the printing script has.

use kilter_bench::launch::command::quote;

use super::{Exported, Form};

/// Its row.
pub(super) const FORM: Form = Form {
    file: "slurm-prolog.sh",
    applied: "{library}/slurm-prolog.sh",
    mode: 0o755,
    what: "for TaskProlog= of slurm.conf, or `srun --task-prolog`; it loads the drop-in",
    text,
};

fn text(exported: &Exported) -> String {
    let mut text = String::from("#!/bin/sh\n");
    text.push_str(&exported.comments("#"));
    for (name, value) in &exported.variables {
        text.push_str(&format!(
            "printf '%s\\n' {}\n",
            quote(&format!("export {name}={value}"))
        ));
    }
    if !exported.preload.is_empty() {
        let paths = quote(&format!("export LD_PRELOAD={}", exported.preload.join(":")));
        text.push_str(&format!(
            "# Every program of the task loads the drop-in; it does nothing in one that does not use MPI.\n\
             printf '%s\\n' {paths}\"${{LD_PRELOAD:+:$LD_PRELOAD}}\"\n"
        ));
    }
    text
}
