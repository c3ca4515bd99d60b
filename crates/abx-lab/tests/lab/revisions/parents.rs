//! The parents of commits in a list.

use super::TestRepository;

#[test]
fn parents_are_indices_into_the_list() {
    // Method: two commits, a side branch from the first, a merge and a last commit, with all
    // parents and with first parents only; then a change in the working tree, which follows its
    // commit.
    let repository = TestRepository::of(&["First", "Second"]);
    repository.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
    repository.write("side", "1");
    repository.commit("Side");
    repository.git(&["checkout", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--no-ff", "--message", "Merge", "side"]);
    repository.write("last", "1");
    repository.commit("Last");
    let opened = repository.open();
    let listed = |bad: &str, first_parent: bool| {
        let [good, bad] = ["HEAD~3", bad].map(|text| opened.resolve(text).unwrap());
        let mut revisions = opened.between(&good, &bad, first_parent).unwrap();
        revisions.insert(0, good);
        let parents = opened.parents(&revisions, first_parent).unwrap();
        let title = |index: usize| revisions[index].title.clone();
        let lines = parents.iter().enumerate().map(|(index, parents)| {
            let titles: Vec<String> = parents.iter().map(|parent| title(*parent)).collect();
            format!("{}: {}", title(index), titles.join(", "))
        });
        lines.collect::<Vec<String>>()
    };
    let mut with_all_parents = listed("main", false);
    // Git may list the two branches in either order.
    with_all_parents.sort();
    let expected = [
        "First: ",
        "Last: Merge",
        "Merge: Second, Side",
        "Second: First",
        "Side: First",
    ];
    assert_eq!(with_all_parents, expected);
    let expected = ["First: ", "Second: First", "Merge: Second", "Last: Merge"];
    assert_eq!(listed("main", true), expected);
    repository.write("last", "2");
    assert_eq!(listed(".", true)[4], "Last: Last");
}
