//! The command that compares the commit that was found with its parent once more.

/// Flags that a comparison does not have, or has for itself, and whether a value follows.
const OWN_FLAGS: [(&str, bool); 5] = [
    // Another file than that of the search.
    ("--json", true),
    ("--metric", true),
    ("--skip", true),
    ("--first-parent", false),
    ("--restart", false),
];

/// The command line of a search, as one of `abx compare` with these two commits in place of the
/// two revisions that it names.
#[must_use]
pub fn repeat_command(
    words: &[String],
    revisions: &[String; 2],
    [parent, commit]: [&str; 2],
) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = words.iter().skip_while(|word| *word != "bisect").skip(1);
    let mut places = revisions.iter().zip([parent, commit]).peekable();
    while let Some(word) = rest.next() {
        let (flag, has_own_value) = match word.split_once('=') {
            Some((flag, _)) => (flag, true),
            None => (word.as_str(), false),
        };
        if let Some((_, takes_value)) = OWN_FLAGS.iter().find(|(own, _)| *own == flag) {
            if *takes_value && !has_own_value {
                rest.next();
            }
        } else if flag == "--by" {
            out.push(word.replacen("--by", "--margin", 1));
        } else if places.peek().is_some_and(|(revision, _)| *revision == word) {
            let hash = places.next().map_or("", |(_, hash)| hash);
            out.extend(["--rev", hash].map(str::to_owned));
        } else {
            out.push(word.clone());
        }
    }
    let start = ["abx", "compare"].map(str::to_owned);
    start.into_iter().chain(out).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_becomes_a_comparison_of_two_commits() {
        // Method: every flag of its own, in both spellings, among flags of loads; and revisions
        // that stand after the flags.
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let command = "/usr/bin/abx bisect --first-parent v1 main --metric p99 --skip=abc --by 2% \
                       -r 1000 --skip def --json a.json --build make ./server";
        let revisions = ["v1", "main"].map(str::to_owned);
        let repeated = repeat_command(&words(command), &revisions, ["aaa", "bbb"]);
        let expected = "abx compare --rev aaa --rev bbb --margin 2% -r 1000 --build make ./server";
        assert_eq!(repeated, words(expected));
        let late = words("abx bisect -c 8 v1 main ./server");
        let repeated = repeat_command(&late, &revisions, ["aaa", "bbb"]);
        assert_eq!(
            repeated,
            words("abx compare -c 8 --rev aaa --rev bbb ./server")
        );
    }
}
