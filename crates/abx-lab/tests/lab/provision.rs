//! Needs of subjects: which are missing, and builds. Nothing here uses the network or changes the
//! system.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use abx_lab::provision::{FailedCommand, InstallError, Provision, Remedy, install, survey};
use abx_lab::study_file::{Need, StudyFile, parse};

/// A study's folder with sources in `server/`, and a cache.
struct BuildSite {
    study: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl BuildSite {
    fn new() -> BuildSite {
        let site = BuildSite {
            study: tempfile::tempdir().unwrap(),
            cache: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(site.study.path().join("server")).unwrap();
        site.write("first");
        site
    }

    fn write(&self, text: &str) {
        fs::write(self.study.path().join("server/source"), text).unwrap();
    }

    fn survey(&self, needs: &[Need]) -> Provision {
        let study = study(needs);
        let mut provisions = survey(&study, self.study.path(), self.cache.path());
        assert_eq!(provisions.len(), 1);
        provisions.remove(0)
    }

    /// Installs these needs, and returns the reported lines.
    fn install(&self, needs: &[Need]) -> Result<Vec<String>, InstallError> {
        let mut lines = Vec::new();
        let provision = self.survey(needs);
        install(&[provision], &mut |line| lines.push(line.to_owned()))?;
        Ok(lines)
    }
}

fn study(needs: &[Need]) -> StudyFile {
    let text = r#"
[[subject]]
name = "web"
command = ["web", "{port}"]
[[load]]
name = "small"
requests = [{ path = "/" }]
"#;
    let none = |_: &Path| Ok(String::new());
    let mut study = parse(text, Path::new("study.toml"), &none).unwrap();
    study.subjects[0].server.needs = needs.to_vec();
    study
}

/// A build by a shell in `server/`.
fn build(script: &str) -> Need {
    Need::Build {
        command: ["sh", "-c", script, "sh", "{build}", "{study}"]
            .map(str::to_owned)
            .to_vec(),
        folder: PathBuf::from("server"),
    }
}

/// What is missing, in words.
fn what(provision: &Provision) -> Vec<&str> {
    provision
        .missing()
        .iter()
        .map(|missing| &*missing.what)
        .collect()
}

#[test]
fn a_build_is_made_once_and_again_when_its_sources_change() {
    // Method: a build that copies its source, surveyed and installed at every stage.
    let site = BuildSite::new();
    let needs = [build(
        "pwd; cp source $1/program && cp $2/server/source $1/second",
    )];
    let before = site.survey(&needs);
    assert_eq!(what(&before), ["the build of web"]);
    let Remedy::Install(commands) = &before.missing()[0].remedy else {
        panic!("abx builds it");
    };
    let first = before.build().unwrap().to_owned();
    assert_eq!(commands[0][4], first.to_str().unwrap());
    assert!(!first.exists());
    assert_eq!(site.install(&needs).unwrap().len(), 1);
    let content = |name: &str| fs::read_to_string(first.join(name)).unwrap();
    assert_eq!(
        (content("program"), content("second")),
        ("first".into(), "first".into())
    );
    assert_eq!(what(&site.survey(&needs)), [""; 0]);
    assert_eq!(site.install(&needs).unwrap(), [""; 0]);

    site.write("another");
    let changed = site.survey(&needs);
    assert_eq!(what(&changed), ["the build of web"]);
    assert_ne!(changed.build().unwrap(), first);
    site.install(&needs).unwrap();
    let second = fs::read_to_string(changed.build().unwrap().join("program")).unwrap();
    assert_eq!(second, "another");
    site.write("first");
    assert_eq!(what(&site.survey(&needs)), [""; 0]);
}

#[test]
fn an_interrupted_build_begins_again_with_an_empty_folder() {
    // Method: the test puts the leftovers of a killed build in its site.
    let site = BuildSite::new();
    let needs = [build("ls -A $1 >list.$$ 2>&1; mv list.$$ $1/list")];
    let folder = site.survey(&needs).build().unwrap().to_owned();
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("half"), "").unwrap();
    assert_eq!(what(&site.survey(&needs)), ["the build of web"]);
    site.install(&needs).unwrap();
    assert_eq!(fs::read_to_string(folder.join("list")).unwrap(), "");
    assert!(!folder.join("half").exists());
}

#[test]
fn a_failed_build_shows_the_end_of_its_output_and_does_not_count() {
    // Method: a build that prints a lot, leaves a file and fails; then a second survey, and the
    // same build repaired.
    let site = BuildSite::new();
    let needs = [build(
        "seq 100; touch $1/half; echo it broke >&2; test -e $2/mended",
    )];
    let error = site.install(&needs).unwrap_err();
    let InstallError::Command(failure) = &error else {
        panic!("{error}");
    };
    let FailedCommand { log, output, .. } = &**failure;
    assert!(output.ends_with("99\n100\nit broke"), "{output}");
    assert!(output.lines().count() < 20);
    assert!(fs::read_to_string(log).unwrap().contains("\n1\n2\n"));
    let message = error.to_string();
    for part in ["web: ", "sh -c", "exit status: 1", "it broke"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(what(&site.survey(&needs)), ["the build of web"]);
    fs::write(site.study.path().join("mended"), "").unwrap();
    site.install(&needs).unwrap();
    assert_eq!(what(&site.survey(&needs)), [""; 0]);
}

#[test]
fn a_build_that_changes_its_sources_is_refused() {
    // Method: a build that leaves a file next to its source.
    let site = BuildSite::new();
    let needs = [build("touch object; touch $1/program")];
    let error = site.install(&needs).unwrap_err();
    assert!(
        matches!(error, InstallError::SourcesChanged { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("{build}"), "{error}");
}

#[test]
fn a_build_without_its_folder_or_program_has_a_remedy() {
    // Method: a missing folder, then a missing program.
    let site = BuildSite::new();
    let nowhere = Need::Build {
        command: vec!["sh".to_owned()],
        folder: PathBuf::from("nowhere"),
    };
    let provision = site.survey(&[nowhere]);
    assert_eq!(provision.build(), None);
    let Remedy::ByHand(how) = &provision.missing()[0].remedy else {
        panic!("only a person can repair it");
    };
    assert!(how.contains("nowhere cannot be read"), "{how}");

    let unknown = Need::Build {
        command: vec!["abx-has-no-such-program".to_owned()],
        folder: PathBuf::new(),
    };
    let error = site.install(&[unknown]).unwrap_err();
    assert!(matches!(error, InstallError::ByHand(_)), "{error}");
    assert!(
        error.to_string().contains("abx-has-no-such-program"),
        "{error}"
    );
}

#[test]
fn a_program_to_bring_exists_or_the_user_reads_how_to_get_it() {
    // Method: a name on the path, an absolute path, a path below the study, and a missing program.
    let site = BuildSite::new();
    let path = site.study.path().join("own");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    let bring = |program: &str| {
        [Need::Bring {
            program: program.to_owned(),
            how: "ask its maker".to_owned(),
        }]
    };
    assert_eq!(what(&site.survey(&bring("sh"))), [""; 0]);
    assert_eq!(what(&site.survey(&bring("/bin/sh"))), [""; 0]);
    assert_eq!(what(&site.survey(&bring("./own"))), ["the program ./own"]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(what(&site.survey(&bring("./own"))), [""; 0]);
    let provision = site.survey(&bring("abx-has-no-such-program"));
    assert_eq!(
        provision.missing()[0].remedy,
        Remedy::Bring("ask its maker".to_owned())
    );
    let message = site.install(&bring("no-such")).unwrap_err().to_string();
    assert!(
        message.contains("web needs the program no-such: ask its maker"),
        "{message}"
    );
}

#[test]
fn an_artifact_with_invalid_coordinates_is_named() {
    // Method: coordinates without a version.
    let site = BuildSite::new();
    let provision = site.survey(&[Need::Maven(vec!["group:name".to_owned()])]);
    let missing = provision.missing()[0].to_string();
    assert!(missing.contains("`group:name`"), "{missing}");
    assert!(missing.contains("group:artifact:version"), "{missing}");
}

#[test]
fn the_environment_leads_a_subject_to_its_installations() {
    // Method: the variables of a subject with two kinds of needs, in two surveys; of one with a
    // build; and a study without needs.
    let site = BuildSite::new();
    let needs = [
        Need::Npm(vec!["ws".to_owned()]),
        Need::Pypi(vec!["websockets".to_owned()]),
    ];
    let environment = site.survey(&needs).environment();
    let value = |name: &str| {
        let pair = environment.iter().find(|(text, _)| text == name);
        pair.map(|(_, value)| value.as_str()).unwrap()
    };
    let cache = site.cache.path().to_str().unwrap();
    let path: Vec<&str> = value("PATH").split(':').collect();
    assert!(path[0].starts_with(&format!("{cache}/npm-")), "{path:?}");
    assert!(path[0].ends_with("/node_modules/.bin"), "{path:?}");
    assert!(path[1].starts_with(&format!("{cache}/pypi-")), "{path:?}");
    assert!(path[1].ends_with("/bin"), "{path:?}");
    assert!(value("NODE_PATH").ends_with("/node_modules"));
    assert_eq!(site.survey(&needs).environment(), environment);
    assert_eq!(site.survey(&[build("true")]).environment(), []);
    let study = study(&[]);
    assert!(survey(&study, site.study.path(), site.cache.path()).is_empty());
}
