//! A connection to a node of Cassandra, over CQL: a session of a driver that was made for
//! programs with many threads, in a process that has one. It belongs to the process that
//! has opened it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::ToSocketAddrs;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{ExecutionError, PrepareError, RequestAttemptError};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::query_result::{QueryResult, QueryRowsResult};
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;
use tokio::runtime::{Builder, Runtime};
use tokio::{task, time};

/// A node that takes longer is as good as gone.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often the driver asks the node of its own accord: never while a page is served.
const REFRESH: Duration = Duration::from_secs(24 * 60 * 60);

/// As many turns of the runtime as the end of a connection takes from its socket to the
/// driver's own list of connections, and some.
const TURNS: usize = 5;

/// A session, and what its tasks run on: this thread, while one of the functions here runs.
pub struct Connection {
    owner: u32,
    session: Session,
    /// By the texts with which they were asked for first.
    statements: HashMap<String, PreparedStatement>,
    runtime: Runtime,
}

/// Which columns are wanted.
pub struct Partition<'a> {
    pub keyspace: &'a str,
    pub table: &'a str,
    pub key: &'a str,
    /// Of names that have two parts, those with this first one.
    pub first_name: Option<&'a str>,
}

/// Why there is no response.
pub enum Failure {
    /// The connection is as it was.
    Refused(String),
    /// The connection must not be used any more.
    Lost(String),
}

impl Connection {
    /// Opens it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(host: &str, port: u16) -> Result<Connection, String> {
        // Here, since the runtime would have a thread do it.
        let addresses = (host, port)
            .to_socket_addrs()
            .map_err(|error| error.to_string())?;
        // The driver has one thing done by a thread of the runtime's; it ends soon after.
        let runtime = Builder::new_current_thread()
            .enable_all()
            .thread_keep_alive(Duration::from_millis(1))
            .build()
            .map_err(|error| error.to_string())?;
        let profile = ExecutionProfile::builder()
            .request_timeout(None)
            .retry_policy(Arc::new(FallthroughRetryPolicy))
            .build();
        let mut builder = SessionBuilder::new()
            .known_nodes_addr(addresses)
            .default_execution_profile_handle(profile.into_handle())
            .connection_timeout(TIMEOUT)
            .fetch_schema_metadata(false)
            .fetch_full_schema_metadata(false)
            .cluster_metadata_refresh_interval(REFRESH)
            .disallow_shard_aware_port(true)
            // There is one request at a time, so nothing to wait for before it is sent.
            .write_coalescing(false);
        // SUBTLE: a question between two pages would be answered in the second of them, and by
        // then be held to have taken too long.
        builder.config.keepalive_interval = None;
        let session = runtime.block_on(async { time::timeout(TIMEOUT, builder.build()).await });
        let connection = Connection {
            owner: process::id(),
            session: session
                .map_err(|_| too_long())?
                .map_err(|error| error.to_string())?,
            statements: HashMap::new(),
            runtime,
        };
        if !connection.reaches_a_node() {
            return Err("the node cannot be reached where it says that it is".to_owned());
        }
        Ok(connection)
    }

    /// Whether this process has opened it; a fork of that must not use it.
    pub fn is_own(&self) -> bool {
        self.owner == process::id()
    }

    /// Whether the node has not closed it.
    pub fn is_alive(&self) -> bool {
        self.runtime.block_on(async {
            for _ in 0..TURNS {
                task::yield_now().await;
            }
        });
        self.reaches_a_node()
    }

    /// What the driver knew of it when it ran last.
    fn reaches_a_node(&self) -> bool {
        let cluster = self.session.get_cluster_state();
        cluster
            .get_nodes_info()
            .iter()
            .any(|node| node.is_connected())
    }

    /// Reads.
    ///
    /// # Errors
    /// [`Failure`]: there are none to be had.
    pub fn read(
        &mut self,
        partition: &Partition,
        level: Consistency,
    ) -> Result<QueryRowsResult, Failure> {
        let Connection {
            session,
            statements,
            runtime,
            ..
        } = self;
        let result = runtime.block_on(async {
            let read = read(session, statements, partition, level);
            time::timeout(TIMEOUT, read).await
        });
        let result = result.map_err(|_| Failure::Lost(too_long()))??;
        result
            .into_rows_result()
            .map_err(|error| Failure::Lost(error.to_string()))
    }
}

async fn read(
    session: &Session,
    statements: &mut HashMap<String, PreparedStatement>,
    partition: &Partition<'_>,
    level: Consistency,
) -> Result<QueryResult, Failure> {
    let table = format!("{}.{}", quoted(partition.keyspace), quoted(partition.table));
    let text = match partition.first_name {
        Some(_) => format!("SELECT column2, value FROM {table} WHERE key = ? AND column1 = ?"),
        None => format!("SELECT * FROM {table} WHERE key = ?"),
    };
    let statement = match statements.entry(text) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(unknown) => {
            let mut statement = session.prepare(unknown.key().as_str()).await?;
            if partition.first_name.is_none() {
                let text = names_and_value(&statement, &table)?;
                statement = session.prepare(text).await?;
            }
            unknown.insert(statement)
        }
    };
    statement.set_consistency(level);
    let result = match partition.first_name {
        Some(name) => {
            session
                .execute_unpaged(statement, (partition.key, name))
                .await
        }
        None => session.execute_unpaged(statement, (partition.key,)).await,
    };
    Ok(result?)
}

/// What to ask for instead of all columns of a table: not for its key again in each row.
fn names_and_value(all: &PreparedStatement, table: &str) -> Result<String, Failure> {
    let columns = all.get_current_result_set_col_specs();
    let columns: Vec<&str> = columns.get().iter().map(|column| column.name()).collect();
    match columns[..] {
        ["key", "column1", "value"] | ["key", "column1", "column2", "value"] => {}
        _ => {
            let columns = columns.join(", ");
            return Err(Failure::Refused(format!(
                "{table} is no table of rows by key, column1 and value: it has {columns}"
            )));
        }
    }
    let wanted = columns[1..].join(", ");
    Ok(format!("SELECT {wanted} FROM {table} WHERE key = ?"))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn too_long() -> String {
    format!("no answer within {} s", TIMEOUT.as_secs())
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Failure {
        match error {
            PrepareError::AllAttemptsFailed { first_attempt, .. } => first_attempt.into(),
            other => Failure::Lost(other.to_string()),
        }
    }
}

impl From<ExecutionError> for Failure {
    fn from(error: ExecutionError) -> Failure {
        match error {
            ExecutionError::LastAttemptError(error) => error.into(),
            ExecutionError::PrepareError(error) => error.into(),
            ExecutionError::BadQuery(error) => Failure::Refused(error.to_string()),
            other => Failure::Lost(other.to_string()),
        }
    }
}

impl From<RequestAttemptError> for Failure {
    fn from(error: RequestAttemptError) -> Failure {
        match error {
            RequestAttemptError::DbError(_, why) => {
                Failure::Refused(format!("the node refuses: {why}"))
            }
            other => Failure::Lost(other.to_string()),
        }
    }
}
