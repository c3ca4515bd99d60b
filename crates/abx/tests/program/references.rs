//! Generated pages: commands and flags are the program's own output, and keys of records are those
//! of their schema.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::Home;

const PAGE: &str = "docs/reference/commands.md";
const HEAD: &str = "# Commands and flags\n\nThe output of `abx COMMAND --help`, as a page to \
                    search. `abx COMMAND -h` is shorter.\n";
/// Commands with the command lines of other tools, which have their own pages.
const FOREIGN: [&str; 2] = ["ab", "httperf"];

/// Asserts that a page has this text. UPDATE=1 writes it.
#[track_caller]
fn expect_page(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(page);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == text,
        "{page} is not up to date; write it again with: UPDATE=1 cargo test -p abx --test \
         end_to_end -- references::"
    );
}

/// The help of a command.
fn help(home: &Home, words: &[&str]) -> String {
    let ended = home.run(home.abx(words).arg("--help").env("COLUMNS", "100"));
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("Usage: abx"), "{ended:#?}");
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

/// A command's help as a chapter. It is indented, since other tests run its examples.
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
fn the_page_of_commands_equals_the_printed_help() {
    // Method: the help of each command with a manual page and of its subcommands, which have pages
    // too. UPDATE=1 writes the page.
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
    let pages = commands.clone();
    let is_below = |name: &str| {
        let mut parents = name.match_indices('-').map(|(place, _)| &name[..place]);
        parents.any(|parent| pages.iter().any(|page| page == parent))
    };
    commands.retain(|command| !is_below(command));
    let mut page = HEAD.to_owned();
    for command in &commands {
        let text = help(&home, &[command]);
        page.push_str(&chapter(&[command], &text));
        for below in listed(&text) {
            assert!(pages.contains(&format!("{command}-{below}")), "{pages:?}");
            page.push_str(&chapter(&[command, below], &help(&home, &[command, below])));
        }
    }
    expect_page(PAGE, &page);
    assert!(commands.len() > 10, "{commands:?}");
    assert!(page.contains("\n## abx study run\n"), "no subcommand");
}

const KEYS_PAGE: &str = "docs/reference/record-keys.md";
const KEYS_HEAD: &str = "# Keys of records\n\nEvery key of a record, from its [JSON \
                         Schema](../record.schema.json). [The record format](record-format.md) \
                         explains the columns and has scripts. A type with `null` may be absent or \
                         unknown.\n";

/// The description of a value of the schema, on one line of a table.
fn one_line(value: &Value) -> String {
    let text = value["description"].as_str().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().map(without_path).collect();
    words
        .join(" ")
        .replace('|', "\\|")
        .replace("`None`", "null")
}

/// A word without the path of its link into the code.
fn without_path(word: &str) -> &str {
    let name = word.split_once("](crate::").map(|(name, _)| name);
    name.map_or(word, |name| name.trim_start_matches('['))
}

/// The kind of a value of the schema, in words.
fn kind(value: &Value) -> String {
    if let Some(name) = value["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(constant) = value["const"].as_str() {
        return format!("`\"{constant}\"`");
    }
    let choices = ["anyOf", "oneOf"];
    let choices = choices.iter().find_map(|key| value[key].as_array());
    if let Some(choices) = choices {
        let kinds: Vec<String> = choices.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    if value["items"].is_object() {
        return format!("list of {}", kind(&value["items"]));
    }
    if value["additionalProperties"].is_object() {
        return format!("by name, {}", kind(&value["additionalProperties"]));
    }
    match &value["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => "any value".to_owned(),
    }
}

/// The rows of an object's keys.
fn key_rows(object: &Value) -> String {
    let properties = object["properties"].as_object().into_iter().flatten();
    let row = |(key, value): (&String, &Value)| {
        format!("| `{key}` | {} | {} |\n", kind(value), one_line(value))
    };
    properties.map(row).collect()
}

/// One definition of the schema: its keys, its values, or its alternatives.
fn definition(name: &str, value: &Value) -> String {
    let mut text = format!("\n## {name}\n\n{}\n", one_line(value));
    let choices = value["oneOf"].as_array();
    if value["properties"].is_object() {
        text.push_str("\n| key | type | meaning |\n|---|---|---|\n");
        text.push_str(&key_rows(value));
    } else if let Some(choices) = choices {
        text.push_str("\n| value | meaning |\n|---|---|\n");
        let pair = |(key, value): (&String, &Value)| format!("`{key}`: {}", kind(value));
        for choice in choices {
            let kind = match choice["properties"].as_object() {
                Some(keys) => keys.iter().map(pair).collect::<Vec<_>>().join(", "),
                None => kind(choice),
            };
            text.push_str(&format!("| {kind} | {} |\n", one_line(choice)));
        }
    } else {
        text.push_str(&format!("\nIt is {}.\n", kind(value)));
    }
    text
}

#[test]
fn the_page_of_keys_equals_the_schema() {
    // Method: the whole record, then each definition of its schema in the order of their names.
    // UPDATE=1 writes the page.
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    let file = schema["title"].as_str().unwrap();
    let mut page = format!("{KEYS_HEAD}{}", definition(file, &schema));
    for (name, value) in definitions {
        page.push_str(&definition(name, value));
    }
    expect_page(KEYS_PAGE, &page);
    assert!(
        page.contains("| `throughput_per_s` | number"),
        "no throughput"
    );
}
