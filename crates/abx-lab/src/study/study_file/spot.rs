//! A place in the file while it is checked, so that every fault has a line.

use std::time::Duration;

use super::document::{Document, Step, key};
use super::error::{Fault, Wrong};
use super::raw::Time;
use super::unit;

/// A place in the file.
#[derive(Clone)]
pub struct Spot<'a> {
    document: &'a Document<'a>,
    path: Vec<Step>,
}

impl<'a> Spot<'a> {
    /// The top table.
    pub fn top(document: &'a Document<'a>) -> Spot<'a> {
        Spot {
            document,
            path: Vec::new(),
        }
    }

    /// A key of the table here.
    pub fn key(&self, name: &str) -> Spot<'a> {
        self.step(Step::Key(name.to_owned()))
    }

    /// An item of the list here.
    pub fn item(&self, index: usize) -> Spot<'a> {
        self.step(Step::Item(index))
    }

    fn step(&self, step: Step) -> Spot<'a> {
        let mut path = self.path.clone();
        path.push(step);
        Spot {
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
    pub fn fault(&self, wrong: Wrong) -> Fault {
        self.document.fault(&self.path, wrong)
    }

    /// Reads what stands here; `read` is given the key for its message.
    ///
    /// # Errors
    /// What `read` says, with its place.
    pub fn read<T>(&self, read: impl FnOnce(&str) -> Result<T, Wrong>) -> Result<T, Fault> {
        read(&self.name()).map_err(|wrong| self.fault(wrong))
    }

    /// Reads a time, where there is one.
    ///
    /// # Errors
    /// [`Wrong::Time`].
    pub fn time(&self, time: Option<&Time>) -> Result<Option<Duration>, Fault> {
        time.map(|time| self.read(|key| unit::time(key, &time.0)))
            .transpose()
    }
}
