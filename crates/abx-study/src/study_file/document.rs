//! A file as a tree, with the lines of its keys and items.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::{Diagnostic, StudyFileError, short};
use crate::units;

/// A parsed file.
pub struct TomlDocument<'t> {
    file: &'t Path,
    lines: LineIndex,
    root: Spanned<DeTable<'t>>,
}

/// The offsets of the line ends of a text, which make many look-ups in a long text fast.
pub struct LineIndex(Vec<usize>);

impl LineIndex {
    /// The lines of a text.
    pub fn of(text: &str) -> LineIndex {
        LineIndex(text.match_indices('\n').map(|(end, _)| end).collect())
    }

    /// The line of an offset, from 1.
    pub fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}

/// One step from a table or list to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    Key(String),
    /// To an item, from 0.
    Item(usize),
}

impl<'t> TomlDocument<'t> {
    /// Reads TOML.
    ///
    /// # Errors
    /// The part that is not TOML, with its line.
    pub fn parse(file: &'t Path, text: &'t str) -> Result<TomlDocument<'t>, StudyFileError> {
        let text = units::without_mark(text);
        match DeTable::parse(text) {
            Ok(root) => Ok(TomlDocument {
                file,
                lines: LineIndex::of(text),
                root,
            }),
            Err(error) => Err(toml_error(file, &LineIndex::of(text), &error)),
        }
    }

    /// The top table.
    pub fn root(&self) -> &DeTable<'t> {
        self.root.get_ref()
    }

    /// The whole file as a value of a type.
    ///
    /// # Errors
    /// The first part that does not fit the type.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, StudyFileError> {
        T::deserialize(toml::de::Deserializer::from(self.root.clone()))
            .map_err(|error| toml_error(self.file, &self.lines, &error))
    }

    /// An error at the end of a path.
    pub fn fault(&self, path: &[PathStep], wrong: String) -> Diagnostic {
        Diagnostic {
            file: self.file.to_owned(),
            line: self.lines.at(self.offset(path)),
            place: self.place(path),
            wrong,
        }
    }

    /// The line of the end of a path, from 1.
    pub fn line(&self, path: &[PathStep]) -> usize {
        self.lines.at(self.offset(path))
    }

    /// The keys of the table at the end of a path, in the order of the file; empty if there is no
    /// table.
    pub fn keys(&self, path: &[PathStep]) -> Vec<&str> {
        let (_, table) = self.locate(path);
        let mut keys: Vec<_> = table
            .into_iter()
            .flatten()
            .map(|(key, _)| (key.span().start, key.get_ref().as_ref()))
            .collect();
        keys.sort_unstable();
        keys.into_iter().map(|(_, key)| key).collect()
    }

    /// The offset of the last step of a path that exists in the file.
    fn offset(&self, path: &[PathStep]) -> usize {
        self.locate(path).0
    }

    /// As [`TomlDocument::offset`], and the table there, if it is one.
    fn locate(&self, path: &[PathStep]) -> (usize, Option<&DeTable<'t>>) {
        let mut offset = 0;
        let mut table = Some(self.root());
        let mut list = None;
        for step in path {
            let value = match step {
                PathStep::Key(key) => table
                    .and_then(|table| table.get_key_value(key.as_str()))
                    .map(|(key, value)| (key.span().start, value)),
                PathStep::Item(index) => list
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
        (offset, table)
    }

    /// The table in a list of tables that a path leads into, as messages name it.
    fn place(&self, path: &[PathStep]) -> Option<String> {
        let [PathStep::Key(kind), PathStep::Item(index), ..] = path else {
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
pub fn key(path: &[PathStep]) -> String {
    let inner = match path {
        [PathStep::Key(_), PathStep::Item(_), inner @ ..] if !inner.is_empty() => inner,
        _ => path,
    };
    let keys: Vec<String> = inner
        .iter()
        .filter_map(|step| match step {
            PathStep::Key(key) => Some(short(key)),
            PathStep::Item(_) => None,
        })
        .collect();
    keys.join(".")
}

/// The kind of a value, as messages name it.
pub fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn toml_error(file: &Path, lines: &LineIndex, error: &toml::de::Error) -> StudyFileError {
    StudyFileError::Content(vec![Diagnostic {
        file: file.to_owned(),
        line: lines.at(error.span().map_or(0, |span| span.start)),
        place: None,
        wrong: format!(
            "this is not TOML ({}): strings need quotes, and each key may appear only once in its \
             table",
            short(error.message())
        ),
    }])
}
