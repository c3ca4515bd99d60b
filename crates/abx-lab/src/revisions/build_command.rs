//! One command of a build, split into words without a shell.

use abx_study::shell_word::{is_variable, shell_word};

use super::revision_error::RevisionError;

/// A command: its text, and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildCommand {
    text: String,
    words: Vec<String>,
}

impl BuildCommand {
    /// Splits a text into words.
    ///
    /// # Errors
    /// [`RevisionError::BuildCommand`] for a text that is empty or needs a shell.
    pub fn parse(text: &str) -> Result<BuildCommand, RevisionError> {
        let wrong = |why: String| RevisionError::BuildCommand {
            command: text.to_owned(),
            why,
        };
        if text.contains('\0') {
            return Err(wrong("has a NUL character: remove it".to_owned()));
        }
        let remedy = format!("give each step its own --build, or write \"sh -c '{text}'\"");
        let words = words_of(text, &remedy).map_err(wrong)?;
        if is_variable(&words[0]) {
            return Err(wrong(format!(
                "begins with `{}`, which only a shell understands: write `env {text}`",
                words[0]
            )));
        }
        Ok(BuildCommand {
            text: text.to_owned(),
            words,
        })
    }

    /// The command as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The argument list, not empty.
    pub fn words(&self) -> &[String] {
        &self.words
    }
}

/// The words of a command, at least one, or what is wrong with it. `remedy` is for a command that
/// needs a shell.
pub(super) fn words_of(text: &str, remedy: &str) -> Result<Vec<String>, String> {
    let words = shell_words::split(text).map_err(|_| "has a quote that does not close")?;
    if words.is_empty() {
        return Err("is empty: write a program and its arguments".to_owned());
    }
    match shell_word(&words, text) {
        Some(word) => Err(format!(
            "has `{word}`, which only a shell understands: {remedy}"
        )),
        None => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_needs_a_shell_is_refused_with_its_remedy() {
        // Method: one broken text for each message, and one with quotes that is fine.
        for (text, part) in [
            ("", "is empty"),
            ("make 'x", "does not close"),
            ("make && make install", "own --build"),
            ("cd server", "sh -c 'cd server'"),
            ("CC=clang make", "env CC=clang make"),
            ("make\0", "NUL"),
        ] {
            let message = BuildCommand::parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        let command = BuildCommand::parse("sh -c 'a && b'").unwrap();
        assert_eq!(command.words(), ["sh", "-c", "a && b"]);
    }
}
