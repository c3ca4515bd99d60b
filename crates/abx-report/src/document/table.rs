//! Tables: on a terminal columns that line up, or a list of figures per row if they do not fit.

use crate::words::labels::label_lines;
use crate::words::units::UNKNOWN;
use crate::words::wrap::{shorten, wrap};

/// Rows under headers, which text, HTML and Markdown each render in their own way.
#[derive(Clone)]
pub struct Table {
    /// The caption on a page; on a terminal a paragraph above the table replaces it.
    pub(crate) caption: String,
    pub(crate) headers: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// How many columns, from the left, name the row. Text and Markdown treat one as the name.
    pub(crate) names: usize,
    pub(crate) cells: CellKind,
    /// Columns that only a page has room for, the last one first.
    pub(crate) wide: Vec<usize>,
}

/// The content of the cells that name no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// At the right.
    Figures,
    /// At the left, in as many lines as they need.
    Words,
}

impl Table {
    /// A table of figures without a caption; the first column names the rows.
    #[must_use]
    pub fn new<H: Into<String>, R: Into<Vec<String>>>(
        headers: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = R>,
    ) -> Table {
        Table {
            caption: String::new(),
            headers: headers.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(Into::into).collect(),
            names: 1,
            cells: CellKind::Figures,
            wide: Vec::new(),
        }
    }

    /// Names with their values.
    pub(crate) fn pairs(caption: &str, pairs: Vec<(&'static str, String)>) -> Table {
        let rows = pairs
            .into_iter()
            .map(|(name, value)| [name.to_owned(), value]);
        let table = Table::new(["what", "is"], rows);
        table.captioned(caption).of_words()
    }

    /// Only a page shows the columns with these headers, and of them only columns with a known
    /// value.
    pub(crate) fn with_wide(mut self, headers: &[&str]) -> Table {
        for column in (1..self.headers.len()).rev() {
            if !headers.contains(&self.headers[column].as_str()) {
                continue;
            }
            if self.rows.iter().all(|row| row[column] == UNKNOWN) {
                self.remove(column);
                self.wide.iter_mut().for_each(|wide| *wide -= 1);
            } else {
                self.wide.push(column);
            }
        }
        self
    }

    /// The table without the columns that only a page shows.
    pub(crate) fn narrow(&self) -> Table {
        let mut table = self.clone();
        for column in std::mem::take(&mut table.wide) {
            table.remove(column);
        }
        table
    }

    fn remove(&mut self, column: usize) {
        self.headers.remove(column);
        self.rows
            .iter_mut()
            .for_each(|row| drop(row.remove(column)));
    }

    pub(crate) fn captioned(self, caption: impl Into<String>) -> Table {
        Table {
            caption: caption.into(),
            ..self
        }
    }

    /// The table with words in its cells, at the left and on as many lines as they need.
    #[must_use]
    pub fn of_words(self) -> Table {
        Table {
            cells: CellKind::Words,
            ..self
        }
    }

    pub(crate) fn named_by(self, names: usize) -> Table {
        Table { names, ..self }
    }

    /// The table in lines of at most `width` columns. Long names take several lines, unless a
    /// list would take fewer.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        if !self.wide.is_empty() {
            return self.narrow().text(width);
        }
        let widths: Vec<usize> = (1..self.headers.len())
            .map(|column| self.width(column))
            .collect();
        let figures: usize = widths.iter().map(|width| GAP.len() + width).sum();
        let longest = self.width(0);
        let room = width.saturating_sub(figures).min(longest);
        if room < longest && self.headers.iter().any(|header| header == LONG_UNIT) {
            return self.with_short_unit().text(width);
        }
        let lines = |row: &[String]| label_lines(&row[0], room);
        // A list has a line for the name and one for each figure.
        let is_tall = self.rows.iter().any(|row| lines(row).len() > row.len());
        if room < longest.min(NAME_MIN) || is_tall {
            return self.list(width);
        }
        let mut out = String::new();
        for row in std::iter::once(&self.headers).chain(&self.rows) {
            for (number, name) in lines(row).iter().enumerate() {
                if number > 0 {
                    out.push_str(&format!("{name}\n"));
                    continue;
                }
                out.push_str(&format!("{name:room$}"));
                for (cell, width) in row[1..].iter().zip(&widths) {
                    out.push_str(&format!("{GAP}{cell:>width$}"));
                }
                out.push('\n');
            }
        }
        out
    }

    /// The table with a shorter name of the commonest unit, so that names fit on one line.
    fn with_short_unit(&self) -> Table {
        let mut table = self.clone();
        for header in &mut table.headers {
            if header == LONG_UNIT {
                "req/s".clone_into(header);
            }
        }
        table
    }

    /// The header of the names, which may have a unit, then each row as its name and one line for
    /// each figure.
    fn list(&self, width: usize) -> String {
        let labels = self.headers[1..].iter().map(|header| letters(header));
        let label = labels.max().unwrap_or_default();
        let room = width.saturating_sub(2 * GAP.len() + label);
        let mut out = wrap(&format!("{}:", self.headers[0]), "", "", width);
        for row in &self.rows {
            out.push_str(&wrap(&row[0], "", "", width));
            for (header, cell) in self.headers[1..].iter().zip(&row[1..]) {
                let cell = shorten(cell, room);
                out.push_str(&format!("{GAP}{header:label$}{GAP}{cell}\n"));
            }
        }
        out
    }

    fn width(&self, column: usize) -> usize {
        let rows = self.rows.iter().map(|row| letters(&row[column]));
        rows.max()
            .unwrap_or_default()
            .max(letters(&self.headers[column]))
    }
}

const LONG_UNIT: &str = "requests/s";
const GAP: &str = "  ";
const NAME_MIN: usize = 8;

fn letters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: [&str; 2]) -> Table {
        Table::new(
            ["name", "messages/s"],
            names.map(|name| [name, "41,235"].map(str::to_owned)),
        )
    }

    #[test]
    fn names_stand_left_and_figures_right() {
        // Method: enough room, then room for a part of the name.
        assert_eq!(
            table(["a", "b"]).text(80),
            "name  messages/s\na         41,235\nb         41,235\n"
        );
        let narrow = table(["nginx-1.24.0", "nginx-1.24.1"]).text(21);
        let row = "nginx-         41,235\n  1.24.0\n";
        assert!(narrow.contains(row), "{narrow}");
    }

    #[test]
    fn names_that_would_take_more_lines_than_a_list_are_listed() {
        // Method: two names of three parts, and room for one part on a line.
        let text = table(["aaaaaaaa-1-zzzzzzzz", "aaaaaaaa-2-zzzzzzzz"]).text(22);
        let first: Vec<&str> = text.lines().take(2).collect();
        assert_eq!(first, ["name:", "aaaaaaaa-1-zzzzzzzz"]);
        assert!(text.contains("\n  messages/s  41,235\n"));
    }

    #[test]
    fn the_commonest_unit_is_shortened_so_that_names_keep_their_lines() {
        // Method: room for the names with the long unit, and with the short one only.
        let row = ["nginx-1.24.0", "41,235"].map(str::to_owned);
        let table = Table::new(["name", "requests/s"], [row]);
        assert!(table.text(24).starts_with("name          requests/s\n"));
        let narrow = table.text(20);
        assert_eq!(narrow, "name           req/s\nnginx-1.24.0  41,235\n");
    }
}
