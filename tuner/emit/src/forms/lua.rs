//! A module file in Lua, for Lmod.

use super::{Daemon, Exported, Form};

/// Its row.
pub(super) const FORM: Form = Form {
    file: "modulefile.lua",
    applied: "modulefiles/kilter/{library}.lua",
    mode: 0o644,
    what: "module file for Lmod; it loads the drop-in",
    text,
};

fn text(exported: &Exported) -> String {
    let mut text = exported.comments("--");
    text.push_str(&format!(
        "whatis({})\nconflict(\"kilter\")\n",
        string(exported.whatis())
    ));
    for (name, value) in &exported.variables {
        text.push_str(&format!("setenv(\"{name}\", {})\n", string(value)));
    }
    if !exported.preload.is_empty() {
        text.push_str(
            "-- Every program loads the drop-in while this module is loaded; it does nothing in one that does not use MPI.\n\
             -- Load the module in job scripts, not in a login profile.\n",
        );
    }
    // The last one prepended comes first.
    for path in exported.preload.iter().rev() {
        text.push_str(&format!("prepend_path(\"LD_PRELOAD\", {})\n", string(path)));
    }
    if let Some(with) = exported.started_with(true) {
        text.push_str("-- Over ssh the launcher's daemons have the other hosts' own environment: they are started with these variables.\n");
        for Daemon { variable, command, .. } in exported.daemons {
            text.push_str(&format!(
                "setenv(\"{variable}\", {})\n",
                string(&format!("{with} {command}"))
            ));
        }
    }
    text
}

/// A string of Lua: bytes as they are, but for its quote, its escape and control characters.
fn string(value: &str) -> String {
    let mut string = String::from("\"");
    for c in value.chars() {
        match c {
            '\\' | '"' => string.extend(['\\', c]),
            c if c.is_ascii_control() => string.push_str(&format!("\\{:03}", u32::from(c))),
            _ => string.push(c),
        }
    }
    string.push('"');
    string
}
