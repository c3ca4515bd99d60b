//! Containers among the commands of subjects.

/// The prefix of a command by which abx starts a container: `image:nginx:1.27` is the first word,
/// and the arguments for the image follow.
pub const IMAGE: &str = "image:";

/// Programs that run containers.
const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];

/// The words by which these programs start a container.
const STARTS: [&str; 3] = ["run", "start", "up"];

/// The image of a command by which abx starts a container.
#[must_use]
pub fn image_of(command: &[String]) -> Option<&str> {
    command.first()?.strip_prefix(IMAGE)
}

/// Whether a command starts a container by itself, as `docker run` does, even through a shell.
#[must_use]
pub fn runs_container(command: &[String]) -> bool {
    let mut words = command.iter().flat_map(|word| word.split_whitespace());
    let is_engine = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or_default();
        ENGINES.contains(&name)
    };
    let mut starts = || words.by_ref().any(is_engine) && words.any(|word| STARTS.contains(&word));
    image_of(command).is_none() && starts()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_distinguished_from_other_commands() {
        // Method: common ways to start a container, and commands that only look like it.
        let words = |text: &str| Vec::from_iter(text.split(' ').map(str::to_owned));
        let runs = |text: &str| runs_container(&words(text));
        assert!(runs("docker run --rm -p {port}:80 nginx"));
        assert!(runs("sudo /usr/bin/podman --log-level error run nginx"));
        assert!(runs("docker compose up"));
        let by_shell = ["sh", "-c", "exec docker run nginx"].map(str::to_owned);
        assert!(runs_container(&by_shell));
        for other in [
            "./docker-like run",
            "run docker",
            "podman",
            "image:docker run",
        ] {
            assert!(!runs(other), "{other}");
        }
        assert_eq!(
            image_of(&words("image:nginx:1.27 nginx")),
            Some("nginx:1.27")
        );
        assert_eq!(image_of(&words("nginx image:x")), None);
        assert_eq!(image_of(&[]), None);
    }
}
