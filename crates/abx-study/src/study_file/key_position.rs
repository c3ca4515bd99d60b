//! A place in the file while it is checked, so that every fault has a line.

use std::time::Duration;

use abx_model::TimeText;

use super::document::{PathStep, TomlDocument, key};
use super::mistake::{Diagnostic, Mistake};
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

    /// Something that is wrong here.
    pub fn fault(&self, wrong: Mistake) -> Diagnostic {
        self.document.fault(&self.path, wrong)
    }

    /// Reads what stands here; `read` is given the key for its message.
    ///
    /// # Errors
    /// What `read` says, with its place.
    pub fn read<T>(&self, read: impl FnOnce(&str) -> Result<T, Mistake>) -> Result<T, Diagnostic> {
        read(&self.name()).map_err(|wrong| self.fault(wrong))
    }

    /// Reads a time, where there is one.
    ///
    /// # Errors
    /// [`Mistake::RawTime`].
    pub fn time(&self, time: Option<&TimeText>) -> Result<Option<Duration>, Diagnostic> {
        time.map(|time| self.read(|key| unit::time(key, &time.0)))
            .transpose()
    }
}
