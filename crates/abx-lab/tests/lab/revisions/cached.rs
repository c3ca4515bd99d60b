//! The list of the cache of builds, and its removals.

use std::fs;
use std::time::{Duration, SystemTime};

use super::{TestRepository, build_folders};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn the_cache_lists_each_build_with_its_revision_and_commands() {
    // Method: an empty cache, then two builds and a failed one.
    let repository = TestRepository::of(&["First", "Second"]);
    let cache = repository.cache();
    assert_eq!(cache.list().unwrap(), []);
    repository.build("main~1", &["true"]).unwrap();
    repository.build("main", &["true", "true"]).unwrap();
    repository.build("main", &["false"]).unwrap_err();
    let builds = cache.list().unwrap();
    assert_eq!(builds.len(), 3);
    let stamps = builds.iter().filter_map(|build| build.stamp.as_ref());
    let mut stamps: Vec<_> = stamps
        .map(|stamp| {
            (
                stamp.title.as_str(),
                stamp.name.as_str(),
                stamp.commands.len(),
            )
        })
        .collect();
    stamps.sort_unstable();
    assert_eq!(stamps, [("First", "main~1", 1), ("Second", "main", 2)]);
    let complete = builds.iter().filter(|build| build.stamp.is_some());
    assert!(complete.clone().all(|build| build.bytes > 0));
}

#[test]
fn builds_in_use_stay_and_others_are_removed_by_age() {
    // Method: one build is in use, one was used just now, and one 31 days ago. The cache is cleaned
    // by age, and then of all builds.
    let repository = TestRepository::of(&["First", "Second", "Third"]);
    let cache = repository.cache();
    let held = repository.build("main", &[]).unwrap();
    repository.build("main~1", &[]).unwrap();
    repository.build("main~2", &[]).unwrap();
    let old = SystemTime::now() - 31 * DAY;
    let name = &repository.resolve("main~2").commit[..9];
    for entry in fs::read_dir(cache.folder()).unwrap() {
        let path = entry.unwrap().path();
        let text = path.file_name().unwrap().to_string_lossy().into_owned();
        if text.starts_with(name) && text.ends_with(".lock") {
            fs::File::options()
                .append(true)
                .open(path)
                .unwrap()
                .set_modified(old)
                .unwrap();
        }
    }
    let removed = cache.clean(30 * DAY).unwrap();
    assert_eq!((removed.builds, removed.used), (1, 0));
    assert!(removed.bytes > 0);
    assert_eq!(build_folders(&cache).len(), 2);
    let removed = cache.clean(Duration::ZERO).unwrap();
    assert_eq!((removed.builds, removed.used), (1, 1));
    assert!(held.folder.exists());
    drop(held);
    assert_eq!(cache.clean(Duration::ZERO).unwrap().builds, 1);
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 0);
}

#[test]
fn a_new_build_removes_builds_that_were_unused_for_a_month() {
    // Method: the lock of a build gets an old time, and another revision is built.
    let repository = TestRepository::of(&["First", "Second"]);
    let cache = repository.cache();
    let old = repository.build("main~1", &[]).unwrap().folder;
    for entry in fs::read_dir(cache.folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "lock") {
            let lock = fs::File::options().append(true).open(path).unwrap();
            lock.set_modified(SystemTime::now() - 31 * DAY).unwrap();
        }
    }
    let new = repository.build("main", &[]).unwrap();
    assert!(!old.exists() && new.folder.exists());
}
