//! The compilers that a build uses: another version of one makes another build.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use abx_study::program::find;

use super::build_command::BuildCommand;

/// Words of build commands, and the programs that decide their results.
const TOOLS: &[(&[&str], &[&str])] = &[
    (
        &["make", "gmake", "ninja", "cmake", "meson"],
        &["cc", "c++"],
    ),
    (&["cc", "c++"], &["cc", "c++"]),
    (&["gcc", "g++"], &["gcc", "g++"]),
    (&["clang", "clang++"], &["clang"]),
    (&["cargo", "rustc"], &["rustc"]),
    (&["go"], &["go"]),
    (&["node", "npm", "npx", "yarn", "pnpm"], &["node"]),
    (&["python3", "python", "pip", "pip3"], &["python3"]),
    (&["javac", "mvn", "gradle"], &["javac"]),
];

/// Variables that choose these programs and set how they build.
const VARIABLES: &[&str] = &[
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "RUSTFLAGS",
    "GOFLAGS",
    "MAKEFLAGS",
    "NODE_ENV",
];

/// The tools of these commands, one per line: versions of programs, and variables that are set.
pub fn versions(commands: &[BuildCommand]) -> Vec<String> {
    let programs: BTreeSet<&str> = commands.iter().flat_map(programs).collect();
    let variables = VARIABLES.iter().filter_map(|name| {
        let value = env::var_os(name)?;
        Some(format!("{name}={}", value.to_string_lossy()))
    });
    let versions = programs.into_iter().filter_map(version);
    versions.chain(variables).collect()
}

/// The programs that decide the result of a command, by its words. Words in the text for a shell
/// count, too.
fn programs(command: &BuildCommand) -> Vec<&'static str> {
    let is_in_word = |letter: char| letter.is_alphanumeric() || "+-_./".contains(letter);
    let words = command.text().split(|letter| !is_in_word(letter));
    let names: Vec<&str> = words.filter_map(|word| word.rsplit('/').next()).collect();
    let rows = TOOLS
        .iter()
        .filter(|(words, _)| words.iter().any(|word| names.contains(word)));
    rows.flat_map(|(_, programs)| programs.iter().copied())
        .collect()
}

/// The first line in which a program states its version; `None` if there is no such program.
fn version(program: &str) -> Option<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    // In the root folder, no file of a project makes the program fetch another version of itself.
    let root = Path::new("/");
    let option = match program {
        "go" => "version",
        _ => "--version",
    };
    let output = Command::new(find(program, &path, root)?)
        .arg(option)
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next()?.trim();
    Some(format!("{program}: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_command_name_its_compilers() {
        // Method: a table of commands; a word that only contains a name does not count.
        for (text, expected) in [
            ("make server", &["cc", "c++"][..]),
            ("/usr/bin/cargo build --release", &["rustc"]),
            ("sh -c 'cd x; go build .'", &["go"]),
            ("./makefile-gen --cargo-like", &[]),
            ("gcc -o server server.c", &["gcc", "g++"]),
        ] {
            let command = BuildCommand::parse(text).unwrap();
            assert_eq!(programs(&command), expected, "{text}");
        }
    }

    #[test]
    fn a_compiler_states_its_version() {
        // Method: rustc, which builds this test, and a program that is not there.
        let path = env::var_os("PATH").unwrap_or_default();
        if find("rustc", &path, Path::new("/")).is_some() {
            let line = version("rustc").unwrap();
            assert!(line.starts_with("rustc: rustc 1."), "{line}");
        }
        assert_eq!(version("abx-has-no-such-compiler"), None);
    }
}
