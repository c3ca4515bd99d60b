//! Options of one letter, as POSIX has them: `-k -n 10`, `-kn10`. They end at the first word
//! that is none.

/// The options of a command line and the words behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShortOptions<'a> {
    /// Each letter with its value, which is empty for one that has none.
    pub(crate) given: Vec<(char, &'a str)>,
    pub(crate) rest: &'a [String],
}

/// Why a word is no option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShortOptionError {
    #[error("illegal option -- {0}")]
    Unknown(char),
    #[error("missing argument for option -- {0}")]
    NoValue(char),
}

impl<'a> ShortOptions<'a> {
    /// Reads them. `letters` are those that there are, those with a value followed by a colon.
    ///
    /// # Errors
    /// The first letter that is unknown or lacks its value.
    pub(crate) fn read(
        mut words: &'a [String],
        letters: &str,
    ) -> Result<ShortOptions<'a>, ShortOptionError> {
        let mut given = Vec::new();
        while let [word, behind @ ..] = words {
            let Some(cluster) = word.strip_prefix('-').filter(|text| !text.is_empty()) else {
                break;
            };
            words = behind;
            if cluster == "-" {
                break;
            }
            let mut left = cluster.chars();
            while let Some(letter) = left.next() {
                if !takes_value(letters, letter)? {
                    given.push((letter, ""));
                    continue;
                }
                let value = match (left.as_str(), words) {
                    ("", [next, behind @ ..]) => {
                        words = behind;
                        next.as_str()
                    }
                    ("", []) => return Err(ShortOptionError::NoValue(letter)),
                    (value, _) => value,
                };
                given.push((letter, value));
                break;
            }
        }
        Ok(ShortOptions { given, rest: words })
    }
}

fn takes_value(letters: &str, letter: char) -> Result<bool, ShortOptionError> {
    let unknown = ShortOptionError::Unknown(letter);
    let place = letters.find(letter).filter(|_| letter != ':');
    let behind = &letters[place.ok_or(unknown)? + letter.len_utf8()..];
    Ok(behind.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn letters_stand_alone_or_together_and_values_behind_or_within() {
        // Method: the ways to write the same, and where options end.
        for text in ["-k -n 10 url", "-kn10 url", "-k -n10 -- url"] {
            let words = words(text);
            let read = ShortOptions::read(&words, "n:kr").unwrap();
            assert_eq!(read.given, [('k', ""), ('n', "10")], "{text}");
            assert_eq!(read.rest, ["url"]);
        }
        for (text, rest) in [("url -k", 2), ("- -k", 2), ("-k", 0), ("-n -k", 0)] {
            let words = words(text);
            assert_eq!(ShortOptions::read(&words, "n:k").unwrap().rest.len(), rest);
        }
    }

    #[test]
    fn what_is_no_option_is_named() {
        // Method: an unknown letter alone and behind others, the colon, and a value that is missing.
        for (text, error) in [
            ("-W", ShortOptionError::Unknown('W')),
            ("-kW 2", ShortOptionError::Unknown('W')),
            ("-é", ShortOptionError::Unknown('é')),
            ("-:", ShortOptionError::Unknown(':')),
            ("-k -n", ShortOptionError::NoValue('n')),
        ] {
            assert_eq!(ShortOptions::read(&words(text), "n:k"), Err(error));
        }
    }
}
