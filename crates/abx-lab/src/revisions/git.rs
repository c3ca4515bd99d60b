//! Runs the program `git` without hooks, without the variables that hooks set, and without filters
//! if that is requested.

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::revision_error::RevisionError;

/// Git in one folder.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    folder: PathBuf,
    /// Settings that take the place of the user's: names and values.
    settings: Vec<(String, &'static str)>,
}

/// The result of a call of git.
pub struct GitOutput {
    pub is_success: bool,
    pub bytes: Vec<u8>,
    /// The text on standard error.
    pub message: String,
}

/// Variables by which git's hooks pass their repository to child processes. With them, git and the
/// commands of a build would use the wrong repository.
pub const HOOK_VARIABLES: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFLOG_ACTION",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
];

/// Settings for every call, before its verb.
const SETTINGS: &[&str] = &[
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    // Clones come from a folder of this machine, which the user may have forbidden.
    "-c",
    "protocol.file.allow=always",
];

impl Git {
    /// Git as it is on `PATH`, run in a folder.
    pub fn at(folder: &Path) -> Git {
        Git {
            program: PathBuf::from("git"),
            folder: folder.to_owned(),
            settings: Vec::new(),
        }
    }

    /// The same git in another folder.
    pub fn moved(&self, folder: &Path) -> Git {
        Git {
            folder: folder.to_owned(),
            ..self.clone()
        }
    }

    /// The same git without the filters that its repository and the user have set. Files are
    /// then read and written as they are.
    ///
    /// # Errors
    /// As [`Git::read`].
    pub fn unfiltered(&self) -> Result<Git, RevisionError> {
        let words = ["config", "-z", "--name-only", "--get-regexp", r"^filter\."];
        // The call fails if there are no filters.
        let bytes = self.call(&words)?.bytes;
        let text = String::from_utf8_lossy(&bytes);
        let names = text.split_terminator('\0');
        let settings = names.map(|name| {
            let is_required = name.ends_with(".required");
            (name.to_owned(), if is_required { "false" } else { "" })
        });
        Ok(Git {
            settings: settings.collect(),
            ..self.clone()
        })
    }

    /// Runs git to its end.
    ///
    /// # Errors
    /// [`RevisionError::NoGit`] if there is no such program, or it does not start.
    pub fn call<Word: AsRef<OsStr>>(&self, words: &[Word]) -> Result<GitOutput, RevisionError> {
        let mut command = Command::new(&self.program);
        for name in HOOK_VARIABLES {
            command.env_remove(name);
        }
        command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (number, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        let output = command
            .args(SETTINGS)
            .arg("-C")
            .arg(&self.folder)
            .args(words)
            .env("GIT_TERMINAL_PROMPT", "0")
            // A replaced commit would be built under the hash of another.
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| match source.kind() {
                ErrorKind::NotFound => RevisionError::NoGit,
                _ => self.failed(words, source.to_string()),
            })?;
        let message = String::from_utf8_lossy(&output.stderr);
        Ok(GitOutput {
            is_success: output.status.success(),
            bytes: output.stdout,
            message: message.trim().to_owned(),
        })
    }

    /// The output of a call that must succeed.
    ///
    /// # Errors
    /// [`RevisionError::Git`] with git's message if it does not.
    pub fn read<Word: AsRef<OsStr>>(&self, words: &[Word]) -> Result<Vec<u8>, RevisionError> {
        let output = self.call(words)?;
        if output.is_success {
            return Ok(output.bytes);
        }
        Err(self.failed(words, output.message))
    }

    /// The line that a successful call prints.
    ///
    /// # Errors
    /// As [`Git::read`].
    pub fn line<Word: AsRef<OsStr>>(&self, words: &[Word]) -> Result<String, RevisionError> {
        let bytes = self.read(words)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// The path that a successful call prints.
    ///
    /// # Errors
    /// As [`Git::read`].
    pub fn path<Word: AsRef<OsStr>>(&self, words: &[Word]) -> Result<PathBuf, RevisionError> {
        let mut bytes = self.read(words)?;
        if bytes.ends_with(b"\n") {
            bytes.pop();
        }
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }

    fn failed<Word: AsRef<OsStr>>(&self, words: &[Word], message: String) -> RevisionError {
        let words = words.iter().map(|word| word.as_ref().to_string_lossy());
        let words = std::iter::once("git".into()).chain(words);
        RevisionError::Git {
            command: shell_words::join(words),
            folder: self.folder.clone(),
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_git_is_reported_with_its_remedy() {
        // Method: a program that does not exist, in place of git.
        let git = Git {
            program: PathBuf::from("abx-has-no-such-git"),
            ..Git::at(Path::new("/"))
        };
        let error = git.read(&["version"]).unwrap_err();
        assert!(matches!(error, RevisionError::NoGit), "{error}");
        assert!(error.to_string().contains("install"), "{error}");
    }

    #[test]
    fn a_failed_call_is_quoted_with_the_message_of_git() {
        // Method: a verb that git does not have, with a word that a shell would split.
        let error = Git::at(Path::new("/")).read(&["no-such-verb", "a b"]);
        let message = error.unwrap_err().to_string();
        assert!(message.contains("git no-such-verb 'a b'"), "{message}");
        assert!(message.contains("not a git command"), "{message}");
    }
}
