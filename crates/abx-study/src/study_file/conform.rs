//! Compares a file with the JSON Schema of [`super::raw`], so that an editor marks and abx refuses
//! the same errors.

use std::sync::LazyLock;

use abx_model::LoadShape;
use abx_model::load_keys::SHAPES;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use toml::de::{DeArray, DeTable, DeValue};

use super::document::{PathStep, TomlDocument, key, kind};
use super::mistake::{Diagnostic, short, such_as};
use super::nearest::meant;
use super::raw::{RawOffer, RawStudy};

/// Keys that are reserved for later, by table; the top table has no name.
const KEYS_NOT_YET: [(&str, &[&str]); 2] =
    [("", &["factor", "rate", "stages"]), ("load", &["stages"])];

/// The JSON Schema of study files: draft 7, which editors support best, and without `null`, which
/// TOML does not have.
#[must_use]
pub fn schema() -> Value {
    let mut schema = schema_of::<RawStudy>();
    remove_shapes(&mut schema);
    schema
}

/// Removes the parts that only [`key_suits`] reads.
fn remove_shapes(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove(SHAPES);
            object.values_mut().for_each(remove_shapes);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_shapes),
        _ => {}
    }
}

/// Whether a key of a load, such as `requests.path`, has an effect on loads of this shape.
/// A key without one is refused rather than ignored.
#[must_use]
pub fn key_suits(shape: LoadShape, key: &str) -> bool {
    static LOAD: LazyLock<Value> = LazyLock::new(schema_of::<RawOffer>);
    let mut table = &*LOAD;
    key.split('.').all(|word| {
        let items = Some(&table["items"]).filter(|items| items.is_object());
        table = &items.unwrap_or(table)["properties"][word];
        let shapes = table[SHAPES].as_array();
        shapes.is_none_or(|shapes| shapes.iter().any(|value| *value == shape.id()))
    })
}

/// The JSON Schema of a type that is read from TOML, like [`schema`].
#[must_use]
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    remove_null(&mut schema);
    schema
}

/// Removes `null`, and merges words with a description each into a single `enum`.
fn remove_null(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|value| value != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            for list in ["enum", "anyOf"] {
                if let Some(Value::Array(items)) = object.get_mut(list) {
                    items.retain(|item| !item.is_null() && item["type"] != "null");
                }
            }
            if let Some(Value::Array(items)) = object.get_mut("anyOf")
                && let [Value::Object(only)] = items.as_mut_slice()
            {
                // The description of the key takes precedence over that of its type.
                let mut only = std::mem::take(only);
                object.remove("anyOf");
                only.append(object);
                *object = only;
            }
            if let Some(Value::Array(words)) = object.remove("oneOf") {
                let words = words.iter().flat_map(|word| match &word["enum"] {
                    Value::Array(words) => words.clone(),
                    _ => vec![word["const"].clone()],
                });
                object.insert("enum".to_owned(), words.collect());
                object.insert("type".to_owned(), "string".into());
            }
            object.values_mut().for_each(remove_null);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_null),
        _ => {}
    }
}

/// Every deviation of a study file from its schema, in the order of lines.
pub fn conform(document: &TomlDocument) -> Vec<Diagnostic> {
    conform_to(document, &schema())
}

/// Every deviation of a file from a schema, in the order of lines.
pub fn conform_to(document: &TomlDocument, schema: &Value) -> Vec<Diagnostic> {
    let mut walk = Walk {
        document,
        path: Vec::new(),
        faults: Vec::new(),
    };
    walk.table(schema, document.root());
    walk.faults.sort_by_key(|fault| fault.line);
    walk.faults
}

struct Walk<'a> {
    document: &'a TomlDocument<'a>,
    path: Vec<PathStep>,
    faults: Vec<Diagnostic>,
}

impl Walk<'_> {
    fn wrong(&mut self, wrong: String) {
        self.faults.push(self.document.fault(&self.path, wrong));
    }

    fn key(&self) -> String {
        key(&self.path)
    }

    fn inside(&mut self, step: PathStep, visit: impl FnOnce(&mut Self)) {
        self.path.push(step);
        visit(self);
        self.path.pop();
    }

    fn value(&mut self, schema: &Value, value: &DeValue) {
        let choices = schema["anyOf"].as_array();
        let choices = choices.map_or(std::slice::from_ref(schema), Vec::as_slice);
        let Some(chosen) = choices.iter().find(|choice| is_of_type(value, choice)) else {
            let wanted: Vec<&str> = choices.iter().map(wanted).collect();
            return self.wrong(format!(
                "`{}` is {}, but must be {}{}",
                self.key(),
                kind(value),
                wanted.join(" or "),
                such_as(self.example(schema))
            ));
        };
        match value {
            DeValue::String(text) => self.word(chosen, text),
            // If fractions are allowed too, the key's meaning sets the range.
            DeValue::Integer(_) if chosen["type"] == "number" => {}
            DeValue::Integer(number) => {
                self.number(chosen, number.as_str(), number.radix());
            }
            DeValue::Array(items) => self.list(chosen, items),
            DeValue::Table(table) => self.table(chosen, table),
            DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
        }
    }

    fn word(&mut self, schema: &Value, text: &str) {
        let Some(known) = schema["enum"].as_array() else {
            return;
        };
        let known: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
        if known.contains(&text) {
            return;
        }
        self.wrong(format!(
            "`{}` is `{}`, which is unknown; {}",
            self.key(),
            short(text),
            meant(text, &known)
        ));
    }

    fn number(&mut self, schema: &Value, digits: &str, radix: u32) {
        let low = schema["minimum"].as_u64().unwrap_or_default();
        let high = schema["maximum"].as_u64().unwrap_or(u64::MAX);
        let number = u64::from_str_radix(digits, radix);
        if !number.is_ok_and(|number| (low..=high).contains(&number)) {
            self.wrong(format!(
                "`{}` is {}: write a number from {low} to {high}",
                self.key(),
                short(digits)
            ));
        }
    }

    fn list(&mut self, schema: &Value, items: &DeArray) {
        if items.is_empty() && schema["minItems"].as_u64().is_some_and(|least| least > 0) {
            self.wrong(format!(
                "`{}` is empty: fill it{}",
                self.key(),
                such_as(self.example(schema))
            ));
        }
        for (index, item) in items.iter().enumerate() {
            self.inside(PathStep::Item(index), |walk| {
                walk.value(&schema["items"], item.get_ref());
            });
        }
    }

    fn table(&mut self, schema: &Value, table: &DeTable) {
        let known = schema["properties"].as_object();
        for (key, value) in table {
            let key = key.get_ref().to_string();
            let inner = known.and_then(|known| known.get(&key));
            let inner =
                inner.or(Some(&schema["additionalProperties"]).filter(|any| any.is_object()));
            self.inside(PathStep::Key(key), |walk| match inner {
                Some(inner) => walk.value(inner, value.get_ref()),
                None => walk.unknown_key(known),
            });
        }
        for key in schema["required"].as_array().into_iter().flatten() {
            let key = key.as_str().unwrap_or_default();
            if !table.contains_key(key) {
                self.missing(key, &schema["properties"][key]);
            }
        }
    }

    fn missing(&mut self, name: &str, schema: &Value) {
        let mut path = self.path.clone();
        path.push(PathStep::Key(name.to_owned()));
        let is_table_list = self.path.is_empty() && schema["type"] == "array";
        let key = if is_table_list {
            format!("[[{name}]]")
        } else {
            key(&path)
        };
        let example = such_as(example(name, schema));
        self.wrong(format!("`{key}` is missing: add it{example}"));
    }

    fn unknown_key(&mut self, known: Option<&serde_json::Map<String, Value>>) {
        let (Some(PathStep::Key(unknown)), table) = (self.path.last(), self.path.first()) else {
            return;
        };
        let table = match table {
            Some(PathStep::Key(table)) if self.path.len() == 3 => table,
            _ if self.path.len() == 1 => "",
            _ => "-",
        };
        let known: Vec<&str> = known
            .into_iter()
            .flatten()
            .map(|(key, _)| key.as_str())
            .collect();
        let wrong = if is_listed(&KEYS_NOT_YET, table, unknown) {
            format!("`{unknown}` is reserved for later: leave it out")
        } else {
            format!(
                "unknown key `{}`; {}",
                short(unknown),
                meant(unknown, &known)
            )
        };
        self.wrong(wrong);
    }

    /// An example of the value at the end of the path.
    fn example(&self, schema: &Value) -> Option<String> {
        let name = self.path.iter().rev().find_map(|step| match step {
            PathStep::Key(key) => Some(key),
            PathStep::Item(_) => None,
        })?;
        // The example of a list does not fit its items.
        match self.path.last() {
            Some(PathStep::Key(_)) => example(name, schema),
            _ => None,
        }
    }
}

fn example(name: &str, schema: &Value) -> Option<String> {
    let value = schema["examples"].as_array()?.first()?;
    let value = toml::Value::try_from(value).ok()?;
    Some(format!("{name} = {value}"))
}

fn is_listed(lists: &[(&str, &[&str])], name: &str, word: &str) -> bool {
    lists
        .iter()
        .any(|(list, words)| *list == name && words.contains(&word))
}

/// Whether a value has the type of a schema; whole numbers are numbers too.
fn is_of_type(value: &DeValue, schema: &Value) -> bool {
    let type_name = json_type(value);
    schema["type"] == type_name || (type_name == "integer" && schema["type"] == "number")
}

fn json_type(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "string",
        DeValue::Integer(_) => "integer",
        DeValue::Float(_) => "number",
        DeValue::Boolean(_) => "boolean",
        // JSON has no dates, and no key takes one.
        DeValue::Datetime(_) => "date",
        DeValue::Array(_) => "array",
        DeValue::Table(_) => "object",
    }
}

fn wanted(schema: &Value) -> &'static str {
    match schema["type"].as_str() {
        Some("string") => "text in quotes",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        Some("array") if schema["items"]["type"] == "object" => "a list of tables",
        Some("array") => "a list",
        _ => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_suit_the_shapes_on_which_they_have_an_effect() {
        // Method: keys, each with the shapes that take it.
        let load_shapes = [
            LoadShape::Request,
            LoadShape::Echo,
            LoadShape::Broadcast,
            LoadShape::Connections,
            LoadShape::Scenario,
        ];
        let takers = |key| load_shapes.map(|shape| u8::from(key_suits(shape, key)));
        assert_eq!(takers("keep_alive"), [1, 0, 0, 0, 0]);
        assert_eq!(takers("message"), [0, 1, 1, 0, 0]);
        assert_eq!(takers("hold"), [0, 0, 0, 1, 0]);
        assert_eq!(takers("rate"), [1, 1, 1, 0, 0]);
        assert_eq!(takers("pipeline"), [1, 1, 1, 0, 0]);
        assert_eq!(takers("streams"), [1, 0, 0, 0, 0]);
        assert_eq!(takers("verify_every"), [1, 1, 0, 0, 0]);
        assert_eq!(takers("connections"), [1, 1, 1, 1, 1]);
        assert_eq!(takers("scenario"), [0, 0, 0, 0, 1]);
    }
}
