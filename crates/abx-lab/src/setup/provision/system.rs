//! The machine as an installation sees it: which programs and packages it has, and what abx may do
//! there.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abx_study::container::ENGINE_VARIABLE;
use abx_study::program::find;

/// This machine, or a fake one of a test.
#[derive(Debug, Clone)]
pub struct System {
    /// The `PATH` in which programs are searched.
    pub path: String,
    /// The program that runs containers, if the environment names it.
    pub engine: Option<String>,
    /// Whether abx may install packages.
    pub is_root: bool,
    /// The script that maintainer scripts run before they start a service.
    pub policy: PathBuf,
}

/// The place of the policy script, by Debian's policy.
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

    /// Whether this system has packages of the kind that study files name.
    pub fn has_packages(&self) -> bool {
        let base = Path::new("/");
        ["dpkg-query", "apt-get"]
            .iter()
            .all(|name| find(name, self.path.as_ref(), base).is_some())
    }

    /// Whether a package is installed. As for apt, a version (`name=1.2`) or a release
    /// (`name/stable`) may follow the name.
    pub fn has_package(&self, package: &str) -> bool {
        let (name, version) = match package.split_once('=') {
            Some((name, version)) => (name, Some(version)),
            None => (package.split('/').next().unwrap_or(package), None),
        };
        // SUBTLE: a `*` would be a pattern for dpkg and a name for apt.
        if name.contains(['*', '?', '[']) {
            return false;
        }
        let arguments = ["-W", "-f=${Status}\t${Version}\n", "--", name];
        let output = self.output("dpkg-query", &arguments, &self.path);
        output.is_some_and(|text| is_installed(&text, version))
    }

    /// The output of a program that changes nothing, `None` if it fails.
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

/// Reads lines of `status TAB version`, one for each architecture.
fn is_installed(output: &str, version: Option<&str>) -> bool {
    output.lines().any(|line| {
        let (status, installed) = line.split_once('\t').unwrap_or((line, ""));
        status.ends_with(" ok installed") && version.is_none_or(|wanted| wanted == installed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_packages_of_the_requested_version_are_installed() {
        // Method: the output of dpkg-query in each state.
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
