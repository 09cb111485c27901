//! `--scale x`: an experiment made smaller without losing its shape.
//!
//! The file's `[scale]` table says what gives way: a dotted path, and how it follows x.
//! ```toml
//! [scale]
//! "workload.flows" = { min = 2000 }                # 100000 · x, but at least 2000
//! "fabric.leaves" = { power = 0.25, min = 3 }      # 9 · x^0.25
//! "scheme.awafs.params.period" = { min = "4ms" }   # times and sizes keep their unit
//! "sweep.seed" = { keep = [1] }                    # below full scale, this value instead
//! ```

use serde::Deserialize;
use tailrace_config::ScenarioError;
use tailrace_core::{Bytes, Time};
use toml::{Table, Value};

use crate::spec::path::{Path, get_mut};

/// How one field follows the scale.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// The field is multiplied by x to this power; 1 if missing.
    power: Option<f64>,
    /// It does not fall below this.
    min: Option<Value>,
    /// Below full scale it has this value instead.
    keep: Option<Value>,
}

/// One field that `[scale]` changed.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledField {
    /// Dotted path.
    pub field: String,
    /// As the file has it.
    pub from: String,
    /// As it was run.
    pub to: String,
}

/// Scales `experiment` by `x` in (0, 1] by its own `[scale]` table, which is taken out. Fields in `kept` stay.
pub fn apply(experiment: &mut Table, x: f64, kept: &[Path]) -> Result<Vec<ScaledField>, ScenarioError> {
    if !(x > 0.0 && x <= 1.0) {
        return Err(ScenarioError::new("--scale", format!("{x} must be above 0 and at most 1")));
    }
    let rules = match experiment.remove("scale") {
        None => Table::new(),
        Some(Value::Table(rules)) => rules,
        Some(_) => return Err(ScenarioError::new("scale", "must be a table of dotted fields")),
    };
    if rules.is_empty() && x < 1.0 {
        return Err(ScenarioError::new(
            "scale",
            format!("the file has no [scale] table, so it cannot run at {x}"),
        ));
    }
    let mut scaled_fields = Vec::new();
    for (field, rule) in rules {
        let here = |message: String| ScenarioError::new(format!("scale.\"{field}\""), message);
        let rule: Rule = rule.try_into().map_err(|e: toml::de::Error| here(e.message().to_owned()))?;
        let path = Path::parse(&field).map_err(&here)?;
        if kept.contains(&path) {
            continue;
        }
        let targets = get_mut(experiment, &path).map_err(&here)?;
        if targets.is_empty() {
            return Err(here("there is no such field in this file".into()));
        }
        for value in targets {
            let scaled = rule.scale(value, x).map_err(&here)?;
            if scaled != *value {
                let (from, to) = (value.to_string(), scaled.to_string());
                scaled_fields.push(ScaledField { field: field.clone(), from, to });
                *value = scaled;
            }
        }
    }
    Ok(scaled_fields)
}

impl Rule {
    fn scale(&self, value: &Value, x: f64) -> Result<Value, String> {
        if x >= 1.0 {
            return Ok(value.clone());
        }
        if let Some(keep) = &self.keep {
            return Ok(keep.clone());
        }
        let factor = libm::pow(x, self.power.unwrap_or(1.0));
        match value {
            Value::Integer(n) => {
                let least = self.least().map_or(1, |min| min.ceil() as i64);
                Ok(Value::Integer(((*n as f64 * factor).round() as i64).max(least.min(*n))))
            }
            Value::Float(f) => {
                let least = self.least().unwrap_or(0.0);
                Ok(Value::Float((f * factor).max(least.min(*f))))
            }
            Value::String(text) => self.scale_text(text, factor),
            Value::Array(items) => {
                items.iter().map(|item| self.scale(item, x)).collect::<Result<_, _>>().map(Value::Array)
            }
            _ => Err("only numbers, times, sizes and lists of them can be scaled".into()),
        }
    }

    /// The smallest value of a number.
    fn least(&self) -> Option<f64> {
        let min = self.min.as_ref()?;
        min.as_float().or_else(|| min.as_integer().map(|n| n as f64))
    }

    /// A time or a size in text.
    fn scale_text(&self, text: &str, factor: f64) -> Result<Value, String> {
        let least = self.min.as_ref().and_then(Value::as_str);
        if let Ok(time) = text.parse::<Time>() {
            let least: Time = least.unwrap_or("0s").parse().map_err(|e| format!("min: {e}"))?;
            let scaled = rounded(time.as_ps() as f64 * factor);
            return Ok(Value::String(scaled.max(least.min(time)).to_string()));
        }
        if let Ok(bytes) = text.parse::<Bytes>() {
            let least: Bytes = least.unwrap_or("0B").parse().map_err(|e| format!("min: {e}"))?;
            let scaled = Bytes::new((bytes.as_f64() * factor).round() as u64);
            return Ok(Value::String(scaled.max(least.min(bytes)).to_string()));
        }
        Err(format!("\"{text}\" is neither a time nor a size, so it cannot be scaled"))
    }
}

/// A time in whole microseconds, for people, unless it is shorter than a millisecond.
fn rounded(ps: f64) -> Time {
    const US: f64 = 1e6;
    let ps = if ps >= 1e3 * US { (ps / US).round() * US } else { ps.round() };
    Time::from_ps(ps as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn fields_give_way_and_are_reported() {
        let mut experiment = table(
            "[workload]\nflows = 100000\nduration = \"65s\"\n[fabric]\nleaves = 9\n[sweep]\nseed = [1, 2]\n\
             [scale]\n\"workload.flows\" = { min = 2000 }\n\"workload.duration\" = {}\n\
             \"fabric.leaves\" = { power = 0.25, min = 3 }\n\"sweep.seed\" = { keep = [1] }\n",
        );
        let scaled_fields = apply(&mut experiment, 0.01, &[]).unwrap();
        assert_eq!(experiment["workload"]["flows"].as_integer(), Some(2000));
        assert_eq!(experiment["workload"]["duration"].as_str(), Some("650ms"));
        assert_eq!(experiment["fabric"]["leaves"].as_integer(), Some(3));
        assert_eq!(experiment["sweep"]["seed"].as_array().map(Vec::len), Some(1));
        assert_eq!(scaled_fields.len(), 4);
        assert!(!experiment.contains_key("scale"));
    }

    #[test]
    fn what_is_set_by_hand_stays() {
        let mut experiment = table("[workload]\nflows = 1000\n[scale]\n\"workload.flows\" = {}\n");
        let kept = Path::parse("workload.'flows'").unwrap();
        assert_eq!(apply(&mut experiment, 0.01, &[kept]), Ok(vec![]));
        assert_eq!(experiment["workload"]["flows"].as_integer(), Some(1000));
    }

    #[test]
    fn scaled_times_are_easy_to_read() {
        let mut experiment = table(
            "long = \"65s\"\nshort = \"1ms\"\n[scale]\nlong = { power = 0.83 }\nshort = { power = 0.83 }\n",
        );
        apply(&mut experiment, 0.01, &[]).unwrap();
        assert_eq!(experiment["long"].as_str(), Some("1422.045ms"));
        assert_eq!(experiment["short"].as_str(), Some("21877.616ns"));
    }

    #[test]
    fn full_scale_changes_nothing() {
        let mut experiment = table("a = 5\n[scale]\na = { min = 1 }\n");
        assert_eq!(apply(&mut experiment, 1.0, &[]), Ok(vec![]));
        assert_eq!(experiment["a"].as_integer(), Some(5));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str, x| apply(&mut table(text), x, &[]).unwrap_err().to_string();
        assert!(error("a = 1", 0.5).contains("no [scale] table"));
        assert!(error("[scale]\nb = {}", 0.5).contains("no such field"));
        assert!(error("a = true\n[scale]\na = {}", 0.5).contains("only numbers"));
        assert!(error("a = 1\n[scale]\na = { least = 3 }", 0.5).contains("least"));
        assert!(error("a = 1\n[scale]\na = {}", 2.0).contains("at most 1"));
    }
}
