//! Installed files of parameters that sites and users have: how each is read, where it lies, and the variables that say the same. An
//! emitter whose library has one describes it beside itself.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::forms::Daemon;
use crate::scope::Scope;

/// Names and values.
pub type Pairs = Vec<(String, String)>;

/// An installed file of parameters.
pub struct SiteFile {
    /// Its name in a manifest.
    pub name: &'static str,
    /// The files, for the manifest's schema.
    pub files: &'static str,
    /// The name of the file of this form in a staging directory.
    pub staged: &'static str,
    /// Reads it as its library does; an error is a line that the library would misread.
    pub parse: fn(&str) -> anyhow::Result<Pairs>,
    /// Its text; an error is a name or a value that it cannot carry.
    pub to_text: fn(&[(String, String)]) -> anyhow::Result<String>,
    /// The parameters as variables of the environment, which wins over such files.
    pub as_environment: fn(&[(String, String)]) -> Pairs,
    /// The programs that its library's launchers start on other hosts.
    pub daemons: &'static [Daemon],
    /// Its places for a scope. The path is the library's launcher, beside which its other programs are.
    pub places: fn(&Scope, &Path) -> anyhow::Result<Places>,
    /// Its library reads rules as JSON, too.
    pub json_rules: bool,
}

/// Places of such a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// The file that changes; without one the modules carry the parameters.
    pub parameters: Option<PathBuf>,
    /// The site's file, over which `parameters` wins; the same file if the site's is the one that changes.
    pub site: Option<PathBuf>,
    /// The site's file whose parameters win over everything.
    pub overrides: Option<PathBuf>,
}

impl PartialEq for SiteFile {
    fn eq(&self, other: &SiteFile) -> bool {
        self.name == other.name
    }
}

impl Eq for SiteFile {}

impl fmt::Debug for SiteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SiteFile({})", self.name)
    }
}
