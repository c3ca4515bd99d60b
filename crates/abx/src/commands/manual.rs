//! `abx manual`: pages for `man`, generated from the definition of the command line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::flags::output::to_stdout;
use crate::ui::end::{End, Failure, notify};

/// Print or install the manual pages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx manual | man -l -\n  \
    abx manual compare | man -l -\n  \
    abx manual study run | man -l -\n  \
    abx manual --folder ~/.local/share/man/man1")]
pub struct Manual {
    /// The command whose page to print, such as compare or study run [default: the page of abx
    /// itself].
    #[arg(value_name = "COMMAND", conflicts_with = "folder")]
    command: Vec<String>,
    /// Write all pages to this folder instead.
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Prints one page, or writes them all.
pub fn manual(manual: &Manual, shown: &Command) -> Result<End, Failure> {
    match &manual.folder {
        Some(folder) => {
            let count = write_pages(folder, shown).map_err(|error| {
                Failure::no_claim(format!(
                    "cannot write the manual pages into {}: {error}. Give a writable folder \
                     (`--folder`)",
                    folder.display()
                ))
            })?;
            notify(&format!("Wrote {count} pages to {}", folder.display()));
        }
        None => {
            let page = requested_page(manual, shown)?;
            to_stdout(&String::from_utf8_lossy(&page)).map_err(Failure::no_claim)?;
        }
    }
    Ok(End::Done)
}

/// The page to print.
fn requested_page(manual: &Manual, shown: &Command) -> Result<Vec<u8>, Failure> {
    let pages = pages(shown).map_err(|error| Failure::no_claim(error.to_string()))?;
    let mut words = vec!["abx"];
    words.extend(manual.command.iter().map(String::as_str));
    let name = words.join("-");
    if let Some(page) = pages.iter().find(|page| page.name == name) {
        return Ok(page.roff.clone());
    }
    let known: Vec<&str> = pages
        .iter()
        .filter_map(|page| page.name.strip_prefix("abx-"))
        .collect();
    Err(Failure::usage(format!(
        "`{name}` has no manual page: choose one of {}",
        known.join(", ")
    )))
}

/// One page of section 1.
struct ManualPage {
    name: String,
    roff: Vec<u8>,
}

/// The pages of abx, of each command and of each subcommand.
fn pages(shown: &Command) -> io::Result<Vec<ManualPage>> {
    // The pages contain the output of `abx help`.
    let mut cli = shown.clone().disable_help_subcommand(true);
    cli.build();
    let mut pages = Vec::new();
    add_pages(&cli, "abx".to_owned(), &mut pages)?;
    Ok(pages)
}

/// Adds the page of a command, and then those of its subcommands.
fn add_pages(command: &Command, name: String, pages: &mut Vec<ManualPage>) -> io::Result<()> {
    pages.push(page(command, name.clone())?);
    for subcommand in command.get_subcommands() {
        let name = format!("{name}-{}", subcommand.get_name());
        add_pages(subcommand, name, pages)?;
    }
    Ok(())
}

fn page(command: &Command, name: String) -> io::Result<ManualPage> {
    let mut roff = Vec::new();
    // The renderer leaves out the texts of flags that `-h` does not show.
    let with_all_flags = command
        .clone()
        .mut_args(|argument| argument.hide_short_help(false));
    let man = Man::new(with_all_flags).title(&name);
    let man = man.source(concat!("abx ", env!("CARGO_PKG_VERSION")));
    man.render_title(&mut roff)?;
    man.render_name_section(&mut roff)?;
    man.render_synopsis_section(&mut roff)?;
    man.render_description_section(&mut roff)?;
    man.render_options_section(&mut roff)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut roff)?;
    }
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string);
    sections(&after.unwrap_or_default()).to_writer(&mut roff)?;
    if command.get_version().is_some() {
        man.render_version_section(&mut roff)?;
    }
    Ok(ManualPage { name, roff })
}

/// Turns the text below the flags of a help text into sections of a manual page.
fn sections(after: &str) -> Roff {
    let mut roff = Roff::default();
    for part in after.split("\n\n").map(str::trim_end) {
        if let Some(examples) = part.strip_prefix("Examples:\n") {
            roff.control("SH", ["EXAMPLES"]).control("nf", []);
            for line in examples.lines() {
                roff.text([roman(line.trim_start())]);
            }
            roff.control("fi", []);
            continue;
        }
        let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
        match part.strip_prefix("Exit codes") {
            Some(codes) => {
                let codes = codes.trim_start_matches(':').trim_start();
                roff.control("SH", ["EXIT STATUS"]).text([roman(codes)]);
            }
            None if part.is_empty() => {}
            None => {
                roff.control("SH", ["NOTES"]).text([roman(part)]);
            }
        }
    }
    let see_also =
        format!("The documents that these pages name, as docs/NAME.md, are {DOCUMENTS}.");
    roff.control("SH", ["SEE ALSO"]).text([roman(see_also)]);
    roff
}

/// Where an installation has the documents.
const DOCUMENTS: &str = "in share/doc/abx/ below the folder that has bin/abx, such as \
                         /usr/local/share/doc/abx/docs/reference/flags.md";

fn write_pages(folder: &Path, shown: &Command) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let pages = pages(shown)?;
    for page in &pages {
        fs::write(folder.join(format!("{}.1", page.name)), &page.roff)?;
    }
    Ok(pages.len())
}

#[cfg(test)]
#[path = "../../tests/support/transcript.rs"]
mod transcript;

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use clap::Parser;

    use crate::command_line::cli::{Cli, shown};
    use crate::command_line::secrets::with_curl_translated;

    use super::transcript::{Kind, Transcript, abx_words};
    use super::*;

    /// Why these words cannot be parsed; `None` if they can.
    fn problem(words: &[String]) -> Option<String> {
        let words = words.iter().map(OsString::from).collect();
        match with_curl_translated(words) {
            Ok(words) => Some(Cli::try_parse_from(words).err()?.to_string()),
            Err(wrong) => Some(wrong),
        }
    }

    #[test]
    fn every_example_in_the_documents_can_be_parsed() {
        // Method: each call of abx in the documents, even if it takes too long to run, parsed as if
        // it were typed. Nothing is started.
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let transcript = Transcript::of_project(&root);
        let mut parsed = 0;
        for block in &transcript.blocks {
            for example in &block.examples {
                let Some(words) = example.words() else {
                    continue;
                };
                let problem = problem(&words);
                assert_eq!(problem, None, "{}:{}", block.file, example.line);
                parsed += 1;
            }
        }
        // Without this, documents without examples would pass.
        assert!(parsed >= 20, "{parsed} examples");
        for kind in [Kind::Run, Kind::Long] {
            assert!(transcript.blocks.iter().any(|block| block.kind == kind));
        }
    }

    #[test]
    fn every_help_text_is_complete_and_suits_its_command() {
        // Method: both help texts of each flag have no double blanks and no broken lines; the text
        // of `--json` names what each command saves; and help and manual page have the placeholder
        // of `--count`.
        let mut cli = shown();
        cli.build();
        let mut commands = vec![&cli];
        let mut saved = Vec::new();
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            for argument in command.get_arguments() {
                let texts = [argument.get_help(), argument.get_long_help()];
                for text in texts.into_iter().flatten().map(ToString::to_string) {
                    let place = format!("{} {}: {text}", command.get_name(), argument.get_id());
                    let joined = text.replace("\n\n", " ");
                    assert!(!joined.contains("  ") && !joined.contains('\n'), "{place}");
                    if argument.get_id() == "json" {
                        saved.push((command.get_name(), text));
                    }
                }
            }
        }
        let subject = |name: &str| {
            let text = saved.iter().find(|(command, _)| *command == name);
            let (_, text) = text.unwrap_or_else(|| panic!("{name} has no --json"));
            let (_, after) = text.split_once("Also save ").expect("its beginning");
            after.split_once(" as JSON").expect("what is saved").0
        };
        for (name, what) in [
            ("compare", "the record"),
            ("run", "the record"),
            ("report", "the record with its conclusions"),
            ("history", "the list or the trend"),
            ("audit", "the audit"),
            ("timer", "the times"),
            ("doctor", "the results"),
            ("check", "the result of the check"),
        ] {
            assert_eq!(subject(name), what, "{name}");
        }
        let run = cli.find_subcommand_mut("run").expect("a command");
        let count = "Make N variants of each request: {n} in path, headers and body";
        // The short help has only the flags that most users need.
        let help = run.render_long_help().to_string();
        let words: Vec<&str> = help.split_whitespace().collect();
        assert!(words.join(" ").contains(count), "{help}");
        let pages = pages(&shown()).expect("pages");
        let page = pages
            .iter()
            .find(|page| page.name == "abx-run")
            .expect("a page");
        let page = String::from_utf8_lossy(&page.roff);
        assert!(page.contains(count), "{page}");
    }

    #[test]
    fn the_short_help_of_the_commands_with_most_flags_fits_on_a_screen() {
        // Method: the number of lines of `-h` on a terminal of 80 columns, and their width; the
        // long help has more lines.
        let mut cli = shown();
        cli.build();
        let commands: [&[&str]; 6] = [
            &["compare"],
            &["run"],
            &["bisect"],
            &["study", "run"],
            &["serve"],
            &["history"],
        ];
        for path in commands {
            let command = path
                .iter()
                .try_fold(&cli, |command, name| command.find_subcommand(name));
            let mut command = command.expect("a command").clone().term_width(80);
            let short = command.render_help().to_string();
            assert!(short.lines().count() <= 40, "{path:?}: {short}");
            let widest = short.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{path:?}: {widest:?} columns");
            let long = command.render_long_help().to_string();
            assert!(long.lines().count() > short.lines().count(), "{path:?}");
        }
    }

    #[test]
    fn short_and_long_help_have_examples_that_can_be_parsed() {
        // Method: both help texts of abx and of each command have examples, which are parsed as if
        // they were typed.
        let mut cli = shown();
        cli.build();
        let commands = cli
            .get_subcommands()
            .filter(|command| command.get_name() != "help");
        for command in std::iter::once(&cli).chain(commands) {
            let mut command = command.clone();
            let texts = [command.render_help(), command.render_long_help()];
            for text in texts.map(|text| text.to_string()) {
                let name = command.get_name();
                let after = text.split_once("Examples:\n").map(|(_, after)| after);
                let after = after.unwrap_or_else(|| panic!("{name} has no examples: {text}"));
                let lines = after.lines().take_while(|line| !line.is_empty());
                let examples: Vec<Vec<String>> = lines.filter_map(abx_words).collect();
                assert!(!examples.is_empty(), "{name}: {text}");
                for words in examples {
                    assert_eq!(problem(&words), None, "{name}: {words:?}");
                }
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
        }
    }
}
