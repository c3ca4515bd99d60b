//! The folder of one start: made with its files before the command starts, and
//! removed when nothing of it is left. Only the keeper makes it, so that it is
//! never there without one.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use rand::SeedableRng;
use rand_chacha::ChaCha8Core;
use rand_chacha::rand_core::block::BlockRngCore;

use super::protocol::{FileContent, KeeperPlan, SCRATCH_EMPTY, ScratchFile, StartFailure};

/// Makes the folder and its files, and tells after each part how many bytes were made;
/// an error of `told` ends it.
///
/// # Errors
/// Which file could not be written, and why.
pub fn make(
    plan: &KeeperPlan,
    told: &mut dyn FnMut(u64) -> io::Result<()>,
) -> Result<(), StartFailure> {
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
    let mut made = 0;
    let mut add = |bytes: u64| {
        made += bytes;
        told(made)
    };
    for file in &plan.files {
        let path = folder.join(&file.path);
        write(&path, file, &mut add).map_err(|error| failed(&path, error))?;
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

fn write(
    path: &Path,
    file: &ScratchFile,
    add: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match &file.content {
        FileContent::Text(text) => std::fs::write(path, text),
        FileContent::Random { seed, bytes } => {
            // By whole blocks: byte by byte it takes ten times as long in a debug build.
            let mut out = BufWriter::new(File::create(path)?);
            let mut random = ChaCha8Core::seed_from_u64(*seed);
            let mut words = <ChaCha8Core as BlockRngCore>::Results::default();
            let mut left = *bytes;
            while left > 0 {
                random.generate(&mut words);
                let block: Vec<u8> = { words.as_ref().iter() }
                    .flat_map(|word| word.to_le_bytes())
                    .collect();
                let part = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
                out.write_all(&block[..part])?;
                left -= part as u64;
                add(part as u64)?;
            }
            out.flush()
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::RngCore;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn random(seed: u64, bytes: u64) -> ScratchFile {
        ScratchFile {
            path: "x".into(),
            content: FileContent::Random { seed, bytes },
        }
    }

    #[test]
    fn made_files_have_their_length_and_depend_on_the_seed_alone() {
        // Method: lengths around a block's; the same bytes drawn at once, and with
        // another seed.
        let folder = tempfile::tempdir().unwrap();
        for bytes in [0, 1, 255, 256, 257, 200_000] {
            let made = |name: &str, seed| {
                let path = folder.path().join("deep").join(name);
                write(&path, &random(seed, bytes), &mut |_| Ok(())).unwrap();
                std::fs::read(path).unwrap()
            };
            let (one, other) = (made("one", 7), made("other", 8));
            let mut drawn = vec![0; one.len()];
            ChaCha8Rng::seed_from_u64(7).fill_bytes(&mut drawn);
            assert_eq!(one.len() as u64, bytes);
            assert!(one == drawn, "{bytes}");
            assert!(bytes < 2 || one != other, "{bytes}");
        }
    }
}
