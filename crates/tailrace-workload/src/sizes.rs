//! `sizes = …`: where flow sizes come from.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tailrace_config::{ScenarioError, read_text, suggest};
use tailrace_core::{Bytes, SizeDistribution};

use super::published::{self, Published};
use super::{cdf_file, shapes};

/// Where flow sizes come from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Sizes {
    /// A published table, by name.
    Published(#[serde(serialize_with = "write_name")] &'static Published),
    /// Anything else.
    Own(OwnSizes),
}

/// Sizes that are not from a published table. Exactly one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum OwnSizes {
    /// A table in a file: `bytes probability` a line, `#` starts a comment.
    File(PathBuf),
    /// A table: `[bytes, cumulative probability]` points.
    Points(Vec<(f64, f64)>),
    /// All flows have this size.
    Fixed(Bytes),
    /// Uniform from the first to the second.
    Uniform([Bytes; 2]),
    /// Bounded Pareto.
    Pareto {
        /// The tail's exponent, above 0.
        shape: f64,
        /// Smallest size.
        min: Bytes,
        /// Largest size.
        max: Bytes,
    },
    /// Lognormal, cut off at `max`.
    Lognormal {
        /// Half of the flows are smaller, before the cut.
        median: Bytes,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Largest size.
        max: Bytes,
    },
    /// Most alike and some heavy, as tasks of Bing (Baraat §5.2): 85 % uniform from 0.95 to 1.05 times `base`, the
    /// others uniform between multiples of it.
    #[serde(rename = "bing-like")]
    BingLike {
        /// The usual size.
        #[serde(default = "forty_answers")]
        base: Bytes,
        /// Least and largest multiple of heavy ones.
        #[serde(default = "three_to_eight")]
        heavy: [f64; 2],
    },
    /// Each flow's size is drawn from one of several, chosen by weight.
    Mix(Vec<Part>),
}

/// 40 flows of 26 KB: the mean of Baraat's uniform sizes, 2 to 50 KB, for each worker of a rack.
fn forty_answers() -> Bytes {
    Bytes::new(1_040_000)
}
/// The paper normalises its figure; it shows a second mode well above the first.
fn three_to_eight() -> [f64; 2] {
    [3.0, 8.0]
}

/// One of several size distributions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its share of flows, relative to the others'.
    pub weight: f64,
    /// Its sizes.
    pub sizes: Sizes,
}

/// To what drawn sizes are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Round {
    /// To the nearest byte, at least one.
    #[default]
    Byte,
    /// Up to whole segments, as in the ns-2 scripts of PIAS; in reproductions of PIAS, AWAFS and Karuna.
    Packet,
}

impl Sizes {
    /// The published table, if it is one.
    pub fn published(&self) -> Option<&'static Published> {
        match self {
            Sizes::Published(table) => Some(table),
            Sizes::Own(_) => None,
        }
    }

    /// The distribution, before rounding. Field names in errors are relative to these sizes.
    pub fn distribution(&self) -> Result<SizeDistribution, ScenarioError> {
        match self {
            Sizes::Published(table) => Ok(table.distribution()),
            Sizes::Own(own) => own.distribution(),
        }
    }

    /// Whether a file is named that has not been read yet.
    pub(crate) fn names_file(&self) -> bool {
        match self {
            Sizes::Own(OwnSizes::File(_)) => true,
            Sizes::Own(OwnSizes::Mix(parts)) => parts.iter().any(|part| part.sizes.names_file()),
            _ => false,
        }
    }

    /// Reads the files that are named, relative to `base`, and puts their points in their place.
    pub fn read_files(&mut self, base: &Path) -> Result<(), ScenarioError> {
        match self {
            Sizes::Published(_) => {}
            Sizes::Own(OwnSizes::Mix(parts)) => {
                for (index, part) in parts.iter_mut().enumerate() {
                    part.sizes
                        .read_files(base)
                        .map_err(|error| error.within(&format!("mix[{index}].sizes")))?;
                }
            }
            Sizes::Own(own) => {
                if let OwnSizes::File(file) = own {
                    let path = base.join(&*file);
                    let text = read_text(&path).map_err(|error| {
                        ScenarioError::new("file", format!("cannot read {}: {error}", path.display()))
                    })?;
                    *own = OwnSizes::Points(cdf_file::parse(&text, &path)?);
                }
            }
        }
        Ok(())
    }
}

impl OwnSizes {
    fn distribution(&self) -> Result<SizeDistribution, ScenarioError> {
        let wrong = |field: &str, message: String| Err(ScenarioError::new(field, message));
        match self {
            OwnSizes::File(_) => wrong("file", "has not been read yet".to_owned()),
            OwnSizes::Points(points) => SizeDistribution::new(points.clone()).map_err(|error| {
                let field = error.index().map_or("points".to_owned(), |index| format!("points[{index}]"));
                ScenarioError::new(field, error.to_string())
            }),
            OwnSizes::Fixed(size) if *size == Bytes::ZERO => wrong("fixed", "must be at least 1B".to_owned()),
            OwnSizes::Fixed(size) => Ok(table(&[(*size, 1.0)])),
            OwnSizes::Uniform([low, high]) if low >= high => {
                wrong("uniform", format!("must ascend, but {low} is not below {high}"))
            }
            OwnSizes::Uniform([low, high]) => Ok(table(&[(*low, 0.0), (*high, 1.0)])),
            OwnSizes::Pareto { shape, .. } if !(0.01..=100.0).contains(shape) => {
                wrong("pareto.shape", format!("is {shape}, but must lie between 0.01 and 100"))
            }
            OwnSizes::Pareto { min, max, .. } if *min == Bytes::ZERO || min >= max => {
                wrong("pareto.min", format!("is {min}, but must lie between 1B and below max = {max}"))
            }
            OwnSizes::Pareto { shape, min, max } => Ok(shapes::pareto(*shape, min.as_f64(), max.as_f64())),
            OwnSizes::Lognormal { sigma, .. } if !(0.01..=10.0).contains(sigma) => {
                wrong("lognormal.sigma", format!("is {sigma}, but must lie between 0.01 and 10"))
            }
            OwnSizes::Lognormal { median, max, .. } if *median == Bytes::ZERO || median >= max => wrong(
                "lognormal.median",
                format!("is {median}, but must lie between 1B and below max = {max}"),
            ),
            OwnSizes::Lognormal { median, sigma, max } => {
                Ok(shapes::lognormal(median.as_f64(), *sigma, max.as_f64()))
            }
            OwnSizes::BingLike { base, .. } if *base == Bytes::ZERO => {
                wrong("bing-like.base", "must be at least 1B".to_owned())
            }
            OwnSizes::BingLike { heavy: [low, high], .. } if !(1.05 < *low && low < high && *high <= 1e6) => {
                wrong(
                    "bing-like.heavy",
                    format!(
                        "is [{low}, {high}], but must ascend from above 1.05, the largest of the usual sizes"
                    ),
                )
            }
            OwnSizes::BingLike { base, heavy } => Ok(shapes::bimodal(base.as_f64(), *heavy)),
            OwnSizes::Mix(parts) if parts.is_empty() => {
                wrong("mix", "must have at least one part".to_owned())
            }
            OwnSizes::Mix(parts) => mix(parts),
        }
    }
}

fn mix(parts: &[Part]) -> Result<SizeDistribution, ScenarioError> {
    let mut mixed = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        if !(part.weight > 0.0 && part.weight <= 1e9) {
            let message = format!("is {}, but must be a positive number", part.weight);
            return Err(ScenarioError::new(format!("mix[{index}].weight"), message));
        }
        let inside = |error: ScenarioError| error.within(&format!("mix[{index}].sizes"));
        mixed.push((part.weight, part.sizes.distribution().map_err(inside)?));
    }
    Ok(shapes::mixture(&mixed))
}

fn table(points: &[(Bytes, f64)]) -> SizeDistribution {
    let points = points.iter().map(|&(size, probability)| (size.as_f64(), probability)).collect();
    SizeDistribution::new(points).expect("ascending sizes with a positive mean were checked")
}

fn write_name<S: serde::Serializer>(table: &&'static Published, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(table.name)
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Sizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a published table, or a table such as { fixed = \"10KB\" }")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Sizes, E> {
                published::find(name).map(Sizes::Published).ok_or_else(|| {
                    let known = published::list().iter().map(|table| table.name);
                    let unknown = suggest::unknown("workload", name, known);
                    let file = name.contains(['.', '/']);
                    let hint = if file { "; a table in a file is sizes = { file = … }" } else { "" };
                    E::custom(unknown + hint)
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sizes, A::Error> {
                let own = OwnSizes::deserialize(MapAccessDeserializer::new(&mut map))?;
                match map.next_key::<IgnoredAny>()? {
                    None => Ok(Sizes::Own(own)),
                    Some(_) => Err(A::Error::custom("sizes come from one thing only; for several, use mix")),
                }
            }
        }
        from.deserialize_any(Either)
    }
}

impl JsonSchema for Sizes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Sizes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = published::list().iter().map(|table| table.name).collect();
        let own = generator.subschema_for::<OwnSizes>();
        json_schema!({ "description": "Where flow sizes come from.", "anyOf": [{ "enum": names }, own] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Wrapper {
        sizes: Sizes,
    }

    fn read(text: &str) -> Result<Sizes, String> {
        let table = format!("sizes = {text}").parse().unwrap();
        let wrapper: Wrapper = tailrace_config::table::read(table).map_err(|error| error.to_string())?;
        Ok(wrapper.sizes)
    }

    fn mean(text: &str) -> f64 {
        read(text).unwrap().distribution().unwrap().mean()
    }

    #[test]
    fn every_form_is_read_and_written() {
        for (text, expected) in [
            ("\"long-flow\"", 5_000_500.0),
            ("{ fixed = \"10KB\" }", 10_000.0),
            ("{ uniform = [\"2KB\", \"50KB\"] }", 26_000.0),
            ("{ points = [[100, 0], [300, 1]] }", 200.0),
            // 0.85 · 1 + 0.15 · 5.5 times the base.
            ("{ bing-like = {} }", 1_040_000.0 * 1.675),
            ("{ bing-like = { base = \"1MB\", heavy = [2, 4] } }", 1_300_000.0),
            ("{ pareto = { shape = 2, min = \"1KB\", max = \"1GB\" } }", 2_000.0),
            ("{ lognormal = { median = \"10KB\", sigma = 1.0, max = \"1GB\" } }", 16_487.2),
            (
                "{ mix = [{ weight = 8, sizes = { fixed = \"10KB\" } }, { weight = 2, sizes = { fixed = \"1MB\" } }] }",
                208_000.0,
            ),
        ] {
            assert!((mean(text) / expected - 1.0).abs() < 1e-4, "{text}: {}", mean(text));
            let sizes = read(text).unwrap();
            let written = toml::to_string(&Wrapper { sizes: sizes.clone() }).unwrap();
            let again: Wrapper = toml::from_str(&written).unwrap();
            assert_eq!(again.sizes, sizes, "{written}");
        }
    }

    #[test]
    fn bad_forms_are_explained() {
        let error = |text: &str| read(text).unwrap_err();
        assert!(
            error("\"websearch\"").contains("did you mean \"web-search\"?"),
            "{}",
            error("\"websearch\"")
        );
        assert!(error("3").contains("must be the name of a published table"));
        assert!(error("{ fixd = \"1KB\" }").contains("did you mean \"fixed\"?"));
        assert!(error("{ fixed = \"1KB\", uniform = [\"1KB\", \"2KB\"] }").contains("use mix"));
        assert!(error("{ pareto = { shape = 1, min = \"1KB\" } }").contains("missing field `max`"));
    }

    #[test]
    fn bad_values_are_explained() {
        let error = |text: &str| read(text).unwrap().distribution().unwrap_err().to_string();
        assert!(error("{ fixed = \"0B\" }").starts_with("fixed: must be at least 1B"));
        assert!(error("{ uniform = [\"2KB\", \"1KB\"] }").starts_with("uniform: must ascend"));
        assert!(
            error("{ pareto = { shape = nan, min = \"1B\", max = \"2B\" } }")
                .starts_with("pareto.shape: is NaN")
        );
        assert!(error("{ bing-like = { heavy = [1, 8] } }").starts_with("bing-like.heavy: is [1, 8]"));
        assert!(error("{ mix = [] }").starts_with("mix: must have"));
        assert!(
            error("{ mix = [{ weight = 0, sizes = \"long-flow\" }] }").starts_with("mix[0].weight: is 0")
        );
        assert!(
            error("{ mix = [{ weight = 1, sizes = { fixed = \"0B\" } }] }")
                .starts_with("mix[0].sizes.fixed:")
        );
        assert!(error("{ points = [[5, 0], [4, 1]] }").starts_with("points[1]: point 1"));
        assert!(error("{ file = \"x.cdf\" }").contains("has not been read"));
    }
}
