//! A module file in Tcl, for Environment Modules (Lmod reads it, too).

use super::{Daemon, Exported, Form};

/// Its row.
pub(super) const FORM: Form = Form {
    file: "modulefile.tcl",
    applied: "modulefiles/kilter/{library}",
    mode: 0o644,
    what: "module file for Environment Modules; it loads the drop-in",
    text,
};

fn text(exported: &Exported) -> String {
    // Without this line the file is no module.
    let mut text = String::from("#%Module1.0\n");
    text.push_str(&exported.comments("#"));
    text.push_str(&format!("module-whatis {}\nconflict kilter\n", word(exported.whatis())));
    for (name, value) in &exported.variables {
        text.push_str(&format!("setenv {name} {}\n", word(value)));
    }
    if !exported.preload.is_empty() {
        text.push_str(
            "# Every program loads the drop-in while this module is loaded; it does nothing in one that does not use MPI.\n\
             # Load the module in job scripts, not in a login profile.\n",
        );
    }
    // The last one prepended comes first.
    for path in exported.preload.iter().rev() {
        text.push_str(&format!("prepend-path LD_PRELOAD {}\n", word(path)));
    }
    if let Some(with) = exported.started_with(true) {
        text.push_str("# Over ssh the launcher's daemons have the other hosts' own environment: they are started with these variables.\n");
        for Daemon { variable, command, .. } in exported.daemons {
            text.push_str(&format!("setenv {variable} {}\n", word(&format!("{with} {command}"))));
        }
    }
    text
}

/// A word that Tcl takes as it is: within double quotes, with a backslash before all that it would substitute or count.
fn word(value: &str) -> String {
    let mut word = String::from("\"");
    for c in value.chars() {
        match c {
            '\\' | '"' | '$' | '[' | ']' | '{' | '}' => word.extend(['\\', c]),
            '\t' => word.push_str("\\t"),
            _ => word.push(c),
        }
    }
    word.push('"');
    word
}
