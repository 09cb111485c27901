//! `deadline = …`: when the flows of a rule must be done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailrace_config::{ScenarioError, suggest};
use tailrace_core::random::Stream;
use tailrace_core::{Bytes, Time};
use toml::{Table, Value};

use super::multiple::{Multiple, check_factor, check_round};
use super::{Gamma, Setting};

/// No generated deadline is shorter than this many times what the flow takes alone
/// (NetSys/simulator, the pFabric authors' successor).
const MIN: f64 = 1.25;

/// When flows must be done, counted from their start; at least 1.25 times what each takes alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deadlines {
    /// The same for all.
    Fixed(Time),
    /// Exponentially distributed with this mean; 20 ms is tight, 40 ms lax on 1 Gbps (D3, D2TCP).
    Exp(Time),
    /// A multiple of the time that the flow takes alone (Karuna's prototype).
    Ideal(Multiple),
    /// Flows get deadlines while the expected rates of those that have one stay below a share of the links (Karuna
    /// §8.2.1); the others reveal their size or nothing, each half of them. Classes are counted on from the rule's:
    /// deadline, size, nothing.
    Gamma(Gamma),
}

impl Deadlines {
    /// The deadline of a flow, counted from its start; `None` under [`Deadlines::Gamma`], which decides when
    /// the flow starts.
    pub fn draw(&self, size: Bytes, setting: &Setting, stream: &mut Stream) -> Option<Time> {
        let time = match self {
            Deadlines::Fixed(time) => *time,
            Deadlines::Exp(mean) => Time::from_ps((stream.exponential() * mean.as_ps() as f64) as u64),
            Deadlines::Ideal(multiple) => multiple.of(size, setting),
            Deadlines::Gamma(_) => return None,
        };
        Some(time.max(least(size, setting)))
    }

    pub(super) fn check(&self, setting: &Setting) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
        let shortest = least(Bytes::new(1), setting);
        match *self {
            Deadlines::Fixed(time) if time < shortest => wrong(
                "deadline.fixed",
                format!(
                    "is {time}, but here even flows of one byte get {shortest}: {MIN} times what they take alone"
                ),
            ),
            Deadlines::Exp(Time::ZERO) => {
                wrong("deadline.exp", "is 0, but must be a positive time, such as \"20ms\"".to_owned())
            }
            Deadlines::Ideal(Multiple { factor, round, .. }) => {
                check_factor(factor).and_then(|()| check_round(round)).map_err(|e| e.within("deadline.ideal"))
            }
            Deadlines::Gamma(gamma) => gamma.check().map_err(|e| e.within("deadline.gamma")),
            _ => Ok(()),
        }
    }
}

/// The forms of a deadline.
const FORMS: [&str; 4] = ["fixed", "exp", "ideal", "gamma"];

/// A rule's `deadline`, if it has one, is a table with one of [`FORMS`].
pub(super) fn check_form(rule: &Table) -> Result<(), ScenarioError> {
    let Some(deadline) = rule.get("deadline") else { return Ok(()) };
    let given: Vec<&String> = deadline.as_table().into_iter().flat_map(Table::keys).collect();
    let example = match deadline {
        Value::String(time) if time.parse::<Time>().is_ok() => time,
        _ => "20ms",
    };
    let message = match given.as_slice() {
        [form] if FORMS.contains(&form.as_str()) => return Ok(()),
        [form] => suggest::unknown("form of deadlines", form, FORMS),
        _ => format!(
            "must be a table with one of {}, such as {{ fixed = \"{example}\" }} or {{ exp = \"{example}\" }}",
            FORMS.join(", ")
        ),
    };
    Err(ScenarioError::new("deadline", message))
}

/// The shortest deadline that is generated for a flow.
pub fn least(size: Bytes, setting: &Setting) -> Time {
    Time::from_ps((setting.ideal(size).as_ps() as f64 * MIN) as u64)
}
