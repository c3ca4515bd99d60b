//! Options of one letter, as in POSIX: `-k -n 10`, `-kn10`. They end at the first word that is
//! not an option.

/// The options of a command line and the words after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShortOptions<'a> {
    /// Each letter with its value, which is empty for a letter that takes none.
    pub(crate) options: Vec<(char, &'a str)>,
    pub(crate) rest: &'a [String],
}

/// Why options cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShortOptionError {
    #[error("illegal option -- {0}")]
    Unknown(char),
    #[error("missing argument for option -- {0}")]
    NoValue(char),
}

impl<'a> ShortOptions<'a> {
    /// Reads options. In `letters`, a colon follows each letter that takes a value.
    ///
    /// # Errors
    /// For the first letter that is unknown or lacks its value.
    pub(crate) fn read(
        mut words: &'a [String],
        letters: &str,
    ) -> Result<ShortOptions<'a>, ShortOptionError> {
        let mut options = Vec::new();
        while let [word, rest @ ..] = words {
            let Some(cluster) = word.strip_prefix('-').filter(|text| !text.is_empty()) else {
                break;
            };
            words = rest;
            if cluster == "-" {
                break;
            }
            let mut left = cluster.chars();
            while let Some(letter) = left.next() {
                if !takes_value(letters, letter)? {
                    options.push((letter, ""));
                    continue;
                }
                let value = match (left.as_str(), words) {
                    ("", [next, rest @ ..]) => {
                        words = rest;
                        next.as_str()
                    }
                    ("", []) => return Err(ShortOptionError::NoValue(letter)),
                    (value, _) => value,
                };
                options.push((letter, value));
                break;
            }
        }
        Ok(ShortOptions {
            options,
            rest: words,
        })
    }
}

fn takes_value(letters: &str, letter: char) -> Result<bool, ShortOptionError> {
    let unknown = ShortOptionError::Unknown(letter);
    let place = letters.find(letter).filter(|_| letter != ':');
    let after = &letters[place.ok_or(unknown)? + letter.len_utf8()..];
    Ok(after.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn letters_may_be_combined_and_values_attached() {
        // Method: equivalent spellings, and where options end.
        for text in ["-k -n 10 url", "-kn10 url", "-k -n10 -- url"] {
            let words = words(text);
            let read = ShortOptions::read(&words, "n:kr").unwrap();
            assert_eq!(read.options, [('k', ""), ('n', "10")], "{text}");
            assert_eq!(read.rest, ["url"]);
        }
        for (text, rest) in [("url -k", 2), ("- -k", 2), ("-k", 0), ("-n -k", 0)] {
            let words = words(text);
            assert_eq!(ShortOptions::read(&words, "n:k").unwrap().rest.len(), rest);
        }
    }

    #[test]
    fn an_unknown_letter_or_a_missing_value_is_an_error() {
        // Method: an unknown letter alone and after others, the colon, and a missing value.
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
