//! The file as a tree, and where in it something stands.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Fault, StudyFileError, Wrong, short};

/// A parsed file.
pub struct Document<'t> {
    file: &'t Path,
    lines: Lines,
    root: Spanned<DeTable<'t>>,
}

/// Where the lines of a text end, so that many places in a long one are found fast.
pub struct Lines(Vec<usize>);

impl Lines {
    /// The lines of a text.
    pub fn of(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(end, _)| end).collect())
    }

    /// The line of an offset, from 1.
    pub fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}

/// One step from a table or list to what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To a key's value.
    Key(String),
    /// To an item, from 0.
    Item(usize),
}

impl<'t> Document<'t> {
    /// Reads TOML.
    ///
    /// # Errors
    /// [`Wrong::Syntax`] with its line.
    pub fn parse(file: &'t Path, text: &'t str) -> Result<Document<'t>, StudyFileError> {
        match DeTable::parse(text) {
            Ok(root) => Ok(Document {
                file,
                lines: Lines::of(text),
                root,
            }),
            Err(error) => Err(toml_error(file, &Lines::of(text), &error)),
        }
    }

    /// The top table.
    pub fn root(&self) -> &DeTable<'t> {
        self.root.get_ref()
    }

    /// The whole file as a value of a type.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, StudyFileError> {
        T::deserialize(toml::de::Deserializer::from(self.root.clone()))
            .map_err(|error| toml_error(self.file, &self.lines, &error))
    }

    /// What is wrong at the end of a path.
    pub fn fault(&self, path: &[Step], wrong: Wrong) -> Fault {
        Fault {
            file: self.file.to_owned(),
            line: self.lines.at(self.offset(path)),
            place: self.place(path),
            wrong: Box::new(wrong),
        }
    }

    /// The line of the end of a path, from 1.
    pub fn line(&self, path: &[Step]) -> usize {
        self.lines.at(self.offset(path))
    }

    /// Where the end of a path stands, or as far towards it as there is something.
    fn offset(&self, path: &[Step]) -> usize {
        let mut offset = 0;
        let mut table = Some(self.root());
        let mut list = None;
        for step in path {
            let value = match step {
                Step::Key(key) => table
                    .and_then(|table| table.get_key_value(key.as_str()))
                    .map(|(key, value)| (key.span().start, value)),
                Step::Item(index) => list
                    .and_then(|list: &toml::de::DeArray<'t>| list.get(*index))
                    .map(|value| (value.span().start, value)),
            };
            let Some((start, value)) = value else {
                break;
            };
            offset = start;
            table = value.get_ref().as_table();
            list = value.get_ref().as_array();
        }
        offset
    }

    /// The table of a list of tables that a path leads into.
    fn place(&self, path: &[Step]) -> Option<String> {
        let [Step::Key(kind), Step::Item(index), ..] = path else {
            return None;
        };
        let value = self.root().get(kind.as_str())?.get_ref();
        let table = value.as_array()?.get(*index)?.get_ref().as_table()?;
        let named = |key| table.get(key).and_then(|name| name.get_ref().as_str());
        Some(match named("name").or_else(|| named("path")) {
            Some(name) => format!("{kind} \"{}\"", short(name)),
            None => format!("{kind} {}", index + 1),
        })
    }
}

/// The keys of a path within its table of a list of tables, as TOML joins them.
pub fn key(path: &[Step]) -> String {
    let inner = match path {
        [Step::Key(_), Step::Item(_), inner @ ..] if !inner.is_empty() => inner,
        _ => path,
    };
    let keys: Vec<String> = inner
        .iter()
        .filter_map(|step| match step {
            Step::Key(key) => Some(short(key)),
            Step::Item(_) => None,
        })
        .collect();
    keys.join(".")
}

/// What a value is, in a person's words.
pub fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn toml_error(file: &Path, lines: &Lines, error: &toml::de::Error) -> StudyFileError {
    StudyFileError::Content(vec![Fault {
        file: file.to_owned(),
        line: lines.at(error.span().map_or(0, |span| span.start)),
        place: None,
        wrong: Box::new(Wrong::Syntax(error.message().to_owned())),
    }])
}
