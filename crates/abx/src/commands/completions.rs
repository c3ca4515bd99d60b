//! `abx completions`: completions for shells, generated from the definition of the command line,
//! with ids of records and names of studies, which `abx words` lists while a user types.

use abx_lab::catalog;
use abx_lab::history::{Archive, Query, short_id_of_file};
use abx_lab::state_folder;
use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use crate::flags::output::to_stdout;
use crate::ui::end::{End, Failure};

/// Print shell completions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx completions bash >~/.local/share/bash-completion/completions/abx\n  \
    abx completions zsh >~/.zfunc/_abx\n  \
    abx completions fish >~/.config/fish/completions/abx.fish")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

/// List the words that shells complete: ids of records, names of studies.
#[derive(Debug, Args)]
pub struct Words {
    /// What they name.
    #[arg(value_enum)]
    kind: WordKind,
}

/// What words name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WordKind {
    Records,
    Studies,
}

/// How many ids are completed: those of the newest records.
const RECORDS: usize = 100;

/// Prints the completions of one shell.
pub fn completions(completions: &Completions, shown: &Command) -> Result<End, Failure> {
    let mut command = shown.clone();
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut command, "abx", &mut script);
    let script = String::from_utf8_lossy(&script);
    let script = match completions.shell {
        Shell::Bash => bash(&script, &command),
        Shell::Zsh => zsh(&script),
        Shell::Fish => format!("{script}{FISH}"),
        _ => script.into_owned(),
    };
    to_stdout(&script).map_err(Failure::no_claim)?;
    Ok(End::Done)
}

/// Prints words for a shell, one per line.
pub fn words(words: &Words) -> Result<End, Failure> {
    let words: Vec<String> = match words.kind {
        WordKind::Studies => catalog::entries()
            .iter()
            .map(|study| study.name.to_owned())
            .collect(),
        WordKind::Records => {
            let query = Query {
                limit: Some(RECORDS),
                ..Query::default()
            };
            let archive = Archive::open(&state_folder()).map_err(Failure::usage)?;
            let records = archive.list(&query).map_err(Failure::no_claim)?.entries;
            let ids = records.iter().map(|record| short_id_of_file(&record.file));
            let last = (!records.is_empty()).then(|| "last".to_owned());
            last.into_iter().chain(ids).collect()
        }
    };
    let text: String = words.iter().map(|word| format!("{word}\n")).collect();
    to_stdout(&text).map_err(Failure::no_claim)?;
    Ok(End::Done)
}

/// The script for bash: a function for records and studies wraps the generated one for flags.
fn bash(script: &str, command: &Command) -> String {
    let flags = script.replacen("_abx() {", "_abx_flags() {", 1);
    let wrapper = BASH.replace("VALUES", &value_flags(command).join("|"));
    match flags.rsplit_once("\nif [[ \"${BASH_VERSINFO[0]}\"") {
        Some((function, rest)) => {
            format!("{function}\n{wrapper}\nif [[ \"${{BASH_VERSINFO[0]}}\"{rest}")
        }
        None => script.to_owned(),
    }
}

/// The flags with a value of the commands that name records or studies.
fn value_flags(cli: &Command) -> Vec<String> {
    let named = ["report", "view", "compare"];
    let named = named.iter().filter_map(|name| cli.find_subcommand(name));
    let studies = cli.find_subcommand("study");
    let of_studies = studies.into_iter().flat_map(Command::get_subcommands);
    let arguments = named.chain(of_studies).flat_map(Command::get_arguments);
    let mut flags = Vec::new();
    for arg in arguments.filter(|arg| arg.get_action().takes_values()) {
        let long = arg.get_long_and_visible_aliases().unwrap_or_default();
        flags.extend(long.iter().map(|name| format!("--{name}")));
        let short = arg.get_short_and_visible_aliases().unwrap_or_default();
        flags.extend(short.iter().map(|letter| format!("-{letter}")));
    }
    flags.sort_unstable();
    flags.dedup();
    flags
}

/// The script for zsh, in which functions complete the names of records and studies.
fn zsh(script: &str) -> String {
    let mut lines = Vec::new();
    for line in script.lines() {
        let (is_record, is_study) = (line.contains("::records -- "), line.contains(":name -- "));
        let line = line.replace(":RECORD[:SUBJECT]:", ":RECORD:");
        lines.push(match (is_record, is_study) {
            (true, _) => line.replace(":_default'", ":_abx_records'"),
            (_, true) => line.replace(":_default'", ":_abx_studies'"),
            _ => line,
        });
    }
    let script = lines.join("\n");
    let last = "\nif [ \"$funcstack[1]\"";
    match script.rsplit_once(last) {
        Some((before, after)) => format!("{before}{ZSH}{last}{after}\n"),
        None => script,
    }
}

const BASH: &str = r#"_abx() {
    local cur="$2" prev="$3" kind=""
    case "${COMP_WORDS[1]},${COMP_WORDS[2]}" in
        report,*|view,*) ((COMP_CWORD > 1)) && kind=records ;;
        study,show|study,check|study,install|study,run) ((COMP_CWORD > 2)) && kind=studies ;;
    esac
    if [[ "$prev" == "=" ]]; then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi
    case "$prev" in
        VALUES) kind="" ;;
    esac
    if [[ -n "$kind" && "$cur" != -* ]]; then
        COMPREPLY=($(compgen -W "$("$1" words "$kind" 2>/dev/null)" -- "$cur"))
        return 0
    fi
    _abx_flags "$@"
}
"#;

const ZSH: &str = r#"
(( $+functions[_abx_records] )) ||
_abx_records() {
    local -a ids
    ids=(${(f)"$(_call_program records abx words records 2>/dev/null)"})
    compadd -V records -a ids
    _files
}
(( $+functions[_abx_studies] )) ||
_abx_studies() {
    local -a studies
    studies=(${(f)"$(_call_program studies abx words studies 2>/dev/null)"})
    compadd -V studies -a studies
    _files
}
"#;

const FISH: &str = r#"complete -c abx -n "__fish_abx_using_subcommand report view" -k -a "(abx words records 2>/dev/null)"
complete -c abx -n "__fish_abx_using_subcommand study; and __fish_seen_subcommand_from show check install run" -a "(abx words studies 2>/dev/null)"
"#;
