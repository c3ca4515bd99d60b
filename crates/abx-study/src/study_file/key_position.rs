//! A place in a file that is checked, so that every fault has a line.

use std::io;
use std::time::Duration;

use abx_model::TimeText;

use super::document::{PathStep, TomlDocument, key};
use super::input::Templates;
use super::mistake::{Diagnostic, short};
use super::unit;

/// A place in the file.
#[derive(Clone)]
pub struct KeyPosition<'a> {
    document: &'a TomlDocument<'a>,
    path: Vec<PathStep>,
}

impl<'a> KeyPosition<'a> {
    /// The top table.
    pub fn top(document: &'a TomlDocument<'a>) -> KeyPosition<'a> {
        KeyPosition {
            document,
            path: Vec::new(),
        }
    }

    /// A key of the table here.
    pub fn key(&self, name: &str) -> KeyPosition<'a> {
        self.step(PathStep::Key(name.to_owned()))
    }

    /// An item of the list here.
    pub fn item(&self, index: usize) -> KeyPosition<'a> {
        self.step(PathStep::Item(index))
    }

    /// The keys of the table here, in the order of the file.
    pub fn keys(&self) -> Vec<&'a str> {
        self.document.keys(&self.path)
    }

    fn step(&self, step: PathStep) -> KeyPosition<'a> {
        let mut path = self.path.clone();
        path.push(step);
        KeyPosition {
            document: self.document,
            path,
        }
    }

    /// The line here, from 1.
    pub fn line(&self) -> usize {
        self.document.line(&self.path)
    }

    /// The key here, as a message names it.
    pub fn name(&self) -> String {
        key(&self.path)
    }

    /// A fault at this place.
    pub fn fault(&self, wrong: impl Into<String>) -> Diagnostic {
        self.document.fault(&self.path, wrong.into())
    }

    /// Refuses each of these keys of the table here, for the reason that `wrong` gives.
    ///
    /// # Errors
    /// The first of them that the file has.
    pub fn refuse(&self, keys: &[&str], wrong: impl Fn(&str) -> String) -> Result<(), Diagnostic> {
        match self.keys().into_iter().find(|key| keys.contains(key)) {
            Some(key) => Err(self.key(key).fault(wrong(key))),
            None => Ok(()),
        }
    }

    /// Reads the value here; `read` receives the key for its message.
    ///
    /// # Errors
    /// The error of `read`, with its place.
    pub fn read<T>(&self, read: impl FnOnce(&str) -> Result<T, String>) -> Result<T, Diagnostic> {
        read(&self.name()).map_err(|wrong| self.fault(wrong))
    }

    /// Reads an optional time.
    ///
    /// # Errors
    /// A text that is not a time above zero.
    pub fn time(&self, time: Option<&TimeText>) -> Result<Option<Duration>, Diagnostic> {
        time.map(|time| self.read(|key| unit::time(key, &time.0)))
            .transpose()
    }

    /// The text of the file that is named here, below the study's folder. `unread` makes the
    /// message from its name and the error if it cannot be read.
    ///
    /// # Errors
    /// A path that leads out of the folder, a file that cannot be read.
    pub fn text(
        &self,
        file: &str,
        files: Templates,
        unread: impl FnOnce(&str, io::Error) -> String,
    ) -> Result<String, Diagnostic> {
        let path = self.read(|key| unit::path_below(key, file))?;
        files(&path).map_err(|error| self.fault(unread(&short(file), error)))
    }
}
