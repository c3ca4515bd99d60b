//! Packages of the system (Debian and its derivatives).

use super::missing::{Missing, Remedy};
use super::system::System;

/// Refreshes apt's package lists; once per installation is enough.
pub const UPDATE: [&str; 2] = ["apt-get", "update"];

const INSTALL: [&str; 5] = [
    "apt-get",
    "install",
    "-y",
    "--no-install-recommends",
    // The following arguments are names, whatever they begin with.
    "--",
];

/// Keeps apt from prompting, and from restarting services.
pub const VARIABLES: [(&str, &str); 2] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("NEEDRESTART_SUSPEND", "1"),
];

/// The packages that are not installed, each with the command that would install all of them.
pub fn missing(subject: &str, packages: &[String], system: &System) -> Vec<Missing> {
    let has_packages = system.has_packages();
    let is_missing = |package: &&String| !has_packages || !system.has_package(package);
    let names: Vec<&str> = packages
        .iter()
        .filter(is_missing)
        .map(String::as_str)
        .collect();
    let remedy = if has_packages {
        remedy(&names, system.is_root)
    } else {
        Remedy::ByHand(
            "install it with this system's package manager: abx installs packages only on \
             Debian and its derivatives"
                .to_owned(),
        )
    };
    let missing = |name: &&str| Missing {
        subject: subject.to_owned(),
        what: format!("the package {name}"),
        remedy: remedy.clone(),
    };
    names.iter().map(missing).collect()
}

fn remedy(packages: &[&str], is_root: bool) -> Remedy {
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    if is_root {
        let install = [&INSTALL, packages].concat();
        return Remedy::Install(vec![owned(&UPDATE), owned(&install)]);
    }
    let line = shell_words::join([&INSTALL[..INSTALL.len() - 1], packages].concat());
    Remedy::ByHand(format!(
        "run `sudo {line}` (this may start a service; abx, run as root with --install, starts \
         none)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_installs_and_other_users_get_a_command() {
        // Method: two packages, for root and for another user.
        let commands = [
            vec!["apt-get", "update"],
            vec![
                "apt-get",
                "install",
                "-y",
                "--no-install-recommends",
                "--",
                "one",
                "two",
            ],
        ];
        let commands = commands.map(|words| words.into_iter().map(str::to_owned).collect());
        assert_eq!(
            remedy(&["one", "two"], true),
            Remedy::Install(commands.to_vec())
        );
        let Remedy::ByHand(how) = remedy(&["one", "two"], false) else {
            panic!("only root may install");
        };
        let line = "`sudo apt-get install -y --no-install-recommends one two`";
        assert!(how.contains(line), "{how}");
    }

    #[test]
    fn the_system_knows_which_packages_are_missing() {
        // Method: a package that every Debian has and one that no system has, on this machine; and
        // a machine without dpkg.
        let names = ["dpkg".to_owned(), "abx-has-no-such-package".to_owned()];
        let mut system = System::here();
        if system.has_packages() {
            let missing = missing("web", &names, &system);
            let what: Vec<&str> = missing
                .iter()
                .map(|missing| missing.what.as_str())
                .collect();
            assert_eq!(what, ["the package abx-has-no-such-package"]);
        }
        system.path = String::new();
        let missing = missing("web", &names, &system);
        assert_eq!(missing.len(), 2);
        assert!(matches!(&missing[0].remedy, Remedy::ByHand(how) if how.contains("Debian")));
    }
}
