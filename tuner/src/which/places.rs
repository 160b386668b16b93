//! Places where a parameter of the library may be set, the strongest first.

use std::path::{Path, PathBuf};

use kilter_emit::emitters;
use kilter_emit::scope::Scope;
use kilter_model::config::library::Library;
use kilter_model::options::Options;
use kilter_which::lines;

/// Variable that names Open MPI's files of parameters instead of the usual ones.
const PARAMETER_FILES: &str = "OMPI_MCA_mca_base_param_files";

/// Files with their texts, the strongest first.
type Files = Vec<(PathBuf, String)>;

/// Everything that sets parameters here.
pub(super) struct Places<'a> {
    options: &'a Options,
    library: &'a Library,
    /// Files that win over everything, and files that everything wins over.
    files: (Files, Files),
}

/// A setting and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) value: String,
    pub(super) place: String,
}

impl<'a> Places<'a> {
    /// Reads the files that a library of this kind has.
    pub(super) fn of(options: &'a Options, library: &'a Library) -> Places<'a> {
        let site_file = library.emitter.as_deref().and_then(emitters::site_file);
        let places = site_file.and_then(|file| (file.places)(&Scope::User, &options.mpirun).ok());
        let places = places.unwrap_or_default();
        let read = |path: Option<PathBuf>| {
            let path = path?;
            let text = std::fs::read_to_string(&path).ok()?;
            Some((path, text))
        };
        let usual = match std::env::var(PARAMETER_FILES) {
            Ok(list) if site_file.is_some() => {
                let named = list.split([',', ':']).filter(|file| !file.is_empty());
                named.map(|file| Some(Path::new(file).to_path_buf())).collect()
            }
            _ => vec![places.parameters, places.site],
        };
        Places {
            options,
            library,
            files: (
                read(places.overrides).into_iter().collect(),
                usual.into_iter().filter_map(read).collect(),
            ),
        }
    }

    /// The value that ranks get for a parameter, and the place that sets it; `None` where nobody sets it.
    pub(super) fn set(&self, name: &str) -> Option<Set> {
        let form = &self.library.launcher.variable;
        let variable = if form.is_empty() {
            name.to_owned()
        } else {
            form.replace("{name}", name)
        };
        let (overrides, files) = &self.files;
        in_files(overrides, name)
            .or_else(|| self.by_option(name, &variable))
            .or_else(|| {
                let value = std::env::var(&variable).ok()?;
                let place = format!("`{variable}` in the environment");
                Some(Set { value, place })
            })
            .or_else(|| in_files(files, name))
    }

    /// The value that ranks get for a variable of the environment.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let options = &self.options.site_environment;
        let given = options.iter().rev().find(|(other, _)| other == name);
        given
            .map(|(_, value)| value.clone())
            .or_else(|| std::env::var(name).ok())
    }

    fn by_option(&self, name: &str, variable: &str) -> Option<Set> {
        let found = |pairs: &[(String, String)], wanted: &str, option: &str| {
            let (_, value) = pairs.iter().rev().find(|(other, _)| other == wanted)?;
            Some(Set {
                value: value.clone(),
                place: format!("`{option} {wanted}={value}`"),
            })
        };
        found(&self.options.site_parameters, name, "--mca")
            .or_else(|| found(&self.options.site_environment, variable, "--env"))
    }
}

/// The first file that sets a parameter, with the line.
fn in_files(files: &[(PathBuf, String)], name: &str) -> Option<Set> {
    files.iter().find_map(|(path, text)| {
        let (line, value) = lines::assignment(text, name)?;
        let place = format!("{}:{line}", path.display());
        Some(Set { value, place })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_with_a_parameter_is_named_with_its_line() {
        let file = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
        let files = [file("/home/own", "# mine\nx = 1\n"), file("/etc/all", "x = 2\ny = 3\n")];
        let set = |name: &str| in_files(&files, name).map(|set| (set.value, set.place));
        assert_eq!(set("x"), Some(("1".to_owned(), "/home/own:2".to_owned())));
        assert_eq!(set("y"), Some(("3".to_owned(), "/etc/all:2".to_owned())));
        assert_eq!(set("z"), None);
    }
}
