//! The invocation of a launch: its command, or the engine of containers with the words by which it
//! runs an image.

use std::collections::BTreeMap;
use std::path::Path;

use abx_sys::Nanos;
use abx_sys::limits::DescriptorLimit;

use crate::process::keeper::KeptContainer;
use abx_study::container::{ContainerEngine, ContainerImage, NoEngine};
use abx_study::launch::{FilledLaunch, Launch};
use abx_study::placeholder::FilledWord;

/// The details of a start by then.
pub struct StartDetails<'a> {
    pub name: &'a str,
    pub port: u16,
    pub directory: &'a Path,
    /// The values of paths of names.
    pub words: &'a [FilledWord],
    pub cpus: &'a [usize],
    pub descriptors: DescriptorLimit,
    /// The usual environment of every server.
    pub usual: Vec<(String, String)>,
}

/// A program with all that it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub program: String,
    pub arguments: Vec<String>,
    /// Variables of its environment beside those of abx.
    pub environment: BTreeMap<String, String>,
    pub container: Option<KeptContainer>,
}

impl Invocation {
    /// The command to start for a launch that is filled.
    ///
    /// # Errors
    /// [`NoEngine`] for a container, when no engine is installed here.
    pub fn of(
        launch: &Launch,
        filled: FilledLaunch,
        around: StartDetails,
    ) -> Result<Invocation, NoEngine> {
        let Some(image) = &launch.image else {
            let mut words = filled.command.into_iter();
            return Ok(Invocation {
                program: words.next().unwrap_or_default(),
                arguments: words.collect(),
                environment: around.usual.into_iter().chain(filled.environment).collect(),
                container: None,
            });
        };
        let engine = ContainerEngine::here()?;
        let is_bound = can_bind(&engine);
        let container = KeptContainer {
            engine: engine.program.to_string_lossy().into_owned(),
            // The process number may come again, in another PID namespace too.
            name: format!(
                "abx-{}-{}-{}-{:x}",
                std::process::id(),
                around.name,
                around.port,
                Nanos::now().0
            ),
        };
        let mounts = mounts(launch, &around);
        let options = options(image, &container.name, &around, is_bound);
        let environment = around.usual.into_iter().chain(filled.environment);
        let environment = environment.map(|(name, value)| format!("--env={name}={value}"));
        let arguments = options
            .into_iter()
            .chain([limit(&engine, around.descriptors)])
            .chain(mounts)
            .chain(environment)
            .chain([image.name.clone()])
            .chain(filled.command);
        Ok(Invocation {
            program: container.engine.clone(),
            arguments: arguments.collect(),
            // The engine has that of abx: its configuration is the person's own.
            environment: BTreeMap::new(),
            container: Some(container),
        })
    }
}

/// The options for every container. Its network is the machine's, so that nothing is between it and
/// the load; its output goes where that of commands goes, and nowhere else; and it may read the
/// folders that it gets even if the system labels files.
fn options(
    image: &ContainerImage,
    name: &str,
    around: &StartDetails,
    is_bound: bool,
) -> Vec<String> {
    let usual = [
        "run",
        &format!("--name={name}"),
        "--pull=never",
        "--network=host",
        "--log-driver=none",
        "--security-opt=label=disable",
    ];
    let mut options = Vec::from(usual.map(str::to_owned));
    if is_bound {
        let cpus: Vec<String> = around.cpus.iter().map(usize::to_string).collect();
        options.push(format!("--cpuset-cpus={}", cpus.join(",")));
    }
    if let Some(signal) = image.stop_signal {
        options.push(format!("--stop-signal=SIG{}", signal.name()));
    }
    options
}

/// The option for the limit of descriptors. Podman hands on the limits that the keeper has, and may
/// not be allowed to set others; a daemon has its own.
fn limit(engine: &ContainerEngine, limit: DescriptorLimit) -> String {
    if engine.name() == "podman" {
        return "--ulimit=host".to_owned();
    }
    let [soft, hard] = [limit.soft, limit.hard].map(|limit| limit.min(DESCRIPTORS_MAX));
    format!("--ulimit=nofile={soft}:{hard}")
}

/// "No limit" is none that an engine takes for descriptors.
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// The folders and files that its placeholders name, each under the same path inside.
fn mounts(launch: &Launch, around: &StartDetails) -> Vec<String> {
    let mut texts = Vec::new();
    for word in launch.placeholders() {
        let (path, mode) = match word {
            "dir" => (around.directory.to_string_lossy().into_owned(), ""),
            "study" => (launch.study_folder().to_string_lossy().into_owned(), ":ro"),
            "abx" => match std::env::current_exe() {
                Ok(program) => (program.to_string_lossy().into_owned(), ":ro"),
                Err(_) => continue,
            },
            // The folder of a service, which may have its socket.
            word if word.starts_with("service.") && word.ends_with(".dir") => {
                let mut known = around.words.iter();
                match known.find(|(path, _)| path == word) {
                    Some((_, value)) => (value.clone(), ""),
                    None => continue,
                }
            }
            _ => continue,
        };
        let mount = format!("--volume={path}:{path}{mode}");
        if !texts.contains(&mount) {
            texts.push(mount);
        }
    }
    texts
}

/// Whether an engine can set the processors of a container. Podman without root can if its user has
/// the controller of them, which many systems do not give; the container then has those of the
/// keeper, which is checked when it is ready.
fn can_bind(engine: &ContainerEngine) -> bool {
    let user = rustix::process::geteuid();
    if user.is_root() || engine.name() != "podman" {
        return true;
    }
    let user = user.as_raw();
    let group = format!("/sys/fs/cgroup/user.slice/user-{user}.slice/user@{user}.service");
    let controllers = std::fs::read_to_string(format!("{group}/cgroup.controllers"));
    controllers.is_ok_and(|controller| controller.split_whitespace().any(|text| text == "cpuset"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(directory: &Path) -> StartDetails<'_> {
        StartDetails {
            name: "web",
            port: 81,
            directory,
            words: &[],
            cpus: &[1, 3],
            descriptors: DescriptorLimit {
                soft: 1_000,
                hard: u64::MAX,
            },
            usual: vec![("PORT".to_owned(), "81".to_owned())],
        }
    }

    #[test]
    fn a_command_is_started_as_it_stands() {
        // Method: a command with a variable of its own.
        let launch = Launch {
            environment: vec![("A".into(), "{port}".into())],
            ..Launch::new(vec!["./x".into(), "{port}".into()])
        };
        let directory = Path::new("/d");
        let filled = launch.fill(81, directory, &[]);
        let started = Invocation::of(&launch, filled, around(directory)).unwrap();
        assert_eq!((started.program.as_str(), started.container), ("./x", None));
        assert_eq!(started.arguments, ["81"]);
        let environment = [("A", "81"), ("PORT", "81")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(started.environment, BTreeMap::from(environment));
    }

    #[test]
    fn what_placeholders_name_is_there_in_a_container_under_the_same_path() {
        // Method: each placeholder that is a path, one of them twice, and one that is none.
        let words = ["{dir}/n.conf", "{port}", "{study}/x", "{dir}"];
        let mut launch = Launch::of_image("nginx".into(), words.map(str::to_owned).into());
        launch.folder = Some("/s".into());
        launch.environment = vec![("S".into(), "{service.db.dir}/sock".into())];
        let words = [("service.db.dir".to_owned(), "/db".to_owned())];
        let around = StartDetails {
            words: &words,
            ..around(Path::new("/d"))
        };
        let expected = ["/d:/d", "/s:/s:ro", "/db:/db"].map(|text| format!("--volume={text}"));
        assert_eq!(mounts(&launch, &around), expected);
    }

    #[test]
    fn an_engine_is_told_of_processors_limits_and_the_signal() {
        // Method: an image with a signal of its own, bound to processors and not.
        let image = ContainerImage {
            name: "nginx".to_owned(),
            stop_signal: Some(abx_sys::process::Signal::Quit),
        };
        let around = around(Path::new("/d"));
        let texts = options(&image, "abx-1", &around, true);
        for option in [
            "--name=abx-1",
            "--network=host",
            "--cpuset-cpus=1,3",
            "--stop-signal=SIGQUIT",
        ] {
            assert!(
                texts.iter().any(|text| text == option),
                "{option}: {texts:?}"
            );
        }
        let engine = |name: &str| ContainerEngine {
            program: Path::new("/usr/bin").join(name),
        };
        assert_eq!(
            limit(&engine("podman"), around.descriptors),
            "--ulimit=host"
        );
        let message = limit(&engine("docker"), around.descriptors);
        assert_eq!(message, "--ulimit=nofile=1000:1048576");
        let free = options(&image, "abx-1", &around, false);
        assert!(!free.iter().any(|text| text.starts_with("--cpuset")));
    }
}
