//! The command that starts the server of every revision.

use abx_study::launch::Launch;
use abx_study::shell_word::is_variable;

use super::build_command::words_of;
use super::revision_error::RevisionError;

/// The launch of a server by a command, which is split into words without a shell.
///
/// # Errors
/// [`RevisionError::ServerCommand`] for a command that is empty, needs a shell, or has no place for
/// the port.
pub fn server_command(text: &str) -> Result<Launch, RevisionError> {
    let wrong = |why: String| RevisionError::ServerCommand {
        command: text.to_owned(),
        why,
    };
    let remedy = format!("write \"sh -c '{text}'\", with exec before the server's own command");
    let words = words_of(text, &remedy).map_err(wrong)?;
    if is_variable(&words[0]) {
        return Err(wrong(format!(
            "begins with `{}`: the revisions name the subjects, so write the command alone, or \
             `env {text}` for a variable",
            words[0]
        )));
    }
    let launch = Launch::new(words);
    if launch.placeholders().any(|word| word == "port") {
        return Ok(launch);
    }
    Err(wrong(
        "has no {port}: abx chooses the port, so write {port} where the command takes it"
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_command_that_cannot_start_is_refused_with_its_remedy() {
        // Method: one broken text for each message, and one that is fine.
        for (text, part) in [
            ("", "is empty"),
            ("./server 'x", "does not close"),
            ("cd x && ./server {port}", "sh -c"),
            ("old=./server {port}", "write the command alone"),
            ("./server", "no {port}"),
            ("http://127.0.0.1:8080/", "no {port}"),
        ] {
            let message = server_command(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        let launch = server_command("./server --port {port}").unwrap();
        assert_eq!(launch.command, ["./server", "--port", "{port}"]);
    }
}
