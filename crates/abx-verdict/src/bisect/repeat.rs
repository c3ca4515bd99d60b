//! The command that compares the culprit with its parent again.

/// Flags that the command omits, and whether a value follows: they name the file of the search,
/// or other commits than the two.
const OMITTED: [(&str, bool); 3] = [("--json", true), ("--skip", true), ("--restart", false)];

/// The command line of a search, with these two commits in place of its two revisions: by the same
/// metric, with two builds of each.
#[must_use]
pub fn repeat_command(
    words: &[String],
    revisions: &[String; 2],
    [parent, commit]: [&str; 2],
) -> Vec<String> {
    let mut command = ["abx", "bisect"].map(str::to_owned).to_vec();
    let mut rest = words.iter().skip_while(|word| *word != "bisect").skip(1);
    let mut replacements = revisions.iter().zip([parent, commit]).peekable();
    while let Some(word) = rest.next() {
        let (flag, has_own_value) = match word.split_once('=') {
            Some((flag, _)) => (flag, true),
            None => (word.as_str(), false),
        };
        if let Some((_, takes_value)) = OMITTED.iter().find(|(omitted, _)| *omitted == flag) {
            if *takes_value && !has_own_value {
                rest.next();
            }
        } else if let Some((_, hash)) = replacements.next_if(|(revision, _)| *revision == word) {
            command.push(hash.to_owned());
        } else {
            command.push(word.clone());
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_becomes_a_comparison_of_two_commits() {
        // Method: every omitted flag, in both spellings, among flags of loads; and revisions
        // after the flags.
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let command = "/usr/bin/abx bisect --first-parent v1 main --metric p99 --skip=abc --by 2% \
                       -r 1000 --skip def --json a.json --restart --build make ./server";
        let revisions = ["v1", "main"].map(str::to_owned);
        let repeated = repeat_command(&words(command), &revisions, ["aaa", "bbb"]);
        let expected = "abx bisect --first-parent aaa bbb --metric p99 --by 2% -r 1000 --build make \
                        ./server";
        assert_eq!(repeated, words(expected));
        let late = words("abx bisect -c 8 v1 main ./server");
        let repeated = repeat_command(&late, &revisions, ["aaa", "bbb"]);
        assert_eq!(repeated, words("abx bisect -c 8 aaa bbb ./server"));
    }
}
