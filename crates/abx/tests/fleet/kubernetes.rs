//! The manifests in `deploy/kubernetes`: valid by Kubernetes' own schemas, consistent with the
//! files of `abx bus init`, and with commands that work. No Kubernetes runs here.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::fleet::bus::SecureBus;
use crate::support::{Home, Server};

/// Python with the schemas.
const PYTHON: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/test-tools/python/bin/python"
);
const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/kubernetes.py");
const MANIFESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes");
/// The oldest and the newest version with a schema, and one in between.
const VERSIONS: [&str; 3] = ["1.25", "1.31", "1.37"];

/// The manifests by kind, or the errors in them by the schemas of these versions.
fn checked(folder: &Path, versions: &[&str]) -> Result<Value, String> {
    let output = Command::new(PYTHON)
        .arg(CHECK)
        .arg(folder)
        .args(versions)
        .output()
        .expect("the tools of the tests are there: scripts/install-test-servers");
    if output.status.success() {
        Ok(serde_json::from_slice(&output.stdout).unwrap())
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

/// A home with the manifests and the files of `abx bus init`.
fn prepared() -> Home {
    let home = Home::new();
    for file in fs::read_dir(MANIFESTS).unwrap().flatten() {
        // A folder there is a user's own setup.
        if file.path().is_file() {
            fs::copy(file.path(), home.join(file.file_name().to_str().unwrap())).unwrap();
        }
    }
    let kustomization = fs::read_to_string(home.join("kustomization.yaml")).unwrap();
    let command = kustomization
        .lines()
        .find_map(|line| line.strip_prefix("#   abx "))
        .expect("it says how its files are made")
        .replace("deploy/kubernetes/", "");
    let words: Vec<&str> = command.split(' ').collect();
    home.run_abx(&words).expect(0, &[]);
    home
}

fn list(value: &Value) -> &Vec<Value> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The keys of a Secret that the kustomization makes, each with its file.
fn keys(manifests: &Value, secret: &str) -> Vec<(String, String)> {
    let secrets = list(&manifests["kustomization"]["secretGenerator"]).iter();
    secrets
        .filter(|value| value["name"] == secret)
        .flat_map(|secret| list(&secret["files"]))
        .map(|file| match text(file).split_once('=') {
            Some((key, path)) => (key.to_owned(), path.to_owned()),
            None => {
                let (_, name) = text(file).rsplit_once('/').unwrap();
                (name.to_owned(), text(file).to_owned())
            }
        })
        .collect()
}

#[test]
fn manifests_are_valid_and_name_existing_files() {
    // Method: Kubernetes' own schemas, strictly, in three versions. Every file of a Secret is
    // one that `abx bus init` writes, with each agent's credentials under its index; every
    // mount is of a Secret's key; the server finds its certificate next to its configuration.
    let home = prepared();
    let manifests = checked(home.path(), &VERSIONS).unwrap();
    let [deployment, job, service] =
        ["Deployment", "Job", "Service"].map(|kind| &manifests["resources"][kind]);
    for secret in ["abx-bus", "abx-agents"] {
        for (key, path) in keys(&manifests, secret) {
            assert!(home.join(&path).is_file(), "{secret}/{key}: {path}");
        }
    }
    let agents = job["spec"]["completions"].as_u64().unwrap();
    assert_eq!(job["spec"]["parallelism"], agents);
    assert_eq!(job["spec"]["completionMode"], "Indexed");
    assert_eq!(job["spec"]["backoffLimit"], 0);
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "Never");
    let agent_keys = keys(&manifests, "abx-agents");
    assert_eq!(agent_keys.len() as u64, agents + 1);
    for index in 0..agents {
        let expected = (
            format!("{index}.creds"),
            format!("bus/agent-{}.creds", index + 1),
        );
        assert!(agent_keys.contains(&expected), "{agent_keys:?}");
    }
    let mounts = list(&pod["containers"][0]["volumeMounts"]);
    let of_secret = mounts.iter().filter(|mount| mount["name"] == "credentials");
    let paths: Vec<&str> = of_secret
        .map(|value| text(value.get("subPath").unwrap_or(&value["subPathExpr"])))
        .collect();
    assert_eq!(paths, ["ca.pem", "$(JOB_COMPLETION_INDEX).creds"]);
    let server = &deployment["spec"]["template"]["spec"];
    assert_eq!(server["volumes"][0]["secret"]["secretName"], "abx-bus");
    assert_eq!(
        server["containers"][0]["workingDir"],
        server["containers"][0]["volumeMounts"][0]["mountPath"]
    );
    let configuration = fs::read_to_string(home.join("bus/nats.conf")).unwrap();
    let named = configuration.lines().filter_map(|line| {
        let (_, file) = line.trim().split_once("_file: \"")?;
        file.strip_suffix('"')
    });
    let named: Vec<&str> = named.collect();
    let bus_keys: Vec<String> = keys(&manifests, "abx-bus")
        .into_iter()
        .map(|key| key.0)
        .collect();
    assert_eq!(named, ["server.pem", "server-key.pem"]);
    assert_eq!(bus_keys, ["nats.conf", "server.pem", "server-key.pem"]);
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(service["spec"]["selector"], *labels);
    assert!(configuration.contains(&format!("port: {}\n", service["spec"]["ports"][0]["port"])));
}

#[test]
fn an_invalid_manifest_is_found() {
    // Method: a misspelt key, and a text in place of a number.
    for (file, right, wrong, message) in [
        (
            "agents.yaml",
            "completionMode:",
            "completionMod:",
            "completionMod",
        ),
        ("bus.yaml", "replicas: 1", "replicas: one", "one"),
    ] {
        let home = prepared();
        let manifest = fs::read_to_string(home.join(file)).unwrap();
        assert!(manifest.contains(right));
        home.write(file, &manifest.replace(right, wrong));
        let error = checked(home.path(), &VERSIONS[..1]).unwrap_err();
        assert!(error.contains(file) && error.contains(message), "{error}");
    }
}

#[test]
fn the_agents_of_the_job_make_a_load() {
    // Method: the exact arguments of the Job's container, except that paths of mounted files are
    // those of this machine, over a server with the configuration that the Deployment mounts.
    let home = prepared();
    let manifests = checked(home.path(), &VERSIONS[..1]).unwrap();
    let bus = SecureBus::serve(home, "bus");
    let pod = &manifests["resources"]["Job"]["spec"]["template"]["spec"];
    let agents = keys(&manifests, "abx-agents").len() - 1;
    let server = Server::start(&[]);
    let homes: Vec<Home> = (0..agents).map(|_| Home::new()).collect();
    let running: Vec<_> = homes
        .iter()
        .enumerate()
        .map(|(index, home)| {
            let word = |word: &Value| {
                text(word)
                    .replace("tls://abx-bus:4222", &bus.url())
                    .replace("/bus/ca.pem", &bus.file("ca.pem"))
                    .replace(
                        "/bus/agent.creds",
                        &bus.file(&format!("agent-{}.creds", index + 1)),
                    )
                    .replace("$(POD_NAME)", &format!("pod-{index}"))
            };
            let mut words: Vec<String> = list(&pod["containers"][0]["args"])
                .iter()
                .map(word)
                .collect();
            // The servers of a cluster are elsewhere.
            words.extend(["--allow-target=127.0.0.1", "--threads=1"].map(str::to_owned));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            home.start(&mut home.abx(&words))
        })
        .collect();
    let home = Home::new();
    let flags = bus.flags("controller");
    let count = agents.to_string();
    let mut words = vec!["run", &server.url, "-n", "300", "-c", "6", "--json", "-"];
    words.extend(["--agents", &count]);
    words.extend(flags.iter().map(String::as_str));
    let record = home.run_abx(&words).expect(0, &[]).json();
    assert_eq!(record["ok"], 300);
    let mut names: Vec<&str> = list(&record["fleet"]["agents"])
        .iter()
        .map(|value| text(&value["name"]))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["pod-0", "pod-1", "pod-2"]);
    for agent in running {
        agent.wait().expect(0, &["The load is over"]);
    }
}
