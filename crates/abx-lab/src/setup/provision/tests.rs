//! Installs packages on a fake machine, whose apt and dpkg are scripts that keep their state in a
//! folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use crate::locked_file::LockedFile;

use super::install::install_until;
use super::interrupt::Interrupt;
use super::*;
use abx_study::study_file::{Need, StudyFile};

/// A machine in a folder.
struct Machine {
    folder: tempfile::TempDir,
    system: System,
}

/// Logs its arguments and the policy's status, and then installs packages, or fails or lies if a
/// file of that name exists.
const APT: &str = r#"#!/bin/sh
cd 'ROOT' || exit 1
echo "$*" >>calls
[ -x policy-rc.d ] && sh ./policy-rc.d
echo "policy $? frontend $DEBIAN_FRONTEND" >>calls
[ "$1" = update ] && exit 0
[ -e fails ] && { echo "E: no room"; exit 100; }
[ -e lies ] && exit 0
for name; do touch "installed-$name"; done
"#;

const DPKG: &str = r#"#!/bin/sh
for name; do :; done
[ -e "ROOT/installed-$name" ] || exit 1
printf 'install ok installed\t1.0\n'
"#;

impl Machine {
    fn new() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("bin")).unwrap();
        let machine = Machine {
            system: System {
                path: format!("{}:/usr/bin:/bin", at("bin").display()),
                engine: None,
                is_root: true,
                policy: at("policy-rc.d"),
            },
            folder,
        };
        machine.script("bin/apt-get", APT);
        machine.script("bin/dpkg-query", DPKG);
        machine.script("policy-rc.d", "#!/bin/sh\nexit 104\n");
        machine
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        let text = text.replace("ROOT", &self.folder.path().to_string_lossy());
        // SUBTLE: If this process wrote it, it could not be run while another test's child, just
        // forked, still has it open for writing.
        let write = r#"printf %s "$1" >"$2" && chmod 755 "$2""#;
        let status = Command::new("sh")
            .args(["-c", write, "sh", &text])
            .arg(self.at(name))
            .status();
        assert!(status.unwrap().success());
    }

    fn survey(&self, needs: &[Need]) -> Vec<Provision> {
        let study = study(needs);
        survey_on(&self.system, &study, self.folder.path(), &self.at("cache"))
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.at("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// The machine's own policy is back, and abx has left no other file.
    fn assert_policy_is_back(&self) {
        let policy = fs::read_to_string(self.at("policy-rc.d")).unwrap();
        assert_eq!(policy, "#!/bin/sh\nexit 104\n");
        let names = fs::read_dir(self.folder.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.contains("abx-")).count(), 0);
    }
}

/// Two subjects: one with these needs, and one that needs nothing.
fn study(needs: &[Need]) -> StudyFile {
    let text = r#"
[[subject]]
name = "web"
command = ["web", "{port}"]
[[subject]]
name = "plain"
command = ["plain", "{port}"]
[[load]]
name = "small"
requests = [{ path = "/" }]
"#;
    let none = |_: &Path| Ok(String::new());
    let mut study = abx_study::study_file::parse(text, Path::new("study.toml"), &none).unwrap();
    study.subjects[0].server.needs = needs.to_vec();
    study
}

fn packages(names: &[&str]) -> Need {
    Need::Packages(names.iter().map(|&name| name.to_owned()).collect())
}

#[test]
fn packages_are_installed_and_no_service_may_start() {
    // Method: the fake apt logs the policy's status. One package is there already, and a second
    // need causes no second update.
    let machine = Machine::new();
    fs::write(machine.at("installed-old"), "").unwrap();
    let needs = [packages(&["old", "new"]), packages(&["third"])];
    let provisions = machine.survey(&needs);
    assert_eq!(provisions.len(), 1);
    let what: Vec<&str> = provisions[0]
        .missing()
        .iter()
        .map(|missing| &*missing.what)
        .collect();
    assert_eq!(what, ["the package new", "the package third"]);
    let mut lines = Vec::new();
    install(&provisions, &mut |line| lines.push(line.to_owned())).unwrap();
    let refused = "policy 101 frontend noninteractive";
    let expected = [
        "update",
        refused,
        "install -y --no-install-recommends -- new",
        refused,
        "install -y --no-install-recommends -- third",
        refused,
    ];
    assert_eq!(machine.calls(), expected);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], "web: apt-get update");
    machine.assert_policy_is_back();
    assert_eq!(machine.survey(&needs)[0].missing(), []);
    install(&machine.survey(&needs), &mut |_| {
        panic!("nothing is to be done")
    })
    .unwrap();
}

#[test]
fn a_failed_installation_is_reported_and_restores_the_policy() {
    // Method: an apt that fails, and one that reports a false success.
    for (behaviour, parts) in [
        ("fails", ["E: no room", "apt-get install"]),
        ("lies", ["still", "the package new"]),
    ] {
        let machine = Machine::new();
        fs::write(machine.at(behaviour), "").unwrap();
        let provisions = machine.survey(&[packages(&["new"])]);
        let message = install(&provisions, &mut |_| {}).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "{behaviour}: {message}");
        }
        machine.assert_policy_is_back();
    }
}

#[test]
fn without_root_the_command_is_shown_and_nothing_is_done() {
    // Method: the same machine for an ordinary user, with a build that would be possible.
    let mut machine = Machine::new();
    machine.system.is_root = false;
    let build = Need::Build {
        command: ["sh", "-c", "touch built"].map(str::to_owned).to_vec(),
        folder: PathBuf::from("bin"),
    };
    let provisions = machine.survey(&[packages(&["new"]), build]);
    let error = install(&provisions, &mut |_| panic!("nothing may run")).unwrap_err();
    let message = error.to_string();
    let line = "sudo apt-get install -y --no-install-recommends new`";
    assert!(message.contains(line), "{message}");
    assert_eq!(machine.calls(), [""; 0]);
    assert!(!machine.at("cache").exists());
}

#[test]
fn a_missing_installer_is_a_missing_package() {
    // Method: a machine that has only apt and dpkg, with one need of each language, alone and
    // together with the package of its installer.
    let mut machine = Machine::new();
    machine.system.path = machine.at("bin").to_string_lossy().into_owned();
    machine.script("bin/dpkg-query", "#!/bin/sh\nexit 1\n");
    let item = |text: &str| vec![text.to_owned()];
    let what = |needs: &[Need]| -> Vec<String> {
        let provisions = machine.survey(needs);
        let missing = provisions[0].missing().iter();
        missing.map(|missing| missing.what.clone()).collect()
    };
    for (need, tool, list) in [
        (Need::Npm(item("ws")), "npm", "ws from npm"),
        (Need::Pypi(item("x")), "python3-venv", "x from pypi"),
        (Need::Cargo(item("x")), "cargo", "x from cargo"),
        (Need::Maven(item("g:a:1")), "maven", "g:a:1 from maven"),
    ] {
        let expected = [format!("the package {tool}"), list.to_owned()];
        assert_eq!(what(std::slice::from_ref(&need)), expected);
        assert_eq!(what(&[packages(&[tool]), need]), expected);
    }
}

#[test]
fn a_missing_image_is_fetched() {
    // Method: a machine without an engine; with one that lists its fetched images; and with one
    // that has no daemon.
    let mut machine = Machine::new();
    machine.system.path = machine.at("bin").to_string_lossy().into_owned();
    let needs = [Need::Image("web:1".to_owned())];
    let messages = |machine: &Machine| -> Vec<String> {
        let provisions = machine.survey(&needs);
        provisions[0]
            .missing()
            .iter()
            .map(Missing::to_string)
            .collect()
    };
    let none = "needs podman or docker: install one, such as the package podman";
    assert!(
        messages(&machine)[0].contains(none),
        "{:?}",
        messages(&machine)
    );
    let engine = "#!/bin/sh\ncase $1 in\n\
        pull) : >ROOT/fetched-$2 ;;\n\
        image) [ -e ROOT/fetched-$5 ] && echo ab || { echo 'no such image' >&2; exit 1; } ;;\n\
        esac\n";
    machine.script("bin/docker", engine);
    assert!(messages(&machine)[0].ends_with("needs the image web:1: docker pull web:1"));
    install(&machine.survey(&needs), &mut |_| {}).unwrap();
    assert_eq!(messages(&machine), [""; 0]);
    machine.script("bin/podman", "#!/bin/sh\necho 'no daemon' >&2\nexit 1\n");
    let silent = "resolve this error of podman: no daemon";
    assert!(
        messages(&machine)[0].ends_with(silent),
        "{:?}",
        messages(&machine)
    );
}

#[test]
fn packages_of_a_need_come_before_the_build_that_uses_them() {
    // Method: the fake apt creates the program that the build runs.
    let machine = Machine::new();
    let apt = format!("{APT}cp policy-rc.d bin/maker && echo '#!/bin/sh' >bin/maker\n");
    machine.script(
        "bin/apt-get",
        &format!("{apt}echo 'echo made >$1' >>bin/maker\n"),
    );
    fs::create_dir(machine.at("server")).unwrap();
    let build = Need::Build {
        command: ["maker", "{build}/made"].map(str::to_owned).to_vec(),
        folder: PathBuf::from("server"),
    };
    let alone = machine.survey(std::slice::from_ref(&build));
    let hint = &alone[0].missing()[1];
    assert!(hint.to_string().contains("the program maker"), "{hint}");
    let needs = [packages(&["maker"]), build];
    let provisions = machine.survey(&needs);
    assert_eq!(provisions[0].missing().len(), 2);
    install(&provisions, &mut |_| {}).unwrap();
    let made = provisions[0].build().unwrap().join("made");
    assert_eq!(fs::read_to_string(made).unwrap(), "made\n");
    assert_eq!(machine.survey(&needs)[0].missing(), []);
}

#[test]
fn subjects_with_equal_builds_share_one_build() {
    // Method: two subjects with the same build, which counts how often it runs.
    let machine = Machine::new();
    fs::create_dir(machine.at("server")).unwrap();
    let script = format!("echo built >>'{}'", machine.at("builds").display());
    let build = Need::Build {
        command: ["sh", "-c", &script, "{build}"].map(str::to_owned).to_vec(),
        folder: PathBuf::from("server"),
    };
    let mut study = study(&[]);
    for subject in &mut study.subjects {
        subject.server.needs = vec![build.clone()];
    }
    let provisions = survey_on(
        &machine.system,
        &study,
        machine.folder.path(),
        &machine.at("cache"),
    );
    install(&provisions, &mut |_| {}).unwrap();
    assert_eq!(provisions[0].build(), provisions[1].build());
    let builds = fs::read_to_string(machine.at("builds")).unwrap();
    assert_eq!(builds, "built\n");
}

#[test]
fn a_stopped_installation_restores_the_policy() {
    // Method: a stop before the second of apt's commands.
    let machine = Machine::new();
    let provisions = machine.survey(&[packages(&["new"])]);
    let interrupt = Interrupt::watch().unwrap();
    let flag = interrupt.flag();
    let mut notify = |line: &str| {
        if line.contains("install") {
            flag.store(true, Ordering::Relaxed);
        }
    };
    let error = install_until(interrupt, &provisions, &mut notify).unwrap_err();
    assert!(matches!(error, InstallError::Interrupted), "{error}");
    assert_eq!(machine.calls().len(), 2);
    machine.assert_policy_is_back();
    assert_eq!(machine.survey(&[packages(&["new"])])[0].missing().len(), 1);
}

#[test]
fn two_installations_into_one_cache_take_turns() {
    // Method: the lock is held, and released when the wait is reported. In a second try it is not
    // released, and the user stops the installation.
    let machine = Machine::new();
    let provisions = machine.survey(&[packages(&["new"])]);
    fs::create_dir(machine.at("cache")).unwrap();
    let hold = || {
        let file = fs::File::create(machine.at("cache/lock")).unwrap();
        LockedFile::wait_for(file)
    };
    let mut held = Some(hold());
    let mut lines = Vec::new();
    let mut notify = |line: &str| {
        lines.push(line.to_owned());
        held = None;
    };
    install(&provisions, &mut notify).unwrap();
    assert!(lines[0].starts_with("waiting"), "{lines:?}");
    assert_eq!(lines.len(), 3);

    let _held = hold();
    let interrupt = Interrupt::watch().unwrap();
    let stop = interrupt.flag();
    let mut notify = |_: &str| stop.store(true, Ordering::Relaxed);
    let error = install_until(interrupt, &provisions, &mut notify).unwrap_err();
    assert!(matches!(error, InstallError::Interrupted), "{error}");
}
