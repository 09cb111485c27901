//! Parameters: what users write in files.

use tailrace_core::Scheme;
use toml::{Table, Value};

use crate::{Verdict, ensure, setting};

/// The defaults are accepted and survive being written and read; unknown fields are refused; every field has its words.
pub fn are_documented_and_round_trip<S: Scheme>() -> Verdict {
    setting::scheme::<S>()?;
    let written = table::<S>(&S::Params::default())?;
    let again = table::<S>(&read::<S>(written.clone())?)?;
    ensure!(again == written, "the defaults are read as other parameters than were written");
    let mut unknown = written;
    unknown.insert("no-such-field".into(), Value::Integer(1));
    let error = read::<S>(unknown).err();
    ensure!(error.is_some_and(|e| e.contains("no-such-field")), "takes unknown fields");
    let schema = schemars::schema_for!(S::Params);
    let fields = schema.as_value()["properties"].as_object();
    for (name, field) in fields.into_iter().flatten() {
        ensure!(field.get("description").is_some(), "{name} has no doc comment");
    }
    Ok(())
}

fn table<S: Scheme>(params: &S::Params) -> Result<Table, String> {
    Table::try_from(params).map_err(|error| format!("parameters cannot be written: {error}"))
}

fn read<S: Scheme>(table: Table) -> Result<S::Params, String> {
    Value::Table(table).try_into().map_err(|error| format!("parameters cannot be read: {error}"))
}
