//! The modules of every crate, and the other modules that each of them uses.

use std::collections::BTreeMap;
use std::fs;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

/// The modules of a crate, as paths such as `["stats", "usl"]`, with their text.
pub type Modules = BTreeMap<Vec<String>, String>;

/// The crates of this workspace by name, with their modules.
pub fn crates() -> BTreeMap<String, Modules> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(crates).unwrap();
    let crates = folders.map(|entry| {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mut modules = Modules::new();
        read(&folder.join("src"), &[], &mut modules);
        (name, modules)
    });
    crates.collect()
}

/// Modules with these paths and texts.
pub fn planted(modules: &[(&str, &str)]) -> Modules {
    let modules = modules.iter().map(|(path, text)| {
        let names = path.split("::").filter(|name| !name.is_empty());
        (names.map(str::to_owned).collect(), (*text).to_owned())
    });
    modules.collect()
}

/// Reads a source folder and all below it.
fn read(folder: &Path, path: &[String], modules: &mut Modules) {
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut module = path.to_vec();
        let is_root = ["mod", "lib", "main"].contains(&name.as_str());
        if file.is_dir() || !is_root {
            module.push(name);
        }
        if file.is_dir() {
            read(&file, &module, modules);
        } else if file.extension().is_some_and(|ending| ending == "rs") {
            modules.insert(module, fs::read_to_string(&file).unwrap());
        }
    }
}

/// The code of a module without comments and without the tests at its end. Tests in their own file
/// may be declared above the rest.
pub fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next();
    let code = code.unwrap_or_default();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path in code that begins at the crate or above the module. Groups in braces are split.
pub fn paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::"] {
        for (index, _) in code.match_indices(start) {
            let before = code[..index].chars().next_back();
            let is_whole = before.is_none_or(|character| {
                !character.is_alphanumeric() && character != '_' && character != ':'
            });
            if is_whole {
                let mut text = code[index..].chars().peekable();
                take(&mut text, &mut Vec::new(), &mut paths);
            }
        }
    }
    paths
}

/// Takes one path, or every path of a group, off the front of the text. `prefix` has the names
/// that precede the text.
fn take(text: &mut Peekable<Chars>, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let prefix_len = prefix.len();
    loop {
        skip(text, char::is_whitespace);
        if text.next_if_eq(&'{').is_some() {
            while !matches!(text.peek(), None | Some('}')) {
                take(text, prefix, paths);
                // A new name, after `as`, is not part of the path.
                skip(text, |character| !matches!(character, ',' | '}' | '{'));
                text.next_if_eq(&',');
                skip(text, char::is_whitespace);
            }
            text.next();
            break;
        }
        let mut word = String::new();
        while let Some(character) = text.next_if(|next| next.is_alphanumeric() || *next == '_') {
            word.push(character);
        }
        if !word.is_empty() {
            prefix.push(word);
        }
        let continues = text.next_if_eq(&':').is_some() && text.next_if_eq(&':').is_some();
        if !continues {
            paths.push(prefix.clone());
            break;
        }
    }
    prefix.truncate(prefix_len);
}

/// Skips the characters at the front of the text that are of this kind.
fn skip(text: &mut Peekable<Chars>, is_skipped: impl Fn(char) -> bool) {
    while text.next_if(|character| is_skipped(*character)).is_some() {}
}

/// The path of a module from its crate.
pub fn qualified(crate_name: &str, module: &[String]) -> String {
    [&[crate_name.to_owned()], module].concat().join("::")
}

/// The module to which a path in the module `user` leads, and the item there that the path names.
/// The longest part of the path that names a module counts.
pub fn target(
    path: &[String],
    user: &[String],
    modules: &Modules,
) -> (Vec<String>, Option<String>) {
    let mut base: &[String] = if path[0] == "crate" { &[] } else { user };
    let mut rest = path;
    while let Some(step) = rest.first() {
        match step.as_str() {
            "crate" => {}
            "super" => base = &base[..base.len().saturating_sub(1)],
            _ => break,
        }
        rest = &rest[1..];
    }
    let mut module = [base, rest].concat();
    let mut item = None;
    while !modules.contains_key(&module) && !module.is_empty() {
        item = module.pop();
    }
    (module, item)
}

#[test]
fn only_tests_at_the_end_of_a_file_are_left_out() {
    // Method: a module that declares its tests at the top, one with its tests at the end, and a
    // comment in each.
    let declared = "#[cfg(test)]\nmod tests;\n// A comment.\nuse crate::a;";
    assert_eq!(code(declared), "#[cfg(test)]\nmod tests;\nuse crate::a;");
    let inline = "/// A comment.\nuse crate::a;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}";
    assert_eq!(code(inline), "use crate::a;");
}
