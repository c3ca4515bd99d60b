//! `abx bus init`, and real NATS servers that use its files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Ended, Home, Server, wait_for};

/// A NATS server with the configuration of a folder that `abx bus init` wrote, on a port that
/// it chose.
pub struct SecureBus {
    process: Child,
    port: u16,
    home: Home,
}

impl SecureBus {
    /// Sets one up with credentials for three agents.
    pub fn start() -> SecureBus {
        let home = Home::new();
        home.run_abx(&["bus", "init", "bus"]).expect(0, &[]);
        SecureBus::serve(home, "bus")
    }

    /// Starts one from a folder of a home.
    pub fn serve(home: Home, folder: &str) -> SecureBus {
        let process = Command::new("nats-server")
            .args(["-c", "nats.conf", "--addr", "127.0.0.1", "--port", "-1"])
            .arg("--ports_file_dir")
            .arg(home.path())
            .current_dir(home.join(folder))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed: scripts/install-test-servers");
        let file = home.join(&format!("nats-server_{}.ports", process.id()));
        let port = wait_for("a NATS server", || {
            let ports = fs::read_to_string(&file).ok()?;
            let (_, rest) = ports.split_once("//127.0.0.1:")?;
            rest.split_once('"')?.0.parse().ok()
        });
        SecureBus {
            process,
            port,
            home,
        }
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("tls://127.0.0.1:{}", self.port)
    }

    /// The path of a file that was written for it.
    pub fn file(&self, name: &str) -> String {
        self.home.join("bus").join(name).display().to_string()
    }

    /// A user's password.
    fn password(&self, user: &str) -> String {
        let file = fs::read_to_string(self.file(&format!("{user}.creds"))).unwrap();
        let (_, password) = file.trim().split_once(':').unwrap();
        password.to_owned()
    }

    /// The flags with which a user connects.
    pub fn flags(&self, user: &str) -> [String; 6] {
        [
            "--bus".to_owned(),
            self.url(),
            "--bus-ca".to_owned(),
            self.file("ca.pem"),
            "--bus-creds".to_owned(),
            self.file(&format!("{user}.creds")),
        ]
    }

    /// Asserts that the output has no password.
    #[track_caller]
    fn assert_secret(&self, output: &str) {
        for user in ["controller", "agent-1", "agent-2", "agent-3"] {
            assert!(!output.contains(&self.password(user)), "{user}: {output}");
        }
    }
}

impl Drop for SecureBus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The name and mode of each file in a folder, and of the folder itself.
fn modes(folder: &Path) -> Vec<(String, u32)> {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut pairs: Vec<(String, u32)> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name, mode(&file.path()))
        })
        .collect();
    pairs.sort();
    pairs.push((".".to_owned(), mode(folder)));
    pairs
}

/// The output of a successful command in a folder.
fn output_of(folder: &Path, command: &str) -> String {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap())
        .args(words)
        .current_dir(folder)
        .output()
        .expect("it is installed: scripts/install-test-servers");
    let bytes = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn written_files_are_valid_and_private() {
    // Method: nats-server and openssl check the files; all modes, in a folder that abx creates. No
    // file has the key of the certificate authority.
    let home = Home::new();
    let words = "bus init new/bus --host bus.lan --host 10.0.0.1 --host ::1 --agents 2";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = home.run_abx(&words);
    ended.expect(0, &[]);
    let folder = home.join("new/bus");
    let names = [
        "agent-1.creds",
        "agent-2.creds",
        "ca.pem",
        "controller.creds",
        "nats.conf",
        "server-key.pem",
        "server.pem",
    ];
    let mut expected = names.map(|name| (name.to_owned(), 0o600)).to_vec();
    expected.push((".".to_owned(), 0o700));
    assert_eq!(modes(&folder), expected);
    let message = output_of(&folder, "nats-server -t -c nats.conf");
    assert!(message.contains("is valid"), "{message}");
    output_of(
        &folder,
        "openssl verify -x509_strict -CAfile ca.pem server.pem",
    );
    let subject = output_of(
        &folder,
        "openssl x509 -in server.pem -noout -ext subjectAltName",
    );
    for name in [
        "DNS:localhost",
        "IP Address:127.0.0.1",
        "DNS:bus.lan",
        "IP Address:10.0.0.1",
    ] {
        assert!(subject.contains(name), "{subject}");
    }
    let texts = names.map(|name| fs::read_to_string(folder.join(name)).unwrap());
    let keys = texts
        .iter()
        .filter(|text| text.contains("PRIVATE KEY-----\n"));
    assert_eq!(keys.count(), 1);
    for part in [
        "cd new/bus && nats-server -c nats.conf",
        "--bus tls://bus.lan:4222 --bus-ca new/bus/ca.pem --bus-creds new/bus/agent-1.creds",
        "--bus-creds new/bus/controller.creds --agents 2",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {ended:#?}");
    }
}

#[test]
fn nothing_is_overwritten() {
    // Method: a second time in the same folder, and in one that has only the last of the files; an
    // invalid host, and a file in place of the folder. Existing files do not change.
    let home = Home::new();
    let init = ["bus", "init", "bus"];
    home.run_abx(&init).expect(0, &[]);
    let contents = || -> Vec<String> {
        let names = modes(&home.join("bus")).into_iter();
        let files = names.filter(|(name, _)| name != ".");
        files
            .map(|(name, _)| fs::read_to_string(home.join("bus").join(name)).unwrap())
            .collect()
    };
    let before = contents();
    home.run_abx(&init)
        .expect(2, &["bus/nats.conf already exists", "another folder"]);
    assert_eq!(contents(), before);
    fs::create_dir(home.join("other")).unwrap();
    home.write("other/agent-3.creds", "mine");
    home.run_abx(&["bus", "init", "other"])
        .expect(2, &["other/agent-3.creds already exists"]);
    assert_eq!(modes(&home.join("other")).len(), 2);
    home.run_abx(&["bus", "init", "third", "--host", "tls://bus:4222"])
        .expect(2, &["`tls://bus:4222` is neither the name nor the address"]);
    home.run_abx(&["bus", "init", "other/agent-3.creds"])
        .expect(2, &["cannot write other/agent-3.creds"]);
    assert!(!home.join("third").exists());
}

#[test]
fn the_printed_commands_work() {
    // Method: the three printed commands, with addresses of this machine in place of the examples:
    // the bus, three agents, and a load whose record is read.
    let home = Home::new();
    let printed = home.run_abx(&["bus", "init", "bus"]);
    printed.expect(0, &[]);
    let lines = printed.stdout.lines();
    let commands: Vec<&str> = lines.filter_map(|line| line.strip_prefix("  ")).collect();
    let [bus, agent, run] = commands[..] else {
        panic!("{printed:#?}");
    };
    assert_eq!(bus, "cd bus && nats-server -c nats.conf");
    let bus = SecureBus::serve(home, "bus");
    let server = Server::start(&[]);
    let adapted = |command: &str, flags: &str| -> Vec<String> {
        let command = command
            .replace(
                "tls://localhost:4222",
                &format!("tls://localhost:{}", bus.port),
            )
            .replace("10.0.0.0/8", "127.0.0.0/8")
            .replace(
                "http://10.0.0.7/ -c 300",
                &format!("{} -c 7 -n 500", server.url),
            );
        let words = command.split(' ').skip(1).chain(flags.split(' '));
        words.map(str::to_owned).collect()
    };
    let homes = [Home::new(), Home::new(), Home::new()];
    let mut agents = homes.iter().zip(1..).map(|(home, number)| {
        let command = agent.replace("agent-1.creds", &format!("agent-{number}.creds"));
        let words = adapted(&command, &format!("--once -t 1 --name a{number}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        home.start(home.abx(&words).current_dir(bus.home.path()))
    });
    let agents = [agents.next(), agents.next(), agents.next()].map(Option::unwrap);
    let words = adapted(run, "--json -");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let home = Home::new();
    let ended = home.run(home.abx(&words).current_dir(bus.home.path()));
    let record = ended.expect(0, &["joined"]).json();
    assert_eq!(record["ok"], 500);
    let fleet = &record["fleet"];
    assert_eq!(fleet["agents"].as_array().unwrap().len(), 3);
    bus.assert_secret(&format!("{ended:?}{record}"));
    for agent in agents {
        let ended = agent.wait();
        ended.expect(0, &["Joined"]);
        bus.assert_secret(&format!("{ended:?}"));
    }
}

/// Runs a controller with these flags to its end.
fn controller_with(home: &Home, flags: &[String]) -> Ended {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let run = ["run", "http://127.0.0.1:9/", "--agents", "1"];
    home.run_abx(&[&run[..], &flags].concat())
}

/// Runs an agent with these flags to its end.
fn agent_with(home: &Home, flags: &[String]) -> Ended {
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let agent = ["agent", "--allow-target", "127.0.0.1"];
    home.run_abx(&[&agent[..], &flags].concat())
}

#[test]
fn wrong_credentials_are_refused_with_the_remedy() {
    // Method: credentials that are missing or wrong, for a controller and for an agent; an agent
    // that kept trying would not end. No message has a password.
    let bus = SecureBus::start();
    let home = Home::new();
    let wrong = home.write("wrong.creds", "controller:0123456789");
    let torn = home.write("torn.creds", &bus.password("controller"));
    let right = bus.flags("controller").to_vec();
    let with = |file: &str| [&right[..5], &[file.to_owned()]].concat();
    let url = bus.url().replace("//", "//controller:0123456789@");
    let unknown = "rejects controller with this password";
    for (flags, texts) in [
        (
            right[..4].to_vec(),
            ["requires credentials", "--bus-creds FILE"],
        ),
        (with(&wrong), [unknown, "--bus-creds FILE"]),
        (
            [&["--bus".to_owned(), url][..], &right[2..4]].concat(),
            [unknown, "--bus-creds FILE"],
        ),
        (with(&torn), ["torn.creds is not USER:PASSWORD", ".creds"]),
        (
            with("gone.creds"),
            ["cannot read gone.creds", "No such file"],
        ),
        (
            [&right[..2], &right[4..]].concat(),
            ["cannot verify", "--bus-ca FILE"],
        ),
    ] {
        for ended in [controller_with(&home, &flags), agent_with(&home, &flags)] {
            ended.expect(2, &["the bus refuses: ", texts[0], texts[1]]);
            assert!(!ended.stderr.contains("0123456789"), "{ended:#?}");
            bus.assert_secret(&format!("{ended:?}"));
        }
    }
}

#[test]
fn no_agent_can_send_in_the_name_of_another() {
    // Method: an agent's credentials for a controller, and the other way around. Both connect, and
    // the server refuses their publications and subscriptions.
    let bus = SecureBus::start();
    let home = Home::new();
    let refused = controller_with(&home, &bus.flags("agent-1"));
    refused.expect(
        3,
        &[
            "agent-1 lacks permission on the bus",
            "abx.v1.join.*.*",
            "controller.creds for abx run",
        ],
    );
    let refused = agent_with(&home, &bus.flags("controller"));
    refused.expect(
        3,
        &[
            "controller lacks permission on the bus",
            "abx.v1.agent.controller.",
            "for each agent its own",
        ],
    );
}
