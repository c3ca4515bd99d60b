//! The index of a folder of records: an SQLite file beside them.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_verdict::history::{Entry, Outline, OutlineComparison, RecordKind, UnreadFile};
use rusqlite::config::DbConfig;
use rusqlite::types::Type;
use rusqlite::{Connection, ErrorCode, Row, Transaction, TransactionBehavior, params};
use rustix::fs::FlockOperation;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::HistoryError;
use super::files::{FileContents, ID_LETTERS, KnownFile, files, id_of_file, read};

/// Which records to list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Text that occurs in a record's label, study, subjects, their versions, commands and
    /// addresses, its loads, file or id, in any case; `None` for all.
    pub text: Option<String>,
    /// The most that are listed; `None` for all.
    pub limit: Option<usize>,
    /// Also studies that failed before anything was measured.
    pub with_unmeasured: bool,
}

/// The file's name.
const NAME: &str = "history.sqlite3";
/// To be raised with every change of [`TABLES`] or of their content.
const VERSION: i64 = 10;
/// How long another process may write; each does so for moments only.
const BUSY: Duration = Duration::from_secs(20);

const TABLES: &str = "
    CREATE TABLE record (
        file TEXT PRIMARY KEY,
        stamp TEXT NOT NULL,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        started_unix_ms INTEGER NOT NULL,
        elapsed_s REAL,
        subjects TEXT NOT NULL,
        loads TEXT NOT NULL,
        verdicts TEXT NOT NULL,
        blocks INTEGER NOT NULL,
        is_measured INTEGER NOT NULL,
        throughput_per_s REAL,
        machine TEXT NOT NULL,
        seed TEXT,
        abx_version TEXT NOT NULL,
        words TEXT NOT NULL,
        study TEXT,
        label TEXT,
        search TEXT
    ) STRICT;
    CREATE TABLE comparison (
        file TEXT NOT NULL REFERENCES record (file) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        load TEXT NOT NULL,
        subject TEXT NOT NULL,
        baseline TEXT NOT NULL,
        metric TEXT NOT NULL,
        ratio REAL,
        low REAL,
        high REAL,
        verdict TEXT NOT NULL,
        blocks INTEGER NOT NULL,
        PRIMARY KEY (file, place)
    ) STRICT;
    CREATE TABLE unread (
        file TEXT PRIMARY KEY,
        stamp TEXT NOT NULL,
        why TEXT NOT NULL
    ) STRICT;";

const SELECT_RECORD: &str = "
    SELECT file, kind, started_unix_ms, elapsed_s, subjects, loads, blocks, throughput_per_s,
        machine, seed, abx_version, is_measured, study, label, search
    FROM record WHERE (is_measured OR ?3) AND (?1 IS NULL OR instr(words, ?1) > 0
        OR (length(?1) >= 4 AND substr(id, 1, length(?1)) = ?1))
    ORDER BY started_unix_ms DESC, file DESC LIMIT ?2";
const SELECT_COMPARISON: &str = "
    SELECT load, subject, baseline, metric, ratio, low, high, verdict, blocks
    FROM comparison WHERE file = ?1 ORDER BY place";
const SELECT_STAMP: &str = "
    SELECT file, stamp FROM record UNION ALL SELECT file, stamp FROM unread";
const SELECT_UNREAD: &str = "SELECT file, why FROM unread ORDER BY file";
/// How many records of a query were measured, and how many were not.
const COUNT: &str = "
    SELECT count(*) FILTER (WHERE is_measured), count(*) FILTER (WHERE NOT is_measured)
    FROM record WHERE ?1 IS NULL OR instr(words, ?1) > 0
        OR (length(?1) >= 4 AND substr(id, 1, length(?1)) = ?1)";

/// An open index.
pub(super) struct Index {
    connection: Connection,
    path: PathBuf,
}

/// Which files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refresh {
    /// Those that are not as the index has them.
    AtChanges,
    AtAll,
}

/// The result of a query.
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    pub(super) left_out: usize,
    pub(super) unmeasured: usize,
    pub(super) unread: Vec<UnreadFile>,
}

impl Index {
    /// The index in this folder; an empty one when there is none that can be used.
    pub(super) fn kept_in(folder: &Path) -> Result<Index, HistoryError> {
        let path = folder.join(NAME);
        let connection = match connect(&path) {
            Ok(connection) => connection,
            Err(source) if is_damage(&source) => Index::made_anew_in(folder)?,
            Err(source) => return Err(HistoryError::Index { path, source }),
        };
        Ok(Index { connection, path })
    }

    /// An empty one that is not kept.
    pub(super) fn in_memory() -> Result<Index, HistoryError> {
        let path = PathBuf::from(":memory:");
        match connect(&path) {
            Ok(connection) => Ok(Index { connection, path }),
            Err(source) => Err(HistoryError::Index { path, source }),
        }
    }

    /// The index in this folder, which was found damaged, made again by the process that comes
    /// first.
    fn made_anew_in(folder: &Path) -> Result<Connection, HistoryError> {
        let locked = File::open(folder).and_then(|folder| {
            rustix::fs::flock(&folder, FlockOperation::LockExclusive)?;
            Ok(folder)
        });
        let _locked = locked.map_err(|source| HistoryError::Lock {
            folder: folder.to_owned(),
            source,
        })?;
        let path = folder.join(NAME);
        // SUBTLE: Another process may have emptied it while this one waited, and
        // be filling it, which must then stay.
        match connect(&path) {
            Err(source) if is_damage(&source) => empty(&path).and_then(|()| connect(&path)),
            other => other,
        }
        .map_err(|source| HistoryError::Index { path, source })
    }

    /// The same, up to date with the files of a folder.
    pub(super) fn refreshed(mut self, folder: &Path, look: Refresh) -> Result<Index, HistoryError> {
        let there = files(folder)?;
        let known = match look {
            Refresh::AtChanges => self.known().map_err(|source| self.failed(source))?,
            Refresh::AtAll => BTreeMap::new(),
        };
        let is_known = |file: &KnownFile| known.get(&file.name) == Some(&file.stamp);
        let stale: Vec<&KnownFile> = there.iter().filter(|file| !is_known(file)).collect();
        let gone = known.keys().filter(|name| {
            let is_there = there.iter().any(|file| file.name == **name);
            !is_there
        });
        let gone: Vec<&String> = gone.collect();
        if look == Refresh::AtChanges && stale.is_empty() && gone.is_empty() {
            return Ok(self);
        }
        // Read before the index is locked, so that no process waits for the files.
        let read = stale.iter().map(|file| (*file, read(folder, &file.name)));
        let read: Vec<(&KnownFile, FileContents)> = read.collect();
        self.write(look, &read, &gone)
            .map_err(|source| self.failed(source))?;
        Ok(self)
    }

    /// The files in the index, each with its stamp.
    fn known(&self) -> rusqlite::Result<BTreeMap<String, String>> {
        let mut statement = self.connection.prepare(SELECT_STAMP)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    fn write(
        &mut self,
        look: Refresh,
        read: &[(&KnownFile, FileContents)],
        gone: &[&String],
    ) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if look == Refresh::AtAll {
            // Within the transaction: no other process may see an empty list.
            make(&transaction)?;
        }
        let names = read.iter().map(|(file, _)| &file.name);
        for name in names.chain(gone.iter().copied()) {
            transaction.execute("DELETE FROM record WHERE file = ?1", [name])?;
            transaction.execute("DELETE FROM unread WHERE file = ?1", [name])?;
        }
        for (file, held) in read {
            match held {
                FileContents::Record(outline) => insert(&transaction, file, outline)?,
                FileContents::Other(why) => insert_unread(&transaction, file, why)?,
                // Without a stamp it is looked at again the next time.
                FileContents::Unknown(why) => {
                    let name = file.name.clone();
                    let stamp = String::new();
                    insert_unread(&transaction, &KnownFile { name, stamp }, why)?;
                }
                FileContents::Nothing => {}
            }
        }
        transaction.commit()
    }

    /// The records that a query selects, newest first.
    pub(super) fn find(&self, query: &Query) -> Result<Listing, HistoryError> {
        let text = query.text.as_ref().map(|text| text.to_lowercase());
        let limit = query.limit.and_then(|limit| i64::try_from(limit).ok());
        let result = (|| {
            // Others may write in between: all of this is read at one time.
            let _at_one_time = self.connection.unchecked_transaction()?;
            let (measured, others): (usize, usize) =
                self.connection
                    .query_row(COUNT, [&text], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let (total, unmeasured) = if query.with_unmeasured {
                (measured + others, 0)
            } else {
                (measured, others)
            };
            // A limit below zero is none.
            let mut statement = self.connection.prepare(SELECT_RECORD)?;
            let rows = statement.query_map(
                params![text, limit.unwrap_or(-1), query.with_unmeasured],
                entry,
            )?;
            let mut entries = rows.collect::<rusqlite::Result<Vec<Entry>>>()?;
            for entry in &mut entries {
                entry.outline.comparisons = self.comparisons(&entry.file)?;
            }
            let mut statement = self.connection.prepare(SELECT_UNREAD)?;
            let unread = statement.query_map([], |row| {
                Ok(UnreadFile {
                    file: row.get(0)?,
                    why: row.get(1)?,
                })
            })?;
            Ok(Listing {
                left_out: total.saturating_sub(entries.len()),
                unmeasured,
                entries,
                unread: unread.collect::<rusqlite::Result<_>>()?,
            })
        })();
        result.map_err(|source| self.failed(source))
    }

    fn comparisons(&self, file: &str) -> rusqlite::Result<Vec<OutlineComparison>> {
        let mut statement = self.connection.prepare(SELECT_COMPARISON)?;
        let rows = statement.query_map([file], |row| {
            Ok(OutlineComparison {
                load: row.get(0)?,
                subject: row.get(1)?,
                baseline: row.get(2)?,
                metric: word(row, 3)?,
                ratio: row.get(4)?,
                low: row.get(5)?,
                high: row.get(6)?,
                verdict: word(row, 7)?,
                blocks: row.get(8)?,
            })
        })?;
        rows.collect()
    }

    fn failed(&self, source: rusqlite::Error) -> HistoryError {
        HistoryError::Index {
            path: self.path.clone(),
            source,
        }
    }
}

/// Opens an index whose tables are there and whole.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    // An index that a loss of power spoils is made again from the records; waiting for a slow disk
    // would keep other processes from the index for nothing.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let version = |connection: &Connection| -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    if version(&connection)? != VERSION {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        if version(&transaction)? != VERSION {
            make(&transaction)?;
        }
        transaction.commit()?;
    }
    let health: String =
        connection.pragma_query_value(None, "integrity_check", |row| row.get(0))?;
    if health != "ok" {
        return Err(damage(&health));
    }
    for statement in [
        SELECT_RECORD,
        SELECT_COMPARISON,
        SELECT_STAMP,
        SELECT_UNREAD,
    ] {
        connection.prepare(statement)?;
    }
    Ok(connection)
}

/// Empties a file of which nothing can be read.
///
/// SUBTLE: The file stays the same one. Were it removed, a process that still
/// holds it would take the journal of the new one, which has that name, for its
/// own, and spoil both.
///
/// Source: <https://sqlite.org/c3ref/c_dbconfig_defensive.html>,
/// `SQLITE_DBCONFIG_RESET_DATABASE`.
fn empty(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    connection.execute_batch("VACUUM")
}

/// Makes the tables again, whatever there was.
fn make(transaction: &Transaction) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(
        "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE \
         'sqlite!_%' ESCAPE '!'",
    )?;
    let others = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let others = others.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    // Those that point at others go before them.
    for (kind, name) in others.iter().rev() {
        let name = name.replace('"', "\"\"");
        transaction.execute_batch(&format!("DROP {kind} \"{name}\""))?;
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", VERSION)
}

/// Whether the file is no index of ours, or no longer.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    )
}

fn damage(message: &str) -> rusqlite::Error {
    let corrupt = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    rusqlite::Error::SqliteFailure(corrupt, Some(message.to_owned()))
}

fn insert(transaction: &Transaction, file: &KnownFile, outline: &Outline) -> rusqlite::Result<()> {
    let id = id_of_file(&file.name);
    transaction
        .prepare(
            "INSERT INTO record VALUES \
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        )?
        .execute(params![
            file.name,
            file.stamp,
            id,
            name(&outline.kind),
            i64::try_from(outline.started_unix_ms).unwrap_or(i64::MAX),
            outline.elapsed_s,
            json(&outline.subjects),
            json(&outline.loads),
            verdicts(outline),
            outline.blocks,
            outline.is_measured,
            outline.throughput_per_s,
            json(&outline.machine),
            // A seed may be larger than the largest integer of a table.
            outline.seed.map(|seed| seed.to_string()),
            outline.abx_version,
            words(&file.name, outline),
            outline.study,
            outline.label,
            { outline.search.as_ref() }.map(json),
        ])?;
    let mut statement = transaction
        .prepare("INSERT INTO comparison VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    for (place, outline_comparison) in outline.comparisons.iter().enumerate() {
        statement.execute(params![
            file.name,
            place,
            outline_comparison.load,
            outline_comparison.subject,
            outline_comparison.baseline,
            name(&outline_comparison.metric),
            outline_comparison.ratio,
            outline_comparison.low,
            outline_comparison.high,
            name(&outline_comparison.verdict),
            outline_comparison.blocks,
        ])?;
    }
    Ok(())
}

fn insert_unread(transaction: &Transaction, file: &KnownFile, why: &str) -> rusqlite::Result<()> {
    let values = [&file.name, &file.stamp, why];
    transaction.execute("INSERT INTO unread VALUES (?1, ?2, ?3)", values)?;
    Ok(())
}

/// A row of [`SELECT_RECORD`]; its comparisons are in a table of their own.
fn entry(row: &Row) -> rusqlite::Result<Entry> {
    let file: String = row.get(0)?;
    let seed: Option<String> = row.get(9)?;
    let started: i64 = row.get(2)?;
    Ok(Entry {
        id: id_of_file(&file)[..ID_LETTERS].to_owned(),
        file,
        outline: Outline {
            kind: word::<RecordKind>(row, 1)?,
            started_unix_ms: u64::try_from(started).unwrap_or_default(),
            elapsed_s: row.get(3)?,
            subjects: parsed(row, 4)?,
            loads: parsed(row, 5)?,
            comparisons: Vec::new(),
            blocks: row.get(6)?,
            throughput_per_s: row.get(7)?,
            machine: parsed(row, 8)?,
            seed: seed.and_then(|seed| seed.parse().ok()),
            abx_version: row.get(10)?,
            is_measured: row.get(11)?,
            study: row.get(12)?,
            label: row.get(13)?,
            search: { row.get::<_, Option<String>>(14)? }
                .map(|text| from_json(&text, 14))
                .transpose()?,
        },
    })
}

/// Verdicts in short, for a reader of the table itself.
fn verdicts(outline: &Outline) -> String {
    let counts = outline.verdicts();
    let each = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", name(verdict)));
    each.collect::<Vec<_>>().join(", ")
}

/// All that a search may find anywhere in it, in lower case. An id is found by
/// its beginning only, or short words would be found in it by chance.
fn words(file: &str, outline: &Outline) -> String {
    let mut words = vec![file.to_owned()];
    words.extend(outline.loads.iter().cloned());
    words.extend(outline.study.clone());
    words.extend(outline.label.clone());
    for subject in &outline.subjects {
        words.push(subject.name.clone());
        words.extend(subject.version.clone());
        words.extend(subject.address.clone());
        words.push(subject.command.join(" "));
    }
    // A search must not run from one word into the next.
    words.join("\n").to_lowercase()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("every key is a string")
}

/// The word by which a closed choice is stored, as in records.
fn name(value: &impl Serialize) -> String {
    json(value).trim_matches('"').to_owned()
}

fn word<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let word: String = row.get(column)?;
    from_json(&json(&word), column)
}

fn parsed<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    from_json(&text, column)
}

fn from_json<T: DeserializeOwned>(text: &str, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}
