//! The rows of a record, read from its columns as another program would.

use serde_json::{Value, json};

/// All slices of one subject.
pub fn slices(record: &Value, subject: &str) -> Vec<Value> {
    let list = |value: &Value, key: &str| value[key].as_array().unwrap().clone();
    let blocks = list(record, "blocks").into_iter();
    let loads = blocks.flat_map(|block| list(&block, "loads"));
    let slices = loads.flat_map(|load| {
        let counts = list(&load["rounds"], "slices");
        let count: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
        let count = usize::try_from(count).unwrap();
        (0..count)
            .map(|index| slice(&load["slices"], index))
            .collect::<Vec<_>>()
    });
    slices.filter(|slice| slice["subject"] == subject).collect()
}

/// The only slice of a run.
pub fn only_slice(record: &Value) -> Value {
    let subject = record["subjects"][0]["name"].as_str().unwrap();
    let mut slices = slices(record, subject);
    assert_eq!(slices.len(), 1, "{record}");
    slices.remove(0)
}

/// The response of a run's server before the load.
pub fn response(record: &Value) -> &Value {
    let subject = record["subjects"][0]["name"].as_str().unwrap();
    &record["loads"][0]["answers"][subject][0]
}

/// A slice, with zeroes for columns that were left out because they have nothing but zeroes.
fn slice(columns: &Value, index: usize) -> Value {
    let mut slice = row(columns, index);
    let cells = slice.as_object_mut().unwrap();
    for key in ["sent", "completed", "ok"] {
        cells.entry(key).or_insert(json!(0));
    }
    cells.entry("outcomes").or_insert(json!({}));
    slice
}

/// The readings of one subject over one load of a block.
pub fn readings(load: &Value, subject: &str) -> Value {
    let subjects = load["sides"]["subjects"].as_array().unwrap();
    let index = subjects.iter().position(|name| name == subject).unwrap();
    row(&load["sides"]["readings"], index)
}

fn row(columns: &Value, index: usize) -> Value {
    let columns = columns.as_object().unwrap().iter();
    let cells = columns.filter_map(|(key, column)| Some((key.clone(), cell(column, index)?)));
    Value::Object(cells.collect())
}

fn cell(column: &Value, index: usize) -> Option<Value> {
    if let Some(values) = column.as_array() {
        return Some(values[index].clone());
    }
    if let Some(names) = column.get("names") {
        let name = column["rows"][index].as_u64().unwrap();
        return Some(names[usize::try_from(name).unwrap()].clone());
    }
    let Some(values) = column.get("values") else {
        return Some(row(column, index));
    };
    let position = match column.get("rows") {
        Some(rows) => rows
            .as_array()
            .unwrap()
            .iter()
            .position(|row| *row == index)?,
        None => index,
    };
    Some(row(values, position))
}
