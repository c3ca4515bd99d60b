//! abx as people get it: installed by `make install`, packed by `make dist`, and run
//! where there is nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{ABX, Home, read_json};

fn root() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    path.join("../..").canonicalize().unwrap()
}

/// Runs `make` as one types it, with these in its environment.
#[track_caller]
fn make(words: &[&str], environment: &[(&str, &str)]) {
    let mut make = Command::new("make");
    make.current_dir(root()).args(words);
    // The variables of a make and a cargo above this test are not for these commands: build scripts
    // that find other variables run again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let starts = ["MAKE", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        let is_said = starts.iter().any(|start| name.starts_with(start));
        if is_said || ["MFLAGS", "CARGO"].contains(&&*name) {
            make.env_remove(name);
        }
    }
    make.envs(environment.iter().copied());
    let made = make.output().unwrap();
    assert!(made.status.success(), "{words:?}: {made:#?}");
}

/// Runs a command of the system, and returns its output.
#[track_caller]
fn said(command: &mut Command) -> String {
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{command:?}: {ended:#?}");
    String::from_utf8(ended.stdout).unwrap()
}

/// All files below a folder, sorted, by their paths in it.
fn files(folder: &Path) -> Vec<String> {
    let text = said(
        Command::new("find")
            .args([".", "-type", "f", "-printf", "%P\n"])
            .current_dir(folder),
    );
    let mut files: Vec<String> = text.lines().map(str::to_owned).collect();
    files.sort();
    files
}

/// The only file in a folder whose name has this end.
fn one(folder: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    assert_eq!(paths.len(), 1, "{end}: {paths:?}");
    paths[0].clone()
}

/// The files of every way of installing abx, below the prefix.
const PARTS: [&str; 9] = [
    "bin/abx",
    "share/bash-completion/completions/abx",
    "share/fish/vendor_completions.d/abx.fish",
    "share/man/man1/abx.1",
    "share/man/man1/abx-compare.1",
    "share/man/man1/abx-study-run.1",
    "share/doc/abx/README.md",
    "share/doc/abx/docs/guides/ci.md",
    "share/doc/abx/examples/ci/compare-revisions",
];

#[test]
fn make_uninstall_removes_what_make_install_installed() {
    // Method: the program of the tests into a prefix below a folder of staging, by a user whose
    // files are private; a page of another program with a similar name stays.
    let home = Home::new();
    let staged = home.join("staged");
    let prefix = home.join("staged/opt/abx");
    let neighbour = "share/man/man1/abxy.1";
    fs::create_dir_all(prefix.join("share/man/man1")).unwrap();
    fs::write(prefix.join(neighbour), "").unwrap();
    let destination = format!("DESTDIR={}", staged.display());
    let places = ["PREFIX=/opt/abx", &destination, &format!("ABX={ABX}")];
    let private = format!(
        "umask 077; exec make --directory '{}' \"$@\"",
        root().display()
    );
    let mut install = Command::new("sh");
    install.args(["-c", &private, "sh", "install"]).args(places);
    said(install.env_remove("MAKEFLAGS").env_remove("MAKELEVEL"));

    let installed = files(&prefix);
    for part in PARTS.iter().chain(&["share/zsh/site-functions/_abx"]) {
        assert!(
            installed.iter().any(|file| file == part),
            "{part}: {installed:?}"
        );
        let metadata = fs::metadata(prefix.join(part)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o044, 0o044, "{part}");
        assert!(metadata.len() > 100, "{part}");
    }
    let program = prefix.join("bin/abx");
    let symbols = |program: &Path| said(Command::new("nm").arg(program));
    assert_eq!(symbols(&program), "", "not stripped");
    assert_ne!(symbols(Path::new(ABX)), "", "nothing to strip");
    let version = said(Command::new(&program).arg("--version"));
    assert_eq!(version, said(Command::new(ABX).arg("--version")));

    make(&[&["uninstall"], &places[..]].concat(), &[]);
    assert_eq!(files(&prefix), [neighbour]);
    for gone in [
        "bin",
        "share/zsh",
        "share/fish",
        "share/doc",
        "share/bash-completion",
    ] {
        assert!(!prefix.join(gone).exists(), "{gone} remains and is empty");
    }
}

#[test]
fn the_package_of_make_dist_works_without_the_sources() {
    // Method: packed once, each kind used as in docs/start/install.md. The program is that of
    // tests, without optimisations, which is built in a fraction of the time; all else is as in a
    // release.
    let home = Home::new();
    let dist = home.join("dist");
    let place = format!("DIST={}", dist.display());
    let quickly = [
        ("DPKG_DEB_COMPRESSOR_TYPE", "gzip"),
        ("DPKG_DEB_COMPRESSOR_LEVEL", "1"),
    ];
    make(&["dist", "PROFILE=dev", &place], &quickly);
    let sums = ["--check", "--strict", "--quiet", "SHA256SUMS"];
    said(Command::new("sha256sum").args(sums).current_dir(&dist));
    the_tarball_is_unpacked_into_a_prefix(&dist);
    the_debian_package_is_installed_and_removed(&dist);
    the_static_program_measures_where_there_is_nothing_else(&dist);
}

/// A folder of the prefix that has rights of its own keeps them; the program prints its version,
/// and the licences of libraries that are part of it are there.
fn the_tarball_is_unpacked_into_a_prefix(dist: &Path) {
    let home = Home::new();
    let prefix = home.join("prefix");
    let permissions = fs::Permissions::from_mode(0o2775);
    fs::create_dir_all(prefix.join("share")).unwrap();
    fs::set_permissions(prefix.join("share"), permissions.clone()).unwrap();
    said(
        Command::new("tar")
            .args(["-xzf", &one(dist, ".tar.gz").display().to_string()])
            .args(["--strip-components=1", "-C"])
            .arg(&prefix),
    );
    let share = fs::metadata(prefix.join("share")).unwrap();
    assert_eq!(share.permissions().mode() & 0o7777, permissions.mode());
    let unpacked = files(&prefix);
    for part in PARTS {
        assert!(
            unpacked.iter().any(|file| file == part),
            "{part}: {unpacked:?}"
        );
    }
    let version = said(Command::new(prefix.join("bin/abx")).arg("--version"));
    assert_eq!(version, said(Command::new(ABX).arg("--version")));
    let notices = fs::read_to_string(prefix.join("share/doc/abx/THIRD-PARTY")).unwrap();
    for text in [
        "ring v",
        "rusqlite v",
        "Permission is hereby granted",
        "zstd-sys v",
    ] {
        assert!(notices.contains(text), "{text}");
    }
    // Of tests only, and our own.
    for name in ["proptest v", "abx-sys v"] {
        assert!(!notices.contains(name), "{name}");
    }
}

/// By dpkg with a root and a list of packages of its own, in which nothing else is, so that a
/// dependency would be missing. Excludes of the machine's dpkg do not count.
fn the_debian_package_is_installed_and_removed(dist: &Path) {
    let home = Home::new();
    let package = one(dist, ".deb").display().to_string();
    let admin = home.join("root/var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(admin.join(folder)).unwrap();
    }
    for file in ["status", "available"] {
        fs::write(admin.join(file), "").unwrap();
    }
    let dpkg = |action: &str| {
        let script = "PATH=$PATH:/usr/sbin:/sbin\n\
            exec dpkg --root=root --log=dpkg.log --path-include='/usr/share/*' \"$@\"";
        let mut command = home.shell_apart("m", script);
        command.arg("sh").args(action.split(' '));
        said(&mut command)
    };
    dpkg(&format!("--install {package}"));
    assert_eq!(dpkg("--verify abx"), "");
    let status = dpkg("--status abx");
    assert!(status.contains("Status: install ok installed"), "{status}");
    let usr = home.join("root/usr");
    let installed = files(&usr);
    for part in PARTS {
        let part = if part.ends_with(".1") {
            format!("{part}.gz")
        } else {
            part.to_owned()
        };
        assert!(installed.contains(&part), "{part}: {installed:?}");
    }
    let completions = "share/zsh/vendor-completions/_abx".to_owned();
    assert!(installed.contains(&completions), "{installed:?}");
    let version = said(Command::new(usr.join("bin/abx")).arg("--version"));
    assert!(status.contains(&format!("Version: {}", version.trim().replace("abx ", ""))));

    dpkg("--purge abx");
    assert!(!usr.exists(), "{:?}", files(&usr));
    assert_eq!(fs::read_to_string(admin.join("status")).unwrap().trim(), "");
}

/// The content of a container by `Containerfile`: the variables, and the program that it runs.
fn container() -> (String, String) {
    let text = fs::read_to_string(root().join("Containerfile")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let instructions: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(instructions[..2], [("FROM", "scratch"), ("COPY", ". /")]);
    let everything = |name: &str| -> Vec<&str> {
        let named = instructions
            .iter()
            .filter(|instruction| instruction.0 == name);
        named.map(|pair| pair.1).collect()
    };
    let entry: Vec<String> = serde_json::from_str(everything("ENTRYPOINT")[0]).unwrap();
    assert_eq!(entry.len(), 1);
    assert_eq!(
        instructions.len(),
        3 + everything("ENV").len(),
        "{instructions:?}"
    );
    (everything("ENV").join(" "), entry[0].clone())
}

/// A shell in namespaces of its own that runs this. In its folder `root` are the files of a
/// container, and `inside` runs abx with that as its root and nothing else to see.
fn in_a_bare_root(home: &Home, dist: &Path, script: &str) -> Command {
    let (environment, program) = container();
    said(
        Command::new("cp")
            .arg("-R")
            .args([dist.join("image"), home.join("root")]),
    );
    home.shell_apart(
        "nmpf",
        &format!(
            "PATH=$PATH:/usr/sbin:/sbin\n\
            ip link set lo up\n\
            inside() {{ env -i PATH=\"$PATH\" ABX_TEST_FOLDER=\"$ABX_TEST_FOLDER\" {environment} \
                chroot root {program} \"$@\"; }}\n{script}"
        ),
    )
}

/// In a container's folder, with the files that any container has: `/proc`, `/dev/null` and a file
/// of hosts. The library of the service with which glibc is configured to look up names is not
/// there; abx reads the file nevertheless.
fn the_static_program_measures_where_there_is_nothing_else(dist: &Path) {
    let home = Home::new();
    let script = "mkdir root/proc root/dev root/etc\n\
        mount -t proc proc root/proc\n\
        touch root/dev/null\n\
        mount --bind /dev/null root/dev/null\n\
        echo '127.0.0.1 web.test' >root/etc/hosts\n\
        echo 'hosts: mymachines' >root/etc/nsswitch.conf\n\
        inside serve --port 8080 2>said &\n\
        until grep -sq http: said; do kill -0 $!; sleep 0.02; done\n\
        inside run http://web.test:8080/ -n 1000 -c 2 --json /state/run.json\n\
        inside compare --blocks 1 --slice 20ms --pilot brief --json /state/compare.json || [ $? = 3 ]";
    let mut bare = in_a_bare_root(&home, dist, script);
    home.run(&mut bare).expect(0, &[]);
    let run = read_json(&home.join("root/state/run.json"));
    assert_eq!(run["ok"], 1000);
    assert_eq!(run["subjects"][0]["connected_to"], "127.0.0.1:8080");
    let study = read_json(&home.join("root/state/compare.json"));
    assert_eq!(study["end"]["reason"], "blocks");
    // Both are also where records are kept.
    assert_eq!(home.records_in("root/state/abx").len(), 2);
}
