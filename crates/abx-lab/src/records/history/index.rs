//! The index of a folder of records: an SQLite file next to them.

use std::collections::{BTreeMap, BTreeSet};
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
    /// How many records are listed at most; `None` for all.
    pub limit: Option<usize>,
    /// Whether studies that failed before anything was measured are listed too.
    pub with_unmeasured: bool,
}

const NAME: &str = "history.sqlite3";
/// Must be raised with each change of [`TABLES`] or of their content.
const VERSION: i64 = 10;
/// How long to wait for another process that writes, which takes each of them only a moment.
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

/// Which files are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refresh {
    /// Files that have changed since the index was written.
    Changed,
    Every,
}

/// The result of a query.
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    pub(super) left_out: usize,
    pub(super) unmeasured: usize,
    pub(super) unread: Vec<UnreadFile>,
}

impl Index {
    /// Opens the index in this folder. It is empty if there was none, or none that can be used.
    pub(super) fn open_in(folder: &Path) -> Result<Index, HistoryError> {
        let path = folder.join(NAME);
        let connection = match connect(&path) {
            Ok(connection) => connection,
            Err(source) if is_damage(&source) => Index::reset_in(folder)?,
            Err(source) => return Err(HistoryError::Index { path, source }),
        };
        Ok(Index { connection, path })
    }

    /// An empty index that no file keeps.
    pub(super) fn in_memory() -> Result<Index, HistoryError> {
        let path = PathBuf::from(":memory:");
        match connect(&path) {
            Ok(connection) => Ok(Index { connection, path }),
            Err(source) => Err(HistoryError::Index { path, source }),
        }
    }

    /// Empties the damaged index in this folder, unless another process has done so first.
    fn reset_in(folder: &Path) -> Result<Connection, HistoryError> {
        let lock = File::open(folder).and_then(|folder| {
            rustix::fs::flock(&folder, FlockOperation::LockExclusive)?;
            Ok(folder)
        });
        let _lock = lock.map_err(|source| HistoryError::Lock {
            folder: folder.to_owned(),
            source,
        })?;
        let path = folder.join(NAME);
        // SUBTLE: Another process may have emptied the index while this one waited for the lock.
        // It may be filling the index by now, whose content must then stay.
        match connect(&path) {
            Err(source) if is_damage(&source) => empty(&path).and_then(|()| connect(&path)),
            result => result,
        }
        .map_err(|source| HistoryError::Index { path, source })
    }

    /// Brings the index up to date with the files of a folder.
    pub(super) fn refreshed(
        mut self,
        folder: &Path,
        refresh: Refresh,
    ) -> Result<Index, HistoryError> {
        let present = files(folder)?;
        let known = match refresh {
            Refresh::Changed => self.known().map_err(|source| self.failed(source))?,
            Refresh::Every => BTreeMap::new(),
        };
        let is_known = |file: &KnownFile| known.get(&file.name) == Some(&file.stamp);
        let stale: Vec<&KnownFile> = present.iter().filter(|file| !is_known(file)).collect();
        let names: BTreeSet<&String> = present.iter().map(|file| &file.name).collect();
        let gone: Vec<&String> = known.keys().filter(|name| !names.contains(name)).collect();
        if refresh == Refresh::Changed && stale.is_empty() && gone.is_empty() {
            return Ok(self);
        }
        // The files are read before the index is locked, so that no process waits for them.
        let contents: Vec<(&KnownFile, FileContents)> = stale
            .into_iter()
            .map(|file| (file, read(folder, &file.name)))
            .collect();
        self.write(refresh, &contents, &gone)
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
        refresh: Refresh,
        contents: &[(&KnownFile, FileContents)],
        gone: &[&String],
    ) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if refresh == Refresh::Every {
            // Within the transaction, so that no other process sees an empty list.
            create_tables(&transaction)?;
        }
        let names = contents.iter().map(|(file, _)| &file.name);
        for name in names.chain(gone.iter().copied()) {
            transaction.execute("DELETE FROM record WHERE file = ?1", [name])?;
            transaction.execute("DELETE FROM unread WHERE file = ?1", [name])?;
        }
        for (file, content) in contents {
            match content {
                FileContents::Record(outline) => insert(&transaction, file, outline)?,
                FileContents::Other(why) => insert_unread(&transaction, file, why)?,
                // A file without a stamp is read again next time.
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
            // Other processes may write in between, so one transaction reads everything.
            let _transaction = self.connection.unchecked_transaction()?;
            let (measured, unmeasured): (usize, usize) =
                self.connection
                    .query_row(COUNT, [&text], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let (total, hidden) = if query.with_unmeasured {
                (measured + unmeasured, 0)
            } else {
                (measured, unmeasured)
            };
            // SQLite takes a negative limit for none.
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
                unmeasured: hidden,
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

/// Opens an index, creates its tables if they are missing or of another version, and checks them.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    // An index that a power loss damages is rebuilt from the records. Waiting for a slow disk would
    // only keep other processes from the index.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let version = |connection: &Connection| -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, "user_version", |row| row.get(0))
    };
    if version(&connection)? != VERSION {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        if version(&transaction)? != VERSION {
            create_tables(&transaction)?;
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

/// Empties an unreadable index.
///
/// SUBTLE: The file is emptied instead of replaced. A process that still has the removed file open
/// would take the journal of the new file, which has the same name, for its own and corrupt both.
///
/// Source: <https://sqlite.org/c3ref/c_dbconfig_defensive.html>,
/// `SQLITE_DBCONFIG_RESET_DATABASE`.
fn empty(path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    connection.execute_batch("VACUUM")
}

/// Creates the tables in place of any that there are.
fn create_tables(transaction: &Transaction) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare(
        "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE \
         'sqlite!_%' ESCAPE '!'",
    )?;
    let existing = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let existing = existing.collect::<rusqlite::Result<Vec<(String, String)>>>()?;
    // A table that refers to another is dropped first.
    for (kind, name) in existing.iter().rev() {
        let name = name.replace('"', "\"\"");
        transaction.execute_batch(&format!("DROP {kind} \"{name}\""))?;
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", VERSION)
}

/// Whether the file is damaged, or is no index of abx.
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
            // A seed may exceed the largest integer of SQLite.
            outline.seed.map(|seed| seed.to_string()),
            outline.abx_version,
            words(&file.name, outline),
            outline.study,
            outline.label,
            outline.search.as_ref().map(json),
        ])?;
    let mut statement = transaction
        .prepare("INSERT INTO comparison VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    for (place, comparison) in outline.comparisons.iter().enumerate() {
        statement.execute(params![
            file.name,
            place,
            comparison.load,
            comparison.subject,
            comparison.baseline,
            name(&comparison.metric),
            comparison.ratio,
            comparison.low,
            comparison.high,
            name(&comparison.verdict),
            comparison.blocks,
        ])?;
    }
    Ok(())
}

fn insert_unread(transaction: &Transaction, file: &KnownFile, why: &str) -> rusqlite::Result<()> {
    let values = [&file.name, &file.stamp, why];
    transaction.execute("INSERT INTO unread VALUES (?1, ?2, ?3)", values)?;
    Ok(())
}

/// The entry of a row of [`SELECT_RECORD`], without comparisons, which another table has.
fn entry(row: &Row) -> rusqlite::Result<Entry> {
    let file: String = row.get(0)?;
    let started: i64 = row.get(2)?;
    let seed: Option<String> = row.get(9)?;
    let search: Option<String> = row.get(14)?;
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
            search: search.map(|text| from_json(&text, 14)).transpose()?,
        },
    })
}

/// Verdicts in short, for a reader of the table itself.
fn verdicts(outline: &Outline) -> String {
    let counts = outline.verdicts();
    let texts = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {}", name(verdict)));
    texts.collect::<Vec<_>>().join(", ")
}

/// The text that a search matches anywhere, in lower case. It lacks the id, which matches only from
/// its first letter: short words would match anywhere in it by chance.
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
    // A match must not span two words.
    words.join("\n").to_lowercase()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("every key is a string")
}

/// The name by which a value of an enum is stored, as in records.
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
