//! `abx completions` and `abx manual`: the words of the command line for shells
//! and for `man`, made of the same definitions that read them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::output::to_stdout;
use super::{Cli, End, Failure, tell};

/// Print what a shell needs to complete these words.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx completions bash >~/.local/share/bash-completion/completions/abx\n  \
    abx completions zsh >~/.zfunc/_abx\n  \
    abx completions fish >~/.config/fish/completions/abx.fish")]
pub struct Completions {
    /// For which shell.
    shell: Shell,
}

/// Print or write the manual pages.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx manual | man -l -\n  \
    abx manual compare | man -l -\n  \
    abx manual --folder ~/.local/share/man/man1")]
pub struct Manual {
    /// The command whose page is printed; by default that of abx.
    #[arg(value_name = "COMMAND", conflicts_with = "folder")]
    command: Option<String>,
    /// Write the pages of all commands into this folder instead.
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Prints the completions of one shell.
pub fn completions(completions: &Completions) -> Result<End, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut shown(), "abx", &mut script);
    to_stdout(&String::from_utf8_lossy(&script))?;
    Ok(End::Done)
}

/// Prints one page, or writes them all.
pub fn manual(manual: &Manual) -> Result<End, Failure> {
    match &manual.folder {
        Some(folder) => {
            let count = write_pages(folder).map_err(|error| {
                Failure::no_claim(format!(
                    "cannot write the manual pages into {}: {error}. Name a folder that can be \
                     written (`--folder`)",
                    folder.display()
                ))
            })?;
            tell(&format!("{count} pages are in {}", folder.display()));
        }
        None => to_stdout(&String::from_utf8_lossy(&asked_for(manual)?))?,
    }
    Ok(End::Done)
}

/// The page that is to be printed.
fn asked_for(manual: &Manual) -> Result<Vec<u8>, Failure> {
    let pages = pages().map_err(|error| Failure::no_claim(error.to_string()))?;
    let name = match &manual.command {
        Some(command) => format!("abx-{command}"),
        None => "abx".to_owned(),
    };
    let known: Vec<&str> = { pages.iter() }
        .filter_map(|page| page.name.strip_prefix("abx-"))
        .collect();
    let unknown = format!("`{name}` has no page: name one of {}", known.join(", "));
    let found = pages.iter().find(|page| page.name == name);
    found
        .map(|page| page.roff.clone())
        .ok_or_else(|| Failure::usage(unknown))
}

/// One page of section 1.
struct Page {
    name: String,
    roff: Vec<u8>,
}

/// That of abx, and one for each command.
fn pages() -> io::Result<Vec<Page>> {
    // What `abx help` prints is what the pages say.
    let mut whole = shown().disable_help_subcommand(true);
    whole.build();
    let mut all = vec![page(&whole, "abx".to_owned())?];
    for command in whole.get_subcommands() {
        all.push(page(command, format!("abx-{}", command.get_name()))?);
    }
    Ok(all)
}

fn page(command: &Command, name: String) -> io::Result<Page> {
    let mut roff = Vec::new();
    let man = Man::new(command.clone()).title(&name);
    let man = man.source(concat!("abx ", env!("CARGO_PKG_VERSION")));
    man.render(&mut roff)?;
    Ok(Page { name, roff })
}

fn write_pages(folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let pages = pages()?;
    for page in &pages {
        fs::write(folder.join(format!("{}.1", page.name)), &page.roff)?;
    }
    Ok(pages.len())
}

/// The command line as people are to see it: what abx starts itself by is left out.
fn shown() -> Command {
    let whole = Cli::command();
    let visible = whole.get_subcommands().filter(|one| !one.is_hide_set());
    let visible: Vec<Command> = visible.cloned().collect();
    let mut shown = Command::new("abx")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .subcommands(visible);
    if let Some(about) = whole.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(after) = whole.get_after_help() {
        shown = shown.after_help(after.clone());
    }
    shown
}
