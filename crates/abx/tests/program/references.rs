//! The page with all commands and flags, which is what the program itself prints.

use std::fs;
use std::path::Path;

use crate::support::Home;

const PAGE: &str = "docs/reference/commands.md";
const HEAD: &str = "# Commands and flags\n\nThe output of `abx COMMAND --help`, as a page to \
                    search. `abx COMMAND -h` is shorter.\n";
/// These two have the command lines of other tools, and pages of their own.
const FOREIGN: [&str; 2] = ["ab", "httperf"];

/// What a command prints as its help.
fn help(home: &Home, words: &[&str]) -> String {
    let ended = home.run(home.abx(words).arg("--help").env("COLUMNS", "100"));
    ended.expect(0, &["Usage: abx"]);
    ended.stdout
}

/// The commands that a help lists below `Commands:`, without `help` itself.
fn listed(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    let commands = lines.filter(|line| !line.starts_with("   "));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").collect()
}

/// A command's help as a chapter. It is indented, since its examples are run by other tests.
fn chapter(words: &[&str], help: &str) -> String {
    let mut chapter = format!("\n## abx {}\n\n", words.join(" "));
    for line in help.trim_end().lines() {
        let line = format!("    {line}");
        chapter.push_str(line.trim_end());
        chapter.push('\n');
    }
    chapter
}

#[test]
fn the_page_of_commands_is_what_the_program_prints() {
    // Method: the help of each command that has a manual page, and of those below it, one after
    // the other; UPDATE=1 writes the page.
    let home = Home::new();
    home.run_abx(&["manual", "--folder", "man"]).expect(0, &[]);
    let files = fs::read_dir(home.join("man")).unwrap().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let commands = names.filter_map(|name| {
        let command = name.strip_prefix("abx-")?.strip_suffix(".1")?;
        Some(command.to_owned())
    });
    let mut commands: Vec<String> = commands.collect();
    commands.retain(|command| !FOREIGN.contains(&command.as_str()));
    commands.sort();
    let mut page = HEAD.to_owned();
    for command in &commands {
        let text = help(&home, &[command]);
        page.push_str(&chapter(&[command], &text));
        for below in listed(&text) {
            page.push_str(&chapter(&[command, below], &help(&home, &[command, below])));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(PAGE);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page,
        "{PAGE} is not what the program prints; write it again with: UPDATE=1 cargo test -p abx \
         --test end_to_end -- references::"
    );
    assert!(commands.len() > 10, "{commands:?}");
    assert!(
        page.contains("\n## abx study run\n"),
        "no command below another one"
    );
}
