//! The variables of online selection.

use std::ffi::OsString;
use std::path::PathBuf;

use kilter_host::code;
use kilter_mpi::environment::Variables;
use kilter_online::{Settings, SettingsError};

use crate::tried::Rows;

/// Wishes of this rank's environment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// The budget.
    pub(crate) settings: Settings,
    pub(crate) rows: Rows,
    /// Folder of what jobs learnt, if any is kept.
    pub(crate) directory: Option<PathBuf>,
}

impl Wanted {
    /// Reads the variables; `None` where nothing is to be tried.
    pub(crate) fn from(variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Wanted>, SettingsError> {
        let variables = Variables(variable);
        let Some(text) = variables.text("KILTER_ONLINE").filter(|text| text != "0") else {
            return Ok(None);
        };
        let settings = Settings::parse(&text)?;
        settings.validate()?;
        let rows = variables.text("KILTER_ONLINE_ROWS").unwrap_or_default();
        let named = |text: &str| {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        let rows = match rows.as_str() {
            "all" => Rows::All,
            text => Rows::Named(named(text)),
        };
        let directory = match variables.raw("KILTER_ONLINE_DIR") {
            Some(none) if none == "none" => None,
            Some(directory) => Some(PathBuf::from(directory)),
            None => {
                let data = variables.raw("XDG_DATA_HOME").map(PathBuf::from);
                let home = || Some(PathBuf::from(variables.raw("HOME")?).join(".local/share"));
                data.or_else(home).map(|data| data.join("kilter/online"))
            }
        };
        Ok(Some(Wanted {
            settings,
            rows,
            directory,
        }))
    }

    /// Tells apart what must be the same on all ranks; never 0. The folder need not be: one rank reads it for all.
    pub(crate) fn digest(&self) -> u64 {
        let text = format!("{:?} {:?}", self.settings, self.rows);
        code::hash(1, text.as_bytes()).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(variables: &[(&str, &str)]) -> Option<Wanted> {
        let found = |name: &str| {
            let mut all = variables.iter();
            all.find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        };
        Wanted::from(found).unwrap()
    }

    #[test]
    fn nothing_is_tried_unless_it_is_asked_for() {
        assert_eq!(wanted(&[("KILTER_ONLINE_ROWS", "all")]), None);
        assert_eq!(wanted(&[("KILTER_ONLINE", "0")]), None);
        let plain = wanted(&[("KILTER_ONLINE", "1")]).unwrap();
        assert_eq!((plain.rows, plain.directory), (Rows::Named(Vec::new()), None));
    }

    #[test]
    fn rows_and_the_folder_are_named() {
        let on = ("KILTER_ONLINE", "1");
        let rows = wanted(&[on, ("KILTER_ONLINE_ROWS", " a.b , c.d@8/9,")]).unwrap().rows;
        assert_eq!(rows, Rows::Named(vec!["a.b".to_owned(), "c.d@8/9".to_owned()]));
        assert_eq!(wanted(&[on, ("KILTER_ONLINE_ROWS", "all")]).unwrap().rows, Rows::All);
        let folder = |more: &[(&'static str, &'static str)]| wanted(&[&[on], more].concat()).unwrap().directory;
        let home = ("HOME", "/h");
        assert_eq!(folder(&[home]), Some("/h/.local/share/kilter/online".into()));
        assert_eq!(
            folder(&[home, ("XDG_DATA_HOME", "/d")]),
            Some("/d/kilter/online".into())
        );
        assert_eq!(folder(&[home, ("KILTER_ONLINE_DIR", "/o")]), Some("/o".into()));
        assert_eq!(folder(&[home, ("KILTER_ONLINE_DIR", "none")]), None);
    }

    #[test]
    fn ranks_that_would_try_something_else_are_told_apart() {
        let on = ("KILTER_ONLINE", "1");
        let digest = |more: &[(&'static str, &'static str)]| wanted(&[&[on], more].concat()).unwrap().digest();
        assert_eq!(digest(&[]), digest(&[("KILTER_ONLINE_DIR", "/o")]));
        assert_ne!(digest(&[]), digest(&[("KILTER_ONLINE_ROWS", "a.b")]));
        assert_ne!(digest(&[]), digest(&[("KILTER_ONLINE_ROWS", "all")]));
    }
}
