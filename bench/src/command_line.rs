//! Command lines of `--flag value`, `--switch` and plain words.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    usage: &'static str,
    values: BTreeMap<String, Vec<String>>,
    /// Words that belong to no flag.
    pub words: Vec<String>,
}

impl CommandLine {
    /// Reads `words`: each of `flags` takes the word after it, each of `switches` none.
    ///
    /// # Errors
    /// The usage, if a flag is unknown or lacks its value.
    pub fn read(
        words: impl IntoIterator<Item = String>,
        usage: &'static str,
        flags: &[&str],
        switches: &[&str],
    ) -> Result<CommandLine, String> {
        let mut read = CommandLine {
            usage,
            ..CommandLine::default()
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if flags.contains(&word.as_str()) {
                let value = words.next();
                let value = value.ok_or_else(|| format!("{word} needs a value: {usage}"))?;
                read.values.entry(word).or_default().push(value);
            } else if switches.contains(&word.as_str()) {
                read.values.entry(word).or_default();
            } else if word.starts_with("--") {
                return Err(format!("{word} is unknown: {usage}"));
            } else {
                read.words.push(word);
            }
        }
        Ok(read)
    }

    /// Whether a flag or switch was given.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.values.contains_key(flag)
    }

    /// Every value of a flag, in order.
    #[must_use]
    pub fn all(&self, flag: &str) -> &[String] {
        self.values.get(flag).map_or(&[], Vec::as_slice)
    }

    /// The last value of a flag; `default` if it was not given.
    ///
    /// # Errors
    /// The usage, if it cannot be read.
    pub fn value<T: FromStr>(&self, flag: &str, default: T) -> Result<T, String> {
        let Some(text) = self.all(flag).last() else {
            return Ok(default);
        };
        let value = text.parse();
        value.map_err(|_| format!("{flag} {text} cannot be read: {}", self.usage))
    }

    /// The program that a flag names, with its full path.
    ///
    /// # Errors
    /// The usage, if the flag is missing or does not name a file.
    pub fn program(&self, flag: &str) -> Result<PathBuf, String> {
        let path: String = self.value(flag, String::new())?;
        std::fs::canonicalize(&path)
            .ok()
            .filter(|path| path.is_file())
            .ok_or_else(|| format!("{flag} names no program, build it first: {}", self.usage))
    }

    /// Whether no words were given, or one of them is a part of `name`.
    #[must_use]
    pub fn selects(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CommandLine, String> {
        let words = text.split_whitespace().map(str::to_owned);
        CommandLine::read(words, "usage: x", &["--runs", "--only"], &["--quick"])
    }

    #[test]
    fn flags_switches_and_words_are_read_in_any_order() {
        // Method: each kind before and after another, and a flag that is given twice.
        let line = read("nginx --only a --quick --runs 3 --only b").unwrap();
        assert_eq!(line.value("--runs", 10), Ok(3));
        assert_eq!(line.all("--only"), ["a", "b"]);
        assert!(line.has("--quick") && line.selects("identical nginx") && !line.selects("stalls"));
        let empty = read("").unwrap();
        assert_eq!(empty.value("--runs", 10), Ok(10));
        assert!(!empty.has("--quick") && empty.selects("stalls"));
    }

    #[test]
    fn mistakes_are_refused_with_the_usage() {
        // Method: an unknown flag, a flag without its value, an invalid number, a missing program.
        for text in ["--seed 1", "--runs"] {
            assert!(read(text).unwrap_err().contains("usage: x"), "{text}");
        }
        assert!(read("--runs few").unwrap().value("--runs", 1).is_err());
        assert!(read("--runs /nowhere").unwrap().program("--runs").is_err());
    }
}
