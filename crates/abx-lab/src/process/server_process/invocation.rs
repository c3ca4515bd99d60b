//! The invocation of a launch: its command, or a container engine with the arguments that run its
//! image.

use std::collections::BTreeMap;
use std::path::Path;

use abx_sys::Nanos;
use abx_sys::limits::DescriptorLimit;

use crate::process::keeper::KeptContainer;
use abx_study::container::{ContainerEngine, ContainerImage, NoEngine};
use abx_study::launch::{FilledLaunch, Launch};
use abx_study::placeholder::FilledWord;

/// The details of one start.
pub struct StartDetails<'a> {
    pub name: &'a str,
    pub port: u16,
    pub directory: &'a Path,
    /// The values of placeholders, by their dotted names.
    pub words: &'a [FilledWord],
    pub cpus: &'a [usize],
    pub descriptors: DescriptorLimit,
    /// The environment that every server has.
    pub usual: Vec<(String, String)>,
}

/// A program with its arguments and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub program: String,
    pub arguments: Vec<String>,
    /// Variables that are added to the environment of abx.
    pub environment: BTreeMap<String, String>,
    pub container: Option<KeptContainer>,
}

impl Invocation {
    /// The command to start for a filled launch.
    ///
    /// # Errors
    /// [`NoEngine`] for a container, if no engine is installed.
    pub fn of(
        launch: &Launch,
        filled: FilledLaunch,
        details: StartDetails,
    ) -> Result<Invocation, NoEngine> {
        let Some(image) = &launch.image else {
            let mut words = filled.command.into_iter();
            return Ok(Invocation {
                program: words.next().unwrap_or_default(),
                arguments: words.collect(),
                environment: details
                    .usual
                    .into_iter()
                    .chain(filled.environment)
                    .collect(),
                container: None,
            });
        };
        let engine = ContainerEngine::here()?;
        let is_bound = can_bind(&engine);
        let container = KeptContainer {
            engine: engine.program.to_string_lossy().into_owned(),
            // Process numbers repeat, and each PID namespace has its own.
            name: format!(
                "abx-{}-{}-{}-{:x}",
                std::process::id(),
                details.name,
                details.port,
                Nanos::now().0
            ),
        };
        let mounts = mounts(launch, &details);
        let options = options(image, &container.name, &details, is_bound);
        let environment = details.usual.into_iter().chain(filled.environment);
        let environment = environment.map(|(name, value)| format!("--env={name}={value}"));
        let arguments = options
            .into_iter()
            .chain([limit(&engine, details.descriptors)])
            .chain(mounts)
            .chain(environment)
            .chain([image.name.clone()])
            .chain(filled.command);
        Ok(Invocation {
            program: container.engine.clone(),
            arguments: arguments.collect(),
            // The engine has the environment of abx, since its configuration is the user's.
            environment: BTreeMap::new(),
            container: Some(container),
        })
    }
}

/// The options for every container. Its network is the machine's, so that nothing is between it and
/// the load. Its output goes only where the output of commands goes. It may read its folders even
/// if the system labels files.
fn options(
    image: &ContainerImage,
    name: &str,
    details: &StartDetails,
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
        let cpus: Vec<String> = details.cpus.iter().map(usize::to_string).collect();
        options.push(format!("--cpuset-cpus={}", cpus.join(",")));
    }
    if let Some(signal) = image.stop_signal {
        options.push(format!("--stop-signal=SIG{}", signal.name()));
    }
    options
}

/// The option for the limit of descriptors. Podman passes on the keeper's limits, and may not be
/// allowed to set others; a daemon has its own.
fn limit(engine: &ContainerEngine, limit: DescriptorLimit) -> String {
    if engine.name() == "podman" {
        return "--ulimit=host".to_owned();
    }
    let [soft, hard] = [limit.soft, limit.hard].map(|limit| limit.min(DESCRIPTORS_MAX));
    format!("--ulimit=nofile={soft}:{hard}")
}

/// The highest limit of descriptors: engines do not accept "no limit".
const DESCRIPTORS_MAX: u64 = 1 << 20;

/// The options that mount the folders and files that placeholders name, each at the same path.
fn mounts(launch: &Launch, details: &StartDetails) -> Vec<String> {
    let mut mounts = Vec::new();
    for word in launch.placeholders() {
        let (path, mode) = match word {
            "dir" => (details.directory.to_string_lossy().into_owned(), ""),
            "study" => (launch.study_folder().to_string_lossy().into_owned(), ":ro"),
            "abx" => match std::env::current_exe() {
                Ok(program) => (program.to_string_lossy().into_owned(), ":ro"),
                Err(_) => continue,
            },
            // The folder of a service, which may have its socket.
            word if word.starts_with("service.") && word.ends_with(".dir") => {
                let mut known = details.words.iter();
                match known.find(|(name, _)| name == word) {
                    Some((_, value)) => (value.clone(), ""),
                    None => continue,
                }
            }
            _ => continue,
        };
        let mount = format!("--volume={path}:{path}{mode}");
        if !mounts.contains(&mount) {
            mounts.push(mount);
        }
    }
    mounts
}

/// Whether an engine can set the processors of a container. Podman without root needs the cpuset
/// controller, which many systems do not delegate to users. Such a container has the keeper's
/// processors, which is checked when it is ready.
fn can_bind(engine: &ContainerEngine) -> bool {
    let user = rustix::process::geteuid();
    if user.is_root() || engine.name() != "podman" {
        return true;
    }
    let user = user.as_raw();
    let group = format!("/sys/fs/cgroup/user.slice/user-{user}.slice/user@{user}.service");
    let controllers = std::fs::read_to_string(format!("{group}/cgroup.controllers"));
    controllers.is_ok_and(|names| names.split_whitespace().any(|name| name == "cpuset"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(directory: &Path) -> StartDetails<'_> {
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
    fn a_command_is_started_as_it_is() {
        // Method: a command with an environment variable.
        let launch = Launch {
            environment: vec![("A".into(), "{port}".into())],
            ..Launch::new(vec!["./x".into(), "{port}".into()])
        };
        let directory = Path::new("/d");
        let filled = launch.fill(81, directory, &[]);
        let invocation = Invocation::of(&launch, filled, details(directory)).unwrap();
        assert_eq!(invocation.program, "./x");
        assert_eq!(invocation.container, None);
        assert_eq!(invocation.arguments, ["81"]);
        let environment = [("A", "81"), ("PORT", "81")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(invocation.environment, BTreeMap::from(environment));
    }

    #[test]
    fn a_container_has_the_paths_of_placeholders_at_the_same_place() {
        // Method: each placeholder that is a path, one of them twice, and one that is not a path.
        let words = ["{dir}/n.conf", "{port}", "{study}/x", "{dir}"];
        let mut launch = Launch::of_image("nginx".into(), words.map(str::to_owned).into());
        launch.folder = Some("/s".into());
        launch.environment = vec![("S".into(), "{service.db.dir}/sock".into())];
        let words = [("service.db.dir".to_owned(), "/db".to_owned())];
        let details = StartDetails {
            words: &words,
            ..details(Path::new("/d"))
        };
        let expected = ["/d:/d", "/s:/s:ro", "/db:/db"].map(|text| format!("--volume={text}"));
        assert_eq!(mounts(&launch, &details), expected);
    }

    #[test]
    fn an_engine_gets_the_processors_the_limits_and_the_signal() {
        // Method: an image with its own stop signal, with and without bound processors.
        let image = ContainerImage {
            name: "nginx".to_owned(),
            stop_signal: Some(abx_sys::process::Signal::Quit),
        };
        let details = details(Path::new("/d"));
        let bound = options(&image, "abx-1", &details, true);
        for option in [
            "--name=abx-1",
            "--network=host",
            "--cpuset-cpus=1,3",
            "--stop-signal=SIGQUIT",
        ] {
            assert!(
                bound.iter().any(|text| text == option),
                "{option}: {bound:?}"
            );
        }
        let engine = |name: &str| ContainerEngine {
            program: Path::new("/usr/bin").join(name),
        };
        assert_eq!(
            limit(&engine("podman"), details.descriptors),
            "--ulimit=host"
        );
        let option = limit(&engine("docker"), details.descriptors);
        assert_eq!(option, "--ulimit=nofile=1000:1048576");
        let free = options(&image, "abx-1", &details, false);
        assert!(!free.iter().any(|text| text.starts_with("--cpuset")));
    }
}
