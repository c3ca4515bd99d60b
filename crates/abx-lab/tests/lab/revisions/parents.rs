//! Which commits of a list are the parents of which.

use super::TestRepository;

#[test]
fn parents_are_places_in_the_list() {
    // Method: a line of three commits, a side branch from its first one with two more, and a merge,
    // with all parents and with the first ones; then a change in the working tree, which follows
    // its commit.
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
        let title = |place: usize| revisions[place].title.clone();
        let each = parents.iter().enumerate();
        each.map(|(place, parents)| {
            let titles: Vec<String> = parents.iter().map(|parent| title(*parent)).collect();
            format!("{}: {}", title(place), titles.join(", "))
        })
        .collect::<Vec<String>>()
    };
    let mut every_parent = listed("main", false);
    // Git may list the two branches in either order.
    every_parent.sort();
    let expected = [
        "First: ",
        "Last: Merge",
        "Merge: Second, Side",
        "Second: First",
        "Side: First",
    ];
    assert_eq!(every_parent, expected);
    let first = listed("main", true);
    let line = ["First: ", "Second: First", "Merge: Second", "Last: Merge"];
    assert_eq!(first, line);
    repository.write("last", "2");
    assert_eq!(listed(".", true)[4], "Last: Last");
}
