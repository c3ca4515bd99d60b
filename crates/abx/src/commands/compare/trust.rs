//! Whether the commands of a study file may run: those that are new on this machine are shown, and
//! the user decides.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use abx_lab::TrustStore;
use abx_lab::study_file::{self, StudyCommand, StudyFile};
use abx_report::printing::clean;
use clap::Args;

use crate::ui::end::{Failure, notify};

/// The flag by which a script agrees.
#[derive(Debug, Clone, Copy, Args)]
pub struct TrustFlag {
    /// Run the commands of a study file without a prompt, even if the file is new on this machine
    /// or its commands have changed.
    ///
    /// Studies in folders that the environment variable ABX_TRUST lists need no prompt either;
    /// separate the folders as in PATH.
    #[arg(long, help_heading = "Study")]
    trust: bool,
}

impl TrustFlag {
    /// Refuses the flag if no study file is named, since it would have no effect.
    ///
    /// # Errors
    /// A usage failure if it is given.
    pub fn refuse_without_file(self) -> Result<(), Failure> {
        if self.trust {
            return Err(Failure::usage(
                "--trust agrees to the commands of a study file, and you named none: name one by \
                 its path, or leave --trust out, since abx prompts for nothing else",
            ));
        }
        Ok(())
    }
}

/// The most letters of commands that are shown: no user would read more.
const SHOWN_LETTERS_MAX: usize = 6_000;

/// Prompts before the commands of the study file at `path` run for the first time.
///
/// # Errors
/// A usage failure that lists the commands, if the user has not agreed to them.
pub fn confirm(
    path: &Path,
    (file, folder): (&StudyFile, &Path),
    flag: TrustFlag,
) -> Result<(), Failure> {
    let commands = file.commands();
    let digest = file.commands_digest(folder);
    let store = TrustStore::of_user();
    if commands.is_empty() || store.trusts(folder, &digest) {
        return Ok(());
    }
    let shown = study_file::file(path);
    let shown = shown.display();
    let list = list(&commands, &shown.to_string());
    let is_interactive = io::stdin().is_terminal() && io::stderr().is_terminal();
    let saved = match (flag.trust, is_interactive) {
        (true, _) => store.add_commands(&digest),
        (false, false) => return Err(refused(&shown.to_string(), &list)),
        (false, true) => {
            notify(&format!(
                "{shown} is new on this machine, or its commands have changed. It runs these \
                 programs as you:\n{list}"
            ));
            match prompt(folder).map_err(Failure::usage)? {
                Consent::Commands => store.add_commands(&digest),
                Consent::Folder => store.add_folder(folder),
                Consent::Nothing => {
                    return Err(Failure::usage(format!("{shown}: nothing was run")));
                }
            }
        }
    };
    if let Err(error) = saved {
        notify(&format!(
            "abx: cannot save that {shown} is trusted: {error}. Make the state folder writable, or \
             agree again next time"
        ));
    }
    Ok(())
}

fn refused(shown: &str, list: &str) -> Failure {
    Failure::usage(format!(
        "{shown} is new on this machine, or its commands have changed, so nothing was run. It runs \
         these programs as you:\n{list}\nRead them, then add --trust, or name the study's folder \
         in the environment variable ABX_TRUST"
    ))
}

/// The commands, one per line.
fn list(commands: &[StudyCommand], shown: &str) -> String {
    let lines = commands.iter().map(|command| {
        let StudyCommand { purpose, text } = command;
        format!("  {purpose}: {}", text.replace(['\n', '\r'], "\u{fffd}"))
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.chars().count() > SHOWN_LETTERS_MAX {
        format!(
            "  {}, more text than fits here: read them in {shown}",
            abx_report::plural(commands.len() as u64, "command")
        )
    } else {
        clean(&text)
    }
}

/// What the user agrees to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    /// These commands, until they change.
    Commands,
    /// Every study in the folder.
    Folder,
    Nothing,
}

fn prompt(folder: &Path) -> io::Result<Consent> {
    let folder = clean(&folder.display().to_string());
    let mut terminal = io::stderr();
    write!(
        terminal,
        "Run them? y: yes; a: yes, and always for studies in {folder}; n: no [n] "
    )?;
    terminal.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(consent(&line))
}

fn consent(line: &str) -> Consent {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Consent::Commands,
        "a" | "always" => Consent::Folder,
        _ => Consent::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str) -> StudyCommand {
        StudyCommand {
            purpose: "db".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn only_a_clear_yes_runs_anything() {
        // Method: the letters and the words for both kinds of consent, in small letters and
        // capitals; then other lines.
        assert_eq!(["y\n", "YES"].map(consent), [Consent::Commands; 2]);
        assert_eq!(["a\n", "always"].map(consent), [Consent::Folder; 2]);
        for line in ["", "\n", "n", "yy", "no", "maybe y"] {
            assert_eq!(consent(line), Consent::Nothing, "{line:?}");
        }
    }

    #[test]
    fn no_command_hides_in_the_list() {
        // Method: a command that clears the terminal, and one that begins a new line; one that is
        // too long to be shown in full.
        let text = list(
            &[command("rm\u{1b}[2J -r"), command("a\n  db: b")],
            "s.toml",
        );
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        let long = list(&[command(&"x".repeat(9_000))], "s.toml");
        assert_eq!(
            long,
            "  1 command, more text than fits here: read them in s.toml"
        );
    }

    #[test]
    fn the_flag_is_refused_without_a_study_file() {
        // Method: no study file, with and without the flag.
        let refused = |trust| TrustFlag { trust }.refuse_without_file().err();
        assert!(refused(false).is_none());
        let message = refused(true).unwrap().message;
        assert!(message.contains("leave --trust out"), "{message}");
    }
}
