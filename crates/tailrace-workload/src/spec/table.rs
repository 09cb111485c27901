//! `[workload]` as a table: read, written, and described for editors.

use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, table};
use tailrace_core::Time;
use toml::{Table, Value};

use super::Workload;
use crate::input_file::InputFile;
use crate::rule::Rule;
use crate::shares::take_shared_load;
use crate::task::{TaskCounters, TaskRule};
use crate::{Setting, deadlines};

/// The fields of `[workload]` that are not those of a rule, as they are written.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Whole {
    /// Number of flows at most, over all rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    flows: Option<u64>,
    /// No flow starts at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<Time>,
    /// Counters that number tasks, one for each of so many entry points (clients, aggregators): the first gives 1,
    /// 1 + n, 1 + 2n, …, the second 2, 2 + n, and so on. 1 if left out, which numbers tasks as they arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_counters: Option<u16>,
    /// How often counters are brought into step: each goes on from the one that has counted furthest. Never if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_counters_sync: Option<Time>,
    /// A CSV file that lists the flows, in place of rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_list: Option<PathBuf>,
    /// Fingerprint of the list's content; written into resolved scenarios.
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_list_digest: Option<String>,
    /// Columns of the list that are passed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flow_list_extra: Vec<String>,
    /// A file of shuffles in the format of the public coflow benchmark, read as tasks; its ports are hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    coflow_trace: Option<PathBuf>,
    /// Fingerprint of the trace's content; written into resolved scenarios.
    #[serde(skip_serializing_if = "Option::is_none")]
    coflow_trace_digest: Option<String>,
}

const WHOLE: [&str; 9] = [
    "flows",
    "duration",
    "task_counters",
    "task_counters_sync",
    "flow_list",
    "flow_list_digest",
    "flow_list_extra",
    "coflow_trace",
    "coflow_trace_digest",
];

/// Counters are not brought into step more often.
const MIN_SYNC: Time = Time::from_us(1);

impl Workload {
    /// Reads `[workload]`. Fields of a rule that stand in it hold for every `[[workload.rule]]` that does not
    /// say otherwise; without any, they are the only rule. Field names in errors are relative to it.
    pub fn from_table(own: &Table, setting: &Setting) -> Result<Self, ScenarioError> {
        let mut defaults = own.clone();
        let whole = WHOLE.iter().filter_map(|&field| defaults.remove_entry(field)).collect();
        let whole: Whole = table::read(whole)?;
        let Whole { flows, duration, task_counters, task_counters_sync, .. } = whole;
        let flow_list = InputFile::new("flow_list", whole.flow_list, whole.flow_list_digest)?;
        if flow_list.is_none() && !whole.flow_list_extra.is_empty() {
            return Err(ScenarioError::new("flow_list_extra", "needs flow_list, whose columns it names"));
        }
        let coflow_trace = InputFile::new("coflow_trace", whole.coflow_trace, whole.coflow_trace_digest)?;
        let written = tables(&mut defaults, "rule")?;
        let tasks = tables(&mut defaults, "task")?;
        if flow_list.is_some() {
            let others = [
                ("rule", written.is_some()),
                ("task", tasks.is_some()),
                ("coflow_trace", coflow_trace.is_some()),
            ];
            let other = others.into_iter().find(|(_, given)| *given).map(|(field, _)| field.to_owned());
            if let Some(field) = defaults.keys().next().cloned().or(other) {
                return Err(ScenarioError::new(field, "cannot be combined with flow_list"));
            }
        }
        let known = [
            "rule",
            "task",
            "flows",
            "duration",
            "task_counters",
            "task_counters_sync",
            "flow_list",
            "flow_list_extra",
            "coflow_trace",
        ];
        table::check_fields::<Rule>(&defaults, &known)?;
        let has_tasks = tasks.is_some() || coflow_trace.is_some();
        let only_others = flow_list.is_some() || has_tasks;
        let flow_list_extra = whole.flow_list_extra;
        let mut workload =
            Workload { flows, duration, flow_list, flow_list_extra, coflow_trace, ..Workload::default() };
        if !only_others || written.is_some() || !defaults.is_empty() {
            workload.read_rules(defaults, written, has_tasks, setting)?;
        }
        workload.read_tasks(&tasks.unwrap_or_default(), setting)?;
        workload.read_counters(task_counters, task_counters_sync)?;
        if workload.flows.is_some() && workload.rules.is_empty() && workload.has_tasks() {
            let message =
                "counts flows that are of no task, and there are none: tasks have a count of their own";
            return Err(ScenarioError::new("flows", message));
        }
        workload.check_extent()?;
        workload.check_trace()?;
        Ok(workload)
    }

    fn read_rules(
        &mut self,
        mut defaults: Table,
        written: Option<Vec<Table>>,
        has_tasks: bool,
        setting: &Setting,
    ) -> Result<(), ScenarioError> {
        self.load = take_shared_load(&mut defaults, written.as_deref().unwrap_or_default())?;
        for (number, own) in written.as_deref().unwrap_or(&[Table::new()]).iter().enumerate() {
            let rule = self.read_rule(number, over(&defaults, own), setting);
            let rule = rule.and_then(|rule| rule.beside_tasks(has_tasks));
            self.rules.push(rule.map_err(|error| place(error, number, own, written.is_some(), &defaults))?);
        }
        let named = |number: usize| {
            defaults.contains_key("class")
                || written.as_ref().is_some_and(|own| own[number].contains_key("class"))
        };
        self.check_controlled(named)
    }

    fn read_tasks(&mut self, written: &[Table], setting: &Setting) -> Result<(), ScenarioError> {
        let first_class = self.rules.iter().map(Rule::classes_end).max().unwrap_or(0);
        for (number, fields) in written.iter().enumerate() {
            let class = u8::try_from(usize::from(first_class) + number).ok();
            let within = |error: ScenarioError| error.within(&format!("task[{number}]"));
            let rule = TaskRule::read(fields.clone(), class, self.duration, setting).map_err(within)?;
            self.tasks.push(rule);
        }
        Ok(())
    }

    fn read_counters(&mut self, count: Option<u16>, sync: Option<Time>) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: &str| Err(ScenarioError::new(field, message));
        self.task_counters = TaskCounters { count: count.unwrap_or(1), sync };
        match (count, sync) {
            (Some(0), _) => wrong("task_counters", "is 0, but must be at least 1"),
            (Some(_), _) if !self.has_tasks() => {
                wrong("task_counters", "needs [[workload.task]] or a coflow_trace")
            }
            (None, Some(_)) => wrong("task_counters_sync", "needs task_counters"),
            (_, Some(sync)) if sync < MIN_SYNC => {
                wrong("task_counters_sync", &format!("is {sync}, but must be at least {MIN_SYNC}"))
            }
            _ => Ok(()),
        }
    }

    /// Writes `[workload]` with all fields.
    pub fn to_table(&self) -> Table {
        let path = |file: &Option<InputFile>| file.as_ref().map(|file| file.path.clone());
        let digest = |file: &Option<InputFile>| file.as_ref().and_then(|file| file.digest.clone());
        let whole = Whole {
            flows: self.flows,
            duration: self.duration,
            task_counters: self.has_tasks().then_some(self.task_counters.count),
            task_counters_sync: self.task_counters.sync,
            flow_list: path(&self.flow_list),
            flow_list_digest: digest(&self.flow_list),
            flow_list_extra: self.flow_list_extra.clone(),
            coflow_trace: path(&self.coflow_trace),
            coflow_trace_digest: digest(&self.coflow_trace),
        };
        let mut fields = table::write(&whole);
        if let Some(load) = self.load {
            fields.insert("load".to_owned(), Value::Float(load));
        }
        if !self.rules.is_empty() {
            let rules = self.rules.iter().map(|rule| Value::Table(table::write(rule))).collect();
            fields.insert("rule".to_owned(), Value::Array(rules));
        }
        if !self.tasks.is_empty() {
            let tasks = self.tasks.iter().map(|rule| Value::Table(table::write(rule))).collect();
            fields.insert("task".to_owned(), Value::Array(tasks));
        }
        fields
    }

    fn read_rule(&self, number: usize, fields: Table, setting: &Setting) -> Result<Rule, ScenarioError> {
        deadlines::check_form(&fields)?;
        let mut rule: Rule = table::read(fields)?;
        if rule.class.is_none() {
            let class = u8::try_from(number)
                .map_err(|_| ScenarioError::new("class", "must be given for rules after the 256th"))?;
            rule.class = Some(class);
        }
        rule.check(setting)?;
        // Sizes in files are checked when they are read.
        if !rule.sizes.names_file() {
            rule.sampler(setting.mss)?;
        }
        if self.duration.is_some_and(|duration| rule.start >= duration) {
            return Err(ScenarioError::new("start", "must come before the workload's duration is over"));
        }
        Ok(rule)
    }
}

/// Takes the tables of `[[workload.NAME]]` out, if there are any.
fn tables(fields: &mut Table, name: &str) -> Result<Option<Vec<Table>>, ScenarioError> {
    let wrong =
        || ScenarioError::new(name, format!("must be written as [[workload.{name}]], once for each {name}"));
    match fields.remove(name) {
        None => Ok(None),
        Some(Value::Array(items)) if !items.is_empty() => {
            let tables = items.into_iter().map(|item| match item {
                Value::Table(fields) => Ok(fields),
                _ => Err(wrong()),
            });
            tables.collect::<Result<_, _>>().map(Some)
        }
        Some(_) => Err(wrong()),
    }
}

/// A rule's own fields over those that hold for all. What excludes each other must not meet.
fn over(defaults: &Table, own: &Table) -> Table {
    let mut fields = defaults.clone();
    let once = own.get("arrivals").and_then(Value::as_str) == Some("once");
    if once || own.contains_key("load") || own.contains_key("every") {
        fields.retain(|field, _| field != "load" && field != "every");
    }
    if own.contains_key("pattern") {
        fields.retain(|field, _| field != "from" && field != "to");
    }
    fields.extend(own.clone());
    fields
}

/// Where the field of an error in a rule is written: in the rule, or among what holds for all.
fn place(error: ScenarioError, number: usize, own: &Table, several: bool, defaults: &Table) -> ScenarioError {
    let field = error.field.split(['.', '[']).next().unwrap_or_default();
    if !several || (!own.contains_key(field) && defaults.contains_key(field)) {
        error
    } else {
        error.within(&format!("rule[{number}]"))
    }
}

impl JsonSchema for Workload {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Workload".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rules = generator.subschema_for::<Vec<Rule>>();
        let tasks = generator.subschema_for::<Vec<TaskRule>>();
        let mut schema = schemars::json_schema!({
            "type": "object",
            "description": "Which flows start when: one rule or several, tasks, or a list of flows.",
            "additionalProperties": false,
            "properties": {
                "rule": { "allOf": [rules], "description": "Rules in force side by side; the fields above hold for all that do not say otherwise." },
                "task": { "allOf": [tasks], "description": "Tasks: sets of flows, in stages, that are one unit of work together." },
            },
        });
        table::add_fields::<Rule>(&mut schema, generator);
        table::add_fields::<Whole>(&mut schema, generator);
        schema
    }
}
