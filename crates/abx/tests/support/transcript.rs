//! The examples in README and docs: lines that begin with `$ abx` or `$ taskset -c N abx` in fenced
//! blocks marked `console`. Examples in blocks marked `console long` take long, change the machine
//! or never end, so they are only parsed.

use std::fs;
use std::path::{Path, PathBuf};

/// A fenced block with examples.
pub struct Block {
    /// Its path from the root of the project.
    pub file: String,
    pub kind: Kind,
    pub examples: Vec<Example>,
}

/// What is done with the examples of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They run one after the other in one folder.
    Run,
    /// They are only parsed.
    Long,
}

/// One line of a block.
pub struct Example {
    /// Its line in the file, from 1.
    pub line: usize,
    /// The typed text, without the remark after it.
    pub text: String,
}

/// The documents of a project.
#[derive(Default)]
pub struct Transcript {
    pub blocks: Vec<Block>,
    /// Text that looks like an example and is not written as one: place and remedy.
    pub strays: Vec<String>,
}

impl Transcript {
    /// Reads all documents below the project's root.
    pub fn of_project(root: &Path) -> Transcript {
        let mut transcript = Transcript::default();
        for path in documents(root) {
            let text = fs::read_to_string(&path).expect("a document can be read");
            let file = path.strip_prefix(root).expect("it is below the root");
            transcript.read(&file.display().to_string(), &text);
        }
        transcript
    }

    /// Reads one document.
    pub fn read(&mut self, file: &str, text: &str) {
        // The block that is open, and whether its lines may be examples.
        let mut open: Option<Option<Block>> = None;
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            if let Some(info) = line.trim_start().strip_prefix("```") {
                open = match open {
                    Some(block) => {
                        let block = block.filter(|block| !block.examples.is_empty());
                        self.blocks.extend(block);
                        None
                    }
                    None => Some(opened(file, info.trim())),
                };
                continue;
            }
            let Some(block) = &mut open else { continue };
            match (line.strip_prefix("$ "), block) {
                (Some(text), Some(block)) => block.examples.push(Example {
                    line: line_number,
                    text: text
                        .split(" #")
                        .next()
                        .unwrap_or(text)
                        .trim_end()
                        .to_owned(),
                }),
                (text, _) if calls_abx(text.unwrap_or(line)) => self.strays.push(format!(
                    "{file}:{line_number}: write `{}` as `$ abx ...` in a block that begins with \
                     ```console or ```console long",
                    line.trim()
                )),
                _ => {}
            }
        }
    }
}

impl Example {
    /// The words after `abx`, up to a pipe or a file; `None` for another program.
    pub fn words(&self) -> Option<Vec<String>> {
        abx_words(&self.text)
    }
}

/// The words of a call of abx, the program first; `None` for another program.
pub fn abx_words(text: &str) -> Option<Vec<String>> {
    let words = shell_words::split(text).ok()?;
    let start = match words.first()?.as_str() {
        "taskset" => 3,
        _ => 0,
    };
    let words = words.into_iter().skip(start);
    let call = words.take_while(|word| !word.starts_with(['|', '>', '&', ';']));
    let call: Vec<String> = call.collect();
    (call.first()? == "abx").then_some(call)
}

fn opened(file: &str, info: &str) -> Option<Block> {
    let kind = match info {
        "console" => Kind::Run,
        "console long" => Kind::Long,
        _ => return None,
    };
    Some(Block {
        file: file.to_owned(),
        kind,
        examples: Vec::new(),
    })
}

/// Whether a line is a call of abx, however it is written.
fn calls_abx(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut program = words.next();
    if program == Some("taskset") {
        program = words.nth(2);
    }
    let is_abx = program.is_some_and(|word| word == "abx" || word.ends_with("/abx"));
    // A sentence may begin with the name too; a call continues with a command.
    let command = words.next().unwrap_or_default();
    is_abx && COMMANDS.contains(&command)
}

const COMMANDS: [&str; 14] = [
    "ab",
    "agent",
    "collect",
    "study",
    "compare",
    "run",
    "serve",
    "doctor",
    "report",
    "audit",
    "history",
    "view",
    "completions",
    "manual",
];

/// README and its like, everything below docs, and the pages of studies.
pub fn documents(root: &Path) -> Vec<PathBuf> {
    let mut paths = entries(root);
    let mut folders = vec![root.join("docs"), root.join("studies")];
    while let Some(folder) = folders.pop() {
        let inside = entries(&folder);
        folders.extend(inside.iter().filter(|path| path.is_dir()).cloned());
        paths.extend(inside);
    }
    paths.retain(|path| path.extension().is_some_and(|last| last == "md"));
    paths.sort();
    paths
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
