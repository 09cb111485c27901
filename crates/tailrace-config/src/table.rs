//! Between TOML tables and types, with errors of this crate.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::error::ScenarioError;
use crate::reader::Reader;
use crate::suggest;

/// Reads a table into a type; an error names the field, and of several tables the one.
pub fn read<T: DeserializeOwned>(table: Table) -> Result<T, ScenarioError> {
    serde_path_to_error::deserialize(Reader(Value::Table(table)))
        .map_err(|error| ScenarioError::shape(&error))
}

/// Writes a type as a table.
pub fn write<T: Serialize>(value: &T) -> Table {
    Table::try_from(value).expect("the fields of a scenario are plain data")
}

/// The same table with the keys of all tables in alphabetical order.
pub fn sorted(table: Table) -> Table {
    fn sorted_value(value: Value) -> Value {
        match value {
            Value::Table(table) => Value::Table(sorted(table)),
            Value::Array(items) => items.into_iter().map(sorted_value).collect::<Vec<_>>().into(),
            other => other,
        }
    }
    let fields: BTreeMap<String, Value> = table.into_iter().collect();
    fields.into_iter().map(|(key, field)| (key, sorted_value(field))).collect()
}

/// Takes a sub-table out of a table; an empty one if there is none.
pub fn take(table: &mut Table, field: &str) -> Result<Table, ScenarioError> {
    match table.remove(field) {
        None => Ok(Table::new()),
        Some(Value::Table(inner)) => Ok(inner),
        Some(other) => Err(ScenarioError::new(field, format!("must be a table, not {}", kind_of(&other)))),
    }
}

/// What a value is, for messages.
pub fn kind_of(value: &Value) -> String {
    format!("the {} {value}", value.type_str())
}

/// Refuses fields that are neither in `known` nor those of a type. Sections whose fields are read in parts
/// need this to suggest from all of them.
pub fn check_fields<T: JsonSchema>(table: &Table, known: &[&str]) -> Result<(), ScenarioError> {
    let fields = fields::<T>();
    let known = || known.iter().copied().chain(fields.iter().map(|(field, _)| field.as_str()));
    match table.keys().find(|field| known().all(|known| known != *field)) {
        Some(field) => Err(ScenarioError::new(field, suggest::unknown("field", field, known()))),
        None => Ok(()),
    }
}

/// The fields of a type and their descriptions, in alphabetical order.
pub fn fields<T: JsonSchema>() -> Vec<(String, String)> {
    let schema = T::json_schema(&mut SchemaGenerator::default());
    let Some(fields) = schema.get("properties").and_then(|fields| fields.as_object()) else {
        return Vec::new();
    };
    let text = |field: &str| {
        let description = fields[field].get("description").and_then(|text| text.as_str());
        description.unwrap_or_default().replace('\n', " ")
    };
    fields.keys().map(|field| (field.clone(), text(field))).collect()
}

/// Adds the fields of a type to a schema of fields none of which is required: what may be left out depends
/// on the others, and the parser says so better than a schema could. A field that is there already and is of another
/// type may be of either.
pub fn add_fields<T: JsonSchema>(schema: &mut Schema, generator: &mut SchemaGenerator) {
    let mut more = T::json_schema(generator);
    let more = more.get_mut("properties").and_then(|fields| fields.as_object_mut()).map(std::mem::take);
    let fields = schema.ensure_object().entry("properties").or_insert_with(|| json_schema!({}).to_value());
    if let (Some(fields), Some(more)) = (fields.as_object_mut(), more) {
        for (field, more) in more {
            let there = fields.get(&field).and_then(|there| <&Schema>::try_from(there).ok());
            let of_both = match (there, <&Schema>::try_from(&more)) {
                (Some(there), Ok(more)) if !same_but_for_prose(there, more) => either(there, more).to_value(),
                _ => more,
            };
            fields.insert(field, of_both);
        }
    }
}

fn same_but_for_prose(one: &Schema, other: &Schema) -> bool {
    without_prose(one) == without_prose(other)
}

fn without_prose(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    schema.remove("description");
    schema
}

/// What is either of two schemas, in the words of both.
fn either(one: &Schema, other: &Schema) -> Schema {
    let prose =
        |of: &Schema| of.get("description").and_then(|text| text.as_str()).unwrap_or_default().to_owned();
    let (first, second) = (prose(one), prose(other));
    let of = [one, other].map(without_prose);
    json_schema!({ "anyOf": of, "description": format!("{first} Or: {second}") })
}
