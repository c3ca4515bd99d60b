//! The modules of every crate, and which other modules each of them uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
        let is_of_folder = ["mod", "lib", "main"].contains(&name.as_str());
        if file.is_dir() || !is_of_folder {
            module.push(name);
        }
        if file.is_dir() {
            read(&file, &module, modules);
        } else if file.extension().is_some_and(|ending| ending == "rs") {
            modules.insert(module, fs::read_to_string(&file).unwrap());
        }
    }
}

/// The code of a module: without comments, and without the tests at its end. Tests in a file of
/// their own may be declared above the rest.
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
    let mut texts = Vec::new();
    for start in ["crate::", "super::"] {
        for (place, _) in code.match_indices(start) {
            let before = code[..place].chars().next_back();
            let is_whole = before.is_none_or(|character| {
                !character.is_alphanumeric() && character != '_' && character != ':'
            });
            if is_whole {
                take(
                    &mut code[place..].chars().peekable(),
                    &mut Vec::new(),
                    &mut texts,
                );
            }
        }
    }
    texts
}

/// Takes one path, or all of a group, off the front of the text.
fn take(
    text: &mut std::iter::Peekable<std::str::Chars>,
    before: &mut Vec<String>,
    texts: &mut Vec<Vec<String>>,
) {
    let known = before.len();
    loop {
        while text
            .next_if(|character| character.is_whitespace())
            .is_some()
        {}
        if text.next_if_eq(&'{').is_some() {
            while !matches!(text.peek(), None | Some('}')) {
                take(text, before, texts);
                // The new name of a name in a group is no path.
                while text
                    .next_if(|character| !matches!(character, ',' | '}' | '{'))
                    .is_some()
                {}
                text.next_if_eq(&',');
                while text
                    .next_if(|character| character.is_whitespace())
                    .is_some()
                {}
            }
            text.next();
            break;
        }
        let mut word = String::new();
        while let Some(character) = text.next_if(|next| next.is_alphanumeric() || *next == '_') {
            word.push(character);
        }
        if !word.is_empty() {
            before.push(word);
        }
        let goes_on = text.next_if_eq(&':').is_some() && text.next_if_eq(&':').is_some();
        if !goes_on {
            texts.push(before.clone());
            break;
        }
    }
    before.truncate(known);
}

/// The module to which a path in the module `user` leads, which is the longest part of the path
/// that names one, and the item there that the path names.
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
    // Method: a module that declares its tests at the top, one that has them at its end, and a
    // comment in each.
    let declared = "#[cfg(test)]\nmod tests;\n// A comment.\nuse crate::a;";
    assert_eq!(code(declared), "#[cfg(test)]\nmod tests;\nuse crate::a;");
    let inline = "/// A comment.\nuse crate::a;\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}";
    assert_eq!(code(inline), "use crate::a;");
}
