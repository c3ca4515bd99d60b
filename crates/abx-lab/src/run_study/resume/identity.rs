//! What must be unchanged for a study to continue, apart from what its record shows.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use abx_evidence::record::StudyIdentity;
use abx_study::Study;
use abx_study::launch::Launch;
use abx_study::program;
use abx_study::subject::Source;
use xxhash_rust::xxh3::Xxh3;

/// A larger file is hardly a part of a server's program.
const FILE_BYTES_MAX: u64 = 1 << 30;
const BUFFER_BYTES: usize = 1 << 16;

/// The identity of a study with its current files.
pub fn identity(study: &Study) -> StudyIdentity {
    let subjects = study.subjects.iter();
    let subjects = subjects.map(|subject| (&subject.name, &subject.source));
    let services = study.services.iter();
    let services = services.map(|service| (&service.name, &service.source));
    let files = subjects.chain(services).filter_map(|(name, source)| {
        let Source::Command(launch) = source else {
            return None;
        };
        Some((name.clone(), files_hash(launch)))
    });
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    StudyIdentity {
        abx_build: file_hash(Path::new("/proc/self/exe")).ok(),
        files: files.collect(),
        options: options(study),
        boot: boot.map(|boot| boot.trim().to_owned()),
    }
}

/// The options of a study that its record does not show, by their flags and keys.
fn options(study: &Study) -> BTreeMap<String, String> {
    let services = study.services.iter();
    let services = services.map(|service| (&service.health, &service.seed, &service.restart));
    let launches = study.subjects.iter().filter_map(|subject| {
        let Source::Command(launch) = &subject.source else {
            return None;
        };
        Some((&launch.ready, &launch.stop, &launch.reload))
    });
    [
        ("slice", format!("{:?}", study.slice)),
        ("rounds", format!("{:?}", study.rounds)),
        ("cold", format!("{:?}", study.cold)),
        ("interleave", format!("{:?}", study.interleave)),
        ("pilot", format!("{:?}", study.pilot)),
        ("pin", format!("{:?}", study.pin)),
        ("wait", format!("{:?}", study.wait)),
        ("local_address", format!("{:?}", study.local_addresses)),
        ("ceiling", format!("{:?}", study.ceiling.is_some())),
        ("why", format!("{:?}", study.why)),
        ("files", format!("{:?}", study.files)),
        (
            "services",
            text_hash(&format!("{:?}", services.collect::<Vec<_>>())),
        ),
        (
            "ready_and_stop",
            text_hash(&format!("{:?}", launches.collect::<Vec<_>>())),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// The hash of a command's parts: its environment, its configuration files, and the files that its
/// words name.
fn files_hash(launch: &Launch) -> String {
    let mut hash = Xxh3::new();
    let mut add = |part: &[u8]| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    for (name, value) in &launch.environment {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    for template in &launch.templates {
        add(template.target.as_os_str().as_encoded_bytes());
        add(template.text.as_bytes());
    }
    for file in named_files(launch) {
        // A file that cannot be read counts as empty. It did so before, too, or the hash differs.
        add(file_hash(&file).unwrap_or_default().as_bytes());
    }
    digits(&hash)
}

/// The files that the words of a command name, its program first.
fn named_files(launch: &Launch) -> Vec<PathBuf> {
    if launch.image.is_some() {
        // The files are in the image, whose digest the record has.
        return Vec::new();
    }
    let folder = launch.start_folder();
    let study = launch.study_folder().display().to_string();
    let words: Vec<String> = launch
        .command
        .iter()
        .map(|word| word.replace("{study}", &study))
        .collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = words
        .first()
        .and_then(|word| program::find(word, &path, &folder));
    let arguments = words.iter().skip(1).flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word.as_str()), value].into_iter().flatten()
    });
    let arguments = arguments.map(|word| folder.join(word));
    let is_part = |path: &PathBuf| {
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() <= FILE_BYTES_MAX)
    };
    program
        .into_iter()
        .chain(arguments)
        .filter(is_part)
        .collect()
}

fn file_hash(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(digits(&hash)),
            length => hash.update(&buffer[..length]),
        }
    }
}

/// The hash of a text that is long, or may hold a secret.
fn text_hash(text: &str) -> String {
    let mut hash = Xxh3::new();
    hash.update(text.as_bytes());
    digits(&hash)
}

fn digits(hash: &Xxh3) -> String {
    format!("{:032x}", hash.digest128())
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_study::launch::Template;

    #[test]
    fn a_change_of_any_file_that_a_command_names_changes_its_hash() {
        // Method: the script of an interpreter, a configuration file after `=`, a template and the
        // environment, each changed in turn; words that name no file change nothing.
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("server.py", "1");
        write("x.conf", "1");
        let words = [
            "sh",
            "{study}/server.py",
            "--conf=x.conf",
            "{port}",
            "nothing",
        ];
        let mut launch = Launch::new(words.map(str::to_owned).into());
        launch.folder = Some(folder.path().to_owned());
        let mut earlier = vec![files_hash(&launch)];
        assert_eq!(files_hash(&launch), earlier[0]);
        let mut expect_new_hash = |launch: &Launch| {
            let hash = files_hash(launch);
            assert!(!earlier.contains(&hash));
            earlier.push(hash);
        };
        write("server.py", "2");
        expect_new_hash(&launch);
        write("x.conf", "2");
        expect_new_hash(&launch);
        launch.templates.push(Template {
            target: "n.conf".into(),
            text: "x".to_owned(),
        });
        expect_new_hash(&launch);
        launch.environment.push(("A".to_owned(), "b".to_owned()));
        expect_new_hash(&launch);
    }
}
