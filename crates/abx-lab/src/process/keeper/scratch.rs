//! The folder of one start: made with its files before the command starts, and
//! removed when nothing of it is left. Only the keeper makes it, so that it is
//! never there without one.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::protocol::{FileContent, KeeperPlan, SCRATCH_EMPTY, ScratchFile, StartFailure};

/// Bytes that are drawn at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// Makes the folder and its files.
///
/// # Errors
/// Which file could not be written, and why.
pub fn make(plan: &KeeperPlan) -> Result<(), StartFailure> {
    let Some(scratch) = &plan.scratch else {
        return Ok(());
    };
    let folder = scratch.join(SCRATCH_EMPTY);
    let failed = |what: &Path, error: io::Error| {
        StartFailure::Other(format!("its folder {}: {error}", what.display()))
    };
    std::fs::create_dir(scratch)
        .and_then(|()| std::fs::create_dir(&folder))
        .map_err(|error| failed(scratch, error))?;
    for file in &plan.files {
        let path = folder.join(&file.path);
        write(&path, file).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Removes the folder.
pub fn clear(plan: &KeeperPlan) {
    if let Some(scratch) = &plan.scratch {
        // What cannot be removed is left in the folder for temporary files.
        let _ = std::fs::remove_dir_all(scratch);
    }
}

fn write(path: &Path, file: &ScratchFile) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match &file.content {
        FileContent::Text(text) => std::fs::write(path, text),
        FileContent::Random { seed, bytes } => {
            let mut out = BufWriter::new(File::create(path)?);
            let mut random = ChaCha8Rng::seed_from_u64(*seed);
            let mut chunk = vec![0; CHUNK_BYTES];
            let mut left = *bytes;
            while left > 0 {
                let part = usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
                random.fill_bytes(&mut chunk);
                out.write_all(&chunk[..part])?;
                left -= part as u64;
            }
            out.flush()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64, bytes: u64) -> ScratchFile {
        ScratchFile {
            path: "x".into(),
            content: FileContent::Random { seed, bytes },
        }
    }

    #[test]
    fn made_files_have_their_length_and_depend_on_the_seed_alone() {
        // Method: lengths around the chunk's; twice with one seed, once with another.
        let folder = tempfile::tempdir().unwrap();
        for bytes in [0, 1, 65_535, 65_536, 65_537, 200_000] {
            let made = |name: &str, seed| {
                let path = folder.path().join("deep").join(name);
                write(&path, &random(seed, bytes)).unwrap();
                std::fs::read(path).unwrap()
            };
            let (one, again, other) = (made("one", 7), made("again", 7), made("other", 8));
            assert_eq!(one.len() as u64, bytes);
            assert!(one == again, "{bytes}");
            assert!(bytes < 2 || one != other, "{bytes}");
        }
    }
}
