//! `manifest.json`: the files of a staging directory, their library, and the settings under which it was tuned. `kilter apply` installs what
//! it lists and nothing else. Its schema is `configs/schema/manifest.schema.json`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Component, Path};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::emitters;
use super::site_file::SiteFile;

/// Version of the schema.
pub const SCHEMA: u32 = 1;

/// The file's name in a staging directory.
pub const NAME: &str = "manifest.json";

/// A staging directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of Kilter that wrote it.
    pub kilter: String,
    /// The directory as the files name it: an absolute path.
    pub directory: String,
    /// The library.
    pub library: TunedLibrary,
    /// Under what it was tuned.
    pub tuned_under: TunedUnder,
    /// The files, by name.
    pub files: Vec<StagedFile>,
}

/// The library that the files are for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TunedLibrary {
    /// Name of its description, such as `openmpi-4.1`.
    pub id: String,
    /// Such as `Open MPI`.
    pub name: String,
    /// Such as `4.1.4`.
    pub version: String,
    /// The installed file that its parameters belong into; without one the environment carries them.
    pub site_file: Option<&'static SiteFile>,
}

impl Serialize for SiteFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static SiteFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<&'static SiteFile, D::Error> {
        let name = String::deserialize(deserializer)?;
        emitters::site_file(&name).ok_or_else(|| {
            let known: Vec<String> = emitters::site_files().map(|file| format!("`{}`", file.name)).collect();
            D::Error::custom(format!("unknown site file `{name}`, expected {}", known.join(" or ")))
        })
    }
}

impl JsonSchema for SiteFile {
    fn schema_name() -> Cow<'static, str> {
        "SiteFile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let rows: Vec<Schema> = emitters::site_files()
            .map(|file| json_schema!({"description": file.files, "type": "string", "const": file.name}))
            .collect();
        json_schema!({
            "description": "Installed files of parameters that sites and users have.",
            "oneOf": rows,
        })
    }
}

/// Under what was tuned: what is different there may be different in its best settings, too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TunedUnder {
    /// Ranks of the job; of the largest one where several layouts were tuned.
    pub ranks: usize,
    /// The layouts that were tuned, nodes by ranks per node, such as `8x16`; empty where ranks lay as the launcher put them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<String>,
    /// Transports in use.
    pub transports: Vec<String>,
    /// Facts that the library told of its device and transports, such as `btl_vader_single_copy_mechanism`.
    pub device: BTreeMap<String, String>,
    /// Parameters that the site gave to every launch.
    pub parameters: BTreeMap<String, String>,
    /// Environment that the site gave to every rank.
    pub environment: BTreeMap<String, String>,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StagedFile {
    /// Relative to the directory.
    pub name: String,
    /// The kind of its content.
    pub carries: Carries,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

/// The kind of content of an emitted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Carries {
    /// Parameters of the library, in the form of its site file.
    Parameters,
    /// Rules or a selection by collective, communicator size and message size; named by a parameter or a variable.
    Rules,
    /// Components by collective, communicator size and message size; named by a parameter.
    Components,
    /// Environment of the ranks, `NAME='value'` lines.
    Environment,
    /// Profile of the drop-in.
    Profile,
    /// The drop-in, or a plugin of it.
    Library,
    /// Arguments of the launcher, a line each; nothing to install.
    Arguments,
    /// The settings once more, in a form of a site.
    Form,
    /// A page for people.
    Readme,
}

/// A manifest that cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not a manifest.
    #[error("not a manifest of this version of Kilter; let `kilter tune` write it anew")]
    Malformed(#[from] serde_json::Error),
    /// Another version's.
    #[error(
        "the manifest has schema {0}, this version of Kilter reads schema {SCHEMA}; apply it with the version that wrote it"
    )]
    Schema(u64),
    /// A name that would leave the directory it belongs to.
    #[error("{key}: `{}` must be {allowed}", name.escape_debug())]
    Name {
        /// The key.
        key: &'static str,
        /// The name in the manifest.
        name: String,
        /// The names that are allowed.
        allowed: &'static str,
    },
}

impl Manifest {
    /// Reads and checks it.
    ///
    /// # Errors
    /// Text that is no manifest, has another schema, or names what lies outside of its directory.
    pub fn parse(text: &str) -> Result<Manifest, ManifestError> {
        let declared: serde_json::Value = serde_json::from_str(text)?;
        match declared.get("schema").and_then(serde_json::Value::as_u64) {
            Some(found) if found != u64::from(SCHEMA) => return Err(ManifestError::Schema(found)),
            _ => {}
        }
        // From the text again, so that the message has line and column.
        let manifest: Manifest = serde_json::from_str(text)?;
        let wrong = |key, name: &str, allowed| ManifestError::Name {
            key,
            name: name.to_owned(),
            allowed,
        };
        let id = &manifest.library.id;
        if !id.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !id.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        {
            return Err(wrong(
                "library.id",
                id,
                "letters, digits, `.`, `_` and `-`, such as `openmpi-4.1`",
            ));
        }
        if !Path::new(&manifest.directory).is_absolute() || manifest.directory.ends_with('/') {
            return Err(wrong("directory", &manifest.directory, "an absolute path"));
        }
        for file in &manifest.files {
            let inside = |part| matches!(part, Component::Normal(_));
            let is_plain = file.name.chars().all(|c| !c.is_control());
            if file.name.is_empty() || !is_plain || !Path::new(&file.name).components().all(inside) {
                return Err(wrong(
                    "files",
                    &file.name,
                    "a path inside the directory, without control characters",
                ));
            }
        }
        Ok(manifest)
    }

    /// Pretty-printed JSON with a final newline.
    ///
    /// # Errors
    /// If serialisation fails, which no content causes.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        kilter_render::json::text(self)
    }

    /// Header of each file about itself, a line each.
    #[must_use]
    pub fn title(&self) -> Vec<String> {
        let TunedUnder {
            ranks,
            layouts,
            transports,
            device,
            parameters,
            environment,
        } = &self.tuned_under;
        let tuned_with = match layouts.as_slice() {
            [] => format!("with {ranks} ranks"),
            layouts => format!("in layouts (nodes x ranks per node) {}", layouts.join(", ")),
        };
        let mut title = vec![format!(
            "Settings for {} {}, tuned {tuned_with} by kilter {}.",
            self.library.name, self.library.version, self.kilter
        )];
        let list = |pairs: &BTreeMap<String, String>| {
            let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
            pairs.join(" ")
        };
        let on = [transports.join(" "), list(device)].join("; ");
        title.push(format!(
            "Transports and device: {}.",
            on.trim_start_matches("; ").trim_end_matches("; ")
        ));
        if !parameters.is_empty() || !environment.is_empty() {
            title.push(format!(
                "Tuned under the site's {}.",
                [list(parameters), list(environment)].join(" ").trim()
            ));
        }
        title.iter().map(|line| super::forms::one_line(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            schema: SCHEMA,
            kilter: "0.1.0".to_owned(),
            directory: "/tmp/out/emit".to_owned(),
            library: TunedLibrary {
                id: "openmpi-4.1".to_owned(),
                name: "Open MPI".to_owned(),
                version: "4.1.4".to_owned(),
                site_file: Some(emitters::UNNAMED_SITE_FILE),
            },
            tuned_under: TunedUnder {
                ranks: 2,
                layouts: Vec::new(),
                transports: vec!["vader".to_owned()],
                device: [("btl_vader_single_copy_mechanism".to_owned(), "cma".to_owned())].into(),
                parameters: [("btl".to_owned(), "vader,self".to_owned())].into(),
                environment: BTreeMap::new(),
            },
            files: vec![StagedFile {
                name: "lib/libkilter.so".to_owned(),
                carries: Carries::Library,
                sha256: "00".repeat(32),
            }],
        }
    }

    #[test]
    fn the_json_has_the_schema_that_is_published_and_reads_back() {
        let mut schema = schemars::schema_for!(Manifest);
        let rows = schema.pointer_mut("/$defs/SiteFile/oneOf");
        rows.and_then(|rows| rows.as_array_mut())
            .unwrap()
            .retain(|row| row["const"] != "ini");
        let schema = kilter_render::json::text(&schema).unwrap();
        kilter_fixtures::published::assert_current("manifest", &schema);
        assert_eq!(Manifest::parse(&manifest().to_text().unwrap()).unwrap(), manifest());
    }

    #[test]
    fn the_title_says_for_what_and_under_what() {
        let title = manifest().title().join("\n");
        insta::assert_snapshot!(title, @r"
        Settings for Open MPI 4.1.4, tuned with 2 ranks by kilter 0.1.0.
        Transports and device: vader; btl_vader_single_copy_mechanism=cma.
        Tuned under the site's btl=vader,self.
        ");
    }

    #[test]
    fn what_leaves_its_directory_is_refused() {
        let refused = |change: &dyn Fn(&mut Manifest), part: &str| {
            let mut manifest = manifest();
            change(&mut manifest);
            let error = Manifest::parse(&manifest.to_text().unwrap()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        for name in ["../x", "/etc/passwd", "", "lib/../../x"] {
            refused(
                &|manifest| manifest.files[0].name = name.to_owned(),
                "inside the directory",
            );
        }
        refused(&|manifest| manifest.library.id = "../x".to_owned(), "library.id");
        refused(&|manifest| manifest.library.id = String::new(), "library.id");
        refused(&|manifest| manifest.directory = "out".to_owned(), "absolute");
        refused(&|manifest| manifest.schema = 2, "schema 2");
        assert!(Manifest::parse("{").is_err());
    }
}
