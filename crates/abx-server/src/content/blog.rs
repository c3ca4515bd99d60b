//! A page that is rendered for each request, from rows of a database and a template.
//!
//! It stands for the work of an application, while a fixed page only measures the server: an
//! SQLite query, and a page rendered from its result.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use minijinja::{Environment, context};
use rusqlite::{Connection, OpenFlags};

use crate::config::BlogError;

/// The blog: its table and its template.
#[derive(Debug)]
pub(crate) struct Blog {
    /// Idle connections to the database, which threads share.
    spare: Mutex<Vec<Connection>>,
    is_spare: Condvar,
    template: Environment<'static>,
}

impl Blog {
    /// Creates the table in memory, because a file would outlive a process that a signal ends.
    pub(crate) fn open(rows: u32) -> Result<Blog, BlogError> {
        let database = memory_database();
        let mut writer = Connection::open(&database)?;
        writer.execute_batch(
            "CREATE TABLE blog (id INTEGER PRIMARY KEY, title TEXT NOT NULL, \
             body TEXT NOT NULL, lock_revision INTEGER NOT NULL)",
        )?;
        let transaction = writer.transaction()?;
        for number in 1..=rows {
            transaction.execute(
                "INSERT INTO blog VALUES (?1, ?2, ?3, 1)",
                (number, format!("Entry {number}"), "A row of the table."),
            )?;
        }
        transaction.commit()?;
        let open = |_| {
            let connection =
                Connection::open_with_flags(&database, OpenFlags::SQLITE_OPEN_READ_ONLY | URI)?;
            // SQLite opens the database at the first read. The last connection to close
            // deletes it, so the writer must stay open until here.
            read_rows(&connection)?;
            Ok(connection)
        };
        let spare: Vec<_> = (0..CONNECTIONS)
            .map(open)
            .collect::<Result<_, BlogError>>()?;
        let mut template = Environment::new();
        template.add_template(PAGE, include_str!("blog.html"))?;
        Ok(Blog {
            spare: Mutex::new(spare),
            is_spare: Condvar::new(),
            template,
        })
    }

    /// Renders the page.
    pub(crate) fn page(&self) -> Result<String, BlogError> {
        let connection = self.take();
        let rows = read_rows(&connection);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push(connection);
        drop(spare);
        self.is_spare.notify_one();
        let rows: Vec<_> = rows?
            .into_iter()
            .map(|(id, title, body)| context! { id, title, body })
            .collect();
        Ok(self
            .template
            .get_template(PAGE)?
            .render(context! { rows })?)
    }

    fn take(&self) -> Connection {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match spare.pop() {
                Some(connection) => return connection,
                None => {
                    let woken = self.is_spare.wait(spare);
                    spare = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// The address of a new database that all connections of this process can share.
///
/// SUBTLE: `cache=shared` would let only one connection read at a time. The file system `memdb`
/// gives each connection a separate cache and locks, as for files, if the name starts with `/`.
fn memory_database() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("file:/blog-{number}?vfs=memdb")
}

type Row = (i64, String, String);

fn read_rows(connection: &Connection) -> Result<Vec<Row>, rusqlite::Error> {
    let mut query = connection.prepare("SELECT id, title, body FROM blog ORDER BY id")?;
    let rows = query.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    rows.collect()
}

/// The template's name, whose ending enables HTML escaping.
const PAGE: &str = "index.html";

/// How many threads can read at once; others wait.
const CONNECTIONS: usize = 20;

/// Makes SQLite accept an address instead of a file name.
const URI: OpenFlags = OpenFlags::SQLITE_OPEN_URI;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_an_empty_table_has_421_bytes_and_rows_make_it_longer() {
        // Method: no row, and three; each row is in the page, and the page is always the same.
        let empty = Blog::open(0).unwrap();
        assert_eq!(empty.page().unwrap().len(), 421);
        let blog = Blog::open(3).unwrap();
        let page = blog.page().unwrap();
        assert_eq!(page.matches("<td>A row of the table.</td>").count(), 3);
        assert!(page.contains("<td>3</td>") && page.contains("<td>Entry 3</td>"));
        assert_eq!(blog.page().unwrap(), page);
    }

    #[test]
    fn readers_without_a_connection_wait_for_one() {
        // Method: three times as many threads as there are connections, twice each.
        let blog = Blog::open(1).unwrap();
        std::thread::scope(|scope| {
            let read = || (blog.page().unwrap().len(), blog.page().unwrap().len());
            let readers: Vec<_> = (0..3 * CONNECTIONS).map(|_| scope.spawn(read)).collect();
            for reader in readers {
                let (first, second) = reader.join().unwrap();
                assert!(first == second && first > 421);
            }
        });
    }
}
