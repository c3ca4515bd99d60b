//! Rows of a table as an array of PHP's: values by their names.

use std::error::Error;
use std::str;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::types::{ArrayKey, ZendHashTable, ZendStr, Zval};
use scylla::deserialize::row::ColumnIterator;
use scylla::response::query_result::QueryRowsResult;

/// The last column of each row is the value, those before it its names. Where it has two of
/// them, the array has an array for each of the first.
///
/// # Errors
/// The rows are not what their frame says.
pub fn array_of(rows: &QueryRowsResult) -> Result<ZBox<ZendHashTable>, Box<dyn Error>> {
    let mut array = ZendHashTable::new();
    for row in rows.rows::<ColumnIterator>()? {
        let mut columns = row?;
        let columns_len = columns.len();
        let mut next = || {
            let column = columns.next().ok_or("a row ends too soon")??;
            Ok::<_, Box<dyn Error>>(column.slice.map(|slice| slice.as_slice()))
        };
        let name = string(next()?.unwrap_or_default());
        if columns_len == 2 {
            array.insert(key(&name), value(next()?))?;
            continue;
        }
        if array.get(key(&name)).is_none() {
            array.insert(key(&name), ZendHashTable::new())?;
        }
        let inner = array.get_mut(key(&name)).and_then(Zval::array_mut);
        let inner = inner.ok_or("an array is none")?;
        let name = string(next()?.unwrap_or_default());
        inner.insert(key(&name), value(next()?))?;
    }
    Ok(array)
}

fn string(bytes: &[u8]) -> ZBox<ZendStr> {
    ZendStr::new(bytes, false)
}

fn value(bytes: Option<&[u8]>) -> Zval {
    let mut value = Zval::null();
    if let Some(bytes) = bytes {
        value.set_zend_string(string(bytes));
    }
    value
}

/// Names that are written as PHP writes numbers are numbers in its arrays.
fn key(name: &ZendStr) -> ArrayKey<'_> {
    let text = str::from_utf8(name.as_bytes()).unwrap_or_default();
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => ArrayKey::Long(number),
        _ => ArrayKey::ZendString(name),
    }
}
