//! The machine as far as installing is concerned: which programs and packages
//! it has, and what abx may do there.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abx_study::container::ENGINE_VARIABLE;
use abx_study::program::find;

/// This machine, or one made up by a test.
#[derive(Debug, Clone)]
pub struct System {
    /// Where programs are looked for.
    pub path: String,
    /// The program that runs containers, if the environment names it.
    pub engine: Option<String>,
    /// Whether abx may install packages.
    pub is_root: bool,
    /// The script that maintainer scripts run before they start a service.
    pub policy: PathBuf,
}

/// The place that Debian's policy fixes for it.
const POLICY: &str = "/usr/sbin/policy-rc.d";

impl System {
    /// This machine.
    pub fn here() -> System {
        let path = env::var_os("PATH").unwrap_or_default();
        System {
            path: path.to_string_lossy().into_owned(),
            engine: env::var(ENGINE_VARIABLE).ok(),
            is_root: rustix::process::geteuid().is_root(),
            policy: PathBuf::from(POLICY),
        }
    }

    /// Whether this system has the packages that study files speak of.
    pub fn has_packages(&self) -> bool {
        let base = Path::new("/");
        ["dpkg-query", "apt-get"]
            .iter()
            .all(|name| find(name, self.path.as_ref(), base).is_some())
    }

    /// Whether a package is installed: its name as apt takes it, so a version
    /// (`name=1.2`) or a release (`name/stable`) may follow.
    pub fn has_package(&self, package: &str) -> bool {
        let (name, version) = match package.split_once('=') {
            Some((name, version)) => (name, Some(version)),
            None => (package.split('/').next().unwrap_or(package), None),
        };
        // SUBTLE: a `*` would be a pattern for dpkg and a name for apt.
        if name.contains(['*', '?', '[']) {
            return false;
        }
        let question = ["-W", "-f=${Status}\t${Version}\n", "--", name];
        let response = self.output("dpkg-query", &question, &self.path);
        response.is_some_and(|text| is_installed(&text, version))
    }

    /// The output of a program that only responses, `None` when it fails.
    pub fn output(&self, name: &str, arguments: &[&str], path: &str) -> Option<String> {
        let output = Command::new(find(name, path.as_ref(), Path::new("/"))?)
            .args(arguments)
            .env("PATH", path)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }
}

/// Reads lines of `status TAB version`; several when there are several architectures.
fn is_installed(response: &str, version: Option<&str>) -> bool {
    response.lines().any(|line| {
        let (status, text) = line.split_once('\t').unwrap_or((line, ""));
        status.ends_with(" ok installed") && version.is_none_or(|wanted| wanted == text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_packages_of_the_right_version_are_installed() {
        // Method: what dpkg-query prints, state by state.
        assert!(is_installed("install ok installed\t1.2\n", None));
        assert!(is_installed("hold ok installed\t1.2\n", Some("1.2")));
        assert!(!is_installed("install ok installed\t1.3\n", Some("1.2")));
        assert!(!is_installed("deinstall ok config-files\t1.2\n", None));
        assert!(!is_installed(
            "install reinstreq half-installed\t1.2\n",
            None
        ));
        assert!(!is_installed("unknown ok not-installed\t\n", None));
        assert!(!is_installed("", None));
        let two = "unknown ok not-installed\t\ninstall ok installed\t1.2\n";
        assert!(is_installed(two, None));
    }
}
