//! The file of a fluid model: text in, a model with real units out.

use std::path::Path;

use serde::Deserialize;
use tailrace_config::{ScenarioError, read_text, table};
use tailrace_core::{HEADER_BYTES, ParamError, QueueLength, Rate, Time};
use tailrace_fluid::{Lag, Law, Model, uniform_windows};

use crate::spec::name;

/// The most flows of a model: more would be solved for days.
const MAX_FLOWS: usize = 1000;
/// Samples of a trajectory, unless the file says how often to take them.
const SAMPLES: f64 = 20_000.0;

/// A fluid model as written in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FluidFile {
    /// What results are called: the file's name without its ending.
    #[serde(skip)]
    pub name: String,
    /// One line.
    #[serde(default)]
    pub title: String,
    /// The paper's section and figures.
    #[serde(default)]
    pub source: String,
    /// What it shows, in prose.
    #[serde(default)]
    pub about: String,
    law: LawName,
    rate: Rate,
    rtt: Time,
    marking_threshold: QueueLength,
    #[serde(default = "default_mss")]
    mss: u16,
    #[serde(default = "default_gain")]
    gain: f64,
    #[serde(default = "default_alpha")]
    initial_alpha: f64,
    #[serde(default)]
    shared_alpha: bool,
    #[serde(default)]
    lag: LagName,
    duration: Time,
    sample_every: Option<Time>,
    #[serde(default = "default_seed")]
    seed: u64,
    #[serde(default)]
    initial_window: Windows,
    flows: Option<usize>,
    weights: Option<Vec<f64>>,
    priorities: Option<Vec<f64>>,
    #[serde(default)]
    flow: Vec<Flow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LawName {
    Dctcp,
    Wvcc,
    Acdc,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LagName {
    #[default]
    Threshold,
    Base,
}

/// The windows that flows start with, in packets.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged, expecting = "a number of packets, or { uniform = 200 } for windows drawn from 0 to 200")]
enum Windows {
    Same(f64),
    Drawn(Uniform),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Uniform {
    uniform: f64,
}

impl Default for Windows {
    fn default() -> Self {
        Windows::Same(1.0)
    }
}

/// A flow in a table of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flow {
    weight: Option<f64>,
    priority: Option<f64>,
    #[serde(default)]
    start: Time,
    window: Option<f64>,
}

fn default_mss() -> u16 {
    1460
}

fn default_gain() -> f64 {
    1.0 / 16.0
}

fn default_alpha() -> f64 {
    1.0
}

fn default_seed() -> u64 {
    1
}

impl FluidFile {
    /// Reads a file; returns its text as well.
    pub fn read(path: &Path) -> Result<(Self, String), ScenarioError> {
        let text = read_text(path)
            .map_err(|e| ScenarioError::new("", format!("cannot be read: {e}")).in_file(path))?;
        let file = Self::parse(&text).map_err(|e| e.locate(&text).in_file(path))?;
        Ok((FluidFile { name: name::of_file(path, "fluid"), ..file }, text))
    }

    /// Reads a text, and checks that it makes a model.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let table = text.parse::<toml::Table>().map_err(|e| ScenarioError::syntax(&e, text))?;
        let mut file: FluidFile = table::read(table)?;
        file.name = "fluid".into();
        file.model()?.check().map_err(|error| file.at_field(error))?;
        Ok(file)
    }

    /// The model that the file describes.
    pub(crate) fn model(&self) -> Result<Model, ScenarioError> {
        let law = self.law()?;
        let flows = law.flows();
        let packet = f64::from(self.mss) + f64::from(HEADER_BYTES);
        let rtt = self.rtt.as_secs_f64();
        let duration = self.duration.as_secs_f64();
        let drawn = match self.initial_window {
            Windows::Same(window) => vec![window; flows],
            Windows::Drawn(Uniform { uniform }) => uniform_windows(flows, uniform, self.seed),
        };
        let flow = |index: usize| self.flow.get(index);
        Ok(Model {
            gain: self.gain,
            lag: match self.lag {
                LagName::Threshold => Lag::Threshold,
                LagName::Base => Lag::Base,
            },
            shared_alpha: self.shared_alpha,
            initial_alpha: self.initial_alpha,
            initial_windows: (0..flows).map(|i| flow(i).and_then(|f| f.window).unwrap_or(drawn[i])).collect(),
            starts: (0..flows).map(|i| flow(i).map_or(0.0, |f| f.start.as_secs_f64())).collect(),
            duration,
            sample_every: self.sample_every.map_or((duration / SAMPLES).max(rtt / 10.0), Time::as_secs_f64),
            ..Model::new(
                law,
                self.rate.bytes_per_sec() / packet,
                rtt,
                self.marking_threshold.bytes().as_f64() / packet,
            )
        })
    }

    /// The law, from the one list of flows that the file gives.
    fn law(&self) -> Result<Law, ScenarioError> {
        let given = [
            ("flows", self.flows.is_some()),
            ("weights", self.weights.is_some()),
            ("priorities", self.priorities.is_some()),
            ("flow", !self.flow.is_empty()),
        ];
        let (list, what) = match self.law {
            LawName::Dctcp => ("flows", "how many there are"),
            LawName::Wvcc => ("weights", "one for each flow, such as [0.25, 0.75]"),
            LawName::Acdc => ("priorities", "one for each flow, such as [0.25, 1]"),
        };
        let mut given = given.iter().filter(|(_, given)| *given).map(|(field, _)| *field);
        let Some(field) = given.next() else {
            return Err(ScenarioError::new(list, format!("missing: give {what}, or [[flow]] tables")));
        };
        if let Some(second) = given.next() {
            return Err(ScenarioError::new(
                second,
                format!("flows are in {field} already: give one of them"),
            ));
        }
        if field != "flow" && field != list {
            return Err(ScenarioError::new(
                field,
                format!("means nothing for this law: give {list}, {what}"),
            ));
        }
        let law = match self.law {
            LawName::Dctcp => Law::Dctcp { flows: self.flows.map_or_else(|| self.plain_flows(), Ok)? },
            LawName::Wvcc => Law::Wvcc {
                weights: self.weights.clone().map_or_else(|| self.each("weight", |f| f.weight), Ok)?,
            },
            LawName::Acdc => Law::Acdc {
                priorities: self
                    .priorities
                    .clone()
                    .map_or_else(|| self.each("priority", |f| f.priority), Ok)?,
            },
        };
        if law.flows() > MAX_FLOWS {
            return Err(ScenarioError::new(field, format!("{} flows: at most {MAX_FLOWS}", law.flows())));
        }
        Ok(law)
    }

    /// The number of `[[flow]]` tables, which must have neither weight nor priority.
    fn plain_flows(&self) -> Result<usize, ScenarioError> {
        self.refuse("weight", |flow| flow.weight)?;
        self.refuse("priority", |flow| flow.priority)?;
        Ok(self.flow.len())
    }

    /// A field of every `[[flow]]`; the other law's must not be there.
    fn each(&self, field: &str, of: impl Fn(&Flow) -> Option<f64>) -> Result<Vec<f64>, ScenarioError> {
        match field {
            "weight" => self.refuse("priority", |flow| flow.priority)?,
            _ => self.refuse("weight", |flow| flow.weight)?,
        }
        let value = |(index, flow)| {
            let missing = || ScenarioError::new(format!("flow[{index}]"), format!("{field} is missing"));
            of(flow).ok_or_else(missing)
        };
        self.flow.iter().enumerate().map(value).collect()
    }

    fn refuse(&self, field: &str, of: impl Fn(&Flow) -> Option<f64>) -> Result<(), ScenarioError> {
        match self.flow.iter().position(|flow| of(flow).is_some()) {
            None => Ok(()),
            Some(index) => {
                let law = format!("{:?}", self.law).to_lowercase();
                let message = format!("means nothing for law = \"{law}\"");
                Err(ScenarioError::new(format!("flow[{index}].{field}"), message))
            }
        }
    }

    /// An error of the model, as one of the field in the file.
    pub(crate) fn at_field(&self, error: ParamError) -> ScenarioError {
        let (name, index) = error.field.split_once('[').unwrap_or((&error.field, ""));
        let in_flow = |field: &str| format!("flow[{index}.{field}");
        let listed = !self.flow.is_empty();
        let flow_window = |index: &str| {
            let index: Option<usize> = index.trim_end_matches(']').parse().ok();
            index.and_then(|index| self.flow.get(index)).is_some_and(|flow| flow.window.is_some())
        };
        let field = match name {
            "capacity" => "rate".into(),
            "base_rtt" => "rtt".into(),
            "threshold" => "marking_threshold".into(),
            "weights" if listed => in_flow("weight"),
            "priorities" if listed => in_flow("priority"),
            "starts" => in_flow("start"),
            "initial_windows" if flow_window(index) => in_flow("window"),
            "initial_windows" => "initial_window".into(),
            _ => error.field.clone(),
        };
        ScenarioError::new(field, error.message)
    }
}

#[cfg(test)]
mod tests;
