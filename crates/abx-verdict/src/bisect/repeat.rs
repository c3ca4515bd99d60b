//! The command that compares the commit that was found with its parent once more.

/// Flags that do not belong to it, and whether a value follows: another file than that of the
/// search, and commits that are not among the two.
const OMITTED: [(&str, bool); 3] = [("--json", true), ("--skip", true), ("--restart", false)];

/// The command line of a search, with these two commits in place of the two revisions that it
/// names: by the same metric, with two builds of each.
#[must_use]
pub fn repeat_command(
    words: &[String],
    revisions: &[String; 2],
    [parent, commit]: [&str; 2],
) -> Vec<String> {
    let mut out = ["abx", "bisect"].map(str::to_owned).to_vec();
    let mut rest = words.iter().skip_while(|word| *word != "bisect").skip(1);
    let mut places = revisions.iter().zip([parent, commit]).peekable();
    while let Some(word) = rest.next() {
        let (flag, has_own_value) = match word.split_once('=') {
            Some((flag, _)) => (flag, true),
            None => (word.as_str(), false),
        };
        if let Some((_, takes_value)) = OMITTED.iter().find(|(omitted, _)| *omitted == flag) {
            if *takes_value && !has_own_value {
                rest.next();
            }
        } else if let Some((_, hash)) = places.next_if(|(revision, _)| *revision == word) {
            out.push(hash.to_owned());
        } else {
            out.push(word.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_becomes_one_between_two_commits() {
        // Method: every flag that is left out, in both spellings, among flags of loads; and
        // revisions that stand after the flags.
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
