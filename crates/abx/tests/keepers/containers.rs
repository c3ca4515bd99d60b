//! Containers as subjects. abx measures, pins and ends their processes like any command, and does
//! not touch any other container. podman runs them, with a separate store.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use abx_sys::process::Signal;
use serde_json::Value;

use crate::keepers::killed;
use crate::support::{ABX, Ended, Home, findings, subject, wait_for};

/// The image of `container_server.c`.
const IMAGE: &str = "localhost/abx-test:1";

#[rustfmt::skip]
const SHORT: [&str; 9] = [
    "--blocks", "1", "--rounds", "4", "--slice", "20ms", "--pilot", "brief", "--no-ceiling",
];

/// A folder with its own podman store, which has the image.
pub(super) struct ContainerHome {
    home: Home,
}

impl ContainerHome {
    pub(super) fn new() -> ContainerHome {
        let home = Home::new();
        let folder = home.path().display();
        home.write(
            "storage.conf",
            &format!(
                "[storage]\ndriver = \"vfs\"\ngraphroot = \"{folder}/store\"\n\
                 runroot = \"{folder}/run\"\n"
            ),
        );
        // crun refuses a machine with both versions of control groups, and not every user may raise
        // limits.
        home.write(
            "containers.conf",
            &format!(
                "[containers]\ndefault_ulimits = []\n[engine]\nruntime = \"runc\"\n\
                 cgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\nlock_type = \"file\"\n\
                 tmp_dir = \"{folder}/engine\"\n"
            ),
        );
        let home = ContainerHome { home };
        home.make_image();
        home
    }

    /// Makes an image that contains nothing but a static server.
    fn make_image(&self) {
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/peers/container_server.c"
        );
        let mut compile = Command::new("gcc");
        compile.args(["-static", "-O1", "-o", "server", source]);
        let mut pack = Command::new("tar");
        pack.args(["-cf", "image.tar", "server"]);
        for mut command in [compile, pack] {
            let status = command.current_dir(self.home.path()).status();
            assert!(status.unwrap().success(), "{command:?}");
        }
        let entry = "ENTRYPOINT [\"/server\"]";
        self.podman(&["import", "--change", entry, "image.tar", IMAGE]);
    }

    /// The output of podman, which must succeed.
    #[track_caller]
    fn podman(&self, words: &[&str]) -> String {
        let mut command = Command::new("podman");
        command.args(words);
        let output = self.settle(&mut command).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "podman {words:?}: {message}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn settle<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        self.home.settle(command);
        command
            .env("CONTAINERS_CONF", self.home.join("containers.conf"))
            .env("CONTAINERS_STORAGE_CONF", self.home.join("storage.conf"))
            .env("ABX_CONTAINER_ENGINE", "podman")
    }

    /// The folder.
    pub(super) fn home(&self) -> &Home {
        &self.home
    }

    pub(super) fn abx(&self, words: &[&str]) -> Command {
        let mut command = self.home.abx(words);
        self.settle(&mut command);
        command
    }

    fn run_abx(&self, words: &[&str]) -> Ended {
        self.home.run(&mut self.abx(words))
    }

    /// The same server as a command, and in a container.
    pub(super) fn both(&self) -> [String; 2] {
        let server = self.home.join("server").display().to_string();
        // A word that distinguishes its processes from those of others.
        let word = self.home.path().display();
        [
            format!("plain={server} {{port}}"),
            format!("boxed=image:{IMAGE} {{port}} {word}"),
        ]
    }

    /// Processes of the server in containers.
    pub(super) fn boxed(&self) -> Vec<u32> {
        let word = format!("\0{}\0", self.home.path().display());
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_boxed = |pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words);
            words.starts_with("/server\0") && words.contains(&word)
        };
        numbers.filter(is_boxed).collect()
    }

    /// Waits until no process of a study is left, and checks that no container or mount is.
    fn wait_until_empty(&self, what: &str) {
        self.home.wait_until_empty();
        wait_for(&format!("no process in a container ({what})"), || {
            self.boxed().is_empty().then_some(())
        });
        let names = self.podman(&["ps", "--all", "--format", "{{.Names}}"]);
        assert_eq!(names, "other", "{what}");
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let folder = self.home.path().display().to_string();
        assert!(!mounts.contains(&folder), "{what}: {mounts}");
    }

    /// Creates a container that does not belong to abx and has to stay.
    fn make_other(&self) {
        self.podman(&["create", "--name", "other", IMAGE]);
    }
}

impl Drop for ContainerHome {
    fn drop(&mut self) {
        // The leftovers of a failed test would keep its folder. The store has no other containers.
        let mut command = Command::new("podman");
        let _ = self
            .settle(command.args(["rm", "--all", "--force"]))
            .output();
    }
}

#[test]
fn a_container_is_measured_like_a_command() {
    // Method: one static server as a command and as a container. Both have CPU time and about the
    // same memory, so the engine's memory is not included. The record names the image, and only
    // this container is gone afterwards.
    let home = ContainerHome::new();
    home.make_other();
    let [plain, boxed] = home.both();
    let ended = home.run_abx(&[&["compare", &plain, &boxed, "--json", "-"], &SHORT[..]].concat());
    let record = ended.json();
    ended.expect_measured(&record);
    let recorded = &record["subjects"][1];
    assert_eq!(recorded["command"][0], format!("image:{IMAGE}"));
    let digest = recorded["version"].as_str().unwrap();
    let inspected = home.podman(&[
        "image",
        "inspect",
        "--format",
        "{{.RepoDigests}} {{.Id}}",
        IMAGE,
    ]);
    let number = digest.strip_prefix("sha256:").unwrap();
    assert!(
        number.len() == 64 && inspected.contains(number),
        "{digest}: {inspected}"
    );
    let block = &record["blocks"][0]["subjects"];
    let [cpu, memory] = ["cpu_s", "rss_bytes_max"]
        .map(|key| ["plain", "boxed"].map(|name| block[name][key].as_f64().unwrap()));
    assert!(cpu.iter().all(|cpu| *cpu > 0.0), "{cpu:?}");
    assert!(memory[1] < 2.0 * memory[0], "{memory:?}");
    let slices = crate::support::slices(&record, "boxed");
    let has_cpu = |slice: &Value| slice["server_cpu_ns"].as_u64() > Some(0);
    assert!(
        !slices.is_empty() && slices.iter().all(has_cpu),
        "{slices:?}"
    );
    let end = block["boxed"]["end"].as_str().unwrap();
    assert_eq!(end, "when told: exit code 0");
    assert!(findings(&record, "unkept_container").is_empty());
    home.wait_until_empty("measured");
}

#[test]
fn no_container_outlives_a_kill() {
    // Method: Ctrl-C, and SIGKILL for one or two of abx, guardians and keepers, while a container
    // runs. Nothing is left except a foreign container.
    let home = ContainerHome::new();
    home.make_other();
    let [plain, boxed] = home.both();
    #[rustfmt::skip]
    let compare = [
        "compare", &plain, &boxed, "--blocks", "1000", "--slice", "20ms", "--pilot", "brief",
    ];
    let ways: [&[&str]; 6] = [
        &[],
        &["abx"],
        &["keeper"],
        &["guardian"],
        &["guardian", "keeper"],
        &["abx", "keeper"],
    ];
    for (seed, way) in (0..).zip(ways) {
        let mut running = home.home.start(&mut home.abx(&compare));
        running.until("a container", |_| (!home.boxed().is_empty()).then_some(()));
        match way {
            [] => running.signal(Signal::Int),
            way => killed::kill_all(&mut running, &home.home, way, seed),
        }
        running.wait_alone();
        home.wait_until_empty(&format!("{way:?}"));
        assert_eq!(home.home.scratch(), [""; 0], "{way:?}");
    }
}

#[test]
fn problems_of_containers_are_reported_with_a_remedy() {
    // Method: a missing image, a missing engine, a fixed port that is in use and then free, and a
    // command without a port, which the container has in its environment.
    let home = ContainerHome::new();
    home.make_other();
    let [plain, boxed] = home.both();
    let compare = |subject: &str| {
        let words = ["compare", &plain, subject, "--ready-within", "10s"];
        home.abx(&[&words[..], &SHORT].concat())
    };
    let missing = "web=image:localhost/none:1";
    home.home.run(&mut compare(missing)).expect(
        2,
        &[
            "the image localhost/none:1",
            "podman pull localhost/none:1",
            "--install",
        ],
    );
    let mut without_engine = compare(&boxed);
    without_engine.env("ABX_CONTAINER_ENGINE", "no-such-engine");
    home.home
        .run(&mut without_engine)
        .expect(2, &["boxed: no-such-engine", "install one"]);
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = occupied.local_addr().unwrap().port();
    let web = format!("web=image:{IMAGE} {port}");
    home.home
        .run(&mut compare(&web))
        .expect(3, &["web ended before it was ready", "exit code 7"]);
    drop(occupied);
    let message = format!("It listens on port {port}");
    home.home
        .run(&mut compare(&web))
        .expect(3, &["web was not ready within 10 s", &message, "{port}"]);
    let ended = home.home.run(&mut compare(&format!("web=image:{IMAGE}")));
    assert!(ended.stderr.contains("Record:"), "{ended:#?}");
    home.wait_until_empty("refused");
}

#[test]
fn a_study_file_has_containers_with_templates_and_services() {
    // Method: a container that gets its port from its environment and reads its folders, next to
    // one that is a service. Both are listed, started and gone afterwards.
    let home = ContainerHome::new();
    home.make_other();
    home.home.write("page.in", "{port}");
    let study = format!(
        r#"
        [[service]]
        name = "back"
        from = {{ image = "{IMAGE}" }}
        command = ["{{port}}"]
        [[subject]]
        name = "plain"
        command = ["{folder}/server", "{{port}}"]
        [[subject]]
        name = "boxed"
        from = {{ image = "{IMAGE}" }}
        env = {{ BACK = "{{service.back.port}} {{service.back.dir}}", STUDY = "{{study}}" }}
        templates = {{ "page" = "page.in" }}
        command = ["{{port}}", "{{dir}}/page"]
        stop = {{ signal = "KILL" }}
        [[load]]
        name = "page"
        connections = 4
        requests = [{{ path = "/" }}]
        "#,
        folder = home.home.path().display()
    );
    home.home.write("study.toml", &study);
    let ended = home.run_abx(&[&["compare", "study.toml", "--json", "-"], &SHORT[..]].concat());
    let record = ended.json();
    ended.expect_measured(&record);
    assert_eq!(
        record["services"][0]["command"][0],
        format!("image:{IMAGE}")
    );
    let end = record["blocks"][0]["subjects"]["boxed"]["end"]
        .as_str()
        .unwrap();
    assert!(end.contains("exit code 137"), "{end}");
    home.wait_until_empty("study");
}

#[test]
fn a_command_that_runs_a_container_leads_to_images() {
    // Method: a program named docker, whose server another process starts, as a daemon does.
    let home = Home::new();
    let docker = home.write("docker", "#!/bin/sh\necho $2 >order\nexec sleep 600\n");
    fs::set_permissions(&docker, PermissionsExt::from_mode(0o755)).unwrap();
    let serve =
        format!("until [ -s order ]; do sleep 0.01; done; exec {ABX} serve --port $(cat order)");
    let mut daemon = Command::new("sh")
        .args(["-c", &serve])
        .current_dir(home.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let boxed = format!("boxed={docker} run {{port}}");
    let compare = ["compare", &subject("plain", ""), &boxed];
    let ended = home.start(&mut home.abx(&compare)).wait_alone();
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    ended.expect(3, &["boxed: another", "write image:NAME in place of"]);
}
