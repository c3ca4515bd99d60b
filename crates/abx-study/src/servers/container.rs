//! A server that is a container: its image, and the program that runs containers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use abx_sys::process::Signal;

use crate::servers::program;

/// The environment variable that names the program that runs containers.
pub const ENGINE_VARIABLE: &str = "ABX_CONTAINER_ENGINE";

/// The engines to look for if the variable is not set, in order. podman comes first because it has
/// no daemon, so that every process it starts is a descendant of the keeper.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// The image that a server's container is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerImage {
    /// Its name in the engine, such as `nginx:1.27`.
    pub name: String,
    /// The signal that stops its server; `None` for that of the image.
    pub stop_signal: Option<Signal>,
}

/// The program that runs containers here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEngine {
    pub program: PathBuf,
}

/// No container engine was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoEngine {
    /// The programs that were searched: `podman or docker`.
    pub sought: String,
}

impl ContainerImage {
    /// Whether a text can be the name of an image: a name that begins like an option would be one.
    #[must_use]
    pub fn is_name(text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:/@".contains(&byte);
        text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_plain)
    }
}

impl ContainerEngine {
    /// The engine that the environment names, else the first one on `PATH`.
    pub fn here() -> Result<ContainerEngine, NoEngine> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let named = std::env::var(ENGINE_VARIABLE).ok();
        ContainerEngine::find(&path, named.as_deref())
    }

    /// The engine of this name, else the first one in the folders of `path`.
    pub fn find(path: &OsStr, named: Option<&str>) -> Result<ContainerEngine, NoEngine> {
        let named = named.filter(|name| !name.is_empty());
        let sought = named.map_or(ENGINES.to_vec(), |name| vec![name]);
        let program = sought
            .iter()
            .find_map(|name| program::find(name, path, Path::new("/")));
        match program {
            Some(program) => Ok(ContainerEngine { program }),
            None => Err(NoEngine {
                sought: sought.join(" or "),
            }),
        }
    }

    /// Its name, for messages and for commands that a person types.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.program.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_engine_is_the_named_one_or_the_first_installed_one() {
        // Method: a folder with docker alone, then with podman too; with a name and without.
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        };
        let path = folder.path().as_os_str();
        let find = |named| ContainerEngine::find(path, named).map(|engine| engine.name());
        let missing = |sought: &str| {
            Err(NoEngine {
                sought: sought.to_owned(),
            })
        };
        assert_eq!(find(None), missing("podman or docker"));
        make("docker");
        assert_eq!(find(None), Ok("docker".to_owned()));
        make("podman");
        assert_eq!(find(None), Ok("podman".to_owned()));
        assert_eq!(find(Some("docker")), Ok("docker".to_owned()));
        assert_eq!(find(Some("")), Ok("podman".to_owned()));
        assert_eq!(find(Some("nerdctl")), missing("nerdctl"));
    }

    #[test]
    fn names_of_images_are_distinguished_from_options_and_other_text() {
        // Method: names as registries and engines write them, and texts that are not names.
        for name in [
            "nginx",
            "nginx:1.27",
            "localhost/a_b-c:x",
            "h:5000/a@sha256:ab",
        ] {
            assert!(ContainerImage::is_name(name), "{name}");
        }
        for other in ["", "-v", "--privileged", "a b", "a;b", "/x", ":1"] {
            assert!(!ContainerImage::is_name(other), "{other}");
        }
    }
}
