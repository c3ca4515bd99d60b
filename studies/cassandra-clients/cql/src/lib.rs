//! PHP's functions to read rows of Cassandra over CQL. The connection lives as long as the
//! process. Whatever goes wrong is a warning, and the response is false.

mod array;
mod connection;

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ext_php_rs::error::php_error;
use ext_php_rs::flags::ErrorType;
use ext_php_rs::prelude::*;
use ext_php_rs::types::Zval;
use ext_php_rs::zend::ce;
use scylla::statement::Consistency;

use crate::array::array_of;
use crate::connection::{Connection, Failure, Partition};

/// One node answers.
#[php_const]
pub const CQL_ONE: i64 = 1;

/// Most of them do.
#[php_const]
pub const CQL_QUORUM: i64 = 4;

/// All of them do.
#[php_const]
pub const CQL_ALL: i64 = 5;

/// Opened by `cql_connect`, in this process or in one that this is a fork of.
static CONNECTION: Mutex<Option<Connection>> = Mutex::new(None);

/// The connection of this process. Nothing of PHP may be called while it is held: PHP may
/// leave by a jump, and nobody would ever get it again.
fn own() -> MutexGuard<'static, Option<Connection>> {
    let mut held = CONNECTION.lock().unwrap_or_else(PoisonError::into_inner);
    // SUBTLE: a fork has its parent's sockets, and shares the parent's epoll instance: to
    // drop the connection would take the sockets out of that. So it is left as it is.
    if held.as_ref().is_some_and(|connection| !connection.is_own()) {
        mem::forget(held.take());
    }
    held
}

/// Whether this process has a connection that the node has not closed.
#[php_function]
pub fn cql_is_connected() -> bool {
    let mut held = own();
    let is_alive = held.as_ref().is_some_and(Connection::is_alive);
    if !is_alive {
        *held = None;
    }
    is_alive
}

/// True, or a warning and false.
#[php_function]
pub fn cql_connect(host: &str, port: i64) -> PhpResult<bool> {
    let Some(number) = u16::try_from(port).ok().filter(|&port| port > 0) else {
        return Err(wrong_value(
            "cql_connect(): Argument #2 ($port) must be between 1 and 65535",
        ));
    };
    let opened = {
        let mut held = own();
        *held = None;
        Connection::open(host, number).map(|connection| *held = Some(connection))
    };
    Ok(match opened {
        Ok(()) => true,
        Err(why) => {
            warn(&format!("no connection to {host}:{port}: {why}"));
            false
        }
    })
}

#[php_function]
pub fn cql_disconnect() {
    *own() = None;
}

/// The columns of a row by name; for a table with two names for each of them, which a super
/// column family is to CQL, arrays of them. A warning and false.
#[php_function]
#[php(defaults(consistency = CQL_ONE))]
pub fn cql_get_row(keyspace: &str, table: &str, key: &str, consistency: i64) -> PhpResult<Zval> {
    let partition = Partition {
        keyspace,
        table,
        key,
        first_name: None,
    };
    let Some(level) = level(consistency) else {
        return Err(wrong_value(&no_level("cql_get_row", 4)));
    };
    Ok(response(&partition, level))
}

/// Those columns of such a table that share their first name, by the second; what Thrift
/// calls a super column. A warning and false.
#[php_function]
#[php(defaults(consistency = CQL_ONE))]
pub fn cql_get_super_column(
    keyspace: &str,
    table: &str,
    key: &str,
    super_column: &str,
    consistency: i64,
) -> PhpResult<Zval> {
    let partition = Partition {
        keyspace,
        table,
        key,
        first_name: Some(super_column),
    };
    let Some(level) = level(consistency) else {
        return Err(wrong_value(&no_level("cql_get_super_column", 5)));
    };
    Ok(response(&partition, level))
}

fn response(partition: &Partition, level: Consistency) -> Zval {
    let found = {
        let mut held = own();
        let found = match held.as_mut() {
            Some(connection) => connection.read(partition, level),
            None => Err(Failure::Refused(
                "not connected: call cql_connect first".to_owned(),
            )),
        };
        // After a refusal it goes on; after anything else nobody knows what comes next on it.
        if matches!(found, Err(Failure::Lost(_))) {
            *held = None;
        }
        found
    };
    let mut response = Zval::new();
    response.set_bool(false);
    match found {
        Ok(rows) => match array_of(&rows) {
            Ok(array) => response.set_hashtable(array),
            Err(error) => warn(&format!("the node's answer cannot be read: {error}")),
        },
        Err(Failure::Refused(why)) => warn(&why),
        Err(Failure::Lost(why)) => warn(&format!("the connection is lost: {why}")),
    }
    response
}

fn level(consistency: i64) -> Option<Consistency> {
    match consistency {
        CQL_ONE => Some(Consistency::One),
        CQL_QUORUM => Some(Consistency::Quorum),
        CQL_ALL => Some(Consistency::All),
        _ => None,
    }
}

fn no_level(function: &str, argument: u32) -> String {
    format!(
        "{function}(): Argument #{argument} ($consistency) must be one of CQL_ONE, CQL_QUORUM \
         and CQL_ALL"
    )
}

fn wrong_value(text: &str) -> PhpException {
    PhpException::new(text.to_owned(), 0, ce::value_error())
}

/// A text with a NUL would not be said at all.
fn warn(text: &str) {
    php_error(&ErrorType::Warning, &text.replace('\0', ""));
}

#[php_module]
pub fn get_module(module: ModuleBuilder) -> ModuleBuilder {
    module
        .function(wrap_function!(cql_is_connected))
        .function(wrap_function!(cql_connect))
        .function(wrap_function!(cql_disconnect))
        .function(wrap_function!(cql_get_row))
        .function(wrap_function!(cql_get_super_column))
        .constant(wrap_constant!(CQL_ONE))
        .constant(wrap_constant!(CQL_QUORUM))
        .constant(wrap_constant!(CQL_ALL))
}
