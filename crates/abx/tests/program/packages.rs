//! abx as users get it: installed by `make install`, packed by `make dist`, and run where there is
//! nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{ABX, Home, read_json};

fn root() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    path.join("../..").canonicalize().unwrap()
}

/// Runs `make` as from a terminal, with these variables in its environment.
#[track_caller]
fn make(words: &[&str], environment: &[(&str, &str)]) {
    let mut make = Command::new("make");
    make.current_dir(root()).args(words);
    // Removes the variables of the make and the cargo that run this test: build scripts that find
    // other variables run again.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let prefixes = ["MAKE", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];
        let is_inherited = prefixes.iter().any(|prefix| name.starts_with(prefix));
        if is_inherited || ["MFLAGS", "CARGO"].contains(&&*name) {
            make.env_remove(name);
        }
    }
    make.envs(environment.iter().copied());
    let ended = make.output().unwrap();
    assert!(ended.status.success(), "{words:?}: {ended:#?}");
}

/// Runs a command of the system, and returns its output.
#[track_caller]
fn output(command: &mut Command) -> String {
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{command:?}: {ended:#?}");
    String::from_utf8(ended.stdout).unwrap()
}

/// The paths of all files below a folder, relative to it and sorted.
fn files(folder: &Path) -> Vec<String> {
    let text = output(
        Command::new("find")
            .args([".", "-type", "f", "-printf", "%P\n"])
            .current_dir(folder),
    );
    let mut files: Vec<String> = text.lines().map(str::to_owned).collect();
    files.sort();
    files
}

/// The only file in a folder whose name has this suffix.
fn only_file(folder: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    assert_eq!(paths.len(), 1, "{end}: {paths:?}");
    paths[0].clone()
}

/// Files that every way to install abx puts below the prefix.
const PARTS: [&str; 11] = [
    "bin/abx",
    "share/bash-completion/completions/abx",
    "share/fish/vendor_completions.d/abx.fish",
    "share/man/man1/abx.1",
    "share/man/man1/abx-compare.1",
    "share/man/man1/abx-study-run.1",
    "share/doc/abx/README.md",
    "share/doc/abx/SECURITY.md",
    "share/doc/abx/docs/guides/ci.md",
    "share/doc/abx/examples/ci/compare-revisions",
    "share/doc/abx/studies/event-servers/README.md",
];

#[test]
fn make_uninstall_removes_what_make_install_installed() {
    // Method: the program of the tests, installed into a prefix below a staging folder by a user
    // with a umask of 077. A page of another program with a similar name stays.
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
    output(install.env_remove("MAKEFLAGS").env_remove("MAKELEVEL"));

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
    let symbols = |program: &Path| output(Command::new("nm").arg(program));
    assert_eq!(symbols(&program), "", "not stripped");
    assert_ne!(symbols(Path::new(ABX)), "", "nothing to strip");
    let version = output(Command::new(&program).arg("--version"));
    assert_eq!(version, output(Command::new(ABX).arg("--version")));

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
    // Method: packed once, and each kind used as in docs/start/install.md. The program is built
    // without optimisations, in a fraction of the time. Everything else is as in a release.
    let home = Home::new();
    let dist = home.join("dist");
    let place = format!("DIST={}", dist.display());
    let quickly = [
        ("DPKG_DEB_COMPRESSOR_TYPE", "gzip"),
        ("DPKG_DEB_COMPRESSOR_LEVEL", "1"),
    ];
    make(&["dist", "PROFILE=dev", &place], &quickly);
    let sums = ["--check", "--strict", "--quiet", "SHA256SUMS"];
    output(Command::new("sha256sum").args(sums).current_dir(&dist));
    the_tarball_is_unpacked_into_a_prefix(&dist);
    the_debian_package_is_installed_and_removed(&dist);
    the_static_program_measures_where_there_is_nothing_else(&dist);
}

/// A folder of the prefix keeps its permissions, the program prints its version, and the licences
/// of its libraries are included.
fn the_tarball_is_unpacked_into_a_prefix(dist: &Path) {
    let home = Home::new();
    let prefix = home.join("prefix");
    let permissions = fs::Permissions::from_mode(0o2775);
    fs::create_dir_all(prefix.join("share")).unwrap();
    fs::set_permissions(prefix.join("share"), permissions.clone()).unwrap();
    output(
        Command::new("tar")
            .args(["-xzf", &only_file(dist, ".tar.gz").display().to_string()])
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
    let version = output(Command::new(prefix.join("bin/abx")).arg("--version"));
    assert_eq!(version, output(Command::new(ABX).arg("--version")));
    let notices = fs::read_to_string(prefix.join("share/doc/abx/THIRD-PARTY")).unwrap();
    for text in [
        "ring v",
        "rusqlite v",
        "Permission is hereby granted",
        "zstd-sys v",
    ] {
        assert!(notices.contains(text), "{text}");
    }
    // A library for tests only, and our own crate.
    for name in ["proptest v", "abx-sys v"] {
        assert!(!notices.contains(name), "{name}");
    }
}

/// dpkg uses another root with an empty list of packages, so a dependency would be missing.
/// Excludes of the machine's dpkg do not apply.
fn the_debian_package_is_installed_and_removed(dist: &Path) {
    let home = Home::new();
    let package = only_file(dist, ".deb").display().to_string();
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
        output(&mut command)
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
    let version = output(Command::new(usr.join("bin/abx")).arg("--version"));
    assert!(status.contains(&format!("Version: {}", version.trim().replace("abx ", ""))));

    dpkg("--purge abx");
    assert!(!usr.exists(), "{:?}", files(&usr));
    assert_eq!(fs::read_to_string(admin.join("status")).unwrap().trim(), "");
}

/// What `Containerfile` sets: the variables of a container, and the program that it runs.
fn container() -> (String, String) {
    let text = fs::read_to_string(root().join("Containerfile")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let instructions: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(instructions[..2], [("FROM", "scratch"), ("COPY", ". /")]);
    let values_of = |name: &str| -> Vec<&str> {
        let named = instructions
            .iter()
            .filter(|instruction| instruction.0 == name);
        named.map(|instruction| instruction.1).collect()
    };
    let entry: Vec<String> = serde_json::from_str(values_of("ENTRYPOINT")[0]).unwrap();
    assert_eq!(entry.len(), 1);
    let variables = values_of("ENV");
    assert_eq!(instructions.len(), 3 + variables.len(), "{instructions:?}");
    (variables.join(" "), entry[0].clone())
}

/// A shell in its own namespaces that runs this script. Its folder `root` has the files of a
/// container, and `inside` runs abx with that folder as its root.
fn in_a_bare_root(home: &Home, dist: &Path, script: &str) -> Command {
    let (environment, program) = container();
    output(
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

/// The folder of a container has the files that any container has: `/proc`, `/dev/null` and a hosts
/// file. glibc is configured to look up names with a service whose library is missing; abx reads
/// the hosts file nevertheless.
fn the_static_program_measures_where_there_is_nothing_else(dist: &Path) {
    let home = Home::new();
    let script = "mkdir root/proc root/dev root/etc\n\
        mount -t proc proc root/proc\n\
        touch root/dev/null\n\
        mount --bind /dev/null root/dev/null\n\
        echo '127.0.0.1 web.test' >root/etc/hosts\n\
        echo 'hosts: mymachines' >root/etc/nsswitch.conf\n\
        inside serve --port 8080 2>printed &\n\
        until grep -sq http: printed; do kill -0 $!; sleep 0.02; done\n\
        inside run http://web.test:8080/ -n 1000 -c 2 --json /state/run.json\n\
        inside compare --blocks 1 --slice 20ms --pilot brief --json /state/compare.json || [ $? = 3 ]";
    let mut bare = in_a_bare_root(&home, dist, script);
    home.run(&mut bare).expect(0, &[]);
    let run = read_json(&home.join("root/state/run.json"));
    assert_eq!(run["ok"], 1000);
    assert_eq!(run["subjects"][0]["connected_to"], "127.0.0.1:8080");
    let study = read_json(&home.join("root/state/compare.json"));
    assert_eq!(study["end"]["reason"], "blocks");
    // Both records are also in the state folder.
    assert_eq!(home.records_in("root/state/abx").len(), 2);
}
