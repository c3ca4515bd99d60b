use proptest::prelude::*;

use super::*;

fn folded(stacks: &[(Line, &[&str], u64)]) -> Folded {
    let mut folded = Folded::default();
    for (line, frames, samples) in stacks {
        folded.add(line, frames.iter().copied(), *samples);
    }
    folded
}

fn text(folded: &Folded) -> String {
    folded.to_text(&[])
}

#[test]
fn a_stack_without_frames_has_its_line_and_names_before_it_are_clean() {
    // Method: a stack of each kind after a name that contains the separator of names.
    let folded = folded(&[
        (Line::Unattributed, &[], 4),
        (Line::user("a"), &["main", "f"], 1),
    ]);
    assert_eq!(
        folded.to_text(&["a;b", "c10"]),
        "a:b;c10;main;f 1\na:b;c10;[unattributed] 4\n"
    );
}

#[test]
fn the_heaviest_stacks_are_kept_and_the_others_counted() {
    // Method: four stacks of two lines, of which two are kept; then as text.
    let (read, user) = (Line::system_call("read"), Line::user("a"));
    let mut folded = folded(&[
        (user.clone(), &["main", "f"], 5),
        (user.clone(), &["main", "f", "g;\n"], 1),
        (read.clone(), &["main", "read"], 2),
        (user.clone(), &["main", "f"], 4),
        (read.clone(), &["read"], 3),
    ]);
    folded.keep_heaviest(2);
    assert_eq!(folded.samples(), 15);
    assert_eq!(folded.others(), &BTreeMap::from([(read, 2), (user, 1)]));
    assert_eq!(
        text(&folded),
        "read 3\nmain;f 9\n[other stacks];[system call read] 2\n[other stacks];[user a] 1\n"
    );
}

#[test]
fn files_have_each_name_and_beginning_once() {
    // Method: three stacks with a common beginning, which is one of them, and one without frames.
    let user = Line::user("a");
    let folded = folded(&[
        (user.clone(), &["main", "f", "g"], 2),
        (user.clone(), &["main", "f"], 1),
        (user.clone(), &["main", "f", "main"], 3),
        (Line::Unattributed, &[], 4),
    ]);
    let json = serde_json::to_value(&folded).unwrap();
    let expected = serde_json::json!({
        "lines": ["user a", "unattributed"],
        "names": ["main", "f", "g"],
        "node_parents": [0, 1, 2, 2],
        "node_names": [0, 1, 2, 0],
        "stack_nodes": [2, 3, 4, 0],
        "stack_lines": [0, 0, 0, 1],
        "stack_samples": [1, 2, 3, 4],
    });
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_value::<Folded>(json).unwrap(), folded);
}

#[test]
fn wrong_numbers_in_files_are_refused() {
    // Method: a valid file, and copies of it with one wrong column each.
    let valid = serde_json::json!({
        "lines": ["user a"], "names": ["f"], "node_parents": [0, 1], "node_names": [0, 0],
        "stack_nodes": [2], "stack_lines": [0], "stack_samples": [1],
    });
    let read = |form: serde_json::Value| serde_json::from_value::<Folded>(form);
    assert_eq!(text(&read(valid.clone()).unwrap()), "f;f 1\n");
    let cases = [
        (
            "node_parents",
            serde_json::json!([0, 2]),
            "node 1 of folded stacks does not come after its parent",
        ),
        (
            "node_parents",
            serde_json::json!([0]),
            "columns of folded stacks have different lengths",
        ),
        (
            "stack_samples",
            serde_json::json!([]),
            "columns of folded stacks have different lengths",
        ),
        (
            "node_names",
            serde_json::json!([0, 1]),
            "folded stacks have no name number 1",
        ),
        (
            "stack_nodes",
            serde_json::json!([3]),
            "folded stacks have no node number 3",
        ),
        (
            "stack_lines",
            serde_json::json!([1]),
            "folded stacks have no line number 1",
        ),
        (
            "lines",
            serde_json::json!(["read"]),
            "`read` is not a line of a ledger",
        ),
    ];
    for (column, value, message) in cases {
        let mut form = valid.clone();
        form[column] = value;
        assert_eq!(read(form).unwrap_err().to_string(), message);
    }
}

#[test]
fn deep_stacks_keep_their_innermost_frames() {
    // Method: a stack that is too deep, from a sampler; and one in a file, which is refused.
    let names: Vec<String> = (0..=FRAMES_MAX).map(|number| number.to_string()).collect();
    let mut folded = Folded::default();
    folded.add(&Line::Kernel, names.iter().map(String::as_str), 1);
    let (_, frames, _) = folded.stacks().next().unwrap();
    assert_eq!((frames.len(), frames[0]), (FRAMES_MAX, "1"));
    let nodes: Vec<usize> = (0..=FRAMES_MAX).collect();
    let form = serde_json::json!({
        "lines": ["other kernel"], "names": ["f"], "node_parents": nodes,
        "node_names": vec![0; nodes.len()], "stack_nodes": [nodes.len()],
        "stack_lines": [0], "stack_samples": [1],
    });
    let error = serde_json::from_value::<Folded>(form)
        .unwrap_err()
        .to_string();
    assert_eq!(error, FoldedError::Depth.to_string());
}

#[test]
fn many_stacks_share_their_outer_frames() {
    // Method: a file of 300,000 stacks with 500 common frames, which take 2.4 GB one by one.
    let common = 499;
    let stacks = 300_000;
    let parents: Vec<usize> = (0..common).chain(vec![common; stacks]).collect();
    let form = serde_json::json!({
        "lines": ["user a"], "names": ["f"], "node_parents": parents,
        "node_names": vec![0; common + stacks],
        "stack_nodes": (common + 1..=common + stacks).collect::<Vec<usize>>(),
        "stack_lines": vec![0; stacks], "stack_samples": vec![1; stacks],
    });
    let folded: Folded = serde_json::from_value(form).unwrap();
    assert_eq!(folded.samples(), stacks as u64);
    assert_eq!(folded.innermost().count(), stacks);
    let (_, frames, _) = folded.stacks().last().unwrap();
    assert_eq!(frames.len(), common + 1);
}

/// Stacks of few functions, so that they share frames.
fn stacks() -> impl Strategy<Value = Vec<(usize, Vec<usize>, u64)>> {
    let stack = (
        0_usize..3,
        prop::collection::vec(0_usize..4, 0..6),
        0_u64..9,
    );
    prop::collection::vec(stack, 0..30)
}

proptest! {
    #[test]
    fn no_sample_is_lost(stacks in stacks(), stacks_max in 0_usize..40) {
        // Method: random stacks, added at once and in two parts that are merged; then the heaviest
        // ones alone, which are read back from JSON.
        let lines = [Line::Kernel, Line::user("a;b"), Line::system_call("read")];
        let names = ["f", "g;h", "f\n", "λ"];
        let add = |folded: &mut Folded, stacks: &[(usize, Vec<usize>, u64)]| {
            for (line, frames, samples) in stacks {
                folded.add(&lines[*line], frames.iter().map(|name| names[*name]), *samples);
            }
        };
        let (mut at_once, mut first, mut second) = Default::default();
        add(&mut at_once, &stacks);
        add(&mut first, &stacks[..stacks.len() / 2]);
        add(&mut second, &stacks[stacks.len() / 2..]);
        first.merge(&second);
        prop_assert_eq!(&first, &at_once);
        at_once.keep_heaviest(stacks_max);
        prop_assert_eq!(at_once.samples(), stacks.iter().map(|(_, _, samples)| samples).sum::<u64>());
        prop_assert!(at_once.stacks().count() <= stacks_max);
        let json = serde_json::to_string(&at_once).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Folded>(&json).unwrap(), &at_once);
        let counts = text(&at_once).lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>();
        prop_assert_eq!(counts, at_once.samples());
    }
}
