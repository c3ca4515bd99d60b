//! The values of a row, and their form for all rows of a file: start at [`Cell`].

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measure::outcome::{Outcome, Outcomes};
use crate::record::Disturbance;

/// The value of a row in one column. A column of nothing but defaults (zero, absent, false) is the
/// default column, which a file leaves out.
pub(in crate::record) trait Cell: Sized {
    /// The values of all rows, as a file has them.
    type Column: Default;

    /// The column of these cells, one for each row.
    fn column(cells: Vec<Self>) -> Self::Column;

    /// The cells of a column, one for each of `rows` rows.
    fn cells(column: Self::Column, rows: usize) -> Result<Vec<Self>, ColumnError>;
}

/// A cell of several values, whose column is an object of columns.
pub(in crate::record) trait Row: Cell {}

/// A column that does not fit the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::record) struct ColumnError {
    /// The path of its keys, the innermost first.
    path: Vec<&'static str>,
    why: String,
}

impl ColumnError {
    pub(super) fn new(why: String) -> ColumnError {
        let path = Vec::new();
        ColumnError { path, why }
    }

    /// This error in a column under this key.
    pub(in crate::record) fn within(mut self, key: &'static str) -> ColumnError {
        self.path.push(key);
        self
    }
}

impl fmt::Display for ColumnError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().copied().collect();
        write!(formatter, "column `{}`: {}", path.join("."), self.why)
    }
}

/// Whether a column has only defaults, so that it need not be written.
pub(in crate::record) fn is_default<C: Default + PartialEq>(column: &C) -> bool {
    *column == C::default()
}

/// The values of a plain column: as many as rows, or none, which stands for defaults.
fn plain<T: Default + Clone>(values: Vec<T>, rows: usize) -> Result<Vec<T>, ColumnError> {
    match values.len() {
        0 => Ok(vec![T::default(); rows]),
        count if count == rows => Ok(values),
        count => Err(ColumnError::new(format!("{count} values for {rows} rows"))),
    }
}

/// Cells that are their own values in a list.
macro_rules! plain_cells {
    ($($cell:ty),+ $(,)?) => {$(
        impl Cell for $cell {
            type Column = Vec<$cell>;

            fn column(cells: Vec<$cell>) -> Vec<$cell> {
                if cells.iter().all(is_default) { Vec::new() } else { cells }
            }

            fn cells(column: Vec<$cell>, rows: usize) -> Result<Vec<$cell>, ColumnError> {
                plain(column, rows)
            }
        }
    )+};
}

plain_cells!(bool, u64, Option<u64>, Vec<Option<u64>>, Vec<Disturbance>);

/// Declares the columns of a row: every field of it, by its name and type; with `struct`
/// the row itself too.
macro_rules! columns {
    ($(#[$about:meta])* pub struct $row:ident as $columns:ident { $($(#[$key:meta])* $field:ident: $cell:ty,)+ }) => {
        $(#[$about])*
        pub struct $row {
            $($(#[$key])* pub $field: $cell,)+
        }

        impl $row {
            /// The names of its fields, in order.
            pub const FIELDS: &[&str] = &[$(stringify!($field)),+];
        }

        columns! {
            /// The same of all rows, as columns.
            $columns of $row { $($(#[$key])* $field: $cell,)+ }
        }
    };
    ($(#[$about:meta])* $columns:ident of $row:ident { $($(#[$key:meta])* $field:ident: $cell:ty,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default)]
        pub(in crate::record) struct $columns {
            $(
                #[serde(skip_serializing_if = "is_default")]
                $(#[$key])*
                $field: <$cell as Cell>::Column,
            )+
        }

        impl Row for $row {}

        impl Cell for $row {
            type Column = $columns;

            fn column(rows: Vec<$row>) -> $columns {
                $(let mut $field = Vec::with_capacity(rows.len());)+
                for row in rows {
                    $($field.push(row.$field);)+
                }
                $columns { $($field: <$cell as Cell>::column($field),)+ }
            }

            fn cells(columns: $columns, rows: usize) -> Result<Vec<$row>, ColumnError> {
                $(
                    let mut $field = <$cell as Cell>::cells(columns.$field, rows)
                        .map_err(|error| error.within(stringify!($field)))?
                        .into_iter();
                )+
                let row = |_| Some($row { $($field: $field.next()?,)+ });
                Ok((0..rows).map_while(row).collect())
            }
        }
    };
}
pub(in crate::record) use columns;

/// Names, each listed once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(in crate::record) struct Names {
    /// Each name once.
    names: Vec<String>,
    /// The number of each row's name, from zero.
    rows: Vec<usize>,
}

impl Cell for String {
    type Column = Names;

    fn column(cells: Vec<String>) -> Names {
        let mut column = Names::default();
        for cell in cells {
            let known = column.names.iter().position(|name| *name == cell);
            column.rows.push(known.unwrap_or(column.names.len()));
            if known.is_none() {
                column.names.push(cell);
            }
        }
        column
    }

    fn cells(column: Names, rows: usize) -> Result<Vec<String>, ColumnError> {
        let name = |index: usize| {
            let known = column.names.get(index).cloned();
            let of = column.names.len();
            known.ok_or_else(|| ColumnError::new(format!("name {index} of {of} names")))
        };
        if column.rows.len() != rows {
            let count = column.rows.len();
            return Err(ColumnError::new(format!("{count} values for {rows} rows")));
        }
        column.rows.iter().map(|index| name(*index)).collect()
    }
}

/// Rows that only some of the outer rows have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(in crate::record) struct Present<C> {
    /// The numbers of the outer rows that have one, from zero and rising; omitted if all have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<usize>>,
    /// The columns of those rows.
    values: C,
}

impl<R: Row> Cell for Option<R> {
    type Column = Option<Present<R::Column>>;

    fn column(cells: Vec<Option<R>>) -> Self::Column {
        let total = cells.len();
        let numbered = cells.into_iter().enumerate();
        let (rows, values): (Vec<usize>, Vec<R>) = numbered
            .filter_map(|(index, cell)| Some((index, cell?)))
            .unzip();
        (!rows.is_empty()).then(|| Present {
            rows: (rows.len() < total).then_some(rows),
            values: R::column(values),
        })
    }

    fn cells(column: Self::Column, total: usize) -> Result<Vec<Option<R>>, ColumnError> {
        let mut cells: Vec<Option<R>> = (0..total).map(|_| None).collect();
        let Some(column) = column else {
            return Ok(cells);
        };
        let rows = column.rows.unwrap_or_else(|| (0..total).collect());
        let is_rising = rows.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_rising || rows.last().is_some_and(|last| *last >= total) {
            let why = format!("its rows are not rising numbers below {total}");
            return Err(ColumnError::new(why));
        }
        let values = R::cells(column.values, rows.len())?;
        for (row, value) in rows.into_iter().zip(values) {
            cells[row] = Some(value);
        }
        Ok(cells)
    }
}

/// How often each outcome occurred in each row. Outcomes that never occurred are omitted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(in crate::record) struct OutcomeColumns(BTreeMap<String, Vec<u64>>);

impl Cell for Outcomes {
    type Column = OutcomeColumns;

    fn column(cells: Vec<Outcomes>) -> OutcomeColumns {
        let counts = |outcome| u64::column(cells.iter().map(|cell| cell.count(outcome)).collect());
        let named = Outcome::ALL.map(|outcome| (outcome.name().to_owned(), counts(outcome)));
        let occurred = named.into_iter().filter(|(_, counts)| !counts.is_empty());
        OutcomeColumns(occurred.collect())
    }

    fn cells(column: OutcomeColumns, rows: usize) -> Result<Vec<Outcomes>, ColumnError> {
        let mut cells = vec![Outcomes::default(); rows];
        for (name, counts) in column.0 {
            // A later version may know more outcomes: none may be dropped silently.
            let outcome = Outcome::from_name(&name)
                .ok_or_else(|| ColumnError::new(format!("unknown outcome `{name}`")))?;
            let counts = plain(counts, rows).map_err(|error| error.within(outcome.name()))?;
            for (cell, count) in cells.iter_mut().zip(counts) {
                cell.add_times(outcome, count);
            }
        }
        Ok(cells)
    }
}
