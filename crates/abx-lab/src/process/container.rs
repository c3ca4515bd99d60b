//! Information from the container engine: which process is a container's first one, and which
//! images it has.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::process::keeper::{KeptContainer, wait_within};
use abx_study::container::ContainerEngine;

/// How long an engine may take to respond.
const RESPONSE_WITHIN: Duration = Duration::from_secs(30);

/// The state of an image in an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImagePresence {
    /// It is there, with this digest.
    There(String),
    Missing,
    /// The engine gives no information, and the reason.
    Unknown(String),
}

/// The process number of a container's first process.
///
/// # Errors
/// Why the number is not known, in words.
pub fn first_process(container: &KeptContainer) -> Result<u32, String> {
    let format = "{{.State.Pid}}";
    let mut command = Command::new(&container.engine);
    command.args(["container", "inspect", "--format", format, &container.name]);
    let response = query(&mut command)?;
    match response.trim().parse() {
        Ok(pid) if pid > 0 => Ok(pid),
        _ => Err("its container is not running".to_owned()),
    }
}

/// The process number of a container's first process, which may run only on these processors.
///
/// # Errors
/// The problem, and its remedy.
pub fn look_into(container: &KeptContainer, cpus: &[usize]) -> Result<u32, String> {
    let first = first_process(container)?;
    let Ok(allowed) = abx_sys::cpus::allowed_to(first) else {
        return Err(format!(
            "abx cannot see the processes of its container (does its engine run on another \
             machine?): run abx where {} runs them",
            container.engine
        ));
    };
    if allowed.iter().all(|cpu| cpus.contains(cpu)) {
        return Ok(first);
    }
    Err(format!(
        "its container runs on the CPUs {allowed:?} instead of {cpus:?}: without root, podman can \
         bind it only if its user has the cpuset controller (systemd: Delegate=cpuset); run abx as \
         root, or with --pin shared"
    ))
}

/// The likely problem with an image whose server does not respond, and listens on these ports.
pub fn port_advice(ports: &[u16]) -> String {
    let numbers: Vec<String> = ports.iter().map(u16::to_string).collect();
    let instead = match numbers.as_slice() {
        [] => String::new(),
        [port] => format!(" It listens on port {port}."),
        ports => format!(" It listens on the ports {}.", ports.join(", ")),
    };
    format!(
        "Does its image listen on the port in PORT?{instead} Give it its port with {{port}} after \
         the image, or with `command`, `env` or a template in a study file"
    )
}

/// Whether an engine has an image. It fetches nothing.
#[must_use]
pub fn presence(engine: &ContainerEngine, image: &str) -> ImagePresence {
    let format = "{{.Id}}{{range .RepoDigests}} {{.}}{{end}}";
    let mut command = Command::new(&engine.program);
    command.args(["image", "inspect", "--format", format, image]);
    match query(&mut command) {
        Ok(response) => ImagePresence::There(digest(&response)),
        Err(why) => not_there(why),
    }
}

/// The digest of an image that is there.
#[must_use]
pub fn image_digest(image: &str) -> Option<String> {
    match presence(&ContainerEngine::here().ok()?, image) {
        ImagePresence::There(digest) => Some(digest),
        ImagePresence::Missing | ImagePresence::Unknown(_) => None,
    }
}

/// The digest by which registries know an image, or else the engine's own.
fn digest(response: &str) -> String {
    let mut words = response.split_whitespace();
    let id = words.next().unwrap_or_default();
    match words.next().and_then(|name| name.split_once('@')) {
        Some((_, digest)) => digest.to_owned(),
        None if id.starts_with("sha256:") => id.to_owned(),
        None => format!("sha256:{id}"),
    }
}

/// Classifies an engine's message about an image that it does not have.
fn not_there(why: String) -> ImagePresence {
    let text = why.to_ascii_lowercase();
    let is_missing = ["no such image", "image not known", "failed to find image"];
    if is_missing.iter().any(|words| text.contains(words)) {
        ImagePresence::Missing
    } else {
        ImagePresence::Unknown(why)
    }
}

/// The standard output of an engine, or else the last line of its standard error.
fn query(command: &mut Command) -> Result<String, String> {
    let run = |error: std::io::Error| error.to_string();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // So that a terminal's Ctrl-C reaches abx alone.
        .process_group(0)
        .spawn()
        .map_err(run)?;
    // An engine may warn about many layers, and waits when the pipe is full. Its output is a line
    // or two.
    let errors = child.stderr.take();
    let errors = thread::Builder::new()
        .spawn(move || text(errors))
        .map_err(run)?;
    let has_succeeded = wait_within(&mut child, RESPONSE_WITHIN).map_err(run)?;
    if has_succeeded {
        return Ok(text(child.stdout.take()));
    }
    let errors = errors.join().unwrap_or_default();
    let last = errors
        .lines()
        .last()
        .unwrap_or("the engine printed no error message");
    Err(last.to_owned())
}

fn text(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // An output that cannot be read counts as empty.
    let _ = from.map(|mut from| from.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::process::keeper::write_program;

    fn engine(folder: &Path, script: &str) -> ContainerEngine {
        let program = folder.join("engine");
        write_program(&program, script);
        ContainerEngine { program }
    }

    #[test]
    fn a_missing_image_differs_from_an_engine_that_does_not_respond() {
        // Method: the output of podman and docker for an image that they have, for one that they do
        // not have, and without a daemon.
        let folder = tempfile::tempdir().unwrap();
        let seen = |script: &str| presence(&engine(folder.path(), script), "nginx");
        let there = |digest: &str| ImagePresence::There(digest.to_owned());
        assert_eq!(seen("echo ab"), there("sha256:ab"));
        assert_eq!(seen("echo sha256:ab"), there("sha256:ab"));
        assert_eq!(
            seen("echo ab x/nginx@sha256:cd y@sha256:ef"),
            there("sha256:cd")
        );
        for words in [
            "Error: No such image: nginx",
            "Error: inspecting object: nginx: image not known",
        ] {
            let script = format!("echo warned >&2; echo '{words}' >&2; exit 1");
            assert_eq!(seen(&script), ImagePresence::Missing, "{words}");
        }
        // More warnings than fit into a pipe.
        let warnings = "head -c 200000 /dev/zero | tr '\\0' w >&2; echo >&2";
        assert_eq!(seen(&format!("{warnings}; echo ab")), there("sha256:ab"));
        let why = "Cannot connect to the Docker daemon";
        let unknown = seen(&format!("echo '{why}' >&2; exit 1"));
        assert_eq!(unknown, ImagePresence::Unknown(why.to_owned()));
    }

    #[test]
    fn a_container_that_has_ended_has_no_first_process() {
        // Method: an engine that reports a container that runs, one that has ended, and none.
        let folder = tempfile::tempdir().unwrap();
        let first = |script: &str| {
            let engine = engine(folder.path(), script);
            first_process(&KeptContainer {
                engine: engine.program.display().to_string(),
                name: "abx-1".to_owned(),
            })
        };
        assert_eq!(first("[ \"$5\" = abx-1 ] && echo 81"), Ok(81));
        let ended = Err("its container is not running".to_owned());
        assert_eq!(first("echo 0"), ended);
        let none = Err("no such container".to_owned());
        assert_eq!(first("echo 'no such container' >&2; exit 1"), none);
    }
}
