//! Packages of the system (Debian and its kin).

use super::missing::{Missing, Remedy};
use super::system::System;

/// Refreshes apt's package lists; once for each installation is enough.
pub const UPDATE: [&str; 2] = ["apt-get", "update"];

const INSTALL: [&str; 5] = [
    "apt-get",
    "install",
    "-y",
    "--no-install-recommends",
    // The next word is a name, whatever it begins with.
    "--",
];

/// Keeps apt from prompting, and from restarting services.
pub const VARIABLES: [(&str, &str); 2] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("NEEDRESTART_SUSPEND", "1"),
];

/// Those of these packages that are not installed, with the command that would install them all.
pub fn missing(subject: &str, packages: &[String], system: &System) -> Vec<Missing> {
    let has_packages = system.has_packages();
    let is_missing = |package: &&String| !has_packages || !system.has_package(package);
    let missing: Vec<&str> = packages
        .iter()
        .filter(is_missing)
        .map(String::as_str)
        .collect();
    let remedy = if has_packages {
        remedy(&missing, system.is_root)
    } else {
        Remedy::ByHand(
            "install it with this system's package manager: abx installs packages only on \
             Debian and its derivatives"
                .to_owned(),
        )
    };
    let item = |package: &&str| Missing {
        subject: subject.to_owned(),
        what: format!("the package {package}"),
        remedy: remedy.clone(),
    };
    missing.iter().map(item).collect()
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
    fn root_installs_and_others_are_told_the_line() {
        // Method: two packages, both ways.
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
    fn packages_are_asked_of_the_system() {
        // Method: one that this test needs itself, one that no system has, on the machine as it is;
        // and a machine without dpkg.
        let names = ["dpkg".to_owned(), "abx-has-no-such-package".to_owned()];
        let mut system = System::here();
        if system.has_packages() {
            let missings = missing("web", &names, &system);
            let what: Vec<&str> = missings
                .iter()
                .map(|missing| missing.what.as_str())
                .collect();
            assert_eq!(what, ["the package abx-has-no-such-package"]);
        }
        system.path = String::new();
        let missings = missing("web", &names, &system);
        assert_eq!(missings.len(), 2);
        assert!(matches!(&missings[0].remedy, Remedy::ByHand(how) if how.contains("Debian")));
    }
}
