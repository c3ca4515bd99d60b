//! The commits that texts name in a repository, and the commits between two commits.

use abx_lab::revisions::{Repository, Revision, RevisionError};

use super::{TestRepository, git};

/// The message about a text that names no revision.
fn refusal(repository: &Repository, text: &str) -> String {
    repository.resolve(text).unwrap_err().to_string()
}

fn titles(revisions: &[Revision]) -> Vec<&str> {
    let titles = revisions.iter().map(|revision| revision.title.as_str());
    titles.collect()
}

#[test]
fn every_way_to_name_a_commit_leads_to_it() {
    // Method: three commits and a side branch, named in each way that git knows.
    let repository = TestRepository::of(&["First", "Second", "Third"]);
    repository.git(&["tag", "light", "HEAD~1"]);
    repository.git(&["tag", "--annotate", "--message=x", "v1", "HEAD~1"]);
    repository.git(&["branch", "fix/side", "HEAD~1"]);
    let second = repository.git(&["rev-parse", "HEAD~1"]);
    let opened = repository.open();
    for text in [
        "light",
        "v1",
        "fix/side",
        "main~1",
        "HEAD^",
        ":/Second",
        "main...fix/side",
        "fix/side...",
        &second,
        &second[..7],
    ] {
        let revision = opened.resolve(text).unwrap();
        assert_eq!(revision.commit, second, "{text}");
        assert_eq!((&*revision.name, &*revision.title), (text, "Second"));
        assert_eq!(revision.author_date, "2026-01-02T03:04:05+01:00");
        assert!(!revision.is_dirty());
        assert!(second.starts_with(revision.short()));
    }
}

#[test]
fn a_text_that_names_no_commit_is_refused_with_its_remedy() {
    // Method: options, line breaks, ranges, and objects that are not commits.
    let repository = TestRepository::of(&["First", "Second"]);
    let opened = repository.open();
    let absent = "1".repeat(40);
    for (text, part) in [
        ("", "is empty"),
        ("--upload-pack=touch x", "begins with `-`"),
        ("main\n--all", "line break"),
        ("main..HEAD", "is a range"),
        ("nope", "no revision `nope`: give a branch"),
        ("HEAD~9", "no revision `HEAD~9`"),
        ("^main", "no revision `^main`"),
        ("main...nope", "no revision `nope`"),
        ("HEAD:number", "not a commit"),
        (&absent, "no revision `1111"),
    ] {
        let message = refusal(&opened, text);
        assert!(message.contains(part), "{text:?}: {message}");
        assert!(!message.contains("unshallow"), "{message}");
    }
}

#[test]
fn a_folder_without_revisions_is_refused() {
    // Method: a folder outside of any repository, one that does not exist, a repository without a
    // commit, a bare one, and branches without a common ancestor.
    let repository = TestRepository::empty();
    let plain = tempfile::tempdir().unwrap();
    for folder in [plain.path().to_owned(), plain.path().join("absent")] {
        let message = Repository::open(&folder).unwrap_err().to_string();
        assert!(message.contains("--repo"), "{message}");
        assert!(message.contains(folder.to_str().unwrap()), "{message}");
    }
    for text in [".", "HEAD"] {
        let message = refusal(&repository.open(), text);
        assert!(message.contains("no commit yet"), "{text}: {message}");
    }
    repository.commit("First");
    let bare = repository.outside("bare");
    let words = ["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()];
    repository.git(&words);
    let opened = Repository::open(&bare).unwrap();
    assert_eq!(opened.resolve("main").unwrap().title, "First");
    assert!(refusal(&opened, ".").contains("bare"));
    repository.git(&["checkout", "--quiet", "--orphan", "other"]);
    repository.commit("Unrelated");
    let message = refusal(&repository.open(), "main...other");
    assert!(message.contains("no common ancestor"), "{message}");
}

#[test]
fn the_commits_between_two_are_listed_oldest_first() {
    // Method: a line of commits with a merged branch, with and without that branch; and two
    // commits in the wrong order.
    let repository = TestRepository::of(&["First", "Second"]);
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.write("side", "");
    repository.commit("Side");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("third", "");
    repository.commit("Third");
    let merge = ["merge", "--quiet", "--no-ff", "--message=Merge", "side"];
    repository.git(&merge);
    let (opened, first) = (repository.open(), repository.resolve("main~3"));
    let main = repository.resolve("main");
    let commits = opened.between(&first, &main, false).unwrap();
    assert_eq!(commits.len(), 4);
    assert_eq!(titles(&commits)[3], "Merge");
    assert_eq!(commits[3].name, main.short());
    let line = opened.between(&first, &main, true).unwrap();
    assert_eq!(titles(&line), ["Second", "Third", "Merge"]);
    assert!(opened.between(&main, &main, false).unwrap().is_empty());
    let message = opened.between(&main, &first, false).unwrap_err();
    assert!(message.to_string().contains("main...main~3"), "{message}");
    repository.write("number", "changed\n");
    let tree = repository.resolve(".");
    let with_tree = opened.between(&main, &tree, false).unwrap();
    assert_eq!(with_tree, [tree]);
}

#[test]
fn every_commit_except_the_first_has_its_first_parent() {
    // Method: two commits, the working tree with changes over the second, and a shallow clone.
    let repository = TestRepository::of(&["First", "Second"]);
    let opened = repository.open();
    let parent = |text: &str| opened.parent(&repository.resolve(text)).unwrap();
    assert_eq!(parent("main").unwrap().title, "First");
    assert_eq!(parent("main~1"), None);
    repository.write("number", "changed\n");
    assert_eq!(parent(".").unwrap().title, "Second");

    let shallow = repository.outside("shallow");
    let source = format!("file://{}", repository.path().display());
    let words = ["clone", "--quiet", "--depth=1", &source];
    git(
        &repository.outside(""),
        &[&words[..], &[shallow.to_str().unwrap()]].concat(),
    );
    let opened = Repository::open(&shallow).unwrap();
    let head = opened.resolve("HEAD").unwrap();
    let error = opened.parent(&head).unwrap_err();
    assert!(matches!(error, RevisionError::NoParent(_)), "{error}");
    let first = repository.git(&["rev-parse", "main~1"]);
    for text in ["HEAD~1", &first] {
        let message = refusal(&opened, text);
        assert!(message.contains("git fetch --unshallow"), "{message}");
    }
}
