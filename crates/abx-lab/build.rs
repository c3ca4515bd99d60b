//! Puts the studies of this repository into the library: each file of each
//! folder in `studies/`, with its path and whether it is a program.

#![allow(
    clippy::disallowed_macros,
    reason = "this is how a build script talks to cargo"
)]

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let variable = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .unwrap_or_default()
    };
    let studies = variable("CARGO_MANIFEST_DIR").join("../../studies");
    println!("cargo:rerun-if-changed={}", studies.display());
    let mut text = String::from("&[\n");
    for folder in sorted(&studies)? {
        if !folder.join("study.toml").is_file() {
            continue;
        }
        let name = last(&folder);
        let _ = writeln!(text, "CatalogEntry {{ name: {name:?}, files: &[");
        add_files(&folder, &folder, &mut text)?;
        text.push_str("] },\n");
    }
    text.push_str("]\n");
    fs::write(variable("OUT_DIR").join("catalog.rs"), text)
}

/// What was measured is beside a study, and no part of it.
const RECORD: &str = "record.json.zst";

/// Adds all files below `here`, by their paths below `folder`.
fn add_files(folder: &Path, here: &Path, text: &mut String) -> io::Result<()> {
    for path in sorted(here)? {
        if path == folder.join(RECORD) {
            continue;
        }
        if path.is_dir() {
            add_files(folder, &path, text)?;
            continue;
        }
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let is_program = fs::metadata(&path)?.permissions().mode() & 0o111 != 0;
        let whole = path.canonicalize()?;
        let _ = writeln!(
            text,
            "File {{ path: {:?}, bytes: include_bytes!({:?}), is_program: {is_program} }},",
            below.to_string_lossy(),
            whole.to_string_lossy()
        );
    }
    Ok(())
}

/// What a folder holds, in the order of names; hidden files and what editors
/// leave behind are no part of a study.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = last(&path);
        if !name.starts_with('.') && !name.ends_with('~') {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn last(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
